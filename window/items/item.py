"""The context item: a piece of code or text that can be put into a prompt, and its metadata (docs/attachments.md).

Its id is ``ctx-N``, unique and increasing in a process (INV-003); its time is Universal
Time on the wire: whole seconds since 1900-01-01 UTC.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from threading import Lock
from typing import Any

from attrs import field, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import INTEGERS, check_text, freeze_object

FILENAME, START_LINE, END_LINE, PACKAGE = "filename", "start_line", "end_line", "package"

_PATH = "item.metadata"
_SEPARATORS = re.compile(r"[\W_]+")
_LIKENESS = 0.85
_READER, _MAKER = 3, 5
"""Whoever reads or makes an item stands so many frames above the warning."""


class MetadataWarning(UserWarning):
    """Point at metadata that are legal but look like a mistake, such as a near miss of a known key."""


@frozen(eq=False, repr=False)
class ItemMetadata(Mapping[str, Any]):
    """Hold metadata that were checked and cannot change.

    Equal to any mapping that says the same.
    """

    _values: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self._values))


def checked_metadata(values: Mapping[str, Any]) -> ItemMetadata:
    """Return metadata as a caller may give them; what was checked before is returned as it is.

    Known keys: ``filename`` and ``package`` are text, ``start_line`` and ``end_line`` whole
    numbers from 1, the latter not before the former. All other keys pass, with a
    `MetadataWarning` where one looks like a known one.

    Raises:
        InvalidDataError: no mapping, no JSON data, a known key with a wrong value.
    """
    if isinstance(values, ItemMetadata):
        return values
    metadata = read_metadata(values, stacklevel=_MAKER)
    start, end = metadata.get(START_LINE), metadata.get(END_LINE)
    if start is not None and end is not None and end < start:
        raise InvalidDataError(
            f"{_PATH}.{END_LINE}",
            f"{end} is before start_line {start}",
            "a line from start_line on",
        )
    return metadata


def read_metadata(values: Mapping[str, Any], *, stacklevel: int = _READER) -> ItemMetadata:
    """Return metadata as a document may hold them: as `checked_metadata`, but lines may run backwards.

    The JSON Schema cannot forbid that, and an editor's point may stand before its mark.
    """
    metadata = ItemMetadata(freeze_object(values, _PATH))
    for key, (kind, legal) in _KNOWN.items():
        # What is frozen is of no subclass; so true and false are no lines.
        if key in metadata and (
            type(metadata[key]) is not kind or (kind is int and metadata[key] < 1)
        ):
            raise InvalidDataError(f"{_PATH}.{key}", f"{metadata[key]!r:.60} is no {key}", legal)
    for key in metadata.keys() - _KNOWN.keys():
        if near := get_close_matches(
            _SEPARATORS.sub("", key.casefold()), _PLAIN, n=1, cutoff=_LIKENESS
        ):
            meant = f"metadata key {key!r:.60} is not known; did you mean {_PLAIN[near[0]]!r}?"
            warnings.warn(meant, MetadataWarning, stacklevel=stacklevel)
    return metadata


_LINE: tuple[type, str] = (int, "a whole number, at least 1")
_KNOWN = {FILENAME: (str, "text"), START_LINE: _LINE, END_LINE: _LINE, PACKAGE: (str, "text")}
_PLAIN = {_SEPARATORS.sub("", key): key for key in _KNOWN}


_ID = re.compile(r"ctx-([0-9]+)")
_MOST_DIGITS = 4000
"""Python makes no number of more than 4,300."""

_OUT_OF_REACH = 2**63
"""Nobody counts so far in a lifetime: an id that is further ahead than this needs no room kept for
it."""

_START = datetime(1900, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_MOMENTS = (
    f"an aware datetime from 1900 on, or whole seconds since 1900-01-01 UTC, 0..{INTEGERS.stop - 1}"
)


class ItemType(StrEnum):
    """Say what an item holds."""

    CODE = "code"
    TEXT = "text"
    FILE = "file"
    REPL_HISTORY = "repl-history"
    ERROR = "error"
    CUSTOM = "custom"
    """A kind of the caller's own, named by ``metadata["kind"]``: see `register_formatter`."""


class ItemIds(Iterator[str]):
    """Count ids up, safely under threads; iterate it like an `itertools.count`.

    >>> ids = ItemIds()
    >>> next(ids), next(ids)
    ('ctx-1', 'ctx-2')
    >>> ids.skip_past("ctx-41")
    >>> next(ids)
    'ctx-42'
    """

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def __next__(self) -> str:
        with self._lock:
            self._last += 1
            return f"ctx-{self._last}"

    def skip_past(self, item_id: str) -> None:
        """Never give `item_id` or a lower one again; what is no id of an item changes nothing."""
        match = _ID.fullmatch(item_id)
        if match and len(match[1]) <= _MOST_DIGITS:
            number = int(match[1])
            with self._lock:
                if self._last < number < self._last + _OUT_OF_REACH:
                    self._last = number


