"""Migrations of documents from older releases: functions between two versions, chained.

A migration works on the plain dict of a whole document and never sees a record class, so it keeps
working when the classes change.
"""

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import pairwise
from re import compile as pattern
from typing import Any, TypeAlias

from polycontext.base import InvalidOptionError

from .errors import MigrationError, UnknownVersionError, wrong_type
from .records import SCHEMA_VERSION

Document: TypeAlias = dict[str, Any]
Migration: TypeAlias = Callable[[Document], Document]

_RELEASE = pattern(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class MigrationRegistry:
    """Migrations, and the shortest chains of them to a `target` version.

    >>> registry = MigrationRegistry("1.1.0")
    >>> @registry.migration("1.0.0", "1.1.0")
    ... def rename_summary(document):
    ...     document["reasoning"]["abstract"] = document["reasoning"].pop("summary", "")
    ...     return document
    >>> registry.migrate({"version": "1.0.0", "reasoning": {"summary": "short"}})
    {'version': '1.1.0', 'reasoning': {'abstract': 'short'}}
    """

    def __init__(self, target: str = SCHEMA_VERSION) -> None:
        self.target = target
        self._steps: dict[str, dict[str, Migration]] = {}

    def migration(self, source: str, target: str) -> Callable[[Migration], Migration]:
        """Register the decorated function as the migration from `source` to `target`.

        It takes a document of `source`, which it may modify, and returns one of `target`.

        Raises:
            InvalidOptionError: there is one between these versions, or they are the same.
        """

        def register(function: Migration) -> Migration:
            steps = self._steps.setdefault(source, {})
            if target in steps or source == target:
                raise InvalidOptionError(
                    "migration", (source, target), "one for each pair of different versions"
                )
            steps[target] = function
            return function

        return register

    @property
    def known(self) -> tuple[str, ...]:
        """Return every version that can be read, the target last."""
        sources = (
            source
            for source in self._steps
            if source != self.target and self._chain(source) is not None
        )
        return (*sorted(sources, key=_release), self.target)

    def chain(self, source: str) -> tuple[str, ...]:
        """Return the versions from `source` to the target, along the fewest migrations.

        Both are included.

        Raises:
            UnknownVersionError: no chain leads to the target.
        """
        found = self._chain(source)
        if found is None:
            raise UnknownVersionError(
                source[:40], self.target, self.known, newer=_release(source) > _release(self.target)
            )
        return found

    def _chain(self, source: str) -> tuple[str, ...] | None:
        # Breadth first: the first chain that arrives is one of the shortest.
        waiting: deque[tuple[str, ...]] = deque([(source,)])
        seen = {source}
        while waiting:
            chain = waiting.popleft()
            if chain[-1] == self.target:
                return chain
            following = [
                version for version in self._steps.get(chain[-1], ()) if version not in seen
            ]
            seen.update(following)
            waiting.extend((*chain, version) for version in following)
        return None

    def migrate(self, document: Mapping[str, Any]) -> Document:
        """Return the document in the target version.

        `document` is not changed. Without a version, it counts as one of the target version.

        Raises:
            InvalidDataError: the version is not text.
            UnknownVersionError: no chain of migrations leads to the target.
            MigrationError: a migration failed, or returned something other than a document.
        """
        source = document.get("version", self.target)
        if not isinstance(source, str):
            raise wrong_type(source, "text", "a string such as 1.0.0", "$.version")
        chain = self.chain(source)
        # A migration may modify its document at any depth.
        current = dict(document) if len(chain) == 1 else deepcopy(dict(document))
        for before, after in pairwise(chain):
            try:
                migrated = self._steps[before][after](current)
            except Exception as error:
                raise MigrationError(before, after, f"{type(error).__name__}: {error}") from error
            if not isinstance(migrated, dict):
                raise MigrationError(before, after, f"returned {type(migrated).__name__}")
            current = migrated | {"version": after}
        return current


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a release for comparison, an empty tuple if it has none."""
    found = _RELEASE.fullmatch(version)
    return tuple(map(int, found.groups())) if found else ()


MIGRATIONS = MigrationRegistry()
"""The migrations of this package. Version 1.0.0 is the first, so there are none yet."""
