"""Epochs, the periods between two changes of the prefix that a provider was sent.

Within an epoch, requests only grow at their end. Providers cache prefixes and verify them: a signed
thinking block is rejected once anything before it has changed
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks). A view is
therefore append-only within an epoch; any change before its end begins the next epoch.
"""

from collections.abc import Iterable
from typing import Self

from attrs import frozen


@frozen
class Epoch:
    """The period in which requests only grow, and the effects of the change that began it.

    `number` counts from 1. `first_changed` is the index (from 0) of the first turn of the view that
    differs from what was sent before. `why` is the input that changed it. `fell` lists the ids of
    turns that remain but lost images or bound parts. `unbound` names the providers whose bound
    parts have been removed, now or earlier.

    Law: within an epoch, the content blocks of each request are a prefix of the next one's, for
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
        """Return the epoch that begins with a change at `first_changed`.

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
