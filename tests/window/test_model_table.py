"""The table generated from genai-prices: names, windows, prices and unknown names."""

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession, project
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.cost import prices_of
from polycontext.window import TiktokenCounter
from polycontext.window import model_profiles as module
from polycontext.window.model_profiles import find_model
from polycontext.window.model_table import _tried, find_listed, listed_models
from tests.house import ROOT, script
from tests.window.languages import MODEL_NAMES

ROWS = listed_models()


@pytest.mark.parametrize(("name", "model", "window", "room"), MODEL_NAMES["rows"])
def test_names_as_people_write_them_lead_to_their_row(
    name: str, model: str, window: int, room: int
) -> None:
    """A model is found with a vendor prefix, by host, dated and in any case."""
    found = find_model(name)
    assert (found.name, found.window) == (model, window)
    assert ContextSession(name.upper(), counter=TiktokenCounter()).window.max_tokens == room


def test_every_row_makes_a_profile_that_is_found_by_its_name() -> None:
    """Every row makes a consistent profile that is found under its name or a curated one."""
    for name, row in ROWS.items():
        profile = find_model(name)
        assert 0 < row.reply <= row.window, name
        assert profile.name in {name, *module._TABLE}
        assert profile.provider == ("anthropic" if "claude" in name else "openai"), name
        if row.input is not None:
            assert prices_of(name).input >= 0, name


def test_a_long_name_is_looked_at_once() -> None:
    """However many steps lead to it, a handful of them is tried."""
    assert len([*_tried("a/" * 100_000)]) < 20


def test_models_that_count_in_ways_nobody_publishes_are_counted_with_a_margin() -> None:
    """Models without a published tokenizer are counted with a margin, those of tiktoken exactly."""
    base = TiktokenCounter().count("hello, how are you today? " * 20)
    counts = {
        name: find_model(name).counter().count("hello, how are you today? " * 20) / base for name in
        ("gemini-2.5-pro", "claude-mythos-5-2", "claude-4-7-opus", "claude-opus-4-1", "gpt-5.6")
    }  # fmt: skip
    assert {name: round(share, 2) for name, share in counts.items()} == {
        "gemini-2.5-pro": 1.19, "claude-mythos-5-2": 1.65, "claude-4-7-opus": 1.65,
        "claude-opus-4-1": 1.25, "gpt-5.6": 1.0,
    }  # fmt: skip
    assert not find_model("gemini-2.5-pro").counter().exact


def test_a_model_in_no_table_needs_its_room_told() -> None:
    """An unknown model works with `max_tokens` and a margin; otherwise the error suggests names."""
    session = ContextSession("my-llama:70b", max_tokens=5_000)
    assert (
        session.window.max_tokens,
        session.window.counter.exact,
        str(session.usage.provider),
    ) == (5_000, False, "openai")
    assert str(ContextSession("my-claude", max_tokens=5_000).usage.provider) == "anthropic"
    assert project([{"role": "user", "content": "hi"}], "my-llama", max_tokens=99).max_tokens == 99
    with pytest.raises(
        UnknownNameError,
        match=r"Did you mean 'gemini-2.5-pro'.*pass its context window as max_tokens=",
    ):
        ContextSession("gemni-2.5-pro")
    for wrong in (0, "gpt-5", -1, True):
        with pytest.raises(InvalidOptionError, match="max_tokens"):
            ContextSession(
                "my-llama",
                max_tokens=wrong,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            )
    with pytest.raises(UnknownNameError):
        ContextSession(" ", max_tokens=5_000)


@given(
    st.text(max_size=30)
    | st.lists(
        st.sampled_from(["gpt", "claude", "-5", "/", ":", "-latest", ".", "qwen3"]), max_size=8
    ).map("".join)
)
def test_any_text_is_a_name_or_none(name: str) -> None:
    """Whatever is asked for, there is a row of the table or there is none."""
    found = find_listed(name)
    assert found is None or ROWS[found[0]] == found[1]


def test_a_table_of_more_than_90_days_is_old() -> None:
    """`just models --check` says so; it is told the day, and no build asks it."""
    models = script("models")
    table = json.loads((ROOT / "window" / "model_table.json").read_text(encoding="utf-8"))
    read = date.fromisoformat(table["read"])
    assert not models.is_old(table, date.fromordinal(read.toordinal() + 90))
    assert models.is_old(table, date.fromordinal(read.toordinal() + 91))
    assert "models" not in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
