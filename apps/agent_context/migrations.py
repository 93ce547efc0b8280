"""Migrations of documents from older releases: functions between two versions, chained.

A migration works on the plain dict of a whole document and never sees a record class, so it keeps
working when the classes change.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import pairwise
from typing import Any, TypeAlias

from polycontext.base import require

from .errors import MigrationError, UnknownVersionError, wrong_type
from .records import SCHEMA_VERSION

Document: TypeAlias = dict[str, Any]
Migration: TypeAlias = Callable[[Document], Document]


class MigrationRegistry:
    """Migrations, one from each older version, that lead to a `target` version.

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
        self._steps: dict[str, tuple[str, Migration]] = {}

    def migration(self, source: str, target: str) -> Callable[[Migration], Migration]:
        """Register the decorated function as the migration from `source` to `target`.

        It takes a document of `source`, which it may modify, and returns one of `target`.

        Raises:
            InvalidOptionError: there is one from `source`, or `target` leads back to it.
        """

        def register(function: Migration) -> Migration:
            legal = "one for each source version, to a version that does not lead back to it"
            is_new = source not in self._steps and source not in self._chain(target)
            require("migration", (source, target), is_new, legal)
            self._steps[source] = target, function
            return function

        return register

    @property
    def known(self) -> tuple[str, ...]:
        """Return every version that can be read, the target last."""
        sources = (each for each in self._steps if self._chain(each)[-1] == self.target)
        return (*sorted(sources, key=_release), self.target)

    def _chain(self, source: str) -> list[str]:
        """Return the versions that migrations lead to from `source`, which is the first."""
        chain = [source]
        while chain[-1] in self._steps and chain[-1] != self.target:
            chain.append(self._steps[chain[-1]][0])
        return chain

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
        chain = self._chain(source)
        if chain[-1] != self.target:
            newer = _release(source) > _release(self.target)
            raise UnknownVersionError(source[:40], self.target, self.known, newer=newer)
        # A migration may modify its document at any depth.
        current = dict(document) if len(chain) == 1 else deepcopy(dict(document))
        for before, after in pairwise(chain):
            try:
                migrated = self._steps[before][1](current)
            except Exception as error:
                raise MigrationError(before, after, f"{type(error).__name__}: {error}") from error
            if not isinstance(migrated, dict):
                raise MigrationError(before, after, f"returned {type(migrated).__name__}")
            current = migrated | {"version": after}
        return current


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a release for comparison."""
    return tuple(int(part[:9]) for part in version.split(".") if part.isdecimal())


MIGRATIONS = MigrationRegistry()
"""The migrations of this package. Version 1.0.0 is the first, so there are none yet."""
