"""Metadata of items: any JSON data, with four keys that are known and checked (seed 000, L-003)."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import frozen

from polycontext.window.errors import InvalidTurnError
from polycontext.window.items.errors import InvalidItemError, MetadataWarning
from polycontext.window.turn import frozen_json

FILENAME, START_LINE, END_LINE, PACKAGE = "filename", "start_line", "end_line", "package"

_SEPARATORS = re.compile(r"[\W_]+")
_LIKENESS = 0.85
_DEEPEST = 100
"""Levels of objects and lists in one another; comparing and writing take a few calls for each."""

_MOST_BITS = 4096
"""Of a whole number: some 1,200 digits, more than any float has and fewer than Python refuses to write."""

_CALLER = 4
"""Whoever makes or reads an item stands so many frames above the warning."""


@frozen(eq=False, repr=False)
class ItemMetadata(Mapping[str, Any]):
    """Hold metadata that were checked and cannot change; equal to any mapping that says the same."""

    _values: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self._values))


def checked_metadata(values: Mapping[str, Any] | None) -> ItemMetadata | None:
    """Return metadata as a caller may give them; what was checked before is returned as it is.

    Known keys: ``filename`` and ``package`` are text, ``start_line`` and ``end_line`` whole
    numbers from 1, the latter not before the former. All other keys pass, with a
    `MetadataWarning` where one looks like a known one.

    Raises:
        InvalidItemError: no mapping, no JSON data, a known key with a wrong value.
    """
    if values is None or isinstance(values, ItemMetadata):
        return values
    metadata = read_metadata(values)
    if problem := _backwards(metadata):
        raise InvalidItemError(f"metadata.{END_LINE}", problem, "a line from start_line on")
    return metadata


def read_metadata(values: Mapping[str, Any]) -> ItemMetadata:
    """Return metadata as a document may hold them: as `checked_metadata`, but lines may run backwards.

    The JSON Schema cannot forbid that, and an editor's point may stand before its mark.
    """
    if not isinstance(values, Mapping):
        raise InvalidItemError("metadata", f"{type(values).__name__} is not a mapping", "a mapping of JSON data, or None")
    metadata = ItemMetadata(_frozen(values))
    for key, (is_legal, legal) in _KNOWN.items():
        if key in metadata and not is_legal(metadata[key]):
            raise InvalidItemError(f"metadata.{key}", f"{metadata[key]!r:.60} is no {key}", legal)
    for key in metadata.keys() - _KNOWN.keys():
        if known := _meant(key):
            warnings.warn(f"metadata key {key!r:.60} is not known; did you mean {known!r}?", MetadataWarning, stacklevel=_CALLER)
    return metadata


def _frozen(values: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        data: Mapping[str, Any] = frozen_json(values, "metadata")
    except InvalidTurnError as error:
        raise InvalidItemError(error.field, error.problem, error.legal) from None
    except RecursionError:
        raise _too_deep() from None
    level: list[Any] = [data]
    for _ in range(_DEEPEST + 1):
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return data
    raise _too_deep()


def _inner(value: Any) -> Iterable[Any]:
    """Return what stands in `value`; refuse a number that nobody can read again."""
    if isinstance(value, int):
        check_size(value, "metadata")
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()


def check_size(number: int, field: str) -> int:
    """Return `number` if it can be written in digits and read again; raise `InvalidItemError` otherwise."""
    if number.bit_length() > _MOST_BITS:
        raise InvalidItemError(field, f"a number of {number.bit_length()} bits cannot be written", f"at most {_MOST_BITS} bits")
    return number


def _too_deep() -> InvalidItemError:
    return InvalidItemError("metadata", f"nested more than {_DEEPEST} levels deep, or in itself", "a mapping of JSON data")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_line(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_KNOWN: dict[str, tuple[Callable[[object], bool], str]] = {
    FILENAME: (_is_text, "text"),
    START_LINE: (_is_line, "a whole number, at least 1"),
    END_LINE: (_is_line, "a whole number, at least 1"),
    PACKAGE: (_is_text, "text"),
}
_PLAIN = {_SEPARATORS.sub("", key): key for key in _KNOWN}


def _meant(key: str) -> str | None:
    """Return the known key that `key` nearly is."""
    near = get_close_matches(_SEPARATORS.sub("", key.casefold()), _PLAIN, n=1, cutoff=_LIKENESS)
    return _PLAIN[near[0]] if near else None


def _backwards(metadata: ItemMetadata) -> str | None:
    start, end = metadata.get(START_LINE), metadata.get(END_LINE)
    return f"{end} is before start_line {start}" if start is not None and end is not None and end < start else None
