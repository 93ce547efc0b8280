"""A session follows a conversation kept elsewhere.

New turns are added, withdrawn ones are rewound, and the view maps back to the caller's objects.
"""

import asyncio
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session.synchronisation import Gist, Kept
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.pressure import ConflictError
from polycontext.testing.strategies import Move
from polycontext.window import OrderError, ToolCall, Turn
from polycontext.window.filler import OPENING
from polycontext.window.providers.tool_pairs import NO_RESULT
from tests.polynomial.conversations import (
    THOUGHT,
    WORDS,
    chat,
    session_moves,
    session_of,
    text_of,
    texts,
    tool_atom,
    words,
)

# --- taking in ---------------------------------------------------------------------


def test_a_pin_holds_where_the_end_of_the_list_changes() -> None:
    """Frameworks reword the end of their lists, and a pin of an earlier turn is the caller's."""
    session, turns = session_of(), chat(5)
    session.sync(turns)
    pinned, lost = (session.log()[place].resource_id for place in (1, 4))
    session.pin(pinned, "the user asked for it")
    session.pin(lost)
    session.sync([*turns[:4], evolve(turns[4], content="otherwise")])
    ledger = session.window.linearity
    assert ledger.get(pinned) is ResourceClass.PRESERVED
    assert ledger.tag_of(pinned).rationale == "the user asked for it"
    assert ledger.get(session.log()[4].resource_id) is not ResourceClass.PRESERVED


def test_what_is_not_to_be_rewound_is_left_as_it_is() -> None:
    """Where it has gone on otherwise, here or in the store; what follows on comes in."""
    store, turns = InMemoryStore(), chat(6)
    session, other = (session_of(store=store) for _ in range(2))
    session.sync(turns[:2], rewind=False)
    session.sync(turns[:3], rewind=False)
    other.sync([*turns[:3], Turn("user", "Otherwise.")])
    for _ in range(2):
        with pytest.raises(
            ConflictError,
            match=(
                "conversation: expected the 4 turns of the session at the beginning of the list, "
                "found the first 3 of them"
            ),
        ):
            session.sync(turns, rewind=False)
    assert texts(session)[-1] == "Otherwise."
    assert session.history.revision == other.history.revision == 4


@given(session_moves(10), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6))
def test_whatever_the_list_becomes_the_log_is_it(
    moves: list[Move], cuts: list[tuple[int, int]]
) -> None:
    """Cut and glued at any place; and once more, with other metadata, nothing happens."""
    session = session_of(4000)
    turns = [turn for turn, _ in moves]
    for start, end in [(0, len(turns)), *cuts]:
        turns = [*turns[:start], *turns[end:]]
        session.sync(turns)
        log = session.log()
        answered = {call.id for turn in log for call in turn.tool_calls}
        left = [turn.content for turn in turns if turn.tool_call_id is None]
        assert [
            turn.content for turn in log if turn.tool_call_id is None and turn.content != OPENING
        ] == [text for text in left if text != OPENING]
        assert all(turn.tool_call_id in answered for turn in log if turn.tool_call_id is not None)
        revision = session.history.revision
        session.sync([evolve(turn, metadata={**turn.metadata, "seen": 1}) for turn in turns])
        assert session.history.revision == revision
        assert ContextSession.history.load(text_of(session), counter=WORDS).window == session.window


def test_what_no_conversation_can_be_is_repaired_or_refused() -> None:
    """Calls without results, results without calls, an assistant that begins."""
    call = Turn("assistant", None, tool_calls=(ToolCall("c", "look", "{}"),))
    orphan = Turn("tool", "found", tool_call_id="x")
    session = session_of()
    session.sync([Turn("assistant", "Hello."), call, Turn("user", "Well?"), orphan])
    assert texts(session) == [OPENING, "Hello.", "", NO_RESULT, "Well?"]
    for broken in (
        [Turn("user", "Look."), call, Turn("user", "Well?")],
        [Turn("user", "Hi"), orphan],
    ):
        strict = session_of()
        with pytest.raises(OrderError):
            strict.sync(broken, repair=False)
        assert strict.history.revision == 0


