"""The session: guards, cooldown, overflow, order, revisions, signals, reserve and messages."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given

from polycontext.base import InvalidOptionError
from polycontext.linearity import DemotionError, ResourceClass, UnknownResourceError
from polycontext.polynomial import (
    ContextOverflowError,
    ContextPressureError,
    ContextSession,
    ContextState,
)
from polycontext.pressure import AdaptiveThreshold, ConflictError, FixedThreshold, Signals
from polycontext.testing import FAST
from polycontext.testing.strategies import Move
from polycontext.window import (
    InvalidTurnError,
    OrderError,
    ToolCall,
    Turn,
    count_tools,
)
from tests.polynomial.conversations import (
    WORDS,
    Engine,
    add_all,
    chat,
    recount,
    session_moves,
    session_of,
    whole,
    with_engine,
    words,
)

ACCUMULATING, PRESSURED, COMPRESSED = (
    ContextState.ACCUMULATING,
    ContextState.PRESSURED,
    ContextState.COMPRESSED,
)
engines = pytest.mark.parametrize("engine", ["machine", "table"])


# --- guards, hysteresis, cooldown --------------------------------------------


@engines
def test_exactly_the_high_mark_is_not_pressured(engine: Engine) -> None:
    """A pressure of exactly 0.70 is not pressured; one token more is."""
    session = with_engine(engine, session_of(1000, auto=False))
    session.add_user_turn(words(696))
    assert (session.pressure, session.state) == (0.7, ACCUMULATING)
    session.add_assistant_turn("")
    assert session.state is PRESSURED


@engines
def test_hysteresis(engine: Engine) -> None:
    """Compression aims at the low mark, so many turns go in before the next one."""
    session = add_all(with_engine(engine, session_of(1000)), chat(80, 20))
    compressions = [
        event
        for event in session.history.events()
        if event.state is COMPRESSED and type(event).__name__ == "CompressEvent"
    ]
    assert 2 <= len(compressions) <= 80 * 24 / 250
    assert session.pressure <= 0.7 + 24 / 1000


@engines
@pytest.mark.parametrize("cooldown", [0, 1, 2, 4])
def test_cooldown_counts_turns_since_the_compression(cooldown: int, engine: Engine) -> None:
    """The state stays COMPRESSED for `cooldown` turns after each compression."""
    session = add_all(with_engine(engine, session_of(auto=False, cooldown=cooldown)), chat(3))
    for _ in range(2):
        session.compress(0.5)
        states = [session.add(turn).state for turn in chat(6, 3)]
        assert states.count(COMPRESSED) == max(0, cooldown - 1)
        assert states == sorted(states, reverse=True)


def test_a_pressing_turn_ends_the_cooldown() -> None:
    """The pressured guard comes before the cooldown."""
    session = add_all(session_of(auto=False, cooldown=9), chat(3))
    session.compress(0.5)
    assert session.add_user_turn(words(800)).state is PRESSURED


def test_without_auto_a_pressured_session_waits_for_its_caller() -> None:
    """With ``auto=False`` a pressured session refuses turns until its caller compresses."""
    session = add_all(session_of(400, auto=False), chat(12, 20))
    assert session.state is PRESSURED
    with pytest.raises(ContextPressureError):
        session.add_user_turn("and another thing")
    assert session.compress().compressed
    assert session.add_user_turn("and another thing").state is COMPRESSED


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


def test_with_auto_a_turn_over_the_budget_compresses_at_once() -> None:
    """A turn that exceeds the budget triggers a compression, so that `messages` works."""
    session = add_all(session_of(1000), chat(13, 45))
    assert session.state is ACCUMULATING
    output = session.add_user_turn(words(400, "big"))
    assert output.compressed
    assert output.state is COMPRESSED
    assert recount(session.messages(), WORDS) <= 1000


@pytest.mark.parametrize("size", range(2, 14))
def test_a_high_mark_at_the_end_of_the_window_keeps_the_view_within_budget(size: int) -> None:
    """Even with a threshold of 1.0, and during the cooldown, the view stays within budget."""
    session = session_of(500, threshold=FixedThreshold(1.0), cooldown=1000)
    for number, turn in enumerate(chat(100, size)):
        session.add(turn)
        assert recount(session.messages(), WORDS) <= 500
        if number == 10:
            session.compress(0.1)


@engines
def test_signals_move_the_threshold(engine: Engine) -> None:
    """Errors lower the high mark and progress raises it."""
    session = with_engine(engine, session_of(auto=False, threshold=AdaptiveThreshold()))
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


@engines
@pytest.mark.parametrize("auto", [True, False])
def test_a_turn_that_could_never_fit_is_refused_with_both_numbers(
    engine: Engine, *, auto: bool
) -> None:
    """The error names what the request would need at least and the budget; nothing changes."""
    session = with_engine(engine, session_of(100, auto=auto))
    session.add_system(words(10, "s"))
    session.add_user_turn(words(20, "task"))
    before = whole(session)
    with pytest.raises(ContextOverflowError) as caught:
        session.add_user_turn(words(80, "big"), oversize="error")
    assert (caught.value.tokens, caught.value.max_tokens) == (14 + 24 + 84 + 3, 100)
    assert "125" in str(caught.value)
    assert "100" in str(caught.value)
    assert whole(session) == before


def test_overflow_while_pressured_leaves_no_trace() -> None:
    """With `auto` a refused turn does not even leave the compression that was made for it."""
    for size in range(300, 420, 5):
        session = add_all(session_of(400), chat(13, 20))
        before = whole(session)
        assert session.state is ContextState.PRESSURED
        try:
            session.add_user_turn(words(size, "big"), oversize="error")
        except ContextOverflowError as error:
            assert error.tokens > error.max_tokens == 400
            assert whole(session) == before
            return
    pytest.fail("no turn was refused")


ADD_BIG: dict[str, Callable[[ContextSession], object]] = {
    "blocking": lambda session: session.add_user_turn(words(900, "big")),
    "async": lambda session: asyncio.run(session.aadd_user_turn(words(900, "big"))),
}


@pytest.mark.parametrize("add", ADD_BIG.values(), ids=ADD_BIG.keys())
def test_a_turn_that_only_fits_the_harshest_compression_is_accepted(
    add: Callable[[ContextSession], object],
) -> None:
    """If the low mark does not free enough, the session compresses as far as necessary."""
    session = session_of(1000)
    session.add_user_turn(words(10, "task"))
    session.add_assistant_turn(words(800, "long"))
    projector, threshold = session.policy.projector, session.policy.threshold
    gentlest = projector.commit(
        session.window,
        projector.fulfil(projector.plan_between(session.window, threshold.low, threshold.high())),
    )
    assert gentlest.tokens_after + 904 + 3 > 1000
    add(session)
    assert recount(session.messages(), WORDS) <= 1000


def test_reserve_and_tools_are_taken_off_the_window() -> None:
    """Reserve and tool definitions are subtracted from the window."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": "search",
                "description": "find a flight",
                "parameters": {"type": "object"},
            },
        }
    ]
    session = session_of(1000, reserve=200, tools=tools)
    assert session.window.max_tokens == 1000 - 200 - count_tools(WORDS, tools) < 800


