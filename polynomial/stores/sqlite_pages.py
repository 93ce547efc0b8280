"""The unused space in the pages of a SQLite file, where copies of deleted data may remain.

`secure_delete` overwrites what is deleted. But when SQLite moves rows to another page, it leaves
their bytes in the gap between the offsets and the contents of the rows
(https://sqlite.org/fileformat2.html#b_tree_pages). Nothing reads a gap before it writes there, so
gaps can be overwritten while others read the file.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection
from struct import unpack_from
from typing import BinaryIO

from attrs import define, field

from .sqlite_schema import MARK_CLEAN, newest_mark

STEP = 16 << 20
"""The number of bytes that are cleaned at once; others can write between two steps."""

_MOST_PAGES = 1 << 25
"""The number of pages, 128 GB, from which a page of a long text may begin like one of a table."""

_TREES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kinds of pages of tables and indexes, and the sizes of their heads."""

_FILE_HEAD = 100
_LOCKED = 1 << 30
"""The place of the page that SQLite locks and never writes."""


@define
class Wiping:
    """One pass over the pages of a database, up to `place`, for the erasure of a `mark`.

    At the end, `is_clean` is whether nothing else was erased, nor the log moved, meanwhile.
    SQLite moves pages with their gaps, also to where the pass has been. So each step wipes the
    pages in the log as well: all that were written since the last one.
    """

    mark: int
    log: Path
    place: int = 0
    is_clean: bool | None = None
    _logged: set[int] = field(factory=set)

    def go_on(self, file: BinaryIO, db: Connection) -> None:
        """Wipe the next pages, unless a reader needs the log; nobody else may write meanwhile.

        Neither a writer nor a checkpoint of another program can come in between: the connection is
        writing, and the log is empty. The last commit makes all others read the pages again.
        """
        if not _has_plain_pages(db):
            db.execute("PRAGMA auto_vacuum = NONE")
            db.execute("VACUUM")
        size = _pragma(db, "page_size")
        self._logged.update(_pages_in(self.log, size))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("BEGIN IMMEDIATE")
        if self.log.stat().st_size:
            return
        end = file.seek(0, os.SEEK_END) if _has_plain_pages(db) else 0
        moved = (place for place in self._logged if place < self.place)
        stop = min(self.place + STEP, end - size + 1)
        for place in (*moved, *range(self.place, stop, size)):
            if place != _LOCKED:
                _wipe_gap(file, place, size)
        self.place, self._logged = self.place + STEP, set()
        if self.place >= end:
            os.fsync(file.fileno())
            self.is_clean = newest_mark(db) == self.mark
            if self.is_clean:
                db.execute(MARK_CLEAN)
                db.execute("COMMIT")


def _has_plain_pages(db: Connection) -> bool:
    """Return whether the first byte of each page tells what it is, as `gap_of` requires."""
    return _pragma(db, "auto_vacuum") == 0 and _pragma(db, "page_count") < _MOST_PAGES


def _pages_in(log: Path, size: int) -> Iterator[int]:
    """Yield the places of the pages in a log (https://sqlite.org/fileformat2.html#walformat)."""
    with log.open("rb") as frames:
        for start in range(32, log.stat().st_size, 24 + size):
            frames.seek(start)
            yield (int.from_bytes(frames.read(4), "big") - 1) * size


def _wipe_gap(file: BinaryIO, place: int, size: int) -> None:
    file.seek(place)
    page = file.read(size)
    first, last = gap_of(page, 0 if place else _FILE_HEAD)
    if page.count(0, first, last) < last - first:
        file.seek(place + first)
        file.write(bytes(last - first))


def _pragma(db: Connection, name: str) -> int:
    value: int
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return value


def gap_of(page: bytes, head: int = 0) -> tuple[int, int]:
    """Return where the gap of a page begins and ends.

    A page of another kind has none, nor has a damaged one, whose rows may be there.

    >>> gap_of(bytes([13, 0, 0, 0, 2, 15, 0, 0, 15, 0, 15, 9]) + bytes(4096 - 12))
    (12, 3840)
    """
    size = _TREES.get(page[head])
    if size is None:
        return 0, 0
    rows, content = unpack_from(">HH", page, head + 3)
    first, last = head + size + 2 * rows, content or 1 << 16
    if not first <= last <= len(page):
        return 0, 0
    is_whole = min(unpack_from(f">{rows}H", page, head + size), default=last) >= last
    return (first, last) if is_whole else (0, 0)
