"""What the versions of one ledger share: ids, their tags, and where to look for an id.

Ids and tags are persistent columns, which no version can disturb. The index from
id to place is one table for all versions that come from the same ledger. It is only
ever added to, and only a hint: an id stands at a place where the version's own column
says so. So a version that is thrown away leaves a hint behind and nothing else,
and going on from an older one copies nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import cast

from polycontext.linearity.column import Column
from polycontext.linearity.resource_class import ResourceClass
from polycontext.linearity.tag import Tag

_MANY = 8
"""From one id in so many on, all are looked up in one go."""

_noting = Lock()


class SharedStore:
    """Keep ids in order (`ids`) and the tag of each; every change returns another store."""

    __slots__ = ("_further", "_places", "_tags", "ids")

    def __init__(self, ids: Iterable[str] = (), tags: Iterable[Tag] = ()) -> None:
        self.ids = Column.of(ids)
        self._tags = Column.of(tags)
        self._places = {resource_id: place for place, resource_id in enumerate(self.ids)}
        # Where else versions have an id whose place in one of them is known already; nearly always empty.
        self._further: dict[str, tuple[int, ...]] = {}

    def find(self, resource_id: str) -> Tag | None:
        """Return the tag of `resource_id`, None for an unknown id."""
        place = self.place(resource_id)
        return None if place is None else self._tags[place]

    def classes(self, resource_ids: Sequence[str]) -> list[ResourceClass] | None:
        """Return the classes of many ids at once; None where one is unknown, or stands elsewhere than the index first says."""
        if len(resource_ids) * _MANY < len(self.ids):
            found = [self.find(resource_id) for resource_id in resource_ids]
            return None if None in found else [tag.resource_class for tag in found if tag]
        tags = list(self._tags)
        try:
            places = list(map(self._places.__getitem__, resource_ids))
            # All hints of an index that holds the ids of this store and nothing else are true.
            is_alone = len(self._places) == len(self.ids) and not self._further
            if not is_alone and list(map(list(self.ids).__getitem__, places)) != list(resource_ids):
                return None
            return [tags[place].resource_class for place in places]
        except (KeyError, IndexError):
            return None

    def newest_ids(self, count: int) -> list[str]:
        """Return the last `count` ids."""
        return self.ids.since(max(0, len(self.ids) - count))

    def items(self) -> Iterator[tuple[str, Tag]]:
        """Iterate over ids and their tags, in order."""
        return zip(self.ids, self._tags, strict=True)

    def append(self, resource_id: str, tag: Tag) -> "SharedStore":
        """Return the store in which a new id follows these."""
        place = self.ids.length
        # One atomic step, so that of two versions that give an id different places neither is lost.
        if self._places.setdefault(resource_id, place) != place:
            with _noting:
                self._further[resource_id] = tuple({*self._further.get(resource_id, ()), place})
        return self._with(self.ids.appended(resource_id), self._tags.appended(tag))

    def replace(self, resource_id: str, tag: Tag) -> "SharedStore":
        """Return the store in which a known id has another tag."""
        place = cast("int", self.place(resource_id))
        return self._with(self.ids, self._tags.replaced(place, tag))

    def place(self, resource_id: str) -> int | None:
        """Return where `resource_id` stands among the ids, None for an unknown id."""
        place = self._places.get(resource_id)
        if place is None or self._holds(place, resource_id):
            return place
        return next((place for place in self._further.get(resource_id, ()) if self._holds(place, resource_id)), None)

    def _holds(self, place: int, resource_id: str) -> bool:
        return place < self.ids.length and self.ids[place] == resource_id

    def _with(self, ids: Column[str], tags: Column[Tag]) -> "SharedStore":
        store = object.__new__(SharedStore)
        store.ids, store._tags, store._places, store._further = ids, tags, self._places, self._further
        return store

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)