@pytest.mark.parametrize("reserve", [100, 1000])
def test_a_reserve_that_leaves_nothing_is_refused(reserve: int) -> None:
    """A reserve must be a number of tokens that leaves some."""
    with pytest.raises(ContextOverflowError) as caught:
        session_of(100, reserve=reserve)
    assert (caught.value.tokens, caught.value.max_tokens) == (reserve, 100)


def test_a_negative_reserve_is_refused() -> None:
    """It would make the window larger than it is."""
    with pytest.raises(InvalidOptionError, match="reserve"):
        session_of(100, reserve=-5)


# --- order, payloads, revisions -----------------------------------------------


@engines
@pytest.mark.parametrize(
    "turn",
    [
        Turn("tool", "found", tool_call_id="unknown"),
        Turn("tool", "again", tool_call_id="c0"),
        Turn("user", "are you there?"),
        Turn("assistant", "one moment"),
        Turn("system", "be brief"),
    ],
    ids=[
        "result of an unknown call",
        "second result",
        "user turn while open",
        "assistant turn while open",
        "system turn while open",
    ],
)
def test_turns_out_of_order_are_refused_and_change_nothing(turn: Turn, engine: Engine) -> None:
    """While a call is open only its result may come, and once."""
    session = with_engine(engine, session_of())
    session.add_user_turn("find flights")
    session.add_assistant_turn(tool_calls=[ToolCall("c0", "search"), ToolCall("c1", "search")])
    session.add_tool_turn("found", tool_call_id="c0")
    before = whole(session)
    with pytest.raises(OrderError, match="c1"):
        session.add(turn)
    assert whole(session) == before
    assert session.add_tool_turn("found too", tool_call_id="c1").window.open_calls == ()


