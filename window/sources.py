"""The sources of gists: ids of the log, stored as bit masks over the places of its ledger.

A list of ids would grow with the conversation, since each gist of a long conversation stands for
nearly all of it. Instead, each gist is serialised as ranges of the ledger's ids that it was made
from; an earlier gist in a range stands for all of its own sources. In memory, there is one bit for
each place, in masks that gists share.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, zip_longest
from operator import eq
from typing import Self, overload

from attrs import frozen

from polycontext.base import Column
from polycontext.linearity import LinearityMap, UnknownResourceError

_WIDTH, _SHIFT = 4096, 12
_SHOWN = 20


@frozen(eq=False, repr=False)
class Sources(Sequence[str]):
    """The ids that a gist stands for, each once; compares and hashes like a tuple of them.

    `masks` mark places among `ids`, the ids of a ledger, 4,096 in each mask. `others` are ids that
    the ledger does not know, from a gist of another conversation, and come first; the rest is in
    the order of the log. `named` are the ranges of places to serialise; they can be resolved by a
    reader that knows the sources of the gists among them.

    Joining, comparing and counting take one step per 4,096 ids. Joining earlier sources with new
    ids additionally costs only the new ids.

    >>> from polycontext.linearity import ResourceClass
    >>> ledger = LinearityMap().tag("t1", ResourceClass.REQUIRED).tag("t2", ResourceClass.REQUIRED)
    >>> first = Sources.joined(ledger, [("t1", ()), ("t2", ())])
    >>> ledger = ledger.tag("g3", ResourceClass.REQUIRED).tag("t4", ResourceClass.REQUIRED)
    >>> second = Sources.joined(ledger, [("g3", first), ("t4", ())])
    >>> tuple(second), second.named, second == ("t1", "t2", "t4")
    (('t1', 't2', 't4'), ((2, 4),), True)
    """

    ids: Column[str]
    masks: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    named: tuple[tuple[int, int], ...] = ()

    @classmethod
    def joined(cls, ledger: LinearityMap, turns: Iterable[tuple[str, Sequence[str]]]) -> Self:
        """Return the combined sources of `turns`, given as ids in `ledger` with their sources.

        A turn without sources stands for itself.

        Raises:
            UnknownResourceError: The ledger does not know the id of a turn.
        """
        marks, places = _Marks(ledger), dict[int, Sequence[str]]()
        for resource_id, sources in turns:
            place = ledger.place(resource_id)
            if place is None:
                raise UnknownResourceError(resource_id)
            places[place] = sources or (resource_id,)
        # Serialised ranges are in this order, so restoring them joins in the same order.
        named = sorted(places)
        for place in named:
            marks.add(places[place])
        return cls(ledger.ids, tuple(marks.masks), tuple(marks.others), tuple(_runs(named)))

    def beyond(self, others: Iterable["Sources"]) -> Iterator[str]:
        """Yield the ids that none of `others` contains.

        Sources over the ids of a different ledger are ignored.
        """
        masks, strange = self.masks, set(self.others)
        for other in filter(self.shares, others):
            masks = tuple(
                mine & ~theirs if mine is not theirs else 0
                for mine, theirs in zip_longest(masks, other.masks, fillvalue=0)
            )
            strange.difference_update(other.others)
        return chain(filter(strange.__contains__, self.others), _marked(self.ids, masks))

    def shares(self, other: "Sources") -> bool:
        """Return whether both sources refer to the same ledger ids by the same places."""
        longer, shorter = (
            (self.ids, other.ids) if len(self.ids) >= len(other.ids) else (other.ids, self.ids)
        )
        return longer is shorter or longer.starts_with(shorter)

    def holds(self, resource_id: str, place: int | None) -> bool:
        """Return whether `resource_id` is one of these ids.

        O(1) if `place` is its index among `ids`.
        """
        if place is not None and place < len(self.ids) and self.ids[place] == resource_id:
            mask = place >> _SHIFT
            return mask < len(self.masks) and bool(self.masks[mask] >> (place & (_WIDTH - 1)) & 1)
        return resource_id in iter(self)

    def __iter__(self) -> Iterator[str]:
        return chain(self.others, _marked(self.ids, self.masks))

    def __len__(self) -> int:
        return len(self.others) + sum(map(int.bit_count, self.masks))

    def __bool__(self) -> bool:
        return bool(self.masks or self.others)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return next(iter(self)) if index == 0 and self else tuple(self)[index]

    def __reversed__(self) -> Iterator[str]:
        return reversed(tuple(self))

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the index of an id, as `tuple.index` does."""
        listed = tuple(self)
        return listed.index(value, start, len(listed) if stop is None else stop)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sources | tuple):
            return NotImplemented
        if isinstance(other, Sources) and self.others == other.others and self.shares(other):
            return self.masks == other.masks
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Sources({len(self)} ids)" if len(self) > _SHOWN else repr(tuple(self))

    # Immutable, with ids shared with a ledger: a copy is the object itself.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@frozen
