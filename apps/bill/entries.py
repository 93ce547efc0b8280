"""The bill of successive requests: tokens read from the cache, written to it and missed."""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen


class Why(StrEnum):
    """Why tokens that were sent before were not read from the cache."""

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
    """Tokens that were not read from the cache, in one request or in several for the same reason.

    `what` names what changed: ``tools``, ``system``, or the turn and the epoch that began with it.
    `block` is the block at which it changed for the first time.

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
    """The cost of the requests so far, in tokens.

    `read` tokens were found in the cache, `written` tokens were put into it (by the seconds that
    they are kept), and `plain` tokens were neither. Counted another way, `new` tokens were sent for
    the first time, and `missed` tokens were sent before but not read. `output` is the number of
    tokens that the model generated. `units` is the cost of the input, in tokens at the input price.
    `money` is the total cost, or None if no price is known. `last` holds the misses of the last
    request.

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
        """Return the number of written tokens, however long they are kept."""
        return sum(self.written.values())

    @property
    def input(self) -> int:
        """Return the number of input tokens of all requests."""
        return self.read + self.all_written + self.plain

    @property
    def read_share(self) -> float:
        """Return the share of the input that was read from the cache."""
        return self.read / self.input if self.input else 0.0

    def __str__(self) -> str:
        rows = [
            (
                f"{self.requests:,} requests, {self.input:,} tokens: "
                f"{self.read_share:.1%} read from the cache"
            ),
            (
                f"read {self.read:,}, written {self.all_written:,}, "
                f"in full {self.plain:,}, answered {self.output:,}"
            ),
            f"new {self.new:,}, missed {sum(miss.tokens for miss in self.missed):,}",
            *(f"  {miss}" for miss in sorted(self.missed, key=lambda miss: -miss.tokens)),
            f"as {self.units:,.0f} tokens at the input price"
            + ("" if self.money is None else f"; {self.money:,.4f} in money"),
        ]
        return "\n".join(rows)
