"""One row of the budget table: figures, their limits, and whether they are kept."""

from collections.abc import Callable, Iterable

from attrs import field, frozen


@frozen
class Found:
    """A figure and its limit, which is a maximum, or a minimum if `most` is False."""

    name: str
    value: float
    limit: float
    unit: str = ""
    most: bool = True

    @property
    def ok(self) -> bool:
        """Return whether the limit is kept."""
        return self.value <= self.limit if self.most else self.value >= self.limit

    def __str__(self) -> str:
        kept = "" if self.ok else "  <-- missed"
        sign = "≤" if self.most else "≥"
        return (
            f"{self.name} {_figure(self.value)}{self.unit} ({sign} "
            f"{_figure(self.limit)}{self.unit}){kept}"
        )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three figures


@frozen
class Row:
    """A row of the table: figures, and notes such as why something cannot be measured."""

    work: str
    found: tuple[Found, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool | None:
        """Return whether every limit is kept, or None if nothing was measured."""
        return all(each.ok for each in self.found) if self.found else None


Measure = Callable[["Scale"], Iterable[Row]]


@frozen
class Scale:
    """The size of a run: the turns of the longest session, and a callback for progress."""

    turns: int = 100_000
    tell: Callable[[str], None] = lambda _: None
