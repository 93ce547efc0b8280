"""How many pages a PDF has, without reading it as one.

Page objects are counted where they stand in the clear. Newer files pack them into compressed streams; these are
inflated, within bounds. Where neither finds a page the number is unknown.
"""

import re
import zlib
from itertools import islice

PDF_LIMIT = 32_000_000
"""Bytes of a document that are looked at; providers take no larger request."""

MAX_PAGES = 600
"""Pages that a provider takes at most; a larger number is read as unknown."""

_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s{1,8}(\d{1,7})")
_PACKED = re.compile(rb"/Type\s{0,8}/ObjStm")
_STREAM = re.compile(rb"stream\r?\n")
_STREAMS = 2_000
_INFLATED = 4_000_000
_NEAR = 2_000


def count_pages(data: bytes) -> int | None:
    """Return the number of pages of a PDF, or None where it cannot be told. Rather too many than too few.

    >>> count_pages(b"%PDF-1.4 << /Type /Pages /Count 2 >> << /Type /Page >> << /Type/Page >>")
    2
    >>> count_pages(b"%PDF-1.7 locked") is None
    True
    """
    pages, promised = _found(data)
    budget = _INFLATED
    for packed in islice(_PACKED.finditer(data), _STREAMS):
        stream = _STREAM.search(data, packed.end(), packed.end() + _NEAR)
        if stream is None or budget <= 0:
            continue
        inner = _inflated(data, stream.end(), budget)
        budget -= len(inner)
        more, told = _found(inner)
        pages, promised = pages + more, max(promised, told)
    found = max(pages, promised)
    return found if found > 0 else None


def _found(data: bytes) -> tuple[int, int]:
    """Return how many page objects stand in `data`, and the largest number of pages that a page tree promises."""
    pages = sum(1 for _ in _PAGE.finditer(data))
    return pages, 0


def _inflated(data: bytes, start: int, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data[start : start + most], most)
    except zlib.error:
        return b""
