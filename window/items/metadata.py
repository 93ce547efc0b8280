"""Metadata of items: any JSON data, with four keys that are known and checked (docs/items.md)."""

import re
import warnings
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import freeze_object

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
        raise InvalidDataError(f"{_PATH}.{END_LINE}", f"{end} is before start_line {start}", "a line from start_line on")
    return metadata


def read_metadata(values: Mapping[str, Any], *, stacklevel: int = _READER) -> ItemMetadata:
    """Return metadata as a document may hold them: as `checked_metadata`, but lines may run backwards.

    The JSON Schema cannot forbid that, and an editor's point may stand before its mark.
    """
    metadata = ItemMetadata(freeze_object(values, _PATH))
    for key, (kind, legal) in _KNOWN.items():
        # What is frozen is of no subclass; so true and false are no lines.
        if key in metadata and (type(metadata[key]) is not kind or (kind is int and metadata[key] < 1)):
            raise InvalidDataError(f"{_PATH}.{key}", f"{metadata[key]!r:.60} is no {key}", legal)
    for key in metadata.keys() - _KNOWN.keys():
        if near := get_close_matches(_SEPARATORS.sub("", key.casefold()), _PLAIN, n=1, cutoff=_LIKENESS):
            meant = f"metadata key {key!r:.60} is not known; did you mean {_PLAIN[near[0]]!r}?"
            warnings.warn(meant, MetadataWarning, stacklevel=stacklevel)
    return metadata


_LINE: tuple[type, str] = (int, "a whole number, at least 1")
_KNOWN = {FILENAME: (str, "text"), START_LINE: _LINE, END_LINE: _LINE, PACKAGE: (str, "text")}
_PLAIN = {_SEPARATORS.sub("", key): key for key in _KNOWN}
