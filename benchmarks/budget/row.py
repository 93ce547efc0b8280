"""One promise: what is measured, its limit, what is found, and whether it is kept."""

from collections.abc import Callable, Iterable

from attrs import field, frozen


@frozen
class Found:
    """Hold a figure and its limit; `most` False says that it is the least that it may be."""

    name: str
    value: float
    limit: float
    unit: str = ""
    most: bool = True

    @property
    def ok(self) -> bool:
        """Tell whether the limit is kept."""
        return self.value <= self.limit if self.most else self.value >= self.limit

    def __str__(self) -> str:
        kept = "" if self.ok else "  <-- missed"
        sign = "≤" if self.most else "≥"
        return f"{self.name} {_figure(self.value)}{self.unit} ({sign} {_figure(self.limit)}{self.unit}){kept}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three figures


@frozen
class Row:
    """Hold a row of the table: what was found, and notes, such as why something cannot be measured."""

    work: str
    found: tuple[Found, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool | None:
        """Tell whether every limit is kept, None where nothing was measured."""
        return all(each.ok for each in self.found) if self.found else None


Measure = Callable[["Scale"], Iterable[Row]]


@frozen
class Scale:
    """Say how much work a run is: the turns of the longest session, and what tells how far it is."""

    turns: int = 100_000
    tell: Callable[[str], None] = lambda _: None
