"""The extractive summariser stays within its tokens and prints the most important words said."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retention.methods import METHODS
from benchmarks.retention.projecting import measure
from benchmarks.retention.recordings import DATA, load
from polycontext import ContextSession
from polycontext.pressure import AsyncSummariser, ContextProjector, ExtractiveSummariser, Summariser
from polycontext.testing import FAST, conversations
from polycontext.testing.strategies import ANY_TEXT, HOSTILE_TEXTS, TEXTS, Move
from polycontext.window import TokenCounter, ToolCall, Turn
from tests.pressure.notes.extractive_samples import (
    COUNTERS,
    EXACT,
    LETTERS,
    Noting,
    Pairs,
    assistant,
    gist,
    summarise,
    user,
)


@given(conversations(), st.integers(-5, 300), st.sampled_from(COUNTERS), st.none() | TEXTS)
def test_a_summary_never_takes_more_tokens_than_allowed(
    moves: list[Move], max_tokens: int, counter: TokenCounter, query: str | None
) -> None:
    """count(summarise(turns, n)) <= n for every conversation, counter and query."""
    turns = [turn for turn, _ in moves]
    assert counter.count(summarise(turns, max_tokens, counter=counter, query=query)) <= max(
        0, max_tokens
    )


def test_a_tokenizer_that_counts_more_than_the_lines_is_respected() -> None:
    """A summary fits even if its lines, counted one by one, take fewer tokens."""
    turns = [user(f"Parcel {number} weighs {number * 7} grams.") for number in range(40)]
    summary = summarise(turns, 300, counter=(pairs := Pairs()))
    assert summary.count("\n") > 1
    assert pairs.count(summary) <= 300


@given(
    st.lists(st.sampled_from(HOSTILE_TEXTS) | ANY_TEXT, min_size=1, max_size=3),
    st.integers(0, 400),
    st.booleans(),
)
def test_hostile_text_fits_too_and_can_be_stored(
    texts: list[str], max_tokens: int, as_gists: bool
) -> None:
    """A summary of giant lines, joined emoji and special tokens fits and can be stored."""
    summary = summarise([gist(text) if as_gists else user(text) for text in texts], max_tokens)
    assert EXACT.count(summary) <= max_tokens
    assert Turn("user", summary).content == summary


@pytest.mark.parametrize("max_tokens", [0, -1, -1000])
def test_no_tokens_give_no_text(max_tokens: int) -> None:
    """Zero tokens or fewer leave an empty summary."""
    assert summarise([user("Book ZFA04Y.")], max_tokens) == ""


@pytest.mark.parametrize("turns", [[], [user("")], [user(" \n\t "), assistant("")]])
def test_nothing_said_gives_no_text(turns: list[Turn]) -> None:
    """Without any text there is nothing to summarise, even with a query."""
    assert summarise(turns, 100, query="What about the booking?") == ""


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=400),
    st.integers(1, 50),
)
def test_a_summary_is_never_empty_where_a_letter_fits(text: str, max_tokens: int) -> None:
    """With one token or more for visible text, something is said."""
    assert summarise([user(text)], max_tokens, counter=LETTERS)


@given(st.integers(0, 60))
def test_marks_stay_on_their_letters(max_tokens: int) -> None:
    """No cut falls between a letter and its accent, nor inside a joined emoji."""
    accents = summarise([user("e\u0301" * 200)], max_tokens, counter=LETTERS).removeprefix("user: ")
    assert accents.count("e") == accents.count("\u0301")
    families = summarise([user("👩‍👧" * 100)], max_tokens, counter=LETTERS).removeprefix("user: ")
    assert families.count("👩") == families.count("👧")


@given(conversations(), st.integers(1, 200))
def test_the_same_turns_give_the_same_summary(moves: list[Move], max_tokens: int) -> None:
    """Summarising is a function of its arguments."""
    turns = [turn for turn, _ in moves]
    assert summarise(turns, max_tokens) == summarise(list(turns), max_tokens)


def test_the_summary_does_not_depend_on_the_process() -> None:
    """Two interpreters with different hash seeds print the same bytes."""
    script = (
        "from polycontext.window import Turn; from polycontext.window.tokens.counter import "
        "EstimatingCounter\n"
        "from polycontext.pressure import ExtractiveSummariser\n"
        "turns = [Turn('user', f'Module_{n} in src/part_{n % 7}.py failed, said word{n % 5} and "
        "word{n % 3}.') for n in range(60)]\n"
        "print(ExtractiveSummariser().summarise(turns, 120, counter=EstimatingCounter(), "
        "query='word2 part_3'))"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] != b"\n"


@given(conversations(), st.integers(20, 200))
def test_the_order_of_the_conversation_is_kept(moves: list[Move], max_tokens: int) -> None:
    """The lines of a section are in the order of the conversation."""
    numbered = [user(f"{turn.text} mark{number:03}x") for number, (turn, _) in enumerate(moves)]
    for section in re.split(r"^[A-Z][\w ]*:$", summarise(numbered, max_tokens), flags=re.MULTILINE):
        marks = re.findall(r"\bmark\d{3,}x$", section, re.MULTILINE)
        assert marks == sorted(marks)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        '{"a":1,' * 40_000,
        "never must " * 25_000,
        "漢字" * 100_000,
        "e" + "\u0301" * 300_000,
    ],
)
def test_the_work_is_linear_in_the_text(text: str) -> None:
    """However hostile, each character is counted a few times at most, and so is each segment."""
    counter = Noting()
    summarise([user(text)], 500, counter=counter)
    assert counter.characters < 4 * len(text) + 200_000
    assert counter.times < len(text) / 10


@pytest.mark.parametrize("max_tokens", [1_000, 3_000])
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"ValueError: {n}\n" for n in range(3_000)),
        "漢字" * 3_000,
        " ".join(f"Walk {n} along src/way_{n}.py." for n in range(1_000)),
    ],
)
def test_the_tokens_are_used(text: str, max_tokens: int) -> None:
    """A summary of much text leaves few of its tokens unused."""
    assert EXACT.count(summarise([user(text)], max_tokens)) >= 0.9 * max_tokens


def test_what_still_fits_after_the_first_that_does_not_is_added() -> None:
    """A long piece that finds no room does not keep a shorter one out that matters less."""
    long = "Yesterday evening thunderstorms felled many branches beside the old harbour wall."
    assert (
        summarise([user("Booking ZFA04Y."), user(long), user("Crate C77 is open.")], 20)
        == "user: Booking ZFA04Y.\nuser: Crate C77 is open."
    )


# ---- interface


def test_it_is_a_summariser_and_nothing_to_await() -> None:
    """The offline summariser has the synchronous method only."""
    assert isinstance(ExtractiveSummariser(), Summariser)
    assert not isinstance(ExtractiveSummariser(), AsyncSummariser)


def test_a_negative_bonus_is_refused() -> None:
    """A bonus below zero would make what matters matter less than nothing."""
    with pytest.raises(ValueError, match="query_bonus"):
        ExtractiveSummariser(query_bonus=-1.0)


@pytest.mark.gate
@pytest.mark.skipif(
    not DATA.is_dir(), reason="the recorded conversations (shared/data) are not beside the project"
)
def test_it_keeps_more_of_what_is_needed_next_than_random_messages() -> None:
    """On a recorded agent it keeps more values with their records, with as many tokens.

    `just bench retention --all-methods` compares it with other simple means.
    """
    conversations = load("tau", sample=24)
    kept = {
        name: measure(METHODS[name], conversations, 0.25, gates=False).recalls["with record"].share
        for name in ("project", "random messages")
    }
    assert (kept["project"] or 0) > (kept["random messages"] or 0)


def test_lines_begin_with_the_ids_of_their_turns_where_that_is_asked() -> None:
    """With `ids`, each line starts with its turn's id, and a call and its result share a line."""
    session = ContextSession(
        max_tokens=400,
        counter=FAST,
        projector=ContextProjector(ExtractiveSummariser(ids=True, frozen=1)),
    )
    session.add_user_turn("Salt the soups.")
    for number in range(41):
        session.add_assistant_turn(
            None, tool_calls=[ToolCall("c", "weigh", f'{{"pot": {number % 20}}}')]
        )
        session.add_tool_turn(f"Pot {number % 20} has {number * 13} grams.", tool_call_id="c")
        session.add_user_turn(f"How much salt goes into pot {number}?")
        session.add_assistant_turn(f"It wants {number * 7} grams.")
    (gist,) = (turn for turn in session.window.all_turns() if turn.is_gist)
    lines = gist.text.splitlines()[1:-1]  # without the frame
    shown = [re.match(r"\[(t\d+)\] (.*)", line) for line in lines if not line.startswith(" ")]
    assert len(shown) > 3
    log = {turn.resource_id: turn for turn in session.log()}
    for found in shown:
        assert found is not None
        turn = log[found[1]]
        said = found[2].removeprefix(f"{turn.role}: ").split(" […] ")[0]
        assert said.startswith("weigh") or said in turn.text
    recalled = session.recall([shown[0][1]] if shown[0] else [])
    assert shown[0] is not None
    assert shown[0][1] in [turn.resource_id for turn in recalled.window.all_turns()]
    again = ExtractiveSummariser(ids=True).summarise([gist], 60, counter=FAST)
    assert not re.search(r"\] \[", again)