class Traces:
    """A set of the ids in at least one of several sources, without listing them."""

    ledger: LinearityMap
    few: frozenset[str]
    many: tuple[Sources, ...]

    @classmethod
    def of(cls, ledger: LinearityMap, named: Iterable[Sequence[str]]) -> Self:
        """Return the set of all ids in `named`; `ledger` provides the places of ids to look up."""
        parts = list(named)
        few = frozenset(
            chain.from_iterable(part for part in parts if not isinstance(part, Sources))
        )
        return cls(ledger, few, tuple(part for part in parts if isinstance(part, Sources)))

    def __contains__(self, resource_id: str) -> bool:
        if resource_id in self.few or not self.many:
            return resource_id in self.few
        place = self.ledger.place(resource_id)
        return any(each.holds(resource_id, place) for each in self.many)

    def covers(self, sources: Sequence[str]) -> bool:
        """Return whether every id of `sources` is in the set.

        Ids that `sources` shares with other gists are compared as masks and not listed.
        """
        return all(
            each in self
            for each in (sources.beyond(self.many) if isinstance(sources, Sources) else sources)
        )

    def meets(self, sources: Sequence[str]) -> bool:
        """Return whether any id of `sources` is in the set."""
        return any(each in self for each in sources)


class _Marks:
    """A builder of masks over the places of a ledger.

    A mask that gains nothing stays the same object, so that gists can share it.
    """

    def __init__(self, ledger: LinearityMap) -> None:
        self._ledger = ledger
        self.masks: list[int] = []
        self.others: dict[str, None] = {}

    def add(self, sources: Sequence[str]) -> None:
        if isinstance(sources, Sources) and self._ledger.ids.starts_with(sources.ids):
            for number, mask in enumerate(sources.masks):
                self._mark(number, mask)
            sources = sources.others
        for resource_id in sources:
            place = self._ledger.place(resource_id)
            if place is None:
                self.others[resource_id] = None
            else:
                self._mark(place >> _SHIFT, 1 << (place & (_WIDTH - 1)))

    def _mark(self, number: int, mask: int) -> None:
        self.masks.extend([0] * (number + 1 - len(self.masks)))
        known = self.masks[number]
        both = known | mask
        self.masks[number] = known if both == known else mask if both == mask else both


def _marked(ids: Column[str], masks: Iterable[int]) -> Iterator[str]:
    """Yield the ids that are marked, reading each mask from its first mark to its last."""
    for number, mask in enumerate(masks):
        if mask:
            low = (mask & -mask).bit_length() - 1
            start = number << _SHIFT
            yield from compress(
                ids.between(start + low, start + mask.bit_length()),
                map("1".__eq__, f"{mask >> low:b}"[::-1]),
            )


def _runs(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of consecutive places as ranges."""
    start = stop = -1
    for place in places:
        if place != stop:
            if start >= 0:
                yield start, stop
            start = place
        stop = place + 1
    if start >= 0:
        yield start, stop
