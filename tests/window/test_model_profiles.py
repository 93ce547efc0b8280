"""A model's name gives its window, output, provider and counter; an unknown name is refused."""

import re
from typing import Any

import pytest
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
from polycontext.window.tokens.media_rules import medium_tokens
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


@given(st.integers(1, 70_000), st.integers(1, 70_000), st.sampled_from(["", "low", "high"]))
def test_no_picture_costs_more_than_the_most(width: int, height: int, detail: str) -> None:
    """For each rule of the table, whatever the size."""
    for known in (*TABLE, find_model("gemini-2.5-pro")):
        if known.image is not None:
            assert 0 < known.image(width, height, detail) <= known.image.most


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
