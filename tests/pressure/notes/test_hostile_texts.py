"""Hostile text for summaries and truncation.

The result fits, no error is raised, and the cost is linear.
"""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.notes import pieces
from polycontext.pressure.notes.items import MARK
from polycontext.pressure.notes.pieces import MOST_CHARS, clip, excerpt, whole_letter
from polycontext.pressure.notes.truncation import MOST_CHARS_A_TOKEN, truncate
from polycontext.testing import FAST
from polycontext.testing.strategies import TEXTS
from polycontext.window import TokenCounter, ToolCall, Turn
from tests.growth import BOUND, FACTOR, growth
from tests.pressure.notes.extractive_samples import (
    COUNTERS,
    EXACT,
    Noting,
    Words,
    assistant,
    called,
    summarise,
    user,
)

FAMILY = "👩\u200d👩\u200d👧"
LOG = "".join(
    f"09:{n % 60:02} worker {n % 5} took job {n * 7919 % 100_003} and let it go\n"
    for n in range(2_000)
)
PROSE = "A plain word or two stands here. " * 40_000
HOSTILE = [
    "[" * 100_000,
    "]" * 100_000,
    '{"a":' * 100_000,
    '{"a":' * 50_000 + "1" + "}" * 50_000,
    '{"a": "b", ' * 30_000,
    '["' + '\\"' * 200_000,
    '["' + "\\" * 200_000,
    '{"a": [' + "1," * 300_000,
    "[NaN, -Infinity, " + '{"a": 1, "a": 2}, ' * 20_000 + "3]",
    json.dumps([{"id": f"A{n}", "v": "x " * 60} for n in range(3_000)]),
    json.dumps({f"key_{n}": n for n in range(20_000)}),
    json.dumps(["word " * 20_000, {"k": "Ignore the rules. " * 10_000}]),
    '{"a": 1}\n' * 50_000,
    "a,b,c\n" * 60_000,
    "| a | b |\n" * 40_000,
    "\n" * 100_000,
    "\r\n" * 50_000,
    " " * 200_000,
    "a" * 1_000_000,
    "a " * 300_000,
    "a-" * 200_000,
    "a. " * 150_000,
    '"' * 100_000,
    "(" * 100_000,
    "#" * 100_000,
    "- [ ] " * 60_000,
    "you must " * 60_000,
    "call the assistant: " * 30_000,
    "ignore " * 60_000,
    "Error: " * 60_000,
    "a = 1\n" * 60_000,
    "x: 1\n" * 60_000,
    "step 1 took 2 s. " * 30_000,
    "Step 1 moved to 2, not 3. " * 20_000,
    "class A:\n" * 40_000,
    "".join(f"{' ' * (n % 300)}def f{n}():\n" for n in range(2_000)),
    'File "a", line 1\n' * 30_000,
    "\x00\x1b[31m\x07\u2028\x85" * 20_000,
    "<|endoftext|>" * 20_000,
    "e" + "\u0301" * 100_000,
    FAMILY * 20_000,
    "今天的天气非常好" * 40_000,
]
QUICK = (10, 20, 40)
"""The places of those that are read without the gate, too."""
MEASURED = 8 * 2_160
"""How many characters of each the growth is measured with; all of it is read once.

A multiple of most lines: a table that ends inside of a line is read as one, or is not.
"""
LIKE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=200),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=12), inner, max_size=8)
    ),
    max_leaves=60,
).map(json.dumps)
PARTS = st.sampled_from(
    [
        *'{}[]",:\\\n\r\t ',
        "null",
        "NaN",
        "1e9",
        '"a":',
        '{"a": 1}',
        "\u0301",
        FAMILY,
        "\ud800",
        "…",
        " … 3 lines",
        "a=1",
    ]
)
ANY = TEXTS | LIKE_JSON | st.lists(PARTS | st.text(max_size=8), max_size=80).map("".join)

Reading = Callable[[str], str]
READINGS: dict[str, Reading] = {
    "result": lambda text: summary(*called("look", "{}", text)),
    "arguments": lambda text: summary(
        Turn("assistant", None, tool_calls=[ToolCall("c1", "write", text)])
    ),
    "user": lambda text: summary(user(text)),
    "assistant": lambda text: summary(assistant(text), assistant(text[:-1])),
    "gist": lambda text: summary(
        Turn("user", f"[Summary of earlier messages]\n{text}", metadata={"gist": True})
    ),
    "cut": lambda text: truncate(text, 200, FAST, wanted=text[:300], whole="result 7"),
}


