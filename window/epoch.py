"""Epochs: between two changes of what a provider was sent, requests only grow at their end.

Providers cache prefixes and check them: a signed thinking block is refused once anything before it
has changed
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks). So a view
is append-only within an epoch, and whatever changes its inside begins the next one and says so.
"""

from collections.abc import Iterable
from typing import Self

from attrs import frozen


@frozen
class Epoch:
    """Say since when requests only grow, and what the last change took.

    `number` counts from 1. `first_changed` is the index of the first turn of the view that differs
    from what was sent before (0 is the first), `why` the input that changed it, `fell` the ids of
    turns that stand but lost pictures or bound parts by it. `unbound` names the providers of which
    bound parts have fallen, now or earlier.

    Law: within an epoch the content blocks of each request are a prefix of the next one's, for
    every provider.
    """

    number: int = 1
    first_changed: int | None = None
    why: str | None = None
    fell: tuple[str, ...] = ()
    unbound: tuple[str, ...] = ()

    def next(
        self, first_changed: int, why: str, fell: Iterable[str] = (), unbound: Iterable[str] = ()
    ) -> Self:
        """Return the epoch that a change at `first_changed` begins.

        >>> Epoch().next(2, "compress").number
        2
        """
        return type(self)(
            self.number + 1,
            first_changed,
            why,
            tuple(fell),
            tuple(sorted({*self.unbound, *unbound})),
        )


FIRST_EPOCH = Epoch()
