"""Used directly, the machine behaves as users of python-statemachine expect.

Behind a session, it follows the stored events.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from statemachine import State, StateChart

from polycontext.base import InvalidOptionError, PolycontextError, UnknownNameError
from polycontext.linearity import ResourceClass, UnknownResourceError
from polycontext.polynomial import (
    VALID_DIRECTIONS,
    ContextInput,
    ContextMachine,
    ContextOverflowError,
    ContextPolicy,
    ContextPressureError,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    InputKind,
)
from polycontext.polynomial.journal.events import InputEvent, input_of
from polycontext.polynomial.journal.log import Log
from polycontext.polynomial.session.recall import recall_edit
from polycontext.pressure import ConflictError, FixedThreshold
from polycontext.window import ContextWindow, OrderError, ToolCall, Turn
from tests.laws.internal.machines import TableMachine
from tests.polynomial.conversations import WORDS, words
from tests.polynomial.session.faulty import Counting, seeded


def machine_of(
    *listeners: object, max_tokens: int = 1000, policy: ContextPolicy | None = None
) -> ContextMachine:
    """Return a machine that counts words."""
    return ContextMachine(
        ContextWindow(max_tokens, counter=WORDS), policy or ContextPolicy(), listeners=[*listeners]
    )


def place(machine: ContextMachine) -> tuple[ContextState, ContextWindow]:
    """Return where a machine stands."""
    return machine.context_state, machine.window


# --- events as python-statemachine's users send them ----------------------------------


def test_events_take_what_their_input_takes() -> None:
    """Every event works as a method or by name, with every kind of argument that it takes."""
    machine = machine_of()
    machine.system("Be brief.")
    machine.user_turn("hello")
    machine.send("user_turn", "again")
    machine.user_turn(Turn("user", "by a turn", name="ann"), resource_class=ResourceClass.PRESERVED)
    machine.assistant_turn(None, tool_calls=[ToolCall("c1", "look"), ToolCall("c2", "look")])
    machine.tool_turn("seen", tool_call_id="c1")
    machine.send("tool_turn", "seen too", tool_call_id="c2")
    machine.send("assistant_turn", content="so")
    assert [turn.text for turn in machine.window.all_turns()] == [
        "Be brief.",
        "hello",
        "again",
        "by a turn",
        "",
        "seen",
        "seen too",
        "so",
    ]
    assert machine.context_state is ContextState.ACCUMULATING
    machine.promote("t7", ResourceClass.PRESERVED)
    assert machine.window.linearity.get("t7") is ResourceClass.PRESERVED
    assert machine.window.linearity.get("t4") is ResourceClass.PRESERVED
    machine.clear()
    assert place(machine) == (ContextState.EMPTY, machine.window.cleared())


def test_compress_takes_a_target_or_none() -> None:
    """Without a target the machine compresses to 0.7; with one, to that."""

    def full() -> ContextMachine:
        machine = machine_of(policy=ContextPolicy(threshold=FixedThreshold(0.9, 0.5)))
        for number in range(18):
            machine.user_turn(words(40, f"u{number}_"))
        return machine

    gently, harder, sent = full(), full(), full()
    gently.compress()
    harder.compress(0.3)
    sent.send("compress", 0.3)
    assert 0.3 < gently.window.pressure <= 0.7
    assert harder.window.pressure <= 0.3
    assert place(harder) == place(sent)
    assert gently.context_state is ContextState.COMPRESSED


REFUSALS: dict[str, tuple[Callable[[ContextMachine], object], type[PolycontextError], str]] = {
    "illegal": (
        lambda machine: machine.clear() or machine.assistant_turn("hi"),
        IllegalDirectionError,
        "not allowed in state EMPTY",
    ),
    "twice cleared": (
        lambda machine: machine.clear() or machine.send("clear"),
        IllegalDirectionError,
        "input clear is not allowed",
    ),
    "out of order": (
        lambda machine: machine.tool_turn("x", tool_call_id="nobody's"),
        OrderError,
        "nobody's",
    ),
    "too long": (
        lambda machine: machine.user_turn(words(2000)),
        ContextOverflowError,
        "the budget is 1,000",
    ),
    "an unknown id": (
        lambda machine: machine.promote("t99", ResourceClass.PRESERVED),
        UnknownResourceError,
        "t99",
    ),
    "no payload": (lambda machine: machine.user_turn(7), InvalidOptionError, "a turn of role user"),
    "no number": (
        lambda machine: machine.compress("much"),
        InvalidOptionError,
        "a target pressure",
    ),
    "no event": (
        lambda machine: machine.send("user_trun", "x"),
        UnknownNameError,
        "unknown event 'user_trun'",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_speak_our_words_and_change_nothing(name: str) -> None:
    """A refused event raises the session's error and leaves the machine usable where it was."""
    act, error, said = REFUSALS[name]
    machine = machine_of()
    machine.user_turn("hello")
    cleared = name in ("illegal", "twice cleared")
    before = (ContextState.EMPTY, machine.window.cleared()) if cleared else place(machine)
    with pytest.raises(error, match=said):
        act(machine)
    assert place(machine) == before
    machine.user_turn("and on")
    assert machine.window.all_turns()[-1].text == "and on"


