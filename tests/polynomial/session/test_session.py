"""The session: guards, cooldown, overflow, order, revisions, signals, reserve and messages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextOverflowError,
    ContextSession,
    ContextState,
)
from polycontext.pressure import AdaptiveThreshold, Signals
from polycontext.window import (
    ToolCall,
    Turn,
)
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    chat,
    recount,
    session_of,
    whole,
    words,
)

ACCUMULATING, PRESSURED, COMPRESSED = (
    ContextState.ACCUMULATING,
    ContextState.PRESSURED,
    ContextState.COMPRESSED,
)


# --- guards, hysteresis, cooldown --------------------------------------------


def test_exactly_the_high_mark_is_not_pressured() -> None:
    """A pressure of exactly 0.70 is not pressured; one token more is."""
    session = session_of(1000, auto=False)
    session.add_user_turn(words(696))
    assert (session.pressure, session.state) == (0.7, ACCUMULATING)
    session.add_assistant_turn("")
    assert session.state is PRESSURED


@pytest.mark.parametrize("cooldown", [0, 1, 2, 4])
def test_cooldown_counts_turns_since_the_compression(cooldown: int) -> None:
    """The state stays COMPRESSED for `cooldown` turns after each compression."""
    session = add_all(session_of(auto=False, cooldown=cooldown), chat(3))
    for _ in range(2):
        session.compress(0.5)
        states = [session.add(turn).state for turn in chat(6, 3)]
        assert states.count(COMPRESSED) == max(0, cooldown - 1)
        assert states == sorted(states, reverse=True)


def test_with_auto_a_pressured_session_compresses_before_the_next_turn() -> None:
    """With ``auto=True`` a pressured session compresses first, and the journal has both events."""
    session = add_all(session_of(400), chat(13, 20))
    assert session.state is PRESSURED
    events = session.history.revision
    output = session.add_user_turn("and another thing")
    assert output.state is COMPRESSED
    assert [type(event).__name__ for event in session.history.events()[events:]] == [
        "CompressEvent",
        "TurnEvent",
    ]


def test_signals_move_the_threshold() -> None:
    """Errors lower the high mark and progress raises it."""
    session = session_of(auto=False, threshold=AdaptiveThreshold())
    session.add_user_turn(words(596))
    assert session.state is ACCUMULATING
    session.background.signal(Signals(error_rate=1.0))
    assert session.state == PRESSURED
    session.clear()
    session.background.signal(Signals(progress=1.0))
    session.add_user_turn(words(890))
    assert session.state is ACCUMULATING
    assert session.add_assistant_turn(words(20)).state is PRESSURED


# --- overflow ---------------------------------------------------------------


@pytest.mark.parametrize("auto", [True, False])
def test_a_turn_that_could_never_fit_is_refused_with_both_numbers(*, auto: bool) -> None:
    """The error names what the request would need at least and the budget; nothing changes."""
    session = session_of(100, auto=auto)
    session.add_system(words(10, "s"))
    session.add_user_turn(words(20, "task"))
    before = whole(session)
    with pytest.raises(ContextOverflowError) as caught:
        session.add_user_turn(words(80, "big"), oversize="error")
    assert (caught.value.tokens, caught.value.max_tokens) == (14 + 24 + 84 + 3, 100)
    assert "125" in str(caught.value)
    assert "100" in str(caught.value)
    assert whole(session) == before


# --- order, payloads, revisions -----------------------------------------------


def test_the_count_of_a_turn_is_the_sessions_own() -> None:
    """A turn that brings a token count is counted anew: nobody smuggles text past the budget."""
    session = session_of()
    session.add(Turn("user", words(50), tokens=1))
    assert session.window.tokens == 54
    assert recount(session.messages(), WORDS) == 57


def test_a_failing_clock_changes_nothing() -> None:
    """If the clock fails during an input, the session is unchanged."""
    ticks = count()

    def clock() -> datetime:
        if next(ticks) >= 5:
            raise OSError("no clock")
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=1)

    session = add_all(session_of(clock=clock), chat(5))
    before = whole(session)
    writers: list[Callable[[], object]] = [
        session.compress,
        session.clear,
        lambda: session.add_user_turn("hi"),
    ]
    for write in writers:
        with pytest.raises(OSError, match="no clock"):
            write()
        assert whole(session) == before


# --- promote, clear, log --------------------------------------------------------


def test_clear_forgets_the_view_and_keeps_log_and_ledger() -> None:
    """`clear` empties the view, keeps log and ledger, and new ids are unused ones."""
    session = add_all(session_of(auto=False), chat(6))
    log, ledger = session.log(), session.window.linearity
    assert session.clear().state is ContextState.EMPTY
    assert (len(session.window), session.pressure, session.log(), session.window.linearity) == (
        0,
        0.0,
        log,
        ledger,
    )
    session.add_user_turn("a new task")
    assert session.log()[-1].resource_id not in {turn.resource_id for turn in log}
    assert session.window.linearity.get(session.log()[-1].resource_id) is ResourceClass.PRESERVED


def _asks_again(session: ContextSession, number: int, result: str) -> str:
    session.add_assistant_turn(None, [ToolCall(f"c{number}", "read", '{"path": "a.txt"}')])
    session.add_tool_turn(result, tool_call_id=f"c{number}")
    return session.state


def test_a_loop_lowers_the_high_mark_without_being_told() -> None:
    """Three identical calls and results in a row lower the high mark, another result does not."""
    states = []
    for last in ("no such file", "hello"):
        session = session_of(auto=False)
        session.add_user_turn("read the file")
        session.add_assistant_turn(words(570))
        states.append(
            [
                _asks_again(session, number, "no such file" if number < 2 else last)
                for number in range(3)
            ]
        )
        assert 0.6 < session.pressure < 0.7
    assert states == [["ACCUMULATING", "ACCUMULATING", "PRESSURED"], ["ACCUMULATING"] * 3]
