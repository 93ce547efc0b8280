"""Errors that compression raises."""

from attrs import define

from polycontext.base import CallerError


@define(slots=False, eq=False)
class ConflictError(CallerError, RuntimeError):
    """A change was made for a state that is no longer current."""

    what: str
    expected: object
    found: object

    def __str__(self) -> str:
        return (
            f"{self.what}: made for {self.expected}, found {self.found}. Make it again from the "
            f"current one."
        )


@define(slots=False, eq=False)
class SpendingError(CallerError, RuntimeError):
    """A request would exceed a spending limit; nothing was sent or counted.

    `what` is "tokens" or "money", `spent` the amount before the request, and `asked` the amount
    that the request and its longest reply would add.
    """

    what: str
    spent: float
    asked: float
    limit: float

    def __str__(self) -> str:
        spent, asked, limit = (
            f"{value:,.0f}" if self.what == "tokens" else f"{value:,.4f}"
            for value in (self.spent, self.asked, self.limit)
        )
        return (
            f"{self.what}: {spent} spent and {asked} requested, but the limit is {limit}. Shorten "
            f"the request or raise the limit."
        )