def test_a_pressured_machine_takes_no_turn() -> None:
    """In PRESSURED a turn is refused as pressure, also straight on the machine."""
    machine = machine_of(policy=ContextPolicy(threshold=FixedThreshold(0.5, 0.2)))
    machine.user_turn("the task")
    machine.assistant_turn(words(600))
    assert machine.context_state is ContextState.PRESSURED
    before = place(machine)
    with pytest.raises(ContextPressureError, match="must wait"):
        machine.user_turn("more")
    assert place(machine) == before


# --- listeners ----------------------------------------------------------------------------


def test_a_listener_sees_state_and_window_after_each_event() -> None:
    """In ``after_*`` a listener sees the same new window that the machine has after the call."""
    listener = Counting()
    machine = machine_of(listener)
    seen: list[ContextWindow] = []
    for act in (
        lambda: machine.user_turn("a"),
        lambda: machine.assistant_turn("b"),
        lambda: machine.compress(0.5),
        machine.clear,
    ):
        act()
        seen.append(machine.window)
    assert listener.heard == [
        (InputKind.USER_TURN, ContextState.ACCUMULATING),
        (InputKind.ASSISTANT_TURN, ContextState.ACCUMULATING),
        (InputKind.COMPRESS, ContextState.COMPRESSED),
        (InputKind.CLEAR, ContextState.EMPTY),
    ]
    assert all(heard is window for heard, window in zip(listener.windows, seen, strict=True))


class Inside:
    """Send other events from inside of the first one, once."""

    def __init__(self, act: Callable[[ContextMachine], object], *, before: bool = False) -> None:
        self.act, self.before, self.done = act, before, False

    def before_transition(self, machine: ContextMachine) -> None:
        """Send, if that is when."""
        self.send(machine, now=self.before)

    def after_transition(self, machine: ContextMachine) -> None:
        """Send, if that is when."""
        self.send(machine, now=not self.before)

    def send(self, machine: ContextMachine, *, now: bool) -> None:
        """Send, once."""
        if now and not self.done:
            self.done = True
            self.act(machine)


def test_a_listener_may_send_the_next_event() -> None:
    """An event that is sent from behind another is taken after it, on the window that it saw."""
    machine = machine_of(Inside(lambda machine: machine.assistant_turn("at your service")))
    machine.user_turn("hello")
    assert [turn.text for turn in machine.window.all_turns()] == ["hello", "at your service"]


