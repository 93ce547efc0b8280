"""Read lines into weighed segments: what could be kept, what each piece is worth and what it costs."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from attrs import Factory, define, frozen

from polycontext.pressure.extractive.choice import Opening, Segment
from polycontext.pressure.extractive.lines import Line
from polycontext.pressure.extractive.segments import Span, lead_in, split
from polycontext.pressure.extractive.terms import TermBook
from polycontext.window import Role, TokenCounter

_CALL, _BODY = 0, 1

WHOLE_CALL = 90
"""A call's arguments up to this many characters are one segment."""

_GAP_TOKENS = 1
_LABEL_TOKENS = 2
FAILURE_CHARS = 300
"""How far before its error line the last frame of a stack trace may start, and how long an error line is at most."""

_FRAME = r"File \"[^\"\n]{1,200}\", line \d|at [^\n]{1,200}[:(]\d"
_ERROR = (
    r"[\w.$]{0,80}(?:Error|Exception|Failure|Panic|Interrupt)\b|Caused by:|Unhandled |ERROR\b|FAIL(?:ED)?\b|E (?=\S)|fatal:|panic:"
    r"|error(?:\[\w{1,9}\])?:|thread '[^'\n]{1,80}' panicked"
)
_TRACE = re.compile(rf"^(?:(?P<frame>{_FRAME})|(?P<error>{_ERROR}))", re.MULTILINE)
_DECISION = re.compile(
    r"\b(?:decid(?:ed?|ing)|decisions?|agreed|agree on|chosen?|chose|conclu(?:ded?|sions?)|settled? (?:on|for)|(?:go|going|went) (?:with|for)"
    r"|instead of|confirm(?:ed)?|turns? out|root cause)\b|决定|決定|결정",
    re.IGNORECASE,
)


@frozen
class Bonuses:
    """Hold the factors that raise a segment's worth."""

    answer: float
    failure: float
    decision: float
    query: float


@frozen
class Reading:
    """Hold segments in the order of the conversation, the weight of each term, and what opens each line."""

    segments: list[Segment]
    weights: list[float]
    openings: list[Opening]


def read(lines: Sequence[Line], turns: int, query: str | None, bonuses: Bonuses, counter: TokenCounter) -> Reading:
    """Return the segments of `lines`, weighed and each counted once."""
    book = TermBook()
    segments = [segment for index, line in enumerate(lines) for segment in _segments(index, line, bonuses, book)]
    asked = frozenset(book.read(query, 0, len(query), -1, said=False)[0]) if query else frozenset()
    weights = book.weights(turns)
    _raise_relevant(segments, len(lines), asked, weights, bonuses.query)
    for segment in segments:
        text = lines[segment.line].parts[segment.part]
        segment.cost = counter.count(text[segment.lead : segment.end]) + _GAP_TOKENS
    return Reading(segments, weights, _openings(lines, segments, counter))


def _segments(index: int, line: Line, bonuses: Bonuses, book: TermBook) -> Iterator[Segment]:
    whole = [(0, len(line.call))] if 0 < len(line.call) <= WHOLE_CALL else []
    for start, end in split(line.call, whole):
        terms, anchor = book.read(line.call, start, end, line.turn, said=True)
        yield Segment(index, _CALL, start, lead_in(line.call, start, anchor), end, terms)
    yield from _body_segments(index, line, bonuses, book)


def _body_segments(index: int, line: Line, bonuses: Bonuses, book: TermBook) -> Iterator[Segment]:
    text, said = line.body, line.role is not Role.TOOL
    failed, decided = failures(text), decision_spans(text) if said else []
    cues = (failed.errors, bonuses.failure), (failed.frames, bonuses.failure), (decided, bonuses.decision)
    for start, end in split(text, line.standing):
        terms, anchor = book.read(text, start, end, line.turn, said=said)
        for told in (_shared(failed.errors, start, end), _shared(failed.frames, start, end)):
            terms = (*terms, book.mark(text[slice(*told)], line.turn)) if told else terms
        boost = bonuses.answer if line.answers else 1.0
        for spans, bonus in cues:
            boost *= bonus if _shared(spans, start, end) else 1.0
        standing = _shared(line.standing, start, end) is not None
        yield Segment(index, _BODY, start, lead_in(text, start, anchor), end, terms, boost, standing)


def _shared(spans: Sequence[Span], start: int, end: int) -> Span | None:
    """Return the last of `spans` (ascending, disjoint) that shares a character with ``start:end``."""
    place = bisect_left(spans, (end, 0)) - 1
    return spans[place] if place >= 0 and spans[place][1] > start else None


def _raise_relevant(segments: Sequence[Segment], lines: int, asked: frozenset[int], weights: Sequence[float], bonus: float) -> None:
    """Raise what speaks of the query: half for the segment's own words, half for those of its whole line."""
    total = sum(weights[term] for term in asked)
    if not total:
        return
    of_segment = [asked.intersection(segment.terms) for segment in segments]
    of_line: list[set[int]] = [set() for _ in range(lines)]
    for segment, terms in zip(segments, of_segment, strict=True):
        of_line[segment.line] |= terms
    for segment, terms in zip(segments, of_segment, strict=True):
        if found := of_line[segment.line]:
            shared = sum(weights[term] for term in terms) + sum(weights[term] for term in found)
            segment.boost *= 1 + bonus * shared / (2 * total)


def _openings(lines: Sequence[Line], segments: Sequence[Segment], counter: TokenCounter) -> list[Opening]:
    """Return what opens each line: its label and, where a call is short enough to be one segment, the call."""
    costs = {label: counter.count(label) + _LABEL_TOKENS for label in {line.label for line in lines}}
    calls: dict[int, int | None] = {}
    for index, segment in enumerate(segments):
        if segment.part == _CALL:
            calls[segment.line] = None if segment.line in calls else index
    return [Opening(costs[line.label], calls.get(index)) for index, line in enumerate(lines)]


@define
class Failures:
    """Hold the error lines of a text and, for each that has one, the frame nearest to it; both ascending."""

    errors: list[Span] = Factory(list)
    frames: list[Span] = Factory(list)


def failures(text: str) -> Failures:
    r"""Find where `text` (lines without margins) says what failed.

    The nearest frame is the last one before the error line (Python) or the first one right after it (Java, JavaScript).

    >>> text = 'File "a.py", line 1, in f\nFile "b.py", line 7, in g\nreturn 1 / 0\nZeroDivisionError: division by zero\nok'
    >>> found = failures(text)
    >>> [text[start:end] for start, end in found.errors + found.frames]
    ['ZeroDivisionError: division by zero', 'File "b.py", line 7, in g\nreturn 1 / 0\n']
    """
    found = Failures()
    frame = failed = -FAILURE_CHARS
    for match in _TRACE.finditer(text):
        start, end = match.start(), _line_end(text, match.start())
        if match["error"]:
            if start - frame < FAILURE_CHARS:
                found.frames.append((frame, start))
            found.errors.append((start, end))
            frame, failed = -FAILURE_CHARS, end
        elif start == failed + 1:
            found.frames.append((start, end))
        else:
            frame = start
    return found


def decision_spans(text: str) -> list[Span]:
    """Return where `text` uses the words with which a matter is settled.

    >>> decision_spans("We agreed on Postgres.")
    [(3, 9)]
    """
    return [match.span() for match in _DECISION.finditer(text)]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start, start + FAILURE_CHARS)
    return end if end >= 0 else min(len(text), start + FAILURE_CHARS)
