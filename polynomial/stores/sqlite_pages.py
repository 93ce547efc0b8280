"""The unused space in the pages of a SQLite file, where copies of deleted data may remain.

`secure_delete` overwrites what is deleted. But when SQLite moves rows to another page, it leaves
their bytes in the gap between the offsets and the contents of the rows
(https://sqlite.org/fileformat2.html#b_tree_pages). Nothing reads a gap before it writes there, so
gaps can be overwritten while others read the file.
"""

from sqlite3 import Connection
from struct import unpack_from
from typing import BinaryIO

STEP = 16 << 20
"""The number of bytes that are cleaned at once; others can write between two steps."""

_MOST_PAGES = 1 << 25
"""The number of pages, 128 GB, from which a page of a long text may begin like one of a table."""

_TREES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kinds of pages of tables and indexes, and the sizes of their heads."""

_FILE_HEAD = 100
_LOCKED = 1 << 30
"""The place of the page that SQLite locks and never writes."""


def has_plain_pages(db: Connection) -> bool:
    """Return whether the first byte of each page tells what it is, as `gap_of` requires."""
    return _pragma(db, "auto_vacuum") == 0 and _pragma(db, "page_count") < _MOST_PAGES


def wipe_gaps(file: BinaryIO, start: int, db: Connection) -> bool:
    """Overwrite the gaps in the pages from `start` on, at most `STEP` bytes.

    Return whether there are more pages. Everything has to be in the file, and nobody may write it
    meanwhile.
    """
    size, end = _pragma(db, "page_size"), _pragma(db, "page_size") * _pragma(db, "page_count")
    for place in range(start, min(start + STEP, end), size):
        if place != _LOCKED:
            file.seek(place)
            page = file.read(size)
            first, last = gap_of(page, 0 if place else _FILE_HEAD)
            if page.count(0, first, last) < last - first:
                file.seek(place + first)
                file.write(bytes(last - first))
    return start + STEP < end


def _pragma(db: Connection, name: str) -> int:
    value: int
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return value


def gap_of(page: bytes, head: int = 0) -> tuple[int, int]:
    """Return where the gap of a page begins and ends; a page of another kind has none.

    >>> gap_of(bytes([13, 0, 0, 0, 2, 15, 0, 0]) + bytes(4096 - 8))
    (12, 3840)
    """
    size = _TREES.get(page[head])
    if size is None:
        return 0, 0
    rows, content = unpack_from(">HH", page, head + 3)
    first, last = head + size + 2 * rows, content or 1 << 16
    return (first, last) if first <= last <= len(page) else (0, 0)
