"""The ledger of resource classes: it records what may be done to each resource.

The ledger survives every compression: if it were lost or lowered at one, the next could lose the
conversation. It is a value; a change returns a new ledger and the old one stays the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Self

from attrs import define, evolve, field, frozen

from polycontext.base import CallerError, Column, InvalidOptionError, similar

from .resource_class import LinearityStats, ResourceClass
from .tag import UNIX_EPOCH, SharedIndex, Tag, check_resource_id


@define(slots=False, eq=False)
class DemotionError(CallerError, ValueError):
    """A request would lower a class, or promote a resource to the class it already has."""

    resource_id: str
    current: ResourceClass
    requested: ResourceClass

    def __str__(self) -> str:
        higher = ", ".join(c.name for c in ResourceClass if c > self.current)
        use = f"Promote it to {higher}" if higher else "No class is higher"
        return (
            f"resource {self.resource_id!r} is {self.current.name} and cannot be promoted to "
            f"{self.requested.name}. {use}."
        )


@define(slots=False, eq=False)
class UnknownResourceError(CallerError, KeyError):
    """A resource id was never tagged; `near` holds similar known ids."""

    resource_id: str
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        near = " or ".join(map(repr, self.near))
        use = f"Did you mean {near}?" if near else "Use an id from session.log()."
        return f"there is no turn or resource {self.resource_id!r}. {use}"


# A near miss is a typing error: it is searched for among the newest short ids only, at a cost that
# does not grow with the ledger.
_NEAR_MISS_IDS = 500
_NEAR_MISS_LENGTH = 100

_MANY = 8
"""If the requested ids are at least one in this many of all ids, one pass finds them all."""


@frozen(eq=False, repr=False)
class LinearityMap:
    """An immutable map of resource ids to tags (docs/linearity.md).

    `tag`, `promote` and `drop` return new maps that share structure with the old one, in amortised
    O(1) on any map, the newest or an older one. Lookups and `stats` are O(1). Any number of threads
    may derive maps from the same one. Tags that differ only in their time are stored once, with the
    times in a column of their own.

    Laws: a class is only ever raised; no map ever changes.

    >>> ledger = LinearityMap().tag("a", ResourceClass.DROPPABLE).tag("b", ResourceClass.REQUIRED)
    >>> later = ledger.promote("a", ResourceClass.PRESERVED, rationale="the user came back to it")
    >>> ledger.get("a").name, later.get("a").name
    ('DROPPABLE', 'PRESERVED')
    >>> later
    LinearityMap(2 resources: 0 DROPPABLE, 1 REQUIRED, 1 PRESERVED)
    """

    ids: Column[str] = field(default=Column())
    """All ids in the order they were tagged; those of a later map begin with them."""
    _kinds: Column[Tag] = field(default=Column(), alias="_kinds")
    _whens: Column[datetime] = field(default=Column(), alias="_whens")
    _index: SharedIndex = field(factory=SharedIndex, alias="_index")
    _stats: LinearityStats = field(default=LinearityStats(), alias="_stats")

    def tag(
        self,
        resource_id: str,
        resource_class: ResourceClass,
        *,
        provenance: str = "",
        rationale: str = "",
        when: datetime = UNIX_EPOCH,
        pinned: bool = False,
    ) -> Self:
        """Return a map in which `resource_id` has at least this class.

        A new id is added at the end of the order. A known id with the same class keeps its first
        tag, whatever the other fields say, so tagging twice is the same as tagging once. A higher
        class promotes the id, and the new tag replaces the old one.

        Raises:
            DemotionError: the id is known with a higher class.
            InvalidDataError: the id is empty, a text cannot be stored, the class is not a
                `ResourceClass`, or `when` has no time zone.
        """
        place = self.place(check_resource_id(resource_id))
        tag = Tag(
            resource_class, provenance=provenance, rationale=rationale, when=when, pinned=pinned
        )
        if place is None:
            self._index.note(resource_id, self.ids.length)
            return type(self)(
                self.ids.appended(resource_id),
                self._kinds.appended(self._index.kind(tag)),
                self._whens.appended(tag.when),
                self._index,
                self._stats.tagged(resource_class),
            )
        if self._kinds[place].resource_class is resource_class:
            return self
        return self._raised(place, tag)

    def promote(
        self,
        resource_id: str,
        resource_class: ResourceClass,
        *,
        provenance: str = "",
        rationale: str = "",
        when: datetime = UNIX_EPOCH,
    ) -> Self:
        """Return a map in which `resource_id` has this higher class.

        The tag keeps its provenance unless you pass another. Promoting to PRESERVED pins the
        resource; see `Tag.pinned`.

        Raises:
            DemotionError: the class is the same or lower.
            UnknownResourceError: the id was never tagged.
        """
        place = self._known(resource_id)
        known = self._kinds[place]
        pinned = known.pinned or resource_class is ResourceClass.PRESERVED
        tag = Tag(
            resource_class,
            provenance=provenance or known.provenance,
            rationale=rationale,
            when=when,
            pinned=pinned,
        )
        return self._raised(place, tag)

    def drop(self, resource_id: str) -> Self:
        """Return a map that counts one more drop from the view; the tag stays.

        Raises:
            InvalidOptionError: the resource is not DROPPABLE.
            UnknownResourceError: the id was never tagged.
        """
        resource_class = self.get(resource_id)
        if resource_class is not ResourceClass.DROPPABLE:
            raise InvalidOptionError(
                "resource_id",
                resource_id,
                f"the id of a DROPPABLE resource, this one is {resource_class.name}",
            )
        return evolve(self, _stats=self._stats.dropped())

    def get(self, resource_id: str) -> ResourceClass:
        """Return the class of `resource_id`.

        Raises:
            UnknownResourceError: the id was never tagged; the error names near misses.
        """
        return self.kind_of(resource_id).resource_class

    def classes_of(self, resource_ids: Sequence[str]) -> list[ResourceClass]:
        """Return the classes of many ids, in their order.

        The result is the same as that of `get` for each id, but a single call is faster.

        Raises:
            UnknownResourceError: an id was never tagged.
        """
        if len(resource_ids) * _MANY < len(self):
            return [*map(self.get, resource_ids)]
        kinds = dict(zip(self.ids, self._kinds, strict=True))
        try:
            return [kinds[resource_id].resource_class for resource_id in resource_ids]
        except KeyError:
            return [*map(self.get, resource_ids)]

    def tag_of(self, resource_id: str) -> Tag:
        """Return the tag of `resource_id`.

        Raises:
            UnknownResourceError: the id was never tagged; the error names near misses.
        """
        place = self._known(resource_id)
        return self._kinds[place].at(self._whens[place])

    def kind_of(self, resource_id: str) -> Tag:
        """Return what the tag of `resource_id` says apart from its time, which is another's.

        Raises:
            UnknownResourceError: the id was never tagged; the error names near misses.
        """
        return self._kinds[self._known(resource_id)]

    def place(self, resource_id: str) -> int | None:
        """Return the index of `resource_id` among `ids`, or None if it was never tagged; O(1)."""
        return self._index.place(resource_id, self.ids)

    def partition(self) -> dict[ResourceClass, tuple[str, ...]]:
        """Return the ids of every class in the order they were tagged, lowest class first; O(n).

        Law: every id is in exactly one part, the one that `get` names.
        """
        return {resource_class: self.by_class(resource_class) for resource_class in ResourceClass}

    def by_class(self, resource_class: ResourceClass) -> tuple[str, ...]:
        """Return the ids of one class in the order they were tagged; O(n)."""
        return tuple(each for each, tag in self.items() if tag.resource_class is resource_class)

    def stats(self) -> LinearityStats:
        """Return the counts by class, and of promotions and drops; O(1)."""
        return self._stats

    def items(self) -> Iterator[tuple[str, Tag]]:
        """Iterate over ids and tags in the order they were tagged."""
        return zip(self.ids, map(Tag.at, self._kinds, self._whens), strict=True)

    @classmethod
    def of_columns(
        cls,
        ids: Sequence[str],
        tags: Sequence[Tag],
        whens: Iterable[datetime],
        *,
        promotions: int = 0,
        drops: int = 0,
    ) -> Self:
        """Return the ledger of `ids` with the tags `tags` at the times `whens`.

        The inverse of `columns_since`. The values are not checked again.
        """
        index = SharedIndex.of(ids)
        for tag in {id(tag): tag for tag in tags}.values():
            index.kind(tag)
        stats = LinearityStats.of((tag.resource_class for tag in tags), promotions, drops)
        return cls(Column.of(ids), Column.of(tags), Column.of(whens), index, stats)

    def columns_since(self, place: int) -> tuple[list[str], list[Tag], list[datetime]]:
        """Return the ids, the tags without their times, and the times from index `place` on."""
        return self.ids.since(place), self._kinds.since(place), self._whens.since(place)

    def changed_since(self, older: "LinearityMap") -> list[int]:
        """Return the indices of `older` whose tag differs in this ledger, which derives from it."""
        kinds = self._kinds.changed_since(older._kinds)
        return sorted({*kinds, *self._whens.changed_since(older._whens)})

    def _raised(self, place: int, tag: Tag) -> Self:
        known = self._kinds[place].resource_class
        if tag.resource_class <= known:
            raise DemotionError(self.ids[place], known, tag.resource_class)
        return type(self)(
            self.ids,
            self._kinds.replaced(place, self._index.kind(tag)),
            self._whens.replaced(place, tag.when),
            self._index,
            self._stats.promoted(known, tag.resource_class),
        )

    def _known(self, resource_id: str) -> int:
        place = self.place(resource_id)
        if place is None:
            raise UnknownResourceError(resource_id, self._near(resource_id))
        return place

    def _near(self, resource_id: object) -> tuple[str, ...]:
        if not isinstance(resource_id, str) or len(resource_id) > _NEAR_MISS_LENGTH:
            return ()
        newest = self.ids.since(max(0, len(self) - _NEAR_MISS_IDS))
        short = [known for known in newest if len(known) <= _NEAR_MISS_LENGTH]
        return similar(resource_id, short)

    @classmethod
    def _restored(cls, items: Iterable[tuple[str, Tag]], stats: LinearityStats) -> Self:
        tags = dict(items)
        index = SharedIndex.of(tags)
        kinds, whens = map(index.kind, tags.values()), (tag.when for tag in tags.values())
        return cls(Column.of(tags), Column.of(kinds), Column.of(whens), index, stats)

    def __len__(self) -> int:
        return self.ids.length

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, resource_id: object) -> bool:
        return isinstance(resource_id, str) and self.place(resource_id) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearityMap):
            return NotImplemented
        # Every change of a tag makes another column of times.
        return self._stats == other._stats and (
            self._whens is other._whens or list(self.items()) == list(other.items())
        )

    def __hash__(self) -> int:
        return hash((len(self), self._stats))

    def __repr__(self) -> str:
        spread = ", ".join(
            f"{count} {resource_class.name}" for resource_class, count in self._stats.counts.items()
        )
        return f"LinearityMap({len(self)} resources: {spread})"

    # A map never changes and shares its index with others, so a copy is the map itself, and a
    # pickle holds its items only.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._restored, (tuple(self.items()), self._stats)
