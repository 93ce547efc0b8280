"""Machines as polynomials."""

from collections.abc import Container
from typing import ClassVar

import pytest
from statemachine import State

from polycontext.polynomial import (
    CONTEXT_POLYNOMIAL,
    VALID_DIRECTIONS,
    ContextInput,
    ContextMachine,
    ContextState,
    IllegalDirectionError,
    PolyAgent,
    Position,
)
from polycontext.polynomial.machine import Region
from polycontext.window import ContextWindow
from tests.polynomial.conversations import WORDS


def test_the_context_polynomial_is_the_machine() -> None:
    """Positions are states with windows, and their directions are those of the machine."""
    places: Container[object] = CONTEXT_POLYNOMIAL.positions
    assert {*CONTEXT_POLYNOMIAL.positions} == {*ContextState}
    assert "DREAMING" not in places
    for state in ContextState:
        here = Position(state, ContextWindow(100, counter=WORDS))
        assert here in places
        assert CONTEXT_POLYNOMIAL.directions(here) == VALID_DIRECTIONS[state]


class Approval(Region):
    """A region in which a payment waits."""

    free = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    ask = free.to(waiting)
    approve = waiting.to(free)
    assistant_turn = free.to.itself()  # type: ignore[no-untyped-call]


class Safe(ContextMachine):
    """A machine with that region."""

    regions: ClassVar = {"approval": Approval}


def test_any_machine_is_a_polynomial() -> None:
    """Its places are listed; with regions, a direction is what every region accepts."""
    safe = PolyAgent(Safe)
    assert {*safe.positions} == {*ContextState, *(f"{s}+approval:WAITING" for s in ContextState)}
    inputs = [ContextInput.user_turn("Pay."), ContextInput.named("ask")]
    position, outputs = safe.run(Position.start(1000), inputs)
    assert (position.state, outputs[-1].regions) == (
        "ACCUMULATING+approval:WAITING",
        {"approval": "WAITING"},
    )
    answer = ContextInput.assistant_turn("Paid.")
    assert answer.kind not in safe.directions(position)
    with pytest.raises(IllegalDirectionError, match="WAITING"):
        safe.invoke(position, answer)
    position, _ = safe.run(position, [ContextInput.named("approve"), answer])
    assert position.state is ContextState.ACCUMULATING
