"""How many pages a PDF has, without reading it as one.

Page objects are counted where they stand in the clear. Newer files pack them into compressed streams; these are
inflated, within bounds. Where neither finds a page the number is unknown.
"""

import re
import zlib
from itertools import islice

PDF_LIMIT = 32_000_000
"""Bytes of a document that are looked at; providers take no larger request."""

_PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")
_TREE = re.compile(rb"/Type\s{0,8}/Pages(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s{1,8}(\d{1,4})(?!\d)")
_PACKED = re.compile(rb"/Type\s{0,8}/ObjStm")
_STREAM = re.compile(rb"stream\r?\n")
_STREAMS, _TREES = 2_000, 2_000
_INFLATED = 8_000_000
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
    all_read = True
    for number, packed in enumerate(_PACKED.finditer(data)):
        stream = _STREAM.search(data, packed.end(), packed.end() + _NEAR)
        inner = _inflated(data, stream.end(), budget) if stream and number < _STREAMS else b""
        if not inner:
            all_read = False
            break
        budget -= len(inner)
        more, told = _found(inner)
        pages, promised = pages + more, max(promised, told)
    # Where a stream stayed closed the page tree's own word is needed.
    return max(pages, promised) or None if all_read or promised else None


def _found(data: bytes) -> tuple[int, int]:
    """Return how many page objects stand in `data`, and the largest number of pages that a page tree promises."""
    pages = sum(1 for _ in _PAGE.finditer(data))
    trees = (data[max(0, tree.start() - _NEAR // 4) : tree.end() + _NEAR // 4] for tree in islice(_TREE.finditer(data), _TREES))
    return pages, max((int(count[1]) for near in trees for count in _COUNT.finditer(near)), default=0)


def _inflated(data: bytes, start: int, most: int) -> bytes:
    """Return what a compressed stream holds, nothing where it cannot be opened or is larger than `most` bytes."""
    if most <= 0:
        return b""
    opened = zlib.decompressobj()
    try:
        inner = opened.decompress(data[start : start + most], most)
    except zlib.error:
        return b""
    return inner if opened.eof else b""
