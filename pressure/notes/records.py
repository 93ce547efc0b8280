"""Records: JSON, JSON lines and tables as notes of the form ``identifier: key value, key value``.

Each pair is whole and belongs to its record.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate, chain
from types import MappingProxyType
from typing import Any, NamedTuple

INLINE = 80
"""A value of at most this many characters is one piece with its key."""

MOST_DEPTH = 200
"""How deep records are read."""

_ID_KEY = re.compile(r"(?i:(?:.*[_-])?(?:id|number|code|uuid|sku|key))|.*[a-z]Id")
_NAME_KEY = re.compile(r"(?:.*[_-])?(?:name|title|path|file|subject|slug|ref)", re.IGNORECASE)
_PLAIN = re.compile(r"[^\s,\"'{}\[\]()=…]+(?: [^\s,\"'{}\[\]()=…]+)*")
_LOOKS_TYPED = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_RULE = re.compile(r"[|:\-+= ]{3,}")
_JSON_LINE = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
_STEPS = MappingProxyType({"[": 1, "{": 1, "]": -1, "}": -1})
_BREAKS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})
"""Line breaks that JSON leaves as they are; in a summary they would look like a new line."""
_LONGEST_ID, _LEAST_PAIRS, _LEAST_ROWS = 60, 3, 3


class Literal(str):
    """A number as it was written: 1.50 stays 1.50."""

    __slots__ = ()


class Record(NamedTuple):
    """A record: `parent` names its container, `header` the record itself.

    A later record with the same `about` is a newer version of it.
    """

    parent: str
    header: str
    pairs: Mapping[str, Any]
    about: str


def read_json(text: str) -> Any:
    """Return the value of a JSON text, with numbers as literals.

    Return None if it is invalid, or nested so deep that reading it depends on the stack.
    """
    try:
        value = json.loads(text, parse_float=Literal, parse_int=Literal)
    except (ValueError, RecursionError):
        return None
    return None if _is_deep(text) else value


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_DEPTH:
        return False
    depths = accumulate(_STEPS.get(match[0], 0) for match in _BRACKET.finditer(text))
    return any(depth > MOST_DEPTH for depth in depths)


def parse_records(text: str) -> tuple[str, Any]:
    """Return the text before the records and the object or array that follows.

    The value is None if there are no records.
    """
    text = text.strip()
    opening = _JSON_LINE.search(text)
    if opening is not None:
        rest = text[opening.start() :]
        value = read_json(rest) or _json_lines(rest)
        if isinstance(value, dict | list) and value:
            return text[: opening.start()].strip(), value
    return "", _table(text)


def _json_lines(text: str) -> list[Any] | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1 or not all(
        line.startswith("{") and line.rstrip().endswith("}") for line in lines
    ):
        return None
    records = [*map(read_json, lines)]
    return None if None in records else records


def _table(text: str) -> list[dict[str, Any]] | None:
    """Return the rows of a table with a header: Markdown, or separated by tabs, ``;`` or commas."""
    first, _, rest = text[:2000].partition("\n")
    if not rest or first[:1] in "{[<#$":
        return None
    lines = text.splitlines()
    if first.startswith("|"):
        rows = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines
            if not _RULE.fullmatch(line.strip())
        ]
    else:
        mark = next((mark for mark in "\t;," if first.count(mark) > (mark == ",")), None)
        if mark is None or any(
            line.count(mark) != first.count(mark) and '"' not in line for line in lines
        ):
            return None
        try:
            rows = list(csv.reader(lines, delimiter=mark))
        except csv.Error:
            return None
    head = rows[0]
    is_table = (
        len(rows) >= _LEAST_ROWS
        and len(head) > 1
        and len({*head}) == len(head)
        and all(len(row) == len(head) for row in rows)
    )
    if not is_table or not all(
        cell and len(cell) <= _LONGEST_ID and not cell[0].isdigit() for cell in head
    ):
        return None
    cells = {
        cell: Literal(cell) if _LOOKS_TYPED.fullmatch(cell) else cell
        for cell in {*chain.from_iterable(rows)}
    }
    return [dict(zip(head, map(cells.__getitem__, row), strict=True)) for row in rows[1:]]


def records_of(value: Any) -> Iterator[Record]:
    """Yield the records of a JSON value.

    >>> seats = [
    ...     {"seat_id": f"A{row}", "price": 12, "note": "12", "kind": "by the window"}
    ...     for row in (7, 8, 9)
    ... ]
    >>> order = {"order_id": "W1", "status": "open", "stops": ["a", "b"], "seats": seats}
    >>> for record in records_of(order):
    ...     print(record.parent, record.header, [*record.pairs])
     W1:  ['status', 'stops']
    W1  seats A7:  ['price', 'note', 'kind']
    W1  seats A8:  ['price', 'note', 'kind']
    W1  seats A9:  ['price', 'note', 'kind']
    """
    return _walk(value, "", "", "", depth=0)


def outer_records(value: Any, most: int) -> tuple[list[Record], int]:
    """Return the first and the last records of a JSON value, and the number of all its records.

    If it has more than `most`, half of them are the first and half the last. Those between are not
    built if the value is a list of flat objects, as a table is.
    """
    half = most // 2
    if isinstance(value, list) and len(value) > most and _is_flat(value):
        numbered = list(enumerate(value, 1))
        outer = (*numbered[:half], *numbered[-half:])
        walked = (_walk(each, "", "", f"#{number}", depth=1) for number, each in outer)
        return [*chain.from_iterable(walked)], len(value)
    records = [*records_of(value)]
    return records if len(records) <= most else records[:half] + records[-half:], len(records)


def _is_flat(value: list[Any]) -> bool:
    """Return whether `value` is a list of objects without objects or lists in them."""
    if {*map(type, value)} != {dict}:
        return False
    inner = {*map(type, chain.from_iterable(map(dict.values, value)))}
    return inner.isdisjoint((dict, list))


def _walk(value: Any, parent: str, name: str, place: str, *, depth: int) -> Iterator[Record]:
    """Yield the records of a value under the key `name`, at `place` in a list, inside `parent`."""
    numbered = f"{name} {place}".strip()
    if not isinstance(value, dict | list) or value == {} or depth > MOST_DEPTH:
        yield Record(
            parent,
            f"{name}: " if name else "",
            {place: value if depth <= MOST_DEPTH else "nested too deep"},
            "",
        )
    elif isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _walk(each, parent, numbered, f"#{number}", depth=depth + 1)
    else:
        key, heads = identifier(value)
        named = f"{name} {plain(value[key])}".strip() if key else numbered
        own = named if heads else numbered
        inner = {
            each: told
            for each, told in value.items()
            if not (heads and each == key) and _is_nested(told)
        }
        pairs = {
            each: told
            for each, told in value.items()
            if each not in inner and not (heads and each == key)
        }
        if pairs or not inner:
            yield Record(
                parent, f"{own}: " if own else "", pairs or {key: value[key]}, f"{parent}{named}"
            )
        for each, told in inner.items():
            yield from _walk(
                told, f"{parent}{named} " if named else parent, plain(each), "", depth=depth + 1
            )


def _is_nested(value: Any) -> bool:
    return (
        isinstance(value, dict | list)
        and bool(value)
        and not _all_plain(value)
        and len(inline(value, INLINE)) > INLINE
    )


def identifier(value: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the key that identifies a record, and whether it is an id.

    It is the first id, otherwise the first name, otherwise the first key of a larger record if its
    value is a plain text.
    """
    short = [
        key for key, told in value.items() if isinstance(told, str) and 0 < len(told) <= _LONGEST_ID
    ]
    for pattern in (_ID_KEY, _NAME_KEY):
        for key in short:
            if pattern.fullmatch(key):
                return key, pattern is _ID_KEY
    first = next(iter(value), "")
    is_name = (
        first in short
        and len(value) >= _LEAST_PAIRS
        and not isinstance(value[first], Literal)
        and _PLAIN.fullmatch(value[first])
    )
    return (first if is_name else ""), False


def _all_plain(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(each, dict | list) for each in value)


def inline(value: Any, most: int = 0) -> str:
    """Return a value on one line: ``{key value, key value}``, ``[a, b]``, or the scalar.

    Beyond `most` characters, the rest may be left out.
    """
    if not isinstance(value, dict | list):
        return plain(value)
    texts, size = [], 0
    for key, told in value.items() if isinstance(value, dict) else enumerate(value):
        text = inline(told, most)
        texts.append(f"{plain(key)} {text}" if isinstance(value, dict) else text)
        size += len(texts[-1])
        if 0 < most < size:
            break
    return f"{{{', '.join(texts)}}}" if isinstance(value, dict) else f"[{', '.join(texts)}]"


def plain(value: Any) -> str:
    """Return a scalar as it is written in notes.

    A text that could be taken for another type is quoted.

    >>> [plain(each) for each in ("Mia Li", "12", 12, None, "a, b")]
    ['Mia Li', '"12"', '12', 'null', '"a, b"']
    """
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _LOOKS_TYPED.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False).translate(_BREAKS)