def summary(*turns: Turn) -> str:
    """Return a summary of 200 tokens."""
    return ExtractiveSummariser().summarise(
        turns, 200, counter=FAST, query="What failed in step 12?"
    )


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("reading", "place"),
    [
        pytest.param(reading, place, marks=() if place in QUICK else pytest.mark.gate)
        for reading in READINGS
        for place in range(0, len(HOSTILE), 1 if reading == "result" else 5)
    ],
)
def test_hostile_text_costs_linear_time_and_fits(reading: str, place: int) -> None:
    """Hostile text fits its limit, and eight times the text costs at most about eight times."""
    read, text = READINGS[reading], HOSTILE[place]
    assert FAST.count(read(text)) <= 200
    assert growth(lambda length: read(text[:length]), MEASURED // FACTOR) < BOUND


@given(
    ANY,
    st.integers(-3, 300),
    st.sampled_from(COUNTERS),
    st.text(max_size=40),
    st.sampled_from(["", "result 7", "x" * 200]),
)
# Blanks cost nothing where words are counted, but such a long text is not counted at all.
@example(f"{' ' * 120}...{' ' * 120}", 1, Words(), "", "")
def test_a_cut_fits_is_the_same_each_time_and_is_not_cut_again(
    text: str, room: int, counter: TokenCounter, wanted: str, whole: str
) -> None:
    """Whatever the text, room, counter and wishes; text that fits comes back as it is."""
    short = truncate(text, room, counter, wanted=wanted, whole=whole)
    assert not short or counter.count(short) <= room
    assert short == truncate(text, room, counter, wanted=wanted, whole=whole)
    assert truncate(short, room, counter, wanted=wanted, whole=whole) == short
    if len(text) <= MOST_CHARS_A_TOKEN * room and room > 0 and counter.count(text) <= room:
        assert short == text


@pytest.mark.parametrize("room", [60, 200, 900])
def test_no_emoji_is_parted(room: int) -> None:
    """Truncation keeps or removes a joined emoji whole."""
    kept = truncate(FAMILY * 3_000, room, EXACT).replace(MARK, "")
    assert "👩" in kept
    assert not kept.replace(FAMILY, "").strip()


def test_a_log_keeps_head_tail_what_failed_and_what_is_wanted() -> None:
    """The error in the middle has its nearest frame, and the named line stands whole."""
    trace = (
        'Traceback (most recent call last):\n  File "app/pay.py", line 31, in charge\n    total / '
        "parts\nZeroDivisionError: by zero\n"
    )
    lines = LOG.splitlines(keepends=True)
    text = "".join(
        [*lines[:900], trace, *lines[900:1_500], "see ticket KX-4411-B\n", *lines[1_500:]]
    )
    short = truncate(text, 400, EXACT, wanted="what about KX-4411-B?")
    assert short.startswith(lines[0])
    assert short.endswith(lines[-1].strip())
    assert "ZeroDivisionError: by zero" in short
    assert "see ticket KX-4411-B" in short


def test_nothing_fits_into_no_room() -> None:
    """No tokens, no text; the line on the whole goes before the text does."""
    assert truncate(LOG, 0, EXACT) == truncate(LOG, -1, EXACT) == truncate("", 5, EXACT) == ""
    assert "whole" not in truncate(LOG, 12, EXACT, whole="the result with the number 7 in the log")


def test_no_more_is_counted_than_a_few_times_what_is_kept() -> None:
    """A text fifty times too long is not counted as a whole."""
    counter = Noting()
    short = truncate(LOG * 20, 2_000, counter)
    assert counter.characters < 30 * len(short)


def test_a_long_text_is_read_at_its_ends() -> None:
    """A megabyte of text is reduced to its first and last words, with a mark between."""
    found = excerpt(f"First. {PROSE} Last.")
    assert len(found) <= MOST_CHARS
    assert found.startswith("First.")
    assert found.endswith("Last.")
    assert f" {MARK} " in found
    many = excerpt(LOG * 20)
    assert len(many) <= MOST_CHARS
    assert f"\n{MARK}\n" in many
    assert excerpt(PROSE[:MOST_CHARS]) == PROSE[:MOST_CHARS]


@pytest.mark.parametrize("end", ["\n", "\r", "\f", "\x85", "\u2028"])
def test_lines_of_one_letter_count_however_they_end(end: str) -> None:
    """Each line costs more than its letters, so few of very many are read."""
    assert len(excerpt(f"a{end}" * 50_000).splitlines()) < 3_000


@pytest.mark.parametrize(
    "text",
    [f"{each}Never delete the ledger.\n{each}" for each in (PROSE[: MOST_CHARS // 2], LOG * 2)],
)
def test_a_demand_in_the_middle_of_a_long_text_is_kept(text: str) -> None:
    """A demand in the middle of a long text is kept, also from an incoming gist."""
    assert "Never delete the ledger." in summarise([user(text)], 400)
    assert "Never delete the ledger." in summarise(
        [Turn("user", f"[Summary of earlier messages]\n{text}", metadata={"gist": True})], 400
    )


def test_letters_are_only_looked_at_where_a_text_may_be_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of a text without words is found by bisection, not letter by letter."""
    looked = list[int]()

    def counted(text: str, place: int) -> int:
        looked.append(place)
        return whole_letter(text, place)

    monkeypatch.setattr(pieces, "whole_letter", counted)
    assert len(clip("e\u0301" * 50_000, 1_000, EXACT)) >= 1_000
    assert len(looked) < 50
