r"""Excerpts of a program's output: what it says in fewer characters, by the form that it has.

Lists of records become tables, diffs keep what they change, equal lines are told once with their
number, and of the rest the failures, the ends and the lines with new names are kept. An excerpt is
a function of the text alone, so that the same text is always told in the same words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from polycontext.window import EstimatingCounter

from .notes.items import left_out
from .notes.output import says_failure
from .notes.patches import is_diff
from .notes.pieces import MOST_CHARS, without_escapes
from .notes.records import inline, parse_records, plain
from .notes.truncation import truncate
from .terms import is_prose

_CHARS_A_TOKEN = 4
_LEAST_ROWS, _MOST_ROWS, _MOST_COLUMNS = 3, 2_000, 40
"""The rows that are worth the head of a table, and the most rows, half from either end, and columns
of one."""

_SHORT, _LONG = 120, 400
"""The most characters of a value on the line of its key, and of a text that is no block."""

_OPENING = re.compile(
    r"<(output|stdout|stderr|documents?|document_contents?|files?|file_contents?|contents?|logs?|data"
    r"|attachments?|source|code)(?: [^<>]*)?>"
)
_CLOSING = re.compile(r"^[ \t]*</(\w+)>[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"```+|~~~+")
_TOLD = re.compile(r"diff --git |index [0-9a-f]|@@ |[+-]|\*\*\* ")


def excerpt_of(text: str, chars: int, whole: int = 0) -> str:
    r"""Return an excerpt of `text` with about `chars` characters, or `text` if that is shorter.

    Nothing is left out if all of it, in its denser form, takes no more than `whole` characters.
    Time is linear in the text.

    >>> print(excerpt_of("begin\n" + "wait for the lock\n" * 75 + "done", 200))
    begin
    wait for the lock … ×75
    done
    >>> rows = [f'{{"id": "A{n}", "state": "open", "price": {{"eur": {n}}}}}' for n in range(9)]
    >>> print(excerpt_of(f'{{"seats": [{", ".join(rows)}]}}', 90))
    seats: 9 rows, each with state open
    id, price.eur
    A0, 0
    A1, 1
    A2, 2
    [… 3 rows]
    A6, 6
    A7, 7
    A8, 8
    """
    text = without_escapes(text)
    may_be_table = len(text) <= MOST_CHARS or text.lstrip()[:1] in ("{", "[")
    lead, value = parse_records(text) if may_be_table else ("", None)
    if value is None:
        return min(_of_lines(text, chars, whole), text, key=len)
    blocks = [*_blocks(value, "")]
    size = sum(block.size for block in blocks)
    heads = len(lead) + sum(len(block.head) + 1 for block in blocks)
    share = 1.0 if size <= max(chars, whole) else max(0.0, chars - heads) / max(1, size - heads)
    told = "\n".join(filter(None, (lead, *(block.text(min(1.0, share)) for block in blocks))))
    return min(told if share == 1 else _of_lines(told, chars, 2 * chars), text, key=len)


def _of_lines(text: str, chars: int, whole: int = 0) -> str:
    told = "\n".join((_changes if is_diff(text) else _counted)(text.splitlines()))
    if len(told) > max(chars, whole):
        told = truncate(told, chars // _CHARS_A_TOKEN, EstimatingCounter())
    return told


def _counted(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, of equal ones in a row the first with their number."""
    for line, run in groupby(lines):
        number = len([*run])
        yield f"{line} … ×{number:,}" if number > 1 and line.strip() else line