def test_an_omitted_result_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Also where nothing else is new."""
    session, turns = session_of(), [Turn("user", "Hi")]
    session.sync(turns)
    assert not caplog.records
    session.sync(iter([*turns, Turn("tool", "found", tool_call_id="lost")]))
    assert caplog.messages == ["omitted results that answer no open call: 'lost'"]


def test_a_result_that_comes_late_takes_the_place_of_the_marked_one() -> None:
    """The call was closed, and is open again as it always was."""
    session, turns = session_of(), [Turn("user", "Look."), *tool_atom("look", 5, 5)]
    session.sync([*turns[:3], Turn("user", "Well?")])
    assert texts(session)[-2:] == [NO_RESULT, "Well?"]
    session.sync([*turns, Turn("user", "Well?")])
    assert texts(session) == [*(turn.text for turn in turns), "Well?"]


def test_words_that_were_forgotten_stay_forgotten() -> None:
    """Though their keeper elsewhere has them still; what comes behind them is not new."""
    session, turns = session_of(), chat(4)
    session.sync(turns)
    session.history.forget("t1")
    revision = session.history.revision
    session.sync(turns)
    assert (session.history.revision, texts(session)[0]) == (revision, "[forgotten]")
    assert isinstance(session.view()[0], Kept)
    assert session.view()[0].handle is None


# --- the view -----------------------------------------------------------------------


def test_the_view_is_the_very_objects_and_gists() -> None:
    """Whatever they are, and whoever holds them; asked again, it is the same."""
    session, turns = session_of(400), chat(60)
    handles = [object() for _ in turns]
    session.sync(turns, handles)
    view = session.view()
    kept = [item for item in view if isinstance(item, Kept)]
    gists = [item for item in view if isinstance(item, Gist)]
    said = [turn.text for turn in turns]
    assert all(item.handle is handles[said.index(item.turn.text)] for item in kept)
    assert [len(gist.sources) + len(kept) for gist in gists] == [60]
    revision = session.history.revision
    assert (session.view(), session.history.revision) == (view, revision)


def test_what_has_lost_some_of_it_goes_out_as_the_turn() -> None:
    """The object would say still what has fallen: thoughts that were bound to another prefix."""
    session = session_of(1000)
    turns = [*chat(14), Turn("user", "And?"), Turn("assistant", "Plums.", parts=(THOUGHT,))]
    session.sync(turns, turns)
    assert session.view()[-1] == Kept(turns[-1], session.window.all_turns()[-1])
    session.compress(0.1)
    last = session.view()[-1]
    assert isinstance(last, Kept)
    assert (last.handle, last.turn.parts, last.turn.text) == (None, (), "Plums.")


def test_the_view_fits_beside_what_the_request_needs() -> None:
    """A longer system prompt, more tools, a longer reply: from call to call."""
    session = session_of(1000, threshold=None)
    session.sync(chat(24))
    whole = session.window.total_tokens
    tool = {
        "type": "function",
        "function": {"name": "look", "description": words(40), "parameters": {}},
    }
    session.view(reserve=100, tools=[tool], system=words(50))
    assert session.window.total_tokens == whole
    session.view(reserve=600, tools=[tool], system=words(100))
    assert session.window.total_tokens < 1000 - 600 - 100 - 40
    revision = session.history.revision
    session.view(reserve=600, tools=[tool], system=words(100))
    assert session.history.revision == revision


def test_what_a_view_was_handed_out_for_is_a_request() -> None:
    """A view counts as a request, so a usage report for it calibrates the budget."""
    session = session_of(1000, threshold=None)
    session.sync(chat(14))
    with pytest.raises(InvalidOptionError, match="handed out"):
        session.usage.reported({"input_tokens": 500})
    session.view(system=words(50), reserve=100)
    told = session.usage.reported({"input_tokens": 2 * (session.window.total_tokens + 50)})
    assert told is not None
    assert session.window.total_tokens + 50 < told.counted < session.window.total_tokens + 70
    assert told.factor > 1.1
    assert session.window.max_tokens < 1000


def test_tasks_do_the_same() -> None:
    """Awaited, and many at once on one session: nothing twice."""

    async def work() -> ContextSession:
        session, turns = session_of(400), chat(40)
        for end in range(1, 41):
            await asyncio.gather(*(session.asynced(turns[:end], turns[:end]) for _ in range(3)))
            last: Any = (await session.aview(reserve=20))[-1]
            assert last.handle is turns[end - 1]
        return session

    assert len(asyncio.run(work()).log()) == 40
