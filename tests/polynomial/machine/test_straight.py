"""Used directly, the machine behaves as users of python-statemachine expect.

Behind a session, it follows the stored events.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextMachine,
    ContextPolicy,
    ContextSession,
    ContextState,
)
from polycontext.window import ContextWindow, OrderError, ToolCall, Turn
from tests.polynomial.conversations import WORDS, words


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
