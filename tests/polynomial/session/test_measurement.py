"""Calibration of token counts: usage reports change the window's budget, and nothing else."""

import asyncio
import random
from typing import Any

import pytest
from anthropic.types import Usage
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types import CompletionUsage

from polycontext import ContextOverflowError, ContextSession
from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial.journal.conversation import replay
from polycontext.polynomial.session.usage import TELLING, input_tokens
from polycontext.testing import FAST
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, ToolCall
from tests.polynomial.conversations import WORDS, text_of, texts, words
from tests.polynomial.session.faulty import FaultyAsyncStore

ROOM = 6_000


def chat(tokens: int) -> dict[str, int]:
    """Return the usage of a chat request."""
    return {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}


def asked(session: ContextSession) -> int:
    """Hand a request out, and return the tokens that are counted of it."""
    session.messages()
    return session.window.total_tokens + REQUEST_OVERHEAD


def told(session: ContextSession, tokens: int) -> ContextSession:
    """Let a user say so many words, and return the session."""
    session.add_user_turn(words(tokens))
    return session


# --- what is learned ----------------------------------------------------------------


@settings(max_examples=settings().max_examples // 4)
@given(
    factor=st.floats(0.6, 2.4),
    besides=st.integers(0, 1_500),
    lengths=st.lists(st.integers(1, 400), min_size=20, max_size=30),
)
def test_no_request_is_over_the_budget_as_the_provider_counts(
    factor: float, besides: int, lengths: list[int]
) -> None:
    """After the first report of a long request, no request exceeds the provider's own count."""
    session, sure = ContextSession(ROOM, counter=WORDS), False
    for number, length in enumerate(lengths):
        session.add_user_turn(words(length, f"u{number}."))
        counted = asked(session)
        real = round(factor * counted) + besides
        assert real <= ROOM + 2 or not sure
        session.usage.reported(chat(real))
        sure = sure or counted >= TELLING
        session.add_assistant_turn(words(length, f"a{number}."))


def test_what_is_reported_as_it_was_counted_leaves_the_room_as_it_is() -> None:
    """An exact counter learns nothing from matching reports, and turn counts never change."""
    session = ContextSession(ROOM, counter=WORDS)
    for number in range(30):
        told(session, 100)
        before = [turn.tokens for turn in session.window.all_turns()]
        measured = session.usage.reported(chat(asked(session)))
        assert measured is not None
        assert (measured.factor, measured.besides) == (1.0, 0)
        assert session.window.max_tokens >= ROOM - ROOM // 128
        assert [turn.tokens for turn in session.window.all_turns()] == before
        session.add_assistant_turn(f"Yes, {number}.")


def test_what_stands_beside_the_turns_is_taken_off_once() -> None:
    """Tools are subtracted once, whether the session knows them or learns of them from a report."""
    tools = [{"type": "function", "function": {"name": "look", "description": words(400)}}]
    rooms, tool_tokens = [], ContextSession(ROOM, counter=WORDS, tools=tools).usage.tool_tokens
    for known in (tools, ()):
        session = told(ContextSession(ROOM, counter=WORDS, tools=known), 1_200)
        session.usage.reported(chat(asked(session) + tool_tokens))
        session.add_assistant_turn("So.")
        told(session, 300)
        assert session.usage.reported(chat(asked(session) + tool_tokens))
        rooms.append(session.window.max_tokens)
    assert abs(rooms[0] - rooms[1]) <= 2 * (ROOM // 128)
    assert ROOM - 3 * tool_tokens < rooms[0] < ROOM - tool_tokens // 2


def test_each_model_counts_for_itself() -> None:
    """Each model has its own calibration, which survives a change of model."""
    session = told(ContextSession(ROOM, counter=WORDS), 1_200)
    dear = session.usage.reported({"model": "dear", "usage": chat(2 * asked(session))})
    cheap = session.usage.reported(chat(asked(session)), model="cheap")
    assert dear is not None
    assert cheap is not None
    assert (dear.model, cheap.model, cheap.factor) == ("dear", "cheap", 1.0)
    assert dear.room < cheap.room
    session.add_assistant_turn("Yes.")
    again = session.usage.reported({"model": "dear", "usage": chat(2 * asked(told(session, 20)))})
    assert again is not None
    assert again.factor == pytest.approx(dear.factor, rel=0.02)


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    """A report without a request, without usage, or that leaves no room, is a typed error."""
    session = ContextSession(ROOM, counter=WORDS)
    with pytest.raises(InvalidOptionError, match=r"messages\(\) or request\(\)"):
        session.usage.reported(chat(5))
    asked(told(session, 10))
    before = session.window.max_tokens
    for wrong in (
        5,
        "many",
        {"usage": "many"},
        {"prompt_tokens": True},
        {"input_tokens": "7"},
        {"input_tokens": -1},
    ):
        with pytest.raises(InvalidDataError):
            session.usage.reported(wrong)
    with pytest.raises(ContextOverflowError, match="what was sent beside the turns"):
        session.usage.reported(chat(ROOM))
    assert session.window.max_tokens == before
    assert session.usage.reported(chat(20)) is not None


# --- nothing else changes --------------------------------------------------------------


def driven(session: ContextSession, *, factor: float) -> ContextSession:
    """Return a session of many turns in which every response was reported."""
    dice = random.Random(3)  # noqa: S311 - nothing here is a secret
    for number in range(90):
        session.add_user_turn(f"{number}: " + words(dice.randrange(1, 120), f"w{number}."))
        session.usage.reported(chat(round(factor * asked(session)) + 100))
        session.add_assistant_turn(words(dice.randrange(1, 60)))
    return session


def test_a_journal_knows_nothing_of_what_was_reported() -> None:
    """Reports are not in the journal, so a replayed or loaded session has the original budget."""
    session = driven(ContextSession(ROOM, counter=FAST), factor=1.3)
    assert session.window.max_tokens < ROOM
    assert session.window.epoch.number > 2
    again = replay(
        session.history.events(), session.conversation.__class__(ContextWindow(ROOM, counter=FAST))
    )
    assert again.with_room(session.window.max_tokens) == session.conversation
    loaded = ContextSession.history.load(text_of(session), counter=FAST)
    assert loaded.window.max_tokens == ROOM
    assert loaded.conversation.with_room(session.window.max_tokens) == session.conversation


def test_going_back_keeps_the_room_that_was_measured(tmp_path: Any) -> None:
    """Rewound, forked, opened elsewhere: the room is a matter of the model, not of the moment."""
    with ContextSession.open(tmp_path / "s.db", max_tokens=ROOM, counter=FAST) as session:
        driven(session, factor=1.5)
        room = session.window.max_tokens
        session.history.rewind(20)
        assert session.window.max_tokens == room
        session.history.rewind(0)
        assert session.window.max_tokens == room
        with session.history.fork("other") as fork:
            assert fork.window.max_tokens == room
        session.add_user_turn("Once more.")
        assert session.window.max_tokens == room
    with ContextSession.open(tmp_path / "s.db", max_tokens=ROOM, counter=FAST) as session:
        assert session.window.max_tokens == ROOM
        session.usage.reported(chat(3 * asked(session) + 900))
        assert session.window.max_tokens < ROOM


def test_a_report_in_the_middle_of_a_write_loses_nothing() -> None:
    """A report during a write changes the budget, and the turn and the live machine are kept."""

    async def run() -> ContextSession:
        store = FaultyAsyncStore()
        session = ContextSession(ROOM, counter=WORDS, store=store)
        assert session.machine.window.has_contents_of(session.window)
        await session.aadd_user_turn(words(1_000))
        usage = chat(2 * asked(session))
        writing = asyncio.create_task(session.aadd_assistant_turn("Yes."))
        while store.appends < 2:  # noqa: ASYNC110 - the store has no event
            await asyncio.sleep(0)
        assert not writing.done()
        session.usage.reported(usage)
        output = await writing
        assert output.window.last == len(session.window) == len(session.log()) == 2
        await session.aadd_user_turn("And now?")
        return session

    session = asyncio.run(run())
    assert texts(session)[1:] == ["Yes.", "And now?"]
    assert session.window.max_tokens < 3_100
    assert session.machine.window is session.window


def test_an_open_call_is_no_request() -> None:
    """A list viewed while calls are open is not a request, so a report is about the one before."""
    session = told(ContextSession(ROOM, counter=WORDS), 1_000)
    counted = asked(session)
    session.add_assistant_turn(words(500), [ToolCall("c1", "look", "{}")])
    session.messages(allow_open=True)
    measured = session.usage.reported(chat(counted))
    assert measured is not None
    assert measured.counted == counted


# --- what providers say -------------------------------------------------------------------

ITERATED = [
    {
        "type": "message",
        "input_tokens": 100,
        "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "output_tokens": 9,
    },
    {"type": "message", "input_tokens": 140, "output_tokens": 9},
]
COMPACTED = [
    {"type": "compaction", "input_tokens": 9, "output_tokens": 9},
    {"type": "message", "input_tokens": 30, "output_tokens": 9},
]


@pytest.mark.parametrize(
    ("given", "tokens", "model"),
    [
        (
            {"input_tokens": 70, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 1},
            70,
            "",
        ),
        (
            {"input_tokens": 7, "cache_creation_input_tokens": None, "cache_read_input_tokens": 60},
            67,
            "",
        ),
        ({"input_tokens": 250, "iterations": ITERATED}, 110, ""),
        ({"input_tokens": 30, "iterations": COMPACTED}, None, ""),
        (
            {"input_tokens": 30, "iterations": [{"type": "advisor_message", "input_tokens": 5}]},
            30,
            "",
        ),
        (
            {
                "model": "m",
                "usage": {"input_tokens": 30},
                "context_management": {"applied_edits": [{"cleared_input_tokens": 12}]},
            },
            42,
            "m",
        ),
        (CompletionUsage(prompt_tokens=70, completion_tokens=1, total_tokens=71), 70, ""),
        (Usage(input_tokens=7, output_tokens=1, cache_read_input_tokens=60), 67, ""),
    ],
)
def test_the_tokens_of_what_was_sent(given: Any, tokens: int | None, model: str) -> None:
    """Input tokens include cached ones and are None if the provider summarised before reading."""
    assert input_tokens(given) == (tokens, model)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"usage": None, "model": "m"},
        {"prompt_tokens": None, "completion_tokens": 7},
        {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0},
        {"input_tokens": "", "output_tokens": True},
        {"promptTokenCount": 0.0},
        {"prompt_eval_count": 26, "eval_count": 290},
    ],
)
def test_usage_without_a_count_teaches_nothing(usage: Any) -> None:
    """Local servers report zeros, null, other fields or nothing; no count at all raises nothing."""
    session = told(ContextSession(ROOM, counter=WORDS), 100)
    assert session.usage.reported(usage) is None
    asked(session)
    assert session.usage.reported(usage) is None
    assert session.window.max_tokens == ROOM
    assert session.usage.reported(chat(200)) is not None


def test_a_report_of_hardly_any_tokens_is_not_believed() -> None:
    """Less than a quarter of the count is no tokenizer: no request grows beyond the budget."""
    session = told(ContextSession(ROOM, counter=WORDS), 100)
    for _ in range(30):
        assert asked(session) <= ROOM
        assert session.usage.reported(chat(1)) is None
        session.add_assistant_turn("Yes.")
        told(session, 100)
    assert session.window.max_tokens == ROOM
