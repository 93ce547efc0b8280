"""The resource classes, which limit what may be done to a turn, and their counts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Self

from attrs import evolve, frozen


class ResourceClass(IntEnum):
    """The resource classes, ordered by how much of a turn must survive.

    See docs/linearity.md, "Three classes".

    >>> ResourceClass.DROPPABLE < ResourceClass.REQUIRED < ResourceClass.PRESERVED
    True
    """

    DROPPABLE = 0
    """May be dropped from the view: acknowledgements, empty results."""

    REQUIRED = 1
    """May be summarised, but must leave a trace."""

    PRESERVED = 2
    """Is kept verbatim: system prompts, the task, standing constraints."""


@frozen
class LinearityStats:
    """Counts of resources by class, and of promotions and drops, updated with every change.

    The path is `self.context.linearity.stats`.

    `drops` counts drops from the view: a resource that was recalled and dropped again counts twice.

    >>> LinearityStats(droppable=1, required=3).droppable_ratio
    0.25
    """

    droppable: int = 0
    required: int = 0
    preserved: int = 0
    promotions: int = 0
    drops: int = 0

    @classmethod
    def of(cls, classes: Iterable[ResourceClass], promotions: int, drops: int) -> Self:
        """Return the stats of resources of these `classes`."""
        counts = Counter(classes)
        droppable, required, preserved = (counts[each] for each in ResourceClass)
        return cls(droppable, required, preserved, promotions, drops)

    @property
    def total(self) -> int:
        """Return the number of resources."""
        return self.droppable + self.required + self.preserved

    @property
    def droppable_ratio(self) -> float:
        """Return the share of DROPPABLE resources, or 0.0 for an empty ledger."""
        return self.droppable / self.total if self.total else 0.0

    @property
    def counts(self) -> Mapping[ResourceClass, int]:
        """Return the number of resources of every class, lowest class first."""
        return dict(zip(ResourceClass, self._by_class(), strict=True))

    def tagged(self, resource_class: ResourceClass) -> "LinearityStats":
        """Return the stats after one more resource of `resource_class`."""
        counts = self._by_class()
        counts[resource_class] += 1
        return self._with(counts, self.promotions)

    def promoted(self, old: ResourceClass, new: ResourceClass) -> "LinearityStats":
        """Return the stats after one resource rose from `old` to `new`."""
        counts = self._by_class()
        counts[old] -= 1
        counts[new] += 1
        return self._with(counts, self.promotions + 1)

    def dropped(self) -> "LinearityStats":
        """Return the stats after one resource left the view."""
        return evolve(self, drops=self.drops + 1)

    def _with(self, counts: list[int], promotions: int) -> "LinearityStats":
        droppable, required, preserved = counts
        return LinearityStats(droppable, required, preserved, promotions, self.drops)

    def _by_class(self) -> list[int]:
        return [self.droppable, self.required, self.preserved]
