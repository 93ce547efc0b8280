"""The context item: a piece of code or text for a prompt, with metadata (docs/attachments.md).

Its id is ``ctx-N``, unique and increasing within a process (INV-003). Its time is serialised as
Universal Time: whole seconds since 1900-01-01 UTC.
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

from polycontext.base import InvalidDataError, guided, is_whole
from polycontext.base.json_data import INTEGERS, check_text, freeze_object

FILENAME, START_LINE, END_LINE, PACKAGE = "filename", "start_line", "end_line", "package"

_PATH = "item.metadata"
_SEPARATORS = re.compile(r"[\W_]+")
_LIKENESS = 0.85
_READER, _MAKER = 3, 6
"""Warning stack levels that point at the caller who reads a document or creates an item."""


class MetadataWarning(UserWarning):
    """Warns about valid metadata that look like a mistake, such as a near miss of a known key."""


@frozen(eq=False, repr=False)
class ItemMetadata(Mapping[str, Any]):
    """Validated, immutable metadata.

    Compares equal to any mapping with the same contents.
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
    """Return validated metadata; metadata that were validated before are returned unchanged.

    Known keys: ``filename`` and ``package`` are text; ``start_line`` and ``end_line`` are whole
    numbers from 1, and the end may not be before the start. All other keys are accepted, with a
    `MetadataWarning` if one resembles a known key.

    Raises:
        InvalidDataError: The values are not a mapping or not JSON data, or a known key has an
            invalid value.
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
    """Return metadata read from a document, validated as by `checked_metadata`.

    Unlike there, ``end_line`` may be before ``start_line``: the JSON Schema cannot forbid it, and
    an editor's point may be before its mark.
    """
    metadata = ItemMetadata(freeze_object(values, _PATH))
    for key, (kind, legal) in _KNOWN.items():
        # Frozen data hold no subclasses of int except bool, so `type() is` rejects only booleans.
        if key in metadata and (
            type(metadata[key]) is not kind or (kind is int and metadata[key] < 1)
        ):
            raise InvalidDataError(
                f"{_PATH}.{key}", f"{metadata[key]!r:.60} is not a valid {key}", legal
            )
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
"""Python refuses to parse an integer of more than 4,300 digits."""

_OUT_OF_REACH = 2**63
"""Ids further ahead than this do not advance the counter, since it can never reach them."""

_START = datetime(1900, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_MOMENTS = (
    f"an aware datetime from 1900 on, or whole seconds since 1900-01-01 UTC, 0..{INTEGERS.stop - 1}"
)


class ItemType(StrEnum):
    """The kind of content that an item holds."""

    CODE = "code"
    TEXT = "text"
    FILE = "file"
    REPL_HISTORY = "repl-history"
    ERROR = "error"
    CUSTOM = "custom"
    """A kind that the caller names in ``metadata["kind"]``; see `register_formatter`."""


class ItemIds(Iterator[str]):
    """A thread-safe iterator of increasing item ids.

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
        """Never issue `item_id` or a lower id again; ignore text that is not an item id."""
        match = _ID.fullmatch(item_id)
        if match and len(match[1]) <= _MOST_DIGITS:
            number = int(match[1])
            with self._lock:
                if self._last < number < self._last + _OUT_OF_REACH:
                    self._last = number


ITEM_IDS = ItemIds()
"""The source of this process's ids, always higher than the id of any existing item."""


def check_item_type(value: object) -> ItemType:
    """Return `value` as an item type; raise `InvalidDataError` if it is not one."""
    try:
        return ItemType(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidDataError(
            "item.type", f"unknown type {value!r:.60}", ", ".join(ItemType)
        ) from None


def universal_time(value: datetime | int) -> int:
    """Return a moment as Universal Time, with fractions of a second cut off.

    Raises:
        InvalidDataError: The moment is before 1900, a naive datetime, not a moment at all, or a
            number that JSON data cannot hold.

    >>> universal_time(datetime(2023, 12, 8, tzinfo=UTC))
    3910982400
    """
    seconds: Any = value
    if isinstance(value, datetime) and value.utcoffset() is not None:
        seconds = (value - _START) // _SECOND
    if not is_whole(seconds, 0, INTEGERS.stop - 1):
        is_huge = isinstance(seconds, int) and seconds > 1
        shown = f"a number of {seconds.bit_length()} bits" if is_huge else f"{value!r:.80}"
        raise InvalidDataError(
            "item.timestamp", f"{shown} is not a time that can be written", _MOMENTS
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
        raise InvalidDataError("item.id", f"{value!r:.60} is not an id", "ctx-N, such as ctx-42")
    # Done here so that every way to create an item (reading, copying, unpickling) reserves its id.
    ITEM_IDS.skip_past(value)
    return value


@guided
@frozen
class ContextItem:
    """An immutable piece of code or text with its metadata, id and timestamp (docs/attachments.md).

    `metadata` are JSON data or None; the keys ``filename``, ``start_line``, ``end_line`` and
    ``package`` are validated. `timestamp` is an aware datetime or Universal Time and defaults to
    now. `id` defaults to the next id of this process, which skips ids that were given explicitly.

    Raises:
        InvalidDataError: The type is unknown, the content or metadata cannot be stored, a known key
            has an invalid value, the timestamp is naive or before 1900, or the id is not ``ctx-N``.

    >>> place = {"filename": "math.lisp", "start_line": 5, "end_line": 7}
    >>> item = ContextItem("(defun add (a b) (+ a b))", metadata=place)
    >>> item.type
    <ItemType.CODE: 'code'>
    >>> ContextItem("x", type="poem")
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: item.type: unknown type 'poem'. Use code, \
text, file, repl-history, error, custom.
    """

    content: str = field(converter=_content)
    type: ItemType = field(default=ItemType.CODE, converter=check_item_type)
    metadata: Mapping[str, Any] | None = field(default=None, converter=_metadata, hash=False)
    # The only place that reads a clock, for an item created without a timestamp.
    universal_time: int = field(
        factory=lambda: universal_time(datetime.now(UTC)),
        converter=universal_time,
        alias="timestamp",
        kw_only=True,
    )
    """The creation time in whole seconds since 1900-01-01 UTC; the constructor's `timestamp`."""
    id: str = field(factory=lambda: next(ITEM_IDS), converter=_id, kw_only=True)

    @property
    def timestamp(self) -> datetime:
        """Return the creation time in UTC, to the second.

        Raises:
            InvalidDataError: The time is after the year 9999, which a datetime cannot express.
        """
        try:
            return _START + self.universal_time * _SECOND
        except OverflowError:
            problem = f"{self.universal_time} is after the year 9999"
            raise InvalidDataError(
                "item.timestamp", problem, "universal_time, which any number fits"
            ) from None

    def says_the_same_as(self, other: "ContextItem") -> bool:
        """Return whether both items have the same content, type and metadata."""
        return (self.type, self.content, self.metadata) == (
            other.type,
            other.content,
            other.metadata,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuild through the constructor, which reserves the id.
        return partial(ContextItem, timestamp=self.universal_time, id=self.id), (
            self.content,
            self.type,
            self.metadata,
        )


def label_of(item: ContextItem) -> str:
    """Return the file name and lines on one line, such as ``math.lisp:5-7``.

    Returns an empty string without a file name.
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
