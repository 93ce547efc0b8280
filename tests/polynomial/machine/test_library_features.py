"""What python-statemachine documents works in a session, or is refused with a sentence."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, cast

import pytest
from statemachine import HistoryState, State
from statemachine.exceptions import TransitionNotAllowed
from statemachine.states import States

from polycontext.base import InvalidOptionError
from polycontext.polynomial import (
    ContextMachine,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    SessionWriteError,
)
from polycontext.polynomial.machine import after
from polycontext.polynomial.machine.declaration import OwnStates
from polycontext.polynomial.machine.step import Step
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS, session_of, text_of

FROM = ContextMachine.accumulating


def machine(name: str, **body: Any) -> type[ContextMachine]:
    """Return a machine with the state HOLD, which `go` leaves."""
    hold = body.pop("hold", None) or State("HOLD", value="HOLD")
    made: type[ContextMachine] = OwnStates(  # type: ignore[assignment]
        name,
        (ContextMachine,),
        {
            "__module__": __name__,
            "hold": hold,
            **({} if hold.final else {"go": hold.to(FROM)}),
            **{key: value(hold) if key == "pause" else value for key, value in body.items()},
        },
    )
    return made


def begun(kind: type[ContextMachine], **options: Any) -> ContextSession:
    """Return a session with one question."""
    session = session_of(2_000, machine=kind, **options)
    session.add_user_turn("hello")
    return session


# --- declaring transitions ------------------------------------------------------------


def test_a_transition_can_be_declared_before_its_class() -> None:
    """It moves to the states of the class that names it."""
    hold = State("HOLD", value="HOLD")
    pause = FROM.to(hold)

    class Held(ContextMachine):
        held, stop = hold, pause
        go = hold.to(FROM)

    assert begun(Held).send("stop").state == "HOLD"
    assert "stop" not in ContextMachine.directions["ACCUMULATING"]


def test_guards_and_validators_take_the_arguments_of_the_event() -> None:
    """``@event.cond`` and own keyword arguments; names that the library uses stay in the step.

    A validator raises; nothing is stored.
    """
    seen: list[Any] = []

    class Held(ContextMachine):
        hold = State("HOLD", value="HOLD")
        pause = FROM.to(hold, validators="refuse")
        go = hold.to(FROM)

        @pause.cond  # type: ignore[untyped-decorator]
        def may(self, step: Step, by: str = "") -> bool:
            """Return whether ana asks."""
            seen.append(dict(step.kwargs))
            return by == "ana"

        def refuse(self, step: Step) -> None:
            """Refuse, without a key."""
            if "key" not in step.kwargs:
                raise PermissionError("no")

    session = begun(Held)
    with pytest.raises(IllegalDirectionError):
        session.send("pause", by="bob", key="k")
    with pytest.raises(PermissionError):
        session.send("pause", by="ana")
    assert session.history.revision == 1
    session.send("pause", by="ana", key="k", target="t")
    assert seen[-1] == {"by": "ana", "key": "k", "target": "t"}


# --- compound and eventless -----------------------------------------------------------


class Working(ContextMachine):
    """A machine with a compound state that ends by itself."""

    class work(State.Compound):  # noqa: N801 - a state
        """The compound state."""

        begun = State("BEGUN", value="BEGUN", initial=True)
        tested = State("TESTED", value="TESTED")
        ended = State("ENDED", value="ENDED", final=True)
        test = begun.to(tested)
        end = tested.to(ended)

    begin = FROM.to(work)
    stop = work.to(FROM)
    done_state_work = work.to(FROM)

    def __init__(self, *args: Any, **options: Any) -> None:
        self.ran: list[str] = []
        super().__init__(*args, **options)

    def on_enter_state(self, target: Any) -> None:
        """Write it down."""
        self.ran.append(target.id)


def test_a_final_substate_ends_its_compound_state_in_one_commit() -> None:
    """`done.state` is followed in the same event, and its actions run in order."""
    session = begun(Working)
    assert session.send("begin").state == "BEGUN"
    assert session.send("test").state == "TESTED"
    assert [state.id for state in session.machine.configuration] == ["work", "tested"]
    before = session.history.revision
    assert session.send("end").state == "ACCUMULATING"
    assert session.history.revision == before + 1
    ran = session.machine.ran  # type: ignore[attr-defined]
    assert ran[-4:] == ["begun", "tested", "ended", "accumulating"]


def test_an_eventless_transition_is_taken_in_the_same_commit() -> None:
    """Its guard sees the window that the event leads to."""

    class Crowded(ContextMachine):
        full = State("FULL", value="FULL")
        leave = full.to(FROM, unless="is_full")
        FROM.to(full, cond="is_full")

        def is_full(self, step: Step) -> bool:
            """Return whether there are three turns."""
            return len(step.after) >= 3

    session = begun(Crowded)
    session.add_assistant_turn("hi")
    assert session.state == "ACCUMULATING"
    assert session.add_user_turn("and now").state == "FULL"
    assert session.history.revision == 3
    again = ContextSession.history.load(text_of(session), machine=Crowded, counter=WORDS)
    assert again.state == "FULL"


def test_eventless_transitions_that_never_end_are_refused() -> None:
    """The event is refused, and names the machine."""

    class Endless(ContextMachine):
        one, two = State("ONE", value="ONE"), State("TWO", value="TWO")
        pause = FROM.to(one)
        one.to(two)
        two.to(one)

    session = begun(Endless)
    with pytest.raises(InvalidOptionError, match=r"machine Endless.*come to an end"):
        session.send("pause")
    assert session.state == "ACCUMULATING"


# --- actions ---------------------------------------------------------------------------


class Acting(ContextMachine):
    """A machine that writes down its actions."""

    hold = State("HOLD", value="HOLD", enter="ring")
    pause = FROM.to(hold, on=lambda event: Acting.ran.append(f"lambda {event}"))
    go = hold.to(FROM)
    ran: list[str] = []  # noqa: RUF012

    def prepare_event(self) -> dict[str, str]:
        """Return what is injected."""
        return {"who": "ana"}

    @pause.before  # type: ignore[untyped-decorator]
    def ready(self) -> None:
        """Write it down."""
        self.ran.append("before")

    def on_exit_accumulating(self) -> None:
        """Write it down."""
        self.ran.append("exit")

    def ring(self) -> None:
        """Write it down."""
        self.ran.append(f"ring {self.context_state}")

    def after_pause(self, who: str) -> None:
        """Write it down."""
        self.ran.append(f"after {who}")


EXPECTED = ["before", "exit", "lambda pause", "ring HOLD", "after ana"]


def bare() -> None:
    """Send the event to a machine without a session."""
    alone = Acting(ContextWindow(2_000))
    alone.user_turn("hello")
    alone.send("pause")


def awaited() -> None:
    """Send the event to a session, and await it."""

    async def scene() -> None:
        session = session_of(2_000, machine=Acting)
        await session.aadd_user_turn("hello")
        await session.asend("pause")

    asyncio.run(scene())


@pytest.mark.parametrize("send", [bare, lambda: begun(Acting).send("pause"), awaited])
def test_actions_run_once_in_every_mode(send: Callable[[], object]) -> None:
    """The same actions run, in the same order, wherever the event is sent."""
    Acting.ran.clear()
    send()
    assert Acting.ran == EXPECTED


def test_class_listeners_and_coroutine_actions_run() -> None:
    """A listener that the class names is created for the session; coroutines are awaited."""
    seen: list[str] = []

    class Listener:
        async def after_pause(self, event: str) -> None:
            """Write it down."""
            await asyncio.sleep(0)
            seen.append(event)

    kind = machine("Listened", pause=FROM.to, listeners=[Listener])
    session = begun(kind)
    session.send("pause")

    async def scene() -> None:
        await session.asend("go")
        await session.asend("pause")

    asyncio.run(scene())
    assert seen == ["pause", "pause"]


def test_a_raising_action_undoes_nothing_and_is_reported() -> None:
    """It is kept in `errors`, and raised for a caller who asks."""

    def before_pause(self: object) -> None:
        raise OSError("no")

    kind = machine("Failing", pause=FROM.to, before_pause=before_pause)
    alone = kind(ContextWindow(2_000))
    alone.user_turn("hello")
    session = begun(kind)
    for live in (alone, session.machine):
        with pytest.raises(ExceptionGroup, match="of the machine failed"), live.raising_errors():
            live.send("pause")
        assert (live.context_state, [*map(str, live.errors)]) == ("HOLD", ["no"])


# --- refused ---------------------------------------------------------------------------


class Inner(State.Parallel):
    """A parallel state."""

    class left(State.Compound):  # noqa: N801 - a state
        """One region."""

        one = State(initial=True)
        two = State()
        move = one.to(two)

    class right(State.Compound):  # noqa: N801 - a state
        """The other region."""

        one_ = State(initial=True)
        two_ = State()
        move_ = one_.to(two_)


class Remembering(State.Compound):
    """A compound state with history."""

    first = State(initial=True)
    second = State()
    back = HistoryState()
    move = first.to(second)


async def coroutine(self: object) -> bool:
    """Return True."""
    return True


async def anew(self: object, step: object) -> bool:
    """Return True."""
    return True


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "parallel": ({"pause": lambda _: FROM.to(Inner), "inner": Inner}, "not in parallel regions"),
    "history": (
        {"pause": lambda _: FROM.to(Remembering), "rest": Remembering},
        "an event per state to return to",
    ),
    "final": (
        {"hold": State("OVER", value="OVER", final=True), "pause": FROM.to},
        "a conversation has no end",
    ),
    "a number": ({"hold": State("N", value=7), "pause": FROM.to}, "a state whose value is a text"),
    "no target": ({"pause": lambda _: FROM.to(None)}, "transitions with one target"),
    "a coroutine guard": (
        {"pause": lambda hold: FROM.to(hold, cond="may"), "may": coroutine},
        "no coroutine functions",
    ),
    "a method that the library replaces": (
        {"pause": FROM.to, "prepare": lambda self: None},
        "another name",
    ),
    "invoke": (
        {"hold": State("HOLD", value="HOLD", invoke=lambda: None), "pause": FROM.to},
        "on_enter to start the work",
    ),
    "an on_invoke method": (
        {"pause": FROM.to, "on_invoke_hold": lambda self: None},
        "on_enter to start the work",
    ),
}


def test_a_class_that_is_declared_anew_is_read_anew() -> None:
    """A guard that became a coroutine function is refused, as in a cell that is run again."""

    def declare(may: Callable[..., Any]) -> ContextMachine:
        may.__qualname__ = "Anew.may"
        pause = FROM.to.itself(cond="may")  # type: ignore[no-untyped-call]
        attrs = {"__module__": __name__, "may": may, "pause": pause}
        return cast("type[ContextMachine]", type("Anew", (ContextMachine,), attrs))()

    declare(lambda self, step: True)
    with pytest.raises(InvalidOptionError, match="no coroutine functions"):
        declare(anew)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_session_cannot_run_is_refused(name: str) -> None:
    """The error names the class and says what to write instead."""
    body, said = REFUSED[name]
    with pytest.raises(InvalidOptionError, match=said) as refused:
        ContextSession(2_000, machine=machine("Wrong", **body))
    assert "machine Wrong" in str(refused.value)


def test_a_name_of_the_machine_is_no_event() -> None:
    """An event would hide the method."""
    with pytest.raises(InvalidOptionError, match=r"decide.*another name"):

        class Hiding(ContextMachine):  # pyright: ignore[reportUnusedClass] - it is refused
            hold = State("HOLD", value="HOLD")
            decide = FROM.to(hold)
            go = hold.to(FROM)


class Review(Enum):
    """States of a document."""

    DRAFT = "DRAFT"
    READY = "READY"


class Reviewed(ContextMachine):
    """Review a draft for a minute."""

    review = States.from_enum(Review, initial=Review.DRAFT)
    begin = FROM.to(review.DRAFT)
    agree = review.DRAFT.to(review.READY)
    late = review.DRAFT.to(FROM, cond=after(timedelta(minutes=1)))


def test_states_are_added_from_an_enum_and_a_delay_is_a_timedelta() -> None:
    """The inherited machine keeps its first state."""
    session = session_of(machine=Reviewed)
    session.add_user_turn("Hello")
    assert session.send("begin").state == "DRAFT"
    assert session.send("agree").state == Review.READY.value
    assert after(timedelta(minutes=1)).__name__ == "after_60_seconds"


def test_a_state_is_changed_by_events_alone() -> None:
    """Assigning one is refused, and an illegal event is what python-statemachine calls it."""
    session = session_of()
    for name in ("current_state", "current_state_value"):
        with pytest.raises(SessionWriteError, match=r"Use session\.send with an event"):
            setattr(session.machine, name, ContextState.COMPRESSED)
    with pytest.raises(TransitionNotAllowed) as raised:
        ContextSession(max_tokens=100).send("assistant_turn", "Hi")
    told: tuple[object, object] = (raised.value.event, raised.value.configuration)
    assert told == ("assistant_turn", ("EMPTY",))
