"""A user's first steps with the machine.

Send an event, list the legal inputs, add a state, test a position.
"""

from datetime import timedelta
from enum import Enum
from typing import Any

import pytest
from statemachine import State
from statemachine.exceptions import TransitionNotAllowed
from statemachine.states import States

from polycontext.base import InvalidOptionError
from polycontext.polynomial import (
    CONTEXT_POLYNOMIAL,
    ContextMachine,
    ContextSession,
    ContextState,
    IllegalDirectionError,
    SessionWriteError,
)
from polycontext.polynomial.machine import after
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS, session_of


class Waiting(ContextMachine):
    """Wait for a person."""

    approval = State("APPROVAL", value="APPROVAL")
    hold = ContextMachine.accumulating.to(approval)
    approve = approval.to(ContextMachine.accumulating)


class Review(Enum):
    """States of a document."""

    DRAFT = "DRAFT"
    READY = "READY"


class Reviewed(ContextMachine):
    """Review a draft for a minute."""

    review = States.from_enum(Review, initial=Review.DRAFT)
    begin = ContextMachine.accumulating.to(review.DRAFT)
    agree = review.DRAFT.to(review.READY)
    late = review.DRAFT.to(ContextMachine.accumulating, cond=after(timedelta(minutes=1)))


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


def refusal_of(machine: ContextMachine, event: str) -> BaseException | None:
    """Return what a machine raises for an event."""
    try:
        machine.send(event, "more")
    except Exception as error:  # noqa: BLE001 - which one is what is asked
        return error
    return None


def fresh(kind: type[ContextMachine] = ContextMachine) -> ContextMachine:
    """Return a machine with one turn."""
    machine = kind(ContextWindow(1_000, counter=WORDS))
    machine.user_turn("hello")
    return machine


def written(session: ContextSession) -> list[str]:
    """Return what is in the log."""
    return [turn.text for turn in session.log()]


def test_an_event_that_is_sent_to_the_machine_of_a_session_is_written() -> None:
    """The machine is the session's own: what it takes is in the log and in the journal."""
    session = session_of(1_000)
    refused = refusal_of(session.machine, "user_turn")
    assert (refused, written(session)) == (None, ["more"])
    assert session.machine.context_state == session.state == ContextState.ACCUMULATING


def test_the_state_of_a_session_is_that_of_the_engine() -> None:
    """The session's state is the configuration of the python-statemachine engine."""
    session = session_of(1_000)
    session.add_user_turn("hello")
    refused = refusal_of(session.machine, "assistant_turn")
    assert refused is None
    assert [state.value for state in session.machine.configuration] == [session.state]


def test_an_illegal_event_in_a_state_that_was_added_names_what_is_legal() -> None:
    """It is refused as anywhere else."""
    machine = fresh(Waiting)
    machine.send("hold")
    refused = refusal_of(machine, "user_turn")
    assert isinstance(refused, IllegalDirectionError), refused
    assert "approve" in str(refused)


def test_a_subclass_takes_no_event_from_the_base_class_and_gives_it_none() -> None:
    """The base class lists its own events, whoever has declared more on its states."""
    try:
        found: object = sorted(str(event) for event in fresh().allowed_events)
    except AttributeError as error:
        found = error
    assert isinstance(found, list), found
    assert "hold" not in found
    assert isinstance(refusal_of(fresh(), "hold"), LookupError)


def test_the_first_state_is_a_position_of_the_polynomial() -> None:
    """Seed 004 says so of every state."""
    positions: Any = CONTEXT_POLYNOMIAL.positions
    assert [state for state in ContextState if state not in positions] == []


@pytest.mark.parametrize("machine", [None, int, "ContextMachine", ContextMachine()])
def test_a_machine_is_a_class_of_machines(machine: object) -> None:
    """An instance is none, nor is anything else."""
    with pytest.raises(InvalidOptionError, match="machine"):
        ContextSession(8000, machine=machine)  # type: ignore[arg-type]