ITEM_IDS = ItemIds()
"""Where the ids of this process come from; it goes on behind every id that an item was ever made
with."""


def check_item_type(value: object) -> ItemType:
    """Return `value` as the type of an item; raise `InvalidDataError` if it is none."""
    try:
        return ItemType(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidDataError(
            "item.type", f"unknown type {value!r:.60}", ", ".join(ItemType)
        ) from None


def universal_time(value: datetime | int) -> int:
    """Return a moment as Universal Time; fractions of a second are cut off.

    Raises:
        InvalidDataError: before 1900, a naive datetime, no moment at all, a number that JSON data
            cannot hold.

    >>> universal_time(datetime(2023, 12, 8, tzinfo=UTC))
    3910982400
    """
    seconds: Any = value
    if isinstance(value, datetime) and value.utcoffset() is not None:
        seconds = (value - _START) // _SECOND
    if (
        not isinstance(seconds, int)
        or isinstance(seconds, bool)
        or not 0 <= seconds < INTEGERS.stop
    ):
        is_huge = isinstance(seconds, int) and seconds > 1
        shown = f"a number of {seconds.bit_length()} bits" if is_huge else f"{value!r:.80}"
        raise InvalidDataError(
            "item.timestamp", f"{shown} is no moment that can be written", _MOMENTS
        )
    return seconds


def _content(value: object) -> str:
    return check_text(value, "item.content")


def _metadata(values: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if values is None:
        return None
    return checked_metadata(values)


def _id(value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidDataError("item.id", f"{value!r:.60} is no id", "ctx-N, such as ctx-42")
    # Here, so that no way of making an item (reading, copying, unpickling) lets a later one take
    # its id.
    ITEM_IDS.skip_past(value)
    return value


@frozen
class ContextItem:
    """Hold a piece of code or text with what is known of it: immutable, id and timestamp included (docs/attachments.md).

    `metadata` are JSON data or None; the keys ``filename``, ``start_line``, ``end_line``
    and ``package`` are checked. `timestamp` is an aware datetime or Universal Time; it
    defaults to now, `id` to the next one of this process. Ids that are given are passed over.

    Raises:
        InvalidDataError: an unknown type, content or metadata that cannot be stored, a known
            key with a wrong value, a naive timestamp or one before 1900, an id that is not
            ``ctx-N``.

    >>> item = ContextItem("(defun add (a b) (+ a b))", metadata={"filename": "math.lisp", "start_line": 5, "end_line": 7})
    >>> item.type
    <ItemType.CODE: 'code'>
    >>> ContextItem("x", type="poem")
    Traceback (most recent call last):
    polycontext.linearity.errors.InvalidDataError: item.type: unknown type 'poem'. Use code, text,
    file, repl-history, error, custom.
    """

    content: str = field(converter=_content)
    type: ItemType = field(default=ItemType.CODE, converter=check_item_type)
    metadata: Mapping[str, Any] | None = field(default=None, converter=_metadata, hash=False)
    # The one place where an item made without a timestamp reads a clock.
    universal_time: int = field(
        factory=lambda: universal_time(datetime.now(UTC)),
        converter=universal_time,
        alias="timestamp",
        kw_only=True,
    )
    """Creation time in whole seconds since 1900-01-01 UTC; the constructor's `timestamp`."""
    id: str = field(factory=lambda: next(ITEM_IDS), converter=_id, kw_only=True)

    @property
    def timestamp(self) -> datetime:
        """Return the creation time, in UTC, to the second.

        Raises:
            InvalidDataError: after the year 9999, which a datetime cannot say.
        """
        try:
            return _START + self.universal_time * _SECOND
        except OverflowError:
            problem = f"{self.universal_time} is after the year 9999"
            raise InvalidDataError(
                "item.timestamp", problem, "universal_time, which any number fits"
            ) from None

    def says_the_same_as(self, other: "ContextItem") -> bool:
        """Tell whether both hold the same content of the same type with the same metadata."""
        return (self.type, self.content, self.metadata) == (
            other.type,
            other.content,
            other.metadata,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, which knows of the id then.
        return partial(ContextItem, timestamp=self.universal_time, id=self.id), (
            self.content,
            self.type,
            self.metadata,
        )


def label_of(item: ContextItem) -> str:
    """Return file name and lines, such as ``math.lisp:5-7``, on one line.

    Empty without a file name.
    """
    metadata = item.metadata or {}
    name = metadata.get(FILENAME)
    if not name:
        return ""
    printable = (
        name
        if name.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    )
    start, end = metadata.get(START_LINE), metadata.get(END_LINE)
    if end is None or end == start:
        return printable if start is None else f"{printable}:{start}"
    return f"{printable}:{'' if start is None else start}-{end}"
