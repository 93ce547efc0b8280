"""The archive: full results of closed turns, by key, for as long as there is room."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

import orjson
from attrs import evolve, field, frozen

from polycontext.nodes._values import InvalidRecordError, is_text, json_data, thawed, whole_from


def _content(value: Any) -> Any:
    return json_data(value, "content")


@frozen
class ArchivedContent:
    """Hold one piece of content, immutable JSON data, under its key: a ref, or ``turn_4_step_1``."""

    key: str = field(validator=is_text)
    content: Any = field(converter=_content, hash=False)

    @property
    def size(self) -> int:
        """Return how many bytes the content takes as JSON."""
        return len(orjson.dumps(self.content, default=thawed))


def _entries(value: Iterable[ArchivedContent]) -> tuple[ArchivedContent, ...]:
    return tuple(value)


@frozen
class ContentArchive(Mapping[str, Any]):
    """Map keys to content, oldest first, bounded in number and in bytes of JSON.

    What does not fit any more leaves, oldest first; content too large for the whole
    archive is not taken. The log of the session keeps what was said about it.

    >>> archive = ContentArchive(limit=2).put("gen_recipe_1", {"name": "Soup"}).put("a", 1).put("b", 2)
    >>> dict(archive)
    {'a': 1, 'b': 2}
    """

    limit: int = field(default=50, validator=whole_from(1))
    max_bytes: int = field(default=100_000, validator=whole_from(1))
    entries: tuple[ArchivedContent, ...] = field(default=(), converter=_entries)

    def __attrs_post_init__(self) -> None:
        if len({entry.key for entry in self.entries}) < len(self.entries):
            raise InvalidRecordError("entries", "a key stands there twice", "every key once")

    def put(self, key: str, content: Any) -> "ContentArchive":
        """Return the archive with `content` as its newest; an older one of the same key is replaced.

        Raises:
            InvalidRecordError: content that is no JSON data, a key that cannot be stored.
        """
        entry = ArchivedContent(key, content)
        others = [old for old in self.entries if old.key != key]
        if entry.size > self.max_bytes:
            return evolve(self, entries=others)
        newest = [entry, *reversed(others)][: self.limit]
        fit = sum(size <= self.max_bytes for size in accumulate(held.size for held in newest))
        return evolve(self, entries=reversed(newest[:fit]))

    def __getitem__(self, key: str) -> Any:
        for entry in self.entries:
            if entry.key == key:
                return entry.content
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (entry.key for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)
