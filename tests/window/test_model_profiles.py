"""A model's name gives its window, output, provider and counter; an unknown name is refused."""

import copy
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest
import tiktoken.model
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.window import Part, TiktokenCounter, Turn, count_turn
from polycontext.window import model_profiles as module
from polycontext.window.media import Medium, MediumKind
from polycontext.window.model_profiles import (
    ModelProfile,
    encoding_of,
    find_model,
    known_models,
    register_model,
)
from polycontext.window.providers import Provider
from polycontext.window.tokens.counter import calibrate
from polycontext.window.tokens.media_rules import Crops, Patches, Tiles, medium_tokens
from tests.house import ROOT

TABLE = [*module._TABLE.values()]
tokens = st.integers(1, 2_000_000)
names = pytest.mark.parametrize("profile", TABLE, ids=lambda profile: profile.name)


@pytest.fixture
def unregistered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what a test registers."""
    monkeypatch.setattr(module, "_REGISTERED", {})


def profile(name: str = "mine", **options: Any) -> ModelProfile:
    """Return a profile of one's own."""
    given: dict[str, Any] = {
        "name": name,
        "provider": "openai",
        "window": 32_000,
        "output": 4_000,
        **options,
    }
    return ModelProfile(**given)


@names
def test_every_row_says_where_it_was_read(profile: ModelProfile) -> None:
    """Each row names its source page, and docs/models.md shows its window and output."""
    assert re.fullmatch(r"[a-z.]+\.(com|dev)[,/] ?.+", profile.source)
    assert 0 < profile.output <= profile.window
    row = next(
        line
        for line in (ROOT / "docs" / "models.md").read_text(encoding="utf-8").splitlines()
        if f"| `{profile.name}` |" in line
    )
    assert f" {profile.window:,} " in row
    assert f" {profile.output:,} " in row
    assert profile.source.rpartition(", ")[2] in row


@names
def test_an_encoding_that_is_said_to_be_exact_is_tiktokens(profile: ModelProfile) -> None:
    """If a profile is exact, tiktoken maps the model to the same encoding."""
    if profile.exact:
        try:
            known = tiktoken.model.encoding_name_for_model(profile.name)
        except KeyError:
            pytest.skip(f"this release of tiktoken is older than {profile.name}")
        assert known == profile.encoding
    assert profile.exact == (profile.name.startswith(("gpt-3", "gpt-4", "gpt-5", "o")))
    assert profile.counter().exact == profile.exact


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}-20250929",
        "{}-2025-08-07",
        "{}@20250929",
        "{}-latest",
        "vendor/{}",
        "a/b/{}",
        " {} ",
    ],
)
def test_a_snapshot_is_its_model(form: str) -> None:
    """Dates, `-latest` and the names of services around a name lead to the model itself."""
    for profile in TABLE:
        assert find_model(form.format(profile.name)) is profile
        assert find_model(form.format(profile.name).upper()) is profile


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openai/gpt-5-mini", "gpt-5-mini"),
        ("azure/gpt-4o-2024-08-06", "gpt-4o"),
    ],
)
def test_names_of_services_are_known(name: str, model: str) -> None:
    """Cloud services and gateways write names in ways of their own."""
    assert find_model(name).name == model


@pytest.mark.parametrize(
    "name",
    [
        "gpt-5-chat",
        "gpt-4o-audio-preview",
        "gpt-5-mini-max",
        "gpt",
        "claude",
        "",
        "llama-3",
        "gpt-5-",
    ],
)
def test_what_is_not_known_is_not_guessed(name: str) -> None:
    """A longer name may be another model with another window: gpt-5-chat has a third of gpt-5's."""
    with pytest.raises(
        UnknownNameError, match=r"unknown model .*. For any other model, pass its context window"
    ):
        find_model(name)


def test_an_unknown_name_brings_those_that_look_like_it() -> None:
    """The error holds them in a field, and says them."""
    with pytest.raises(UnknownNameError) as caught:
        find_model("claude-sonet-4-5-20250929")
    assert caught.value.near[0] == "claude-sonnet-4-5"
    assert "Did you mean 'claude-sonnet-4-5'" in str(caught.value)