def _changes(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff that name files and places or change something."""
    for is_told, run in groupby(lines, lambda line: _TOLD.match(line) is not None):
        told = [*run]
        yield from told if is_told or len(told) == 1 else (left_out(len(told), "line"),)


class _Block(NamedTuple):
    """A part of a JSON value: a line, and under it rows, or a text that has lines of its own.

    `unread` counts the rows in the middle that are not among `rows`.
    """

    head: str
    rows: Sequence[str] = ()
    body: str = ""
    unread: int = 0

    @property
    def size(self) -> int:
        return len(self.head) + 1 + sum(map(len, self.rows)) + len(self.rows) + len(self.body)

    def text(self, share: float) -> str:
        """Return the block with about this share of its rows and of its text."""
        if self.body:
            told = self.body if share == 1 else _of_lines(self.body, int(share * len(self.body)))
            return f"{self.head}\n{told}"
        if not self.rows:
            return self.head
        chars = self.size if share == 1 else int(share * (self.size - len(self.head)))
        return "\n".join((self.head, *_outer(self.rows, chars, self.unread)))


def _outer(rows: Sequence[str], chars: int, unread: int) -> Iterator[str]:
    """Yield the rows that report failures, then the outer ones, in order and with marks."""
    middle = len(rows) // 2
    ranks = [
        (not says_failure(row), min(place, len(rows) - 1 - place)) for place, row in enumerate(rows)
    ]
    kept, size = list[int](), 0
    for place in sorted(range(len(rows)), key=ranks.__getitem__):
        size += len(rows[place]) + 1
        if kept and size > chars:
            break
        kept.append(place)
    for before, place in pairwise((-1, *sorted(kept), len(rows))):
        omitted = place - before - 1 + (unread if before < middle <= place else 0)
        if omitted:
            yield left_out(omitted, "row")
        if place < len(rows):
            yield rows[place]


def _blocks(value: Any, name: str) -> Iterator[_Block]:
    """Yield the blocks of a value under `name`."""
    opening = f"{name}: " if name else ""
    if not isinstance(value, dict | list):
        yield _Block(f"{opening}{inline(value)}")
    elif table := _table(value, opening):
        yield table
    elif isinstance(value, list) and all(
        isinstance(each, str) or _is_short(each) for each in value
    ):
        yield _Block(f"{opening}{len(value):,} values", [*map(inline, value)])
    else:
        items = value if isinstance(value, dict) else {f"#{n}": v for n, v in enumerate(value, 1)}
        large = {key: each for key, each in items.items() if not _is_short(each)}
        pairs = [f"{plain(key)} {inline(items[key])}" for key in items if key not in large]
        if len(pairs) > _MOST_COLUMNS:
            yield _Block(f"{opening}{len(pairs):,} values", pairs)
        elif pairs or not items:
            yield _Block(f"{opening}{', '.join(pairs)}")
        for key, each in large.items():
            inner = f"{name} {plain(key)}".strip()
            if isinstance(each, str):
                yield _Block(f"{inner}:", (), each)
            else:
                yield from _blocks(each, inner)


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONG
    return not isinstance(value, dict | list) or len(inline(value, _SHORT)) <= _SHORT


def _table(value: Any, opening: str) -> _Block | None:
    """Return a list of records as a table, without the columns that are the same in all rows."""
    records = _records(value)
    number = len(records)
    if number < _LEAST_ROWS:
        return None
    if number > _MOST_ROWS:
        records = [*records[: _MOST_ROWS // 2], *records[-_MOST_ROWS // 2 :]]
    flat = [dict(_cells(record, "")) for record in records]
    columns = dict.fromkeys(key for cells in flat for key in cells)
    if not flat[0] or len(columns) > min(_MOST_COLUMNS, 2 * len(flat[0])):
        return None
    first = flat[0]
    same = [key for key in first if all(cells.get(key) == first[key] for cells in flat)]
    shown = [key for key in columns if key not in same] or same[:1]
    told = ", ".join(f"{plain(key)} {first[key]}" for key in same if key not in shown)
    head = f"{opening}{number:,} rows{f', each with {told}' if told else ''}"
    rows = [", ".join(cells.get(key, "") for key in shown) for cells in flat]
    return _Block(f"{head}\n{', '.join(map(plain, shown))}", rows, unread=number - len(rows))


def _records(value: Any) -> list[Mapping[str, Any]]:
    """Return the records of a list, of a list of lists, or of an object, with their places."""
    if isinstance(value, dict):
        place, placed = "key", [*value.items()]
    elif all(isinstance(each, dict) for each in value):
        return [*value]
    elif all(isinstance(each, list) for each in value):
        place, placed = (
            "#",
            [(number, each) for number, rows in enumerate(value, 1) for each in rows],
        )
    else:
        return []
    is_table = all(isinstance(each, dict) and place not in each for _, each in placed)
    return [{place: where, **each} for where, each in placed] if is_table else []


def _cells(record: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the columns and texts of a record, those of records in it by their path."""
    for key, each in record.items():
        if isinstance(each, dict) and each and prefix.count(".") < _LEAST_ROWS:
            yield from _cells(each, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", inline(each)


def pasted_spans(text: str, chars: int) -> list[tuple[int, int]]:
    r"""Return the spans of pasted blocks with more than `chars` characters, in order.

    A block is what stands between fences, or between the tags of a document or an output, or a
    paragraph that is no prose. Time is linear in the text.

    >>> text = "Why?\n```\n" + "line\n" * 9 + "```\nBriefly."
    >>> [text[start:end].count("line") for start, end in pasted_spans(text, 40)]
    [9]
    """
    spans = _segments(text) if len(text) > chars else ()
    return [
        (start, end)
        for start, end, is_block in spans
        if end - start > chars and (is_block or not is_prose(text[start:end]))
    ]


def _segments(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of blocks and of the paragraphs between them, and which are blocks."""
    closing = {match[1].lower(): match.start() for match in _CLOSING.finditer(text)}
    start, place, closes = 0, 0, ""
    for line in text.split("\n"):
        told, end, opens = line.strip().lower(), place + len(line) + 1, ""
        ends = told == closes
        if told and not closes:
            tag, fence = _OPENING.fullmatch(told), _FENCE.match(told)
            if tag and closing.get(tag[1], -1) >= end:
                opens = f"</{tag[1]}>"
            elif fence:
                opens = fence[0]
            ends = bool(opens)
        if ends:
            if start < place - 1:
                yield start, place - 1, bool(closes)
            start, closes = end, opens
        place = end
    yield start, len(text), closes[:1] in ("`", "~")
