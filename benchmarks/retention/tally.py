"""Shares of many small counts, with confidence intervals that respect clusters."""

import random
from collections.abc import Sequence
from statistics import median

from attrs import define, field

RESAMPLES = 1_000


@define
class Tally:
    """Counts of hits by conversation, because those of one conversation are not independent."""

    counts: dict[str, tuple[int, int]] = field(factory=dict)

    def add(self, cluster: str, hits: int, of: int) -> None:
        """Count `hits` out of `of` trials."""
        before = self.counts.get(cluster, (0, 0))
        self.counts[cluster] = before[0] + hits, before[1] + of

    @property
    def of(self) -> int:
        """Return the number of trials."""
        return sum(of for _, of in self.counts.values())

    @property
    def share(self) -> float | None:
        """Return the hits per trial, or None without trials."""
        return _share(list(self.counts.values()))

    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % bootstrap interval over conversations, the same in every run."""
        counts = list(self.counts.values())
        if self.share is None:
            return None
        draw = random.Random(len(counts))  # noqa: S311 - no secret
        found = sorted(
            share
            for _ in range(RESAMPLES)
            if (share := _share(draw.choices(counts, k=len(counts)))) is not None
        )
        return percentile(found, 0.025), percentile(found, 0.975)


def _share(counts: Sequence[tuple[int, int]]) -> float | None:
    of = sum(of for _, of in counts)
    return sum(hits for hits, _ in counts) / of if of else None


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed.

    >>> percentile([3, 1, 2], 0.5), percentile([1, 2], 0.0)
    (2, 1)
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]


def middle(values: Sequence[float]) -> float | None:
    """Return the median, or None without values."""
    return median(values) if values else None