def test_a_result_without_any_call_is_refused() -> None:
    """Where no call is open the error says so."""
    session = add_all(session_of(), chat(2))
    with pytest.raises(OrderError, match="no call is open"):
        session.add_tool_turn("found", tool_call_id="c0")


def test_calls_come_in_the_shapes_of_providers() -> None:
    """Tool calls may have OpenAI's, Anthropic's or our form, and others are refused."""
    session = session_of()
    session.add_user_turn("find flights")
    function = {"name": "search", "arguments": '{"q": 1}'}
    calls: list[Any] = [
        {"id": "a", "function": function},
        {"id": "b", "name": "search", "input": {"q": 1}},
        ToolCall("c", "search", '{"q":1}'),
    ]
    turn = session.add_assistant_turn(tool_calls=calls).window.extract()
    assert turn is not None
    assert [(call.id, call.name, call.arguments.replace(" ", "")) for call in turn.tool_calls] == [
        (i, "search", '{"q":1}') for i in "abc"
    ]
    faulty: list[Any] = [{"id": "d"}, {"id": "d", "name": "f", "input": {1: object()}}, "search"]
    for broken in faulty:
        with pytest.raises(InvalidTurnError, match="tool_calls"):
            session.add_assistant_turn(tool_calls=[broken])


def test_text_that_cannot_be_stored_is_refused() -> None:
    """A lone surrogate never gets in."""
    session = add_all(session_of(), chat(1))
    before = whole(session)
    with pytest.raises(InvalidTurnError, match="surrogate"):
        session.add_assistant_turn("caf\ud800")
    assert whole(session) == before


def test_the_count_of_a_turn_is_the_sessions_own() -> None:
    """A turn that brings a token count is counted anew: nobody smuggles text past the budget."""
    session = session_of()
    session.add(Turn("user", words(50), tokens=1))
    assert session.window.tokens == 54
    assert recount(session.messages(), WORDS) == 57


@pytest.mark.parametrize("target", [-0.1, 1.5, float("nan"), True, "half"])
def test_impossible_targets_are_refused(target: Any) -> None:
    """A target pressure is a number from 0 to 1."""
    session = add_all(session_of(), chat(2))
    before = whole(session)
    with pytest.raises(InvalidOptionError):
        session.compress(target)
    assert whole(session) == before


def test_a_stale_writer_gets_a_conflict() -> None:
    """Every writing method refuses a stale revision and changes nothing."""
    session = add_all(session_of(), chat(4))
    stale = session.history.revision - 1
    before = whole(session)
    writers: list[Callable[[], object]] = [
        lambda: session.add_user_turn("hi", expected_revision=stale),
        lambda: session.add_assistant_turn("hi", expected_revision=stale),
        lambda: session.add_system("hi", expected_revision=stale),
        lambda: session.add_tool_turn("hi", tool_call_id="c", expected_revision=stale),
        lambda: session.compress(expected_revision=stale),
        lambda: session.clear(expected_revision=stale),
        lambda: session.recall(["t1"], expected_revision=stale),
        lambda: session.promote("t2", ResourceClass.PRESERVED, expected_revision=stale),
    ]
    for write in writers:
        with pytest.raises(ConflictError) as caught:
            write()
        assert (caught.value.expected, caught.value.found) == (stale, 4)
        assert whole(session) == before
    session.add_user_turn("hi", expected_revision=4)
    assert session.history.revision == 5


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


