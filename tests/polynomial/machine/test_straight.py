"""Used directly, the machine behaves as users of python-statemachine expect.

Behind a session, it follows the stored events.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.base import InvalidOptionError, PolycontextError, UnknownNameError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextMachine,
    ContextOverflowError,
    ContextPolicy,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    InputKind,
)
from polycontext.polynomial.journal.events import InputEvent
from polycontext.window import ContextWindow, OrderError, ToolCall, Turn
from tests.polynomial.conversations import WORDS, words
from tests.polynomial.session.faulty import Counting


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
    machine.user_turn(Turn("user", "by a turn"), resource_class=ResourceClass.PRESERVED)
    machine.assistant_turn(None, tool_calls=[ToolCall("c1", "look")])
    machine.send("tool_turn", "seen", tool_call_id="c1")
    machine.send("assistant_turn", content="so")
    texts = [turn.text for turn in machine.window.all_turns()]
    assert texts == ["Be brief.", "hello", "by a turn", "", "seen", "so"]
    machine.promote("t5", ResourceClass.PRESERVED)
    assert {machine.window.linearity.get(id_) for id_ in ("t3", "t5")} == {ResourceClass.PRESERVED}
    machine.clear()
    assert place(machine) == (ContextState.EMPTY, machine.window.cleared())


REFUSALS: dict[str, tuple[Callable[[ContextMachine], object], type[PolycontextError], str]] = {
    "illegal": (
        lambda machine: (machine.clear(), machine.assistant_turn("hi")),
        IllegalDirectionError,
        "not allowed in state EMPTY",
    ),
    "too long": (
        lambda machine: machine.user_turn(words(2000)),
        ContextOverflowError,
        "the budget is 1,000",
    ),
    "no payload": (lambda machine: machine.user_turn(7), InvalidOptionError, "a turn of role user"),
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
    cleared = name == "illegal"
    before = (ContextState.EMPTY, machine.window.cleared()) if cleared else place(machine)
    with pytest.raises(error, match=said):
        act(machine)
    assert place(machine) == before
    machine.user_turn("and on")
    assert machine.window.all_turns()[-1].text == "and on"


# --- listeners ----------------------------------------------------------------------------


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


INSIDE: dict[str, tuple[Callable[[ContextMachine], object], bool, list[str], int]] = {
    "before the move": (lambda machine: machine.assistant_turn("early"), True, ["early"], 0),
    "two": (
        lambda machine: (machine.user_turn("one"), machine.user_turn("two")),
        False,
        ["one", "two"],
        0,
    ),
    "out of order": (lambda machine: machine.tool_turn("x", "nobody's"), False, [], 1),
    "unknown": (lambda machine: machine.send("nonsense"), False, [], 1),
    "one that may, and one that may not": (
        lambda machine: (machine.assistant_turn("well"), machine.send("nonsense")),
        False,
        ["well"],
        1,
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_an_action_sends_is_taken_afterwards(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Events sent from an action follow the outer one; a refused one is logged, as in a session."""
    act, before, taken, refused = INSIDE[name]
    session = ContextSession(1000, counter=WORDS)
    for machine in (machine_of(), session.machine):
        caplog.clear()
        machine.user_turn("hello")
        machine.add_listener(Inside(act, before=before))
        machine.user_turn("and?")
        texts = [turn.text for turn in machine.window.all_turns()]
        assert texts == ["hello", "and?", *taken]
        assert len(caplog.records) == refused
        machine.user_turn("once more")


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
    """The library's async way works: events are awaited, and refusals change nothing."""

    async def scene() -> None:
        listener = Awaiting()
        machine = machine_of(listener)
        await machine.user_turn("hello")
        await machine.send("user_turn", "again")
        with pytest.raises(OrderError):
            await machine.tool_turn("x", tool_call_id="nobody's")
        listener.fails = True
        with pytest.raises(ExceptionGroup), machine.raising_errors():
            await machine.user_turn("kept")
        assert len(machine.window) == 3
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
    session.clear()
    events = session.history.events()
    assert listener.heard == [
        (event.given.kind, event.state) for event in events if isinstance(event, InputEvent)
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
        "an action of the machine failed; the input stays accepted"
    ]


class Calm:
    """Let nothing press."""

    def is_pressured(self, step: object) -> bool:
        """Return that it does not."""
        return step is None


@pytest.mark.parametrize("listeners", [(), (Calm(),)])
def test_a_listener_guards_too(listeners: tuple[Calm, ...]) -> None:
    """Also one that is added after the guards of the machine alone have been asked."""
    machine = machine_of(max_tokens=100)
    machine.user_turn("hello")
    machine.assistant_turn("hi")
    machine.add_listener(*listeners)
    machine.user_turn("go on")
    machine.assistant_turn(words(80))
    expected = ContextState.ACCUMULATING if listeners else ContextState.PRESSURED
    assert machine.context_state is expected