INSIDE: dict[str, tuple[Callable[[ContextMachine], object], bool, type[PolycontextError]]] = {
    "for a window that is gone": (
        lambda machine: machine.assistant_turn("too early"),
        True,
        ConflictError,
    ),
    "two for one window": (
        lambda machine: (machine.user_turn("one"), machine.user_turn("two")),
        False,
        ConflictError,
    ),
    "out of order": (
        lambda machine: machine.tool_turn("x", tool_call_id="nobody's"),
        False,
        OrderError,
    ),
    "unknown": (lambda machine: machine.send("nonsense"), False, UnknownNameError),
    "one that may, and one that may not": (
        lambda machine: (machine.promote("t2", ResourceClass.PRESERVED), machine.send("nonsense")),
        False,
        UnknownNameError,
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_a_listener_sends_is_taken_whole_or_refused_in_words(name: str) -> None:
    """If an event sent from a listener is refused, the outer event is too, and nothing changes."""
    act, before, error = INSIDE[name]
    machine = machine_of()
    machine.user_turn("hello")
    stood = place(machine)
    machine.add_listener(Inside(act, before=before))  # type: ignore[no-untyped-call]
    with pytest.raises(error):
        machine.user_turn("and?")
    assert place(machine) == stood
    machine.user_turn("once more")
    assert [turn.text for turn in machine.window.all_turns()] == ["hello", "once more"]


def test_an_illegal_event_from_inside_undoes_the_outer_one() -> None:
    """An illegal event sent from a listener raises our error and undoes the outer event."""
    machine = machine_of()
    machine.user_turn("hello")
    stood = place(machine)
    machine.add_listener(  # type: ignore[no-untyped-call]
        Inside(lambda machine: machine.assistant_turn("to whom?"))
    )
    with pytest.raises(
        IllegalDirectionError, match="input assistant_turn is not allowed in state EMPTY"
    ):
        machine.clear()
    assert place(machine) == stood


class Lamp(StateChart[Any]):
    """Be a machine of somebody else's."""

    allow_event_without_transition = False

    off = State(initial=True)
    on = State(final=True)
    switch = off.to(on)


def test_the_refusal_of_another_machine_is_its_own() -> None:
    """Another machine's error in a listener is passed on, and our machine stays where it was."""
    lamp = Lamp()
    lamp.switch()
    machine = machine_of(Inside(lambda _: lamp.switch()))
    with pytest.raises(Exception, match="Can't Switch") as failure:
        machine.user_turn("hello")
    assert type(failure.value).__name__ == "TransitionNotAllowed"
    assert place(machine) == (ContextState.EMPTY, ContextWindow(1000, counter=WORDS))


class Awaiting:
    """Listen without blocking, and fail when told to."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []
        self.fails = False

    async def after_transition(self, event: str, model: Any) -> None:
        """Write an event down."""
        await asyncio.sleep(0)
        self.heard.append((str(event), len(model.window)))
        if self.fails:
            raise RuntimeError("no")


def test_a_machine_with_coroutine_listeners_is_awaited() -> None:
    """The library's async way works: events are awaited, refusals are ours and change nothing."""

    async def scene() -> None:
        listener = Awaiting()
        machine = machine_of(listener)
        await machine.activate_initial_state()
        await machine.user_turn("hello")
        await machine.send("user_turn", "again")
        before = place(machine)
        with pytest.raises(OrderError):
            await machine.tool_turn("x", tool_call_id="nobody's")
        listener.fails = True
        with pytest.raises(RuntimeError):
            await machine.user_turn("lost")
        assert place(machine) == before
        assert listener.heard == [("user_turn", 1), ("user_turn", 2), ("user_turn", 3)]

    asyncio.run(scene())


# --- behind a session ---------------------------------------------------------------------


def test_listeners_of_a_session_hear_every_stored_event_once() -> None:
    """Listeners of a session receive every stored event once, in order, and no refused calls."""
    listener = Counting()
    session = ContextSession(300, counter=WORDS, listeners=[listener])
    session.add_user_turn("the task")
    for number in range(12):
        session.add_assistant_turn(words(30, f"a{number}_"))
        with pytest.raises(OrderError):
            session.add_tool_turn("x", tool_call_id="nobody's")
    session.extend([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
    session.promote("t1", ResourceClass.PRESERVED) if session.window.linearity.get(
        "t1"
    ) < ResourceClass.PRESERVED else session.clear()
    events = session.history.events()
    assert listener.heard == [
        (input_of(event).kind, event.state) for event in events if isinstance(event, InputEvent)
    ]
    kinds = [kind for kind, _ in listener.heard]
    compressed = kinds.index(InputKind.COMPRESS)
    assert kinds[compressed + 1] is InputKind.ASSISTANT_TURN
    assert listener.windows[-1] is session.window
    assert listener.windows[compressed] is not listener.windows[compressed + 1]


def test_a_listener_with_a_machine_of_its_own_does_not_break_the_engine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error in a listener's own context machine is logged and does not break the session."""
    session = ContextSession(
        1000, counter=WORDS, listeners=[Inside(lambda _: machine_of().clear())]
    )
    session.add_user_turn("hello")
    session.add_assistant_turn("hi")
    assert place(session.machine) == (session.state, session.window)
    assert [record.message for record in caplog.records] == [
        "a listener of the machine failed; the input stays accepted"
    ]


# --- lockstep --------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.no_cover
def test_table_and_machine_keep_in_step() -> None:
    """Over 10,000 random inputs, both engines agree on states, windows and error messages."""
    random = seeded(5)
    met: set[tuple[str, str, bool]] = set()
    for _ in range(100):
        policy = ContextPolicy(threshold=FixedThreshold(0.6, 0.3), cooldown=random.randrange(3))
        machine = machine_of(max_tokens=200, policy=policy)
        table = TableMachine(ContextWindow(200, counter=WORDS), policy)
        inputs = Inputs(random, table)
        for _ in range(100):
            given, state = inputs.next(), table.context_state
            refused = outcome(machine.advance, given)
            assert outcome(table.advance, given) == refused
            assert place(machine) == (table.context_state, table.window)
            met.add((state, given.kind, refused is None))
            if refused is None:
                inputs.taken(given)
    cells = {(state, kind) for state in ContextState for kind in InputKind}
    assert {(state, kind) for state, kind, _ in met} == cells
    assert {(state, kind) for state, kind, taken in met if taken} == {
        (s, kind) for s in ContextState for kind in VALID_DIRECTIONS[s]
    }


def outcome(advance: Callable[[ContextInput], object], given: ContextInput) -> str | None:
    """Return None where an engine takes an input, the refusal where it does not."""
    try:
        advance(given)
    except PolycontextError as refused:
        return f"{type(refused).__name__}: {refused}"
    return None


class Inputs:
    """Generated inputs for an engine, most of them legal, with a log of what can be recalled."""

    def __init__(self, random: Random, table: TableMachine) -> None:
        self.random, self.table, self.log, self.windows = random, table, Log(), [table.window]

    def taken(self, given: ContextInput) -> None:
        """Keep a turn that was taken in, and the window."""
        self.windows.append(self.table.window)
        turn = self.table.window.extract()
        if isinstance(given.payload, Turn | str) and turn is not None:
            self.log = self.log.append(turn)

    def next(self) -> ContextInput:
        """Return the next input."""
        open_calls = self.table.window.open_calls
        if open_calls and self.random.random() < 0.8:
            return ContextInput.tool_turn(self.text(), open_calls[0])
        makers: list[Callable[[], ContextInput]] = [
            lambda: ContextInput.user_turn(self.text(), self.random.choice([None, *ResourceClass])),
            lambda: ContextInput.assistant_turn(self.text(), self.calls()),
            lambda: ContextInput.tool_turn(self.text(), "nobody's"),
            lambda: ContextInput.system(self.text()),
            lambda: ContextInput.compress(self.random.choice([0.0, 0.3, 0.7, 1.0])),
            ContextInput.clear,
            lambda: ContextInput.promote(
                self.random.choice([*self.table.window.linearity, "t99"]),
                self.random.choice([*ResourceClass]),
            ),
            lambda: ContextInput.recall(recall_edit(self.table.window, self.log, self.recalled())),
            lambda: ContextInput.resize(self.random.choice([60, 200, 400])),
            lambda: ContextInput.rewind(
                self.random.choice(self.windows).with_room(self.table.window.max_tokens)
            ),
            lambda: ContextInput.forget(self.table.window),
        ]
        return self.random.choice(makers)()

    def text(self) -> str:
        """Return a text, now and then one that is most of the window or more."""
        return words(self.random.choice([1, 5, 20, 60, 300]))

    def calls(self) -> list[ToolCall]:
        """Return no call, or a few."""
        return [
            ToolCall(f"c{number}", "look") for number in range(self.random.choice([0, 0, 1, 2]))
        ]

    def recalled(self) -> list[str]:
        """Return the id of a turn that was taken in, if there is one."""
        return [self.random.choice(self.log).resource_id] if self.log else []