def test_promoted_turns_are_preserved_from_then_on() -> None:
    """A promoted turn stays word for word; lower or equal classes and unknown ids are refused."""
    session = add_all(session_of(auto=False), chat(20))
    session.promote("t4", ResourceClass.PRESERVED, rationale="the user came back to it")
    with pytest.raises(DemotionError):
        session.promote("t4", ResourceClass.REQUIRED)
    with pytest.raises(UnknownResourceError):
        session.promote("t400", ResourceClass.PRESERVED)
    session.compress(0.0)
    assert {"t1", "t4", "t19"} <= {turn.resource_id for turn in session.window.all_turns()}
    assert session.log()[3] in session.window.all_turns()


@engines
def test_clear_forgets_the_view_and_keeps_log_and_ledger(engine: Engine) -> None:
    """`clear` empties the view, keeps log and ledger, and new ids are unused ones."""
    session = add_all(with_engine(engine, session_of(auto=False)), chat(6))
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


@given(session_moves())
def test_the_log_keeps_every_accepted_turn_in_order(moves: list[Move]) -> None:
    """The log holds exactly the accepted turns, in order and verbatim, despite compressions."""
    session = ContextSession(300, counter=FAST)
    accepted = []
    for turn, resource_class in moves:
        try:
            session.add(turn, resource_class)
        except (ContextOverflowError, OrderError):
            continue
        accepted.append(turn)
    said = [(turn.role, turn.content, turn.tool_calls, turn.tool_call_id) for turn in session.log()]
    assert said == [
        (turn.role, turn.content, turn.tool_calls, turn.tool_call_id) for turn in accepted
    ]


@pytest.mark.parametrize(
    ("option", "value"), [("cooldown", -1), ("cooldown", 1.5), ("cooldown", True)]
)
def test_an_impossible_option_is_refused(option: str, value: Any) -> None:
    """An option outside its range raises an error with the legal values."""
    with pytest.raises(InvalidOptionError, match=option):
        ContextSession(1000, **{option: value})


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


def test_a_pinned_result_that_does_not_fit_gets_in_all_the_same() -> None:
    """A tool result that is too large is whole in the log and cut in the view, even if pinned."""
    session = ContextSession(max_tokens=200, counter=FAST)
    session.add_user_turn("Repair the fence.")
    session.add_assistant_turn(None, [ToolCall("c1", "look")])
    session.add_tool_turn("A board is loose. " * 200, tool_call_id="c1", resource_class="preserved")
    assert session.log()[-1].text == "A board is loose. " * 200
    assert session.window.total_tokens <= 200


def test_what_fits_beside_the_rules_is_taken_in_though_other_pinned_turns_leave_no_room() -> None:
    """A long message is truncated in the view and whole in the log, or refused if so asked."""
    session = ContextSession(max_tokens=200, counter=FAST)
    session.add_system("Be brief.")
    session.add_user_turn("Repair the fence. " * 15)
    session.add_assistant_turn("Gladly.")
    before = session.window
    with pytest.raises(ContextOverflowError):
        session.add_user_turn("Look at this board. " * 30, oversize="error")
    assert session.window is before
    said = "Look at this board. " * 30
    window = session.add_user_turn(said).window
    assert [turn.text for turn in window.all_turns()][1] == "Repair the fence. " * 15
    assert window.all_turns()[-1].text.startswith("[Cut; the whole is ")
    assert session.log()[-1].text == said
    assert window.total_tokens <= 200
    careful = ContextSession(max_tokens=200, counter=FAST, auto=False)
    careful.add_user_turn("Repair the fence. " * 15)
    with pytest.raises(ContextOverflowError):
        careful.add_user_turn(said, oversize="error")
