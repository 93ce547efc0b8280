"""What happens in a replay, step by step, as data."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextState
from polycontext.window import Role, Turn


@frozen
class TurnTaken:
    """Record a turn that went in: its class, and the state and pressure it led to.

    `number` counts the turns of the recording from 1. `list_refused` says why the message list
    after it was not handed out (None if it was, or if none is due: calls are open, or it is a system
    turn). `stand_in` marks what was put in for a refused result.
    """

    number: int
    turn: Turn
    resource_class: ResourceClass
    state: ContextState
    pressure: float
    delivered: bool = False
    list_refused: str | None = None
    stand_in: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready; the content stays in the recording."""
        return {
            "step": "turn",
            "turn": self.number,
            "role": str(self.turn.role),
            "class": self.resource_class.name,
            "tokens": self.turn.tokens,
            "state": str(self.state),
            "pressure": round(self.pressure, 4),
            "delivered": self.delivered,
            **({"list_refused": self.list_refused} if self.list_refused else {}),
            **({"stand_in": True} if self.stand_in else {}),
        }


@frozen
class Compressed:
    """Record a compression: the numbers of the turns that were dropped and gisted, and the tokens before and after."""

    tokens_before: int
    tokens_after: int
    dropped: tuple[int, ...]
    gisted: tuple[int, ...]
    state: ContextState
    pressure: float

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready."""
        return {
            "step": "compress",
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "dropped": list(self.dropped),
            "gisted": list(self.gisted),
            "state": str(self.state),
            "pressure": round(self.pressure, 4),
        }


@frozen
class TurnRefused:
    """Record a turn that did not go in, and why; state and pressure are as they were."""

    number: int
    turn: Turn
    error: str
    reason: str
    state: ContextState
    pressure: float

    @property
    def role(self) -> Role:
        """Return who would have spoken."""
        return self.turn.role

    def as_json(self) -> dict[str, Any]:
        """Return the step, JSON-ready."""
        return {
            "step": "refused",
            "turn": self.number,
            "role": str(self.role),
            "error": self.error,
            "reason": self.reason,
            "state": str(self.state),
            "pressure": round(self.pressure, 4),
        }


ReplayStep = TurnTaken | Compressed | TurnRefused
"""What a replay is made of."""


def ranges(numbers: Iterable[int]) -> str:
    """Write turn numbers the short way.

    >>> ranges((3, 4, 5, 9))
    '3-5, 9'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
