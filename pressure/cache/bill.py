"""The bill: what successive requests read from the cache, wrote into it and paid in full, and why they missed what they missed."""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen


class Why(StrEnum):
    """Say why tokens that were sent before were not read from the cache."""

    FIRST = "first request"
    EXPIRED = "expired"
    FLOOR = "below the floor"
    CHANGED = "changed"
    FAR = "looked back too far"
    STEP = "a step not full"
    KEY = "other key"
    UNMARKED = "no breakpoint"


@frozen
class Miss:
    """Hold tokens that were not read, of one request or of several alike.

    `what` names what changed: ``tools``, ``system``, or the turn and the epoch that began with it.
    `block` is where, the first time.

    >>> print(Miss(Why.CHANGED, 412, "turn g7, epoch 2 by compress", 3))
    412 tokens: changed at block 3 (turn g7, epoch 2 by compress)
    """

    why: Why
    tokens: int
    what: str = ""
    block: int | None = None
    times: int = 1

    def __str__(self) -> str:
        told = (
            str(self.why)
            + ("" if self.block is None else f" at block {self.block}")
            + (f" ({self.what})" if self.what else "")
        )
        return f"{self.tokens:,} tokens: {told}" + (
            f", {self.times} times" if self.times > 1 else ""
        )


@frozen
class Bill:
    """Hold what requests cost so far, in tokens.

    `read` were found in the cache, `written` put into it (by the seconds that they are kept),
    `plain` neither. The same tokens, looked at
    the other way: `new` were sent for the first time, `missed` were sent before and not read.
    `output` is what the model has said. `units` is what the input cost in tokens at the input
    price, `money` what all of it cost, None where no price is known. `last` are the misses of the
    last request.

    Law: ``input == read + new + what is missed``.
    """

    requests: int = 0
    read: int = 0
    written: Mapping[float, int] = field(factory=dict)
    plain: int = 0
    new: int = 0
    missed: tuple[Miss, ...] = ()
    last: tuple[Miss, ...] = ()
    output: int = 0
    units: float = 0.0
    money: float | None = None

    @property
    def all_written(self) -> int:
        """Return the tokens written for whatever time."""
        return sum(self.written.values())

    @property
    def input(self) -> int:
        """Return the tokens of all requests."""
        return self.read + self.all_written + self.plain

    @property
    def read_share(self) -> float:
        """Return which share of the input was read from the cache."""
        return self.read / self.input if self.input else 0.0

    def __str__(self) -> str:
        rows = [
            f"{self.requests:,} requests, {self.input:,} tokens: {self.read_share:.1%} read from the cache",
            f"read {self.read:,}, written {self.all_written:,}, in full {self.plain:,}, answered {self.output:,}",
            f"new {self.new:,}, missed {sum(miss.tokens for miss in self.missed):,}",
            *(f"  {miss}" for miss in sorted(self.missed, key=lambda miss: -miss.tokens)),
            f"as {self.units:,.0f} tokens at the input price"
            + ("" if self.money is None else f"; {self.money:,.4f} in money"),
        ]
        return "\n".join(rows)
