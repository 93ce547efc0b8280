"""The model calls that a journal records: tokens, money and time.

An event of a machine's own records them in its keyword argument ``spent``, an assistant turn in its
metadata under the same key.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self

import orjson
from attrs import field, frozen
from attrs.validators import ge

from polycontext.base import InvalidDataError
from polycontext.base.codec import strict_converter, structured
from polycontext.base.json_data import thaw

from .events import Event, MoveEvent, TurnEvent

SPENT = "spent"
"""The keyword argument, or key of a turn's metadata, that records calls."""


@frozen
class Spent:
    """Model calls of one agent, or of several: then `agent` is empty.

    The money is in US dollars. A call of a model without a known price adds none.

    >>> Spent("think", 1, 900, 30, 0.003) + Spent("act", 1, 800, 20, 0.002)
    Spent(agent='', calls=2, input_tokens=1700, output_tokens=50, cost_usd=0.005, duration_ms=0, \
cached_tokens=0)
    """

    agent: str = ""
    calls: int = field(default=0, validator=ge(0))
    input_tokens: int = field(default=0, validator=ge(0))
    output_tokens: int = field(default=0, validator=ge(0))
    cost_usd: float = field(default=0.0, validator=ge(0))
    duration_ms: int = field(default=0, validator=ge(0))
    cached_tokens: int = field(default=0, validator=ge(0))

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.agent if self.agent == other.agent else "",
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            self.duration_ms + other.duration_ms,
            self.cached_tokens + other.cached_tokens,
        )

    def to_data(self) -> dict[str, Any]:
        """Return the JSON data to record."""
        data: dict[str, Any] = _CONVERTER.unstructure(self)
        return data


_CONVERTER = strict_converter(sparse=(Spent,))


def spent_in(event: Event) -> Spent | None:
    """Return the calls that an event records; None if it records none, or something else."""
    data = None
    if isinstance(event, TurnEvent):
        data = event.turn.metadata.get(SPENT)
    elif isinstance(event, MoveEvent) and f'"{SPENT}"' in event.arguments:
        data = orjson.loads(event.arguments)[1].get(SPENT)
    if data is not None:
        with suppress(InvalidDataError):
            return structured(_CONVERTER, thaw(data), Spent)
    return None


def spent(events: Iterable[Event]) -> Spent:
    """Return all calls that events record."""
    found = [each for each in map(spent_in, events) if each is not None]
    return sum(found[1:], found[0]) if found else Spent()
