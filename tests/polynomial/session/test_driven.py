"""The machine that a user holds: driven by the session and by itself, listened to, and extended."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from statemachine import State

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    SessionWriteError,
)
from polycontext.polynomial.journal.events import MoveEvent
from polycontext.polynomial.machine.step import Step
from polycontext.window import ContextWindow, ToolCall, Turn
from tests.polynomial.conversations import session_of, text_of, texts

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


# --- drive it -----------------------------------------------------------------------

BY_VERB: dict[str, tuple[Callable[[ContextSession], object], list[Any], dict[str, Any]]] = {
    "user_turn": (
        lambda s: s.add_user_turn("more", name="ann"),
        ["user_turn", "more"],
        {"name": "ann"},
    ),
    "a turn": (
        lambda s: s.add(Turn("user", "x", timestamp=NOW)),
        ["user_turn", Turn("user", "x", timestamp=NOW)],
        {},
    ),
    "system": (lambda s: s.add_system("Be brief."), ["system", "Be brief."], {}),
    "assistant_turn": (lambda s: s.add_assistant_turn("hi"), ["assistant_turn", "hi"], {}),
    "compress": (lambda s: s.compress(0.5), ["compress", 0.5], {}),
    "clear": (lambda s: s.clear(keep_system=True), ["clear"], {"keep_system": True}),
    "promote": (lambda s: s.promote("t2", "PRESERVED"), ["promote", "t2", "PRESERVED"], {}),
    "recall": (lambda s: s.recall("t1"), ["recall", "t1"], {}),
    "rewind": (lambda s: s.history.rewind(1), ["rewind", 1], {}),
    "forget": (lambda s: s.history.forget("t1"), ["forget", "t1"], {}),
    "an input": (lambda s: s.compress(0.5), [ContextInput.compress(0.5)], {}),
}


def begun(**options: Any) -> ContextSession:
    """Return a session with a question and an answer, whose clock stands."""
    session = session_of(600, clock=lambda: NOW, **options)
    session.add_user_turn("hello")
    session.add_assistant_turn("hi")
    return session


@pytest.mark.parametrize("name", BY_VERB)
def test_a_verb_and_its_event_do_the_same(name: str) -> None:
    """By the verb, by `send`, by `asend` and by the live machine: the same journal."""
    by_verb, by_event, awaited, by_machine = begun(), begun(), begun(), begun()
    verb, args, kwargs = BY_VERB[name]
    verb(by_verb)
    by_event.send(*args, **kwargs)
    asyncio.run(awaited.asend(*args, **kwargs))
    if isinstance(args[0], str):
        by_machine.machine.send(*args, **kwargs)
    else:
        by_machine.machine.advance(args[0])
    assert (
        by_event.history.events()
        == by_verb.history.events()
        == awaited.history.events()
        == by_machine.history.events()
    )
    assert by_event.conversation == by_verb.conversation == by_machine.conversation


# --- listen to it --------------------------------------------------------------------


class Awaited:
    """Listen without blocking, and fail when told to."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.fails = False

    async def after_transition(self, event: str, machine: ContextMachine) -> None:
        """Listen."""
        await asyncio.sleep(0)
        self.heard.append((str(event), machine.context_state))
        if self.fails:
            raise RuntimeError("no")


def test_coroutine_listeners_are_awaited(caplog: pytest.LogCaptureFixture) -> None:
    """Coroutine listeners are awaited, and a blocking write in an event loop is refused first."""
    listener = Awaited()

    async def scene() -> None:
        session = session_of(600, listeners=[listener])
        await session.aadd_user_turn("hello")
        await session.machine.send("assistant_turn", "hi")
        await session.asend("compress", 0.1)
        with pytest.raises(SessionWriteError, match="coroutine"):
            session.add_user_turn("too late")
        assert texts(session) == ["hello", "hi"]
        assert session.machine.context_state == session.state
        listener.fails = True
        await asyncio.gather(*(session.aadd_user_turn(f"t{number}") for number in range(3)))
        assert len(session.log()) == 5

    asyncio.run(scene())
    assert [name for name, _ in listener.heard] == [
        "user_turn",
        "assistant_turn",
        "compress",
        *["user_turn"] * 3,
    ]
    assert len(caplog.records) == 3
    outside = session_of(600, listeners=[Awaited()])
    outside.add_user_turn("no loop is running")
    assert texts(outside) == ["no loop is running"]


