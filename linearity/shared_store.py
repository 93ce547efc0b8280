"""The memory that all versions of one ledger share: append-only, so that no version ever sees another's changes.

A version is two numbers: how many ids it knows, and how many changes were made
up to it. Places (the order of ids) never move. A raised tag is kept beside the
one it replaces, with the number of the change that raised it; as there are
three classes, an id is raised twice at most, and every lookup is O(1).

Only the newest version can be extended in place. Extending any other copies
what that version knows into a store of its own.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from polycontext.linearity.resource_class import ResourceClass
from polycontext.linearity.tag import Tag


class Version(NamedTuple):
    """Name a moment of a store: `length` ids known, `change` changes made."""

    length: int = 0
    change: int = 0


class SharedStore:
    """Keep ids in order, the first tag of each, and the tags they were raised to."""

    __slots__ = ("_extendable", "_ids", "_places", "_raised", "_tags")

    def __init__(self, ids: list[str], tags: list[Tag]) -> None:
        self._ids = ids
        self._tags = tags
        self._places = {resource_id: place for place, resource_id in enumerate(ids)}
        self._raised: dict[int, tuple[tuple[int, Tag], ...]] = {}
        self._extendable = [0]

    def find(self, version: Version, resource_id: str) -> Tag | None:
        """Return the tag that `version` knows for `resource_id`, None for an unknown id."""
        place = self._places.get(resource_id)
        if place is None or place >= version.length:
            return None
        return self._tag_at(version, place)

    def classes(self, version: Version, resource_ids: Iterable[str]) -> list[ResourceClass] | None:
        """Return the classes of many ids at once, None where one is unknown to `version`."""
        try:
            places = list(map(self._places.__getitem__, resource_ids))
        except KeyError:
            return None
        if places and max(places) >= version.length:
            return None
        if self._raised:
            return [self._tag_at(version, place).resource_class for place in places]
        tags = self._tags
        return [tags[place].resource_class for place in places]

    def ids(self, version: Version) -> Iterator[str]:
        """Iterate over the ids of `version` in the order they were tagged."""
        return islice(self._ids, version.length)

    def newest_ids(self, version: Version, count: int) -> list[str]:
        """Return the last `count` ids of `version`."""
        return self._ids[max(0, version.length - count) : version.length]

    def items(self, version: Version) -> Iterator[tuple[str, Tag]]:
        """Iterate over the ids of `version` and their tags, in order."""
        return ((resource_id, self._tag_at(version, place)) for place, resource_id in enumerate(self.ids(version)))

    def append(self, version: Version, resource_id: str, tag: Tag) -> tuple["SharedStore", Version]:
        """Return the store and version in which a new id follows those of `version`."""
        if not self._claim(version):
            return self._copy(version).append(Version(version.length), resource_id, tag)
        self._ids.append(resource_id)
        self._tags.append(tag)
        self._places[resource_id] = version.length
        return self, self._extended(version.length + 1, version)

    def replace(self, version: Version, resource_id: str, tag: Tag) -> tuple["SharedStore", Version]:
        """Return the store and version in which a known id has a higher tag than in `version`."""
        if not self._claim(version):
            return self._copy(version).replace(Version(version.length), resource_id, tag)
        place = self._places[resource_id]
        self._raised[place] = (*self._raised.get(place, ()), (version.change + 1, tag))
        return self, self._extended(version.length, version)

    def _tag_at(self, version: Version, place: int) -> Tag:
        for change, tag in reversed(self._raised.get(place, ())):
            if change <= version.change:
                return tag
        return self._tags[place]

    def _claim(self, version: Version) -> bool:
        # The newest change number is a token: `remove` is one atomic step, so of two threads one
        # gets it. A writer that dies holding it leaves a store that nobody extends, only copies.
        try:
            self._extendable.remove(version.change)
        except ValueError:
            return False
        return True

    def _extended(self, length: int, version: Version) -> Version:
        self._extendable.append(version.change + 1)
        return Version(length, version.change + 1)

    def _copy(self, version: Version) -> "SharedStore":
        tags = self._tags[: version.length]
        for place in self._raised.copy():
            if place < version.length:
                tags[place] = self._tag_at(version, place)
        return SharedStore(self._ids[: version.length], tags)