def test_one_registers_a_profile(unregistered: None) -> None:
    """A registered profile is found by name and snapshot, overrides the table and can be passed."""
    mine = register_model(profile("Mine"))
    assert find_model("Mine") is find_model(mine) is mine
    assert known_models()["Mine"] is mine
    large = register_model(profile("claude-sonnet-4-5", provider="anthropic", window=1_000_000))
    assert find_model("claude-sonnet-4-5-20250929") is large
    with pytest.raises(InvalidOptionError, match="a ModelProfile"):
        register_model("mine")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": 0}, "window = 0"),
        ({"window": 32_000.0}, "window = 32000.0"),
        ({"output": True}, "output = True"),
        ({"factor": 0}, "factor = 0"),
        ({"factor": float("nan")}, "factor = nan"),
        ({"factor": "2"}, "factor = '2'"),
        ({"factor": 1.2, "exact": True}, "factor = 1.2. Use 1"),
        ({"name": ""}, "name = ''"),
        ({"name": None}, "name = None"),
        ({"name": "o200k_base"}, "name = 'o200k_base'"),
        (
            {"provider": "altavista"},
            "unknown provider 'altavista'. Use openai, anthropic, openai-responses, gemini",
        ),
        ({"encoding": "gpt2"}, "unknown encoding 'gpt2'"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    """Each number is looked at when it is given."""
    with pytest.raises((InvalidOptionError, UnknownNameError), match=re.escape(words)):
        profile(**options)


@given(tokens, tokens, tokens)
def test_a_reply_fits_behind_every_request(window: int, output: int, budget: int) -> None:
    """Request and reply fit the window unless the request would get under half of the budget."""
    output, budget = min(output, window), min(budget, window)
    reserve = profile(window=window, output=output).reserve(budget)
    assert 0 <= reserve <= budget / 2
    assert budget - reserve + output <= window or reserve == budget // 2


def test_the_reserve_is_the_longest_reply() -> None:
    """The reserve is the longest reply, at most half the budget, less the room outside it."""
    assert find_model("claude-sonnet-4-5").reserve() == 64_000
    assert find_model("gpt-4").reserve() == 4_096
    assert find_model("claude-sonnet-4-5").reserve(50_000) == 0
    assert find_model("claude-sonnet-4-5").reserve(150_000) == 14_000


@given(st.text(max_size=50))
def test_counting_scales_what_tiktoken_counts(text: str) -> None:
    """An exact profile counts like its encoding, any other multiplies that by its factor."""
    base = TiktokenCounter("o200k_base").count(text)
    assert find_model("gpt-5").counter().count(text) == base
    assert find_model("claude-sonnet-4-5").counter().count(text) == (
        max(1, round(base * 1.25)) if base else 0
    )
    assert find_model("claude-opus-4-8").counter().count(text) >= find_model(
        "claude-opus-4-6"
    ).counter().count(text)


def test_a_counter_is_corrected_by_usage() -> None:
    """Calibrating multiplies what the profile says and keeps its price of pictures."""
    counter = find_model("claude-sonnet-4-5").counter()
    corrected = counter.calibrate(provider_reported_tokens=120, counted=100)
    assert corrected.factor == 1.2
    assert corrected.image_rule == calibrate(counter, 100, 120).image_rule == Patches(28, 1_568)
    assert TiktokenCounter().calibrate(100, 100).image_rule is None


IMAGE = (
    '{"type":"image","source":{"type":"base64","media_type":"image/gif",'
    '"data":"R0lGODlh6APoAwAAAAAsAAAAAA=="}}'
)


def test_a_picture_costs_what_the_model_charges() -> None:
    """Of 1000 x 1000 pixels: by the model's own rule, or the most of all where none is known."""
    turn = Turn("user", None, parts=(Part("anthropic", IMAGE),))
    frame = count_turn(TiktokenCounter(), turn) - medium_tokens(
        Medium(MediumKind.IMAGE, width=1_000, height=1_000)
    )
    costs = {
        name: count_turn(find_model(name).counter(), turn)
        for name in ("gpt-4o", "gpt-5", "gpt-5.2")
    }
    assert costs == {
        "gpt-4o": frame + 765,
        "gpt-5": frame + 630,
        "gpt-5.2": count_turn(TiktokenCounter(), turn),
    }
    assert count_turn(find_model("claude-opus-4-8").counter(), turn) < count_turn(
        find_model("gpt-5.2").counter(), turn
    )


def test_a_picture_of_unknown_size_costs_the_most_of_its_model() -> None:
    """The largest that the rule can say, for a page of a document with its text."""
    for rule in (Patches(28, 1_568), Patches(32, 1_536, 1.62), Tiles(85, 170)):
        assert medium_tokens(Medium(MediumKind.IMAGE), rule) == rule.most == rule(8_000, 8_000 * 3)
        assert medium_tokens(Medium(MediumKind.DOCUMENT, pages=2), rule) == 2 * (3_000 + rule.most)
    assert (
        medium_tokens(Medium(MediumKind.IMAGE, width=99_999, height=9), Tiles(85, 170))
        == Tiles(85, 170).most
    )


@given(st.integers(1, 70_000), st.integers(1, 70_000), st.sampled_from(["", "low", "high"]))
def test_no_picture_costs_more_than_the_most(width: int, height: int, detail: str) -> None:
    """For each rule of the table, whatever the size."""
    for known in (*TABLE, find_model("gemini-2.5-pro")):
        if known.image is not None:
            assert 0 < known.image(width, height, detail) <= known.image.most


def test_pictures_that_are_cut_into_squares_cost_the_whole_and_each_square() -> None:
    """By the rule of the model's family, at whichever service."""
    for name in ("gemini-2.0-flash", "google/gemini-2.5-pro"):
        assert find_model(name).image == Crops(258)
    assert find_model("gemini-3-flash-preview").image is None
    sizes = [(384, 384), (385, 100), (540, 360), (1_980, 1_380), (3_072, 384), (30_720, 3_840)]
    assert [Crops(258)(*size) // 258 for size in sizes] == [1, 3, 7, 7, 25, 25]


@names
def test_profiles_and_counters_are_values(profile: ModelProfile) -> None:
    """They are equal to their copies, pickled or deep."""
    counter = profile.counter()
    assert pickle.loads(pickle.dumps(profile)) == copy.deepcopy(profile) == profile  # noqa: S301
    assert pickle.loads(pickle.dumps(counter)) == copy.deepcopy(counter) == counter  # noqa: S301
    assert profile.provider in (Provider.OPENAI, Provider.ANTHROPIC)


def test_a_model_stands_for_its_encoding() -> None:
    """`TiktokenCounter` accepts a model with a public vocabulary and refuses any other."""
    assert TiktokenCounter("gpt-5") == TiktokenCounter("o200k_base")
    assert TiktokenCounter("gpt-4").encoding == encoding_of("gpt-4") == "cl100k_base"
    with pytest.raises(
        InvalidOptionError, match=r'find_model\("claude-opus-4-8"\)\.counter\(\) estimates'
    ):
        TiktokenCounter("claude-opus-4-8")
    with pytest.raises(UnknownNameError, match=r"unknown encoding 'gpt5'. Did you mean 'gpt-5'"):
        TiktokenCounter("gpt5")
    with pytest.raises(UnknownNameError, match="unknown encoding '5'"):
        TiktokenCounter(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_who_names_no_model_does_not_load_the_table() -> None:
    """A session without a model name does not import the model profiles."""
    code = (
        "import sys; from polycontext import ContextSession, project; "
        "s = ContextSession(max_tokens=8000); s.add_user_turn('hi')"
    )
    code += (
        "; s.messages(); project([{'role': 'user', 'content': 'x'}], 100); "
        "print('polycontext.window.model_profiles' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )
