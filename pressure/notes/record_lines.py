"""Records as lines of a note: ``identifier: key value, key value``, a line each.

A pair belongs to its record and is whole; what is left out of a record or a list is counted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..terms import STRONG, Kind, is_strong, kind_of, terms_of
from .items import MARK, Item, Section, is_told, left_out, ranged
from .pieces import most
from .records import Record, inline, outer_records, plain
from .thinning import thin

MOST_RECORDS, MOST_TOLD, MOST_NEWS = 400, 60, 4
"""How many records of one text are read, half at either end, how many of them are told, and how
many of them, and pairs of each, are told as news."""

LONG, SHORT = 600, 40
"""The most characters of a long value, and of one that is told in short."""

_STATE = re.compile(r"(?:.*_)?(?:status|state|error|success|result|message|reason)", re.IGNORECASE)
_NAME = re.compile(r"(?:.*_)?name", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?:.*_)?(?:prices?|amount|total|cost|balance|fee|sum)(?:_.*)?",
    re.IGNORECASE,
)
_ONCE_EACH = 2
_MORE, _STATED, _SHORT_WORTH, _LISTS, _FEW_CHARS = 0.2, 1.5, 0.1, 3.0, 12
_GAIN, _MOST_WORTH, _FIRST = 4.0, 5.0, 4.0
_SAID, _LEAST_SAID, _SEVERAL, _NAMED = 0.02, 2, 3, 4
_SHARED_BY_TWO, _MOST_NUMBERS = 0.3, 5
"""How much is left of the worth of what the call says, and of what all of several or both records
have; a value of so many characters that the name of its record has is not told again, and equal
records are named by so many numbers."""

NEEDED = 50.0
"""What the worth of a term gains that the last request names: a pair with it is always told."""

_ASKED = 40.0
_SUM, _SYMBOL, _PERSON = 0.6, 0.3, 0.3
"""The worth of an amount, of a term that is joined by underscores, and of the name of a person
without an id, beside that of an id."""

_FEW_PAIRS = 4
"""So many pairs that tell something are told all: the one that is left out could be the answer."""
_FIGURE, _TELLING = 0.2, 0.15
"""The worth of a figure, and from which a pair is told alone."""

Worth = Callable[[str], float]
"""Returns what it is worth to tell a term: rare and named ones are worth most."""


PAIRS = (MOST_RECORDS, 10, 6, 3, 1)
"""How many pairs of a record its variants have; all but the longest have only short ones."""


def record_items(
    event: int, value: Any, worth: Worth, opening: str, score: float, *, asked: str = ""
) -> Iterator[Item]:
    """Yield the records of a JSON value, the first and the worthiest, as items of one group.

    What `asked`, the arguments of the call, says already is worth little in a record.

    >>> seats = [{"seat_id": f"A{row}", "price": row, "note": "near the window"} for row in "78"]
    >>> order = {"order_id": "W1", "status": "open", "seats": seats}
    >>> for item in record_items(0, order, lambda term: float(term == "A8"), "get_order", 50.0):
    ...     print(item.score, item.parent, item.variants[0])
    60.4  W1: status open
    52.8 W1  seats A7: price "7", note near the window
    53.76 W1  seats A8: price "8", note near the window
    """
    every, count = outer_records(value, MOST_RECORDS)
    records = _told_once(every)
    count -= len(every) - len(records)
    same = _shared_by_all(records)
    lines = [_RankedLine.of(record, worth, asked, same) for record in records]
    best = sorted(range(len(lines)), key=lambda place: (-lines[place].worth, place))
    for place in sorted({*range(min(1, len(lines))), *best[:MOST_TOLD]}):
        line = lines[place]
        variants = ranged([*line.variants()])
        gain = _GAIN * min(line.worth, _MOST_WORTH) + (_FIRST if not place else 0.0)
        gain += _ASKED * (line.worth >= NEEDED)
        parent = line.record.parent
        yield Item(Section.KNOWN, event, score + gain, variants, "", opening, count, parent)


def _told_once(records: Sequence[Record]) -> list[Record]:
    """Return records with equal entries of several numbers as one that names these."""
    found = defaultdict[tuple[str, ...], list[Record]](list)
    for place, record in enumerate(records):
        number, _, name = record.header.partition(" ")
        is_numbered = number.startswith("#") and name
        key = (record.parent, name, str(record.pairs)) if is_numbered else (str(place),)
        found[key].append(record)
    merged = list[Record]()
    for *earlier, last in found.values():
        numbers = [each.header.partition(" ")[0] for each in earlier[:_MOST_NUMBERS]]
        more = [MARK] if len(earlier) > _MOST_NUMBERS else []
        merged.append(last._replace(header=", ".join((*numbers, *more, last.header))))
    return merged


def worth_by_kind(term: str) -> float:
    """Return what it is worth to tell a term by itself: 1 for an id, 0 for a word.

    >>> worth_by_kind("HX9021"), worth_by_kind("one_way"), worth_by_kind("boat")
    (1.0, 0.3, 0.0)
    """
    kind = kind_of(term)
    return _SYMBOL if kind is Kind.SYMBOL else float(kind in STRONG)


def record_text(value: Any, worth: Worth, fits: Callable[[str], bool] = lambda _: True) -> str:
    """Return as many records of a JSON value as fit, the worthiest first, or "" if none does.

    All are told as long as that is possible.
    """
    items = [*record_items(0, value, worth, "", 0.0)]
    order = sorted(range(len(items)), key=lambda place: (-items[place].score, place))

    def told(number: int, variant: int) -> str:
        kept = sorted(order[:number])
        return grouped(
            [(items[place], min(variant, len(items[place].variants) - 1)) for place in kept]
        )

    for variant in range(len(PAIRS)):
        if fits(text := told(len(order), variant)):
            return text
    number = most(len(order), lambda number: fits(told(number, len(PAIRS))))
    return told(number, len(PAIRS)) if number else ""


def grouped(told: Sequence[tuple[Item, int]]) -> str:
    """Return records of one group with their variants as lines, and a count of those left out."""
    texts, parents = list[str](), set[str]()
    for item, variant in told:
        # The container of records is named once, on the line of the first of them.
        texts.append(f"{'' if item.parent in parents else item.parent}{item.variants[variant]}")
        name = item.variants[variant].partition(": ")[0]
        parents.update((item.parent, f"{item.parent}{name} "))
    first = told[0][0]
    if first.of > len(told):
        texts.append(left_out(first.of - len(told), "record"))
    return f"{first.group} -> {chr(10).join(texts)}" if first.group else "\n".join(texts)


class _RankedLine(NamedTuple):
    """A record with the worth of each of its pairs, and that of the best of them."""

    record: Record
    worths: Mapping[str, float]
    worth: float

    @classmethod
    def of(
        cls, record: Record, worth: Worth, asked: str, same: Mapping[tuple[str, str], float]
    ) -> "_RankedLine":
        is_named = any(map(is_strong, terms_of(record.header)))
        worths = {
            # A person without an id is known by the name.
            key: _left_of(
                _worth_of(key, value, worth)
                + _PERSON * (not is_named and _NAME.fullmatch(key) is not None),
                _SAID if _is_said(value, asked) else same.get((key, str(value)), 1.0),
            )
            for key, value in record.pairs.items()
        }
        head = max(map(worth, terms_of(record.header)), default=0.0)
        most = max(head, *worths.values(), 0.0)
        return cls(record, worths, most + _MORE * (sum(worths.values()) - most))

    def variants(self) -> Iterator[str]:
        """Yield the record with fewer and fewer pairs, as long as one of them tells something."""
        told = self.record.pairs.items()
        name = self.record.header
        pairs = {
            key: value
            for key, value in told
            if is_told(text := inline(value))
            and not (len(text) >= _NAMED and isinstance(value, str) and text in name)
        }
        order = sorted(pairs, key=lambda key: -self.worths[key])
        for nth, most_pairs in enumerate(PAIRS):
            kept = [key for key in order if not nth or _is_short(pairs[key])]
            needed = sum(self.worths[key] >= NEEDED for key in kept)
            telling = sum(self.worths[key] >= _TELLING for key in kept)
            kept = kept[: max(most_pairs, needed, telling * (telling <= _FEW_PAIRS))]
            if nth and not any(self.worths[key] >= _TELLING for key in kept):
                return
            texts = [_pair(key, pairs[key], whole=not nth) for key in pairs if key in kept]
            rest = [MARK] if len(kept) < len(pairs) else []
            yield f"{self.record.header}{', '.join([*texts, *rest])}"


def _worth_of(key: str, value: Any, worth: Worth) -> float:
    text = inline(value, 4 * SHORT)
    told = max((worth(term) for term in terms_of(text)), default=0.0)
    if isinstance(value, list) and _lists_ids(value):
        told *= _LISTS
    short = _SHORT_WORTH * (len(text) <= _FEW_CHARS)
    figure = _FIGURE * any(map(str.isdigit, text))
    if figure and _AMOUNT.fullmatch(key):
        figure = _SUM
    return max(told, figure) + short + _STATED * (_STATE.fullmatch(key) is not None)


def _left_of(worth: float, share: float) -> float:
    """Return what is left of a worth; what tells none apart is not told for being asked for."""
    return worth if share == 1 else share * min(worth, 1.0)


def _is_said(value: Any, asked: str) -> bool:
    return isinstance(value, str) and len(value) > _LEAST_SAID and value in asked


def _shared_by_all(records: Sequence[Record]) -> Mapping[tuple[str, str], float]:
    """Return how much is left of the worth of pairs that all records with their key have.

    They tell none apart.
    """
    times = Counter((key, str(value)) for each in records for key, value in each.pairs.items())
    having = Counter(key for each in records for key in each.pairs)
    return {
        pair: _SAID if count >= _SEVERAL else _SHARED_BY_TWO
        for pair, count in times.items()
        if 1 < count == having[pair[0]]
    }


def _lists_ids(value: Sequence[Any]) -> bool:
    return len(value) > 1 and all(is_strong(str(each)) for each in value if str(each))


def _is_empty(value: Any) -> bool:
    return value in (None, "", [], {})


def _is_short(value: Any) -> bool:
    """Return whether a value is short enough to be told in short: a scalar, or a few of them."""
    most = SHORT if isinstance(value, str) else 3 * SHORT
    return len(inline(value, most)) <= most


def _pair(key: str, value: Any, *, whole: bool) -> str:
    if isinstance(value, str) and len(value) > SHORT:
        return f"{plain(key)} {thin(value, LONG if whole else LONG // 3)}"
    if isinstance(value, dict):
        # A record is named once.
        value = {name: each for name, each in value.items() if each != key} or value
    return f"{plain(key)} {inline(value)}"


def news_of(records: Sequence[Record], known: Callable[[str], bool]) -> str:
    """Return the pairs of a result that are not `known`, at most a few of each of a few records.

    >>> news_of(
    ...     [Record("", "W1: ", {"status": "paid", "user": "u7", "total": "9"}, "W1")], "u7".__eq__
    ... )
    'W1: status paid, total "9"'
    """
    told = list[str]()
    for record in records[:MOST_NEWS]:
        pairs = {
            key: value
            for key, value in record.pairs.items()
            if not _is_empty(value) and _is_short(value) and not known(inline(value))
        }
        order = sorted(pairs, key=lambda key: _STATE.fullmatch(key) is None)[:MOST_NEWS]
        texts = ", ".join(f"{plain(key)} {inline(pairs[key])}" for key in order)
        name = record.header.removesuffix(": ").rpartition(" ")[2]
        if texts or not (name.startswith("#") or known(name)):
            told.append(f"{record.header}{texts}".removesuffix(": "))
    return "\n".join(told)


def changes_of(
    before: Collection[Record], after: Collection[Record], *, made: bool = False
) -> tuple[str, ...]:
    """Return what differs in `after` from the records `before` with the same name, a line each.

    Those with a new name are told too if they were `made`.

    >>> old, new = (
    ...     [Record("", "W1: ", {"status": status, "total": 7}, "W1")]
    ...     for status in ("open", "paid")
    ... )
    >>> changes_of(old, new)
    ('W1: status paid (was open)',)
    """
    counts = Counter(record.about for records in (before, after) for record in records)
    known = {record.about: record.pairs for record in before if record.about}
    said = [(record.about, record.pairs) for record in before]
    found = list[str]()
    for record in after:
        # Two entries under one name, such as two payments by one card, are no change.
        if record.about in known and counts[record.about] == _ONCE_EACH:
            told = [*_changed(known[record.about], record.pairs)]
        elif made and record.about and (record.about, record.pairs) not in said:
            told = [*_changed({}, record.pairs)][:MOST_NEWS]
        else:
            continue
        if told:
            found.append(f"{record.parent}{record.header}{', '.join(told)}")
    return tuple(found)


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key, value in new.items():
        if old.get(key) == value:
            continue
        if isinstance(value, list) and isinstance(old.get(key), list):
            if added := [each for each in value if each not in old[key]]:
                yield f"{plain(key)} + {inline(added)}"
        elif isinstance(value, dict | list) or old.get(key) is None:
            yield f"{plain(key)} {inline(value)}"
        else:
            yield f"{plain(key)} {inline(value)} (was {inline(old[key])})"