# --- extend it -----------------------------------------------------------------------


class Approval(ContextMachine):
    """Let a tool call wait for a person."""

    approval = State("APPROVAL", value="APPROVAL")
    assistant_turn = ContextMachine.accumulating.to(
        approval, cond="pays"
    ) | ContextMachine.compressed.to(approval, cond="pays")
    approve = approval.to(ContextMachine.accumulating, cond="is_signed")

    entered: list[str] = []  # noqa: RUF012

    def pays(self, step: Step) -> bool:
        """Return whether the turn calls the tool that pays."""
        return any(call.name == "pay" for call in step.input.turn.tool_calls)

    def is_signed(self, step: Step) -> bool:
        """Return whether somebody has signed."""
        return bool(step.kwargs.get("by"))

    def on_enter_approval(self) -> None:
        """Tell somebody."""
        self.entered.append(self.context_state)


PAY = (ToolCall("c1", "pay"),)


def test_a_state_of_its_own_is_persisted(tmp_path: Path) -> None:
    """A turn leads there, only its events leave it, and the journal has names and arguments."""
    Approval.entered.clear()
    place = tmp_path / "a.db"
    with ContextSession.open(place, "one", max_tokens=600, machine=Approval) as session:
        session.add_user_turn("Pay the bill.")
        assert session.add_assistant_turn(tool_calls=PAY).state == "APPROVAL"
        assert Approval.entered == ["APPROVAL"]
        with pytest.raises(
            IllegalDirectionError,
            match=r"not allowed in state APPROVAL. Send resize, rewind, forget, approve",
        ):
            session.add_tool_turn("paid", tool_call_id="c1")
        with pytest.raises(IllegalDirectionError, match="none of its guards is true"):
            session.machine.send("approve")
        assert [str(event) for event in session.machine.allowed_events] == [
            "resize",
            "rewind",
            "forget",
            "approve",
        ]
    with pytest.raises(
        InvalidDataError, match=r"ContextMachine has no state APPROVAL. Use EMPTY, ACCUMULATING"
    ):
        ContextSession.open(place, "one", max_tokens=600)
    with ContextSession.open(
        place, "one", max_tokens=600, machine=Approval, clock=lambda: NOW
    ) as session:
        assert (session.state, session.machine.context_state) == ("APPROVAL", "APPROVAL")
        session.machine.send("approve", by="ana")
        assert session.history.events()[-1] == MoveEvent(
            ContextState.ACCUMULATING, "approve", '[[],{"by":"ana"}]', NOW
        )
        session.add_tool_turn("paid", tool_call_id="c1")
        twin = ContextSession.history.load(text_of(session), machine=Approval)
        assert twin.history.events() == session.history.events()
        assert twin.conversation == session.conversation


def test_rewinding_goes_from_and_to_an_added_state() -> None:
    """The state that stood then stands again; what is not added is what the guards say."""
    session = session_of(600, machine=Approval)
    session.add_user_turn("Pay the bill.")
    session.add_assistant_turn(tool_calls=PAY)
    waiting = session.history.revision
    session.send("approve", by="ana")
    session.history.rewind(waiting)
    assert session.state == "APPROVAL"
    session.history.rewind(1)
    assert session.state == "ACCUMULATING"
    session.history.rewind(waiting)
    assert session.history.fork("other").state == "APPROVAL"
    assert texts(session) == ["Pay the bill.", ""]


def begun_alone() -> Approval:
    """Return a machine without a session that waits for a person."""
    machine = Approval(ContextWindow(600))
    machine.user_turn("Pay the bill.")
    machine.assistant_turn(None, tool_calls=PAY)
    assert machine.context_state == "APPROVAL"
    return machine


def test_arguments_that_are_no_json_are_refused() -> None:
    """Nothing is stored that could not be read again."""
    session = session_of(600, machine=Approval)
    session.add_user_turn("Pay the bill.")
    session.add_assistant_turn(tool_calls=PAY)
    before = session.history.revision
    with pytest.raises(InvalidDataError):
        session.send("approve", by=object())
    for send in (session.send, session.machine.send, begun_alone().send):
        with pytest.raises(InvalidOptionError, match="another name"):
            send("approve", step=1)
    assert session.history.revision == before
    assert logging.getLogger("statemachine").level == logging.INFO
