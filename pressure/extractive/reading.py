"""Read lines into weighed segments: what could be kept, what each piece is worth and what it costs."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from polycontext.pressure.extractive.choice import Chooser, Segment
from polycontext.pressure.extractive.lines import BODY, CALL, Line, lines_of
from polycontext.window import Role, TokenCounter, Turn
from polycontext.window.text.cues import decision_spans, failures
from polycontext.window.text.segments import Span, lead_in, split
from polycontext.window.text.terms import TermBook

MOST_ALIKE = 1_000
"""How often one text may have the very same piece: a log that says one thing a million times is not read a million times."""

WHOLE_CALL = 90
"""A call's arguments up to this many characters are one segment."""

_GAP_TOKENS = 1
_LABEL_TOKENS = 2


@frozen
class Bonuses:
    """Hold the factors that raise a segment's worth."""

    answer: float
    failure: float
    decision: float
    query: float


@frozen(eq=False)
class Candidates:
    """Hold what could be kept of the turns read so far: segments in the order of the conversation, their lines and terms (immutable).

    What a summary was chosen from goes on into the next one, so that each turn is read and counted once and
    nothing is summarised from a summary. `turns` and `lines` are how many have been read.
    """

    segments: tuple[Segment, ...] = ()
    lines: Mapping[int, Line] = {}
    book: TermBook = field(factory=TermBook)
    openings: Mapping[int, int] = {}
    turns: int = 0
    read: int = 0

    def chooser(self, boosts: Sequence[float] | None = None) -> Chooser:
        """Return what ranks all segments by what they are worth now."""
        return Chooser(self.segments, self.book.weights(self.turns), boosts or self.boosts, self.openings)

    @property
    def boosts(self) -> list[float]:
        """Return the factors that raise the segments' worth."""
        return [segment.boost for segment in self.segments]

    @property
    def cost(self) -> int:
        """Return the tokens of all segments."""
        return sum(segment.cost for segment in self.segments)

    def within(self, tokens: int) -> "Candidates":
        """Return those that would be chosen first, up to about `tokens`; terms that none of them holds are forgotten."""
        chooser = self.chooser()
        chooser.choose(tokens)
        kept = [self.segments[index] for index in sorted(chooser.chosen)]
        terms = sorted({term for segment in kept for term in segment.terms})
        numbers = {term: number for number, term in enumerate(terms)}
        segments = tuple(evolve(segment, terms=tuple(numbers[term] for term in segment.terms)) for segment in kept)
        return self._of(segments, self.book.of(terms))

    def without(self, keys: Container[str]) -> "Candidates":
        """Return all but the segments of lines that a later line of the same key makes out of date."""
        segments = tuple(segment for segment in self.segments if self.lines[segment.line].key not in keys)
        return self if len(segments) == len(self.segments) else self._of(segments, self.book)

    def behind(self, line: int) -> "Candidates":
        """Return those of the lines behind number `line`."""
        return self._of(tuple(segment for segment in self.segments if segment.line > line), self.book)

    def _of(self, segments: tuple[Segment, ...], book: TermBook) -> "Candidates":
        living = {segment.line for segment in segments}
        lines = {number: line for number, line in self.lines.items() if number in living}
        openings = {number: tokens for number, tokens in self.openings.items() if number in living}
        return Candidates(segments, lines, book, openings, self.turns, self.read)


def read(known: Candidates, turns: Sequence[Turn], bonuses: Bonuses, counter: TokenCounter, *, ids: bool = False) -> Candidates:
    """Return `known` and the segments of `turns`, each counted once; what is said again later, or anew, is not there twice."""
    lines = _newest([evolve(line, turn=known.turns + line.turn) for line in lines_of(turns, ids=ids)])
    known = known.without({line.key for line in lines if line.key})
    book = known.book.copy()
    fresh = [segment for number, line in enumerate(lines, known.read) for segment in _segments(number, line, bonuses, book)]
    for segment in fresh:
        segment.cost = counter.count(segment.text) + _GAP_TOKENS
    costs = {label: counter.count(label) + _LABEL_TOKENS for label in {line.head for line in lines}}
    numbered = dict(enumerate(lines, known.read))
    return Candidates(
        (*known.segments, *fresh),
        {**known.lines, **{number: line.bare for number, line in numbered.items()}},
        book,
        {**known.openings, **{number: costs[line.head] for number, line in numbered.items()}},
        known.turns + len(turns),
        known.read + len(lines),
    )


def _newest(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without those that a later one of the same key makes out of date."""
    latest = {line.key: place for place, line in enumerate(lines) if line.key}
    return [line for place, line in enumerate(lines) if latest.get(line.key, place) == place]


def raised(candidates: Candidates, query: str, bonus: float) -> list[float]:
    """Return the boosts with what speaks of `query` raised: half for the segment's own words, half for those of its whole line."""
    asked, weights = candidates.book.find(query), candidates.book.weights(candidates.turns)
    total = sum(weights[term] for term in asked)
    if not total:
        return candidates.boosts
    of_segment = [asked.intersection(segment.terms) for segment in candidates.segments]
    of_line: dict[int, set[int]] = {}
    for segment, terms in zip(candidates.segments, of_segment, strict=True):
        of_line.setdefault(segment.line, set()).update(terms)
    boosts = candidates.boosts
    for index, (segment, terms) in enumerate(zip(candidates.segments, of_segment, strict=True)):
        shared = sum(weights[term] for term in terms) + sum(weights[term] for term in of_line[segment.line])
        boosts[index] *= 1 + bonus * shared / (2 * total)
    return boosts


def _segments(number: int, line: Line, bonuses: Bonuses, book: TermBook) -> Iterator[Segment]:
    call = line.call
    whole = [(0, len(call))] if 0 < len(call) <= WHOLE_CALL else []
    for start, end in split(call, whole):
        terms, anchor = book.read(call, start, end, line.turn, said=True)
        lead = lead_in(call, start, anchor)
        yield Segment(number, CALL, start, lead, end, call[lead:end], terms)
    yield from _body_segments(number, line, bonuses, book)


def _body_segments(number: int, line: Line, bonuses: Bonuses, book: TermBook) -> Iterator[Segment]:
    text, said = line.body, line.role is not Role.TOOL
    failed, decided = failures(text), decision_spans(text) if said else []
    cues = (failed.errors, bonuses.failure), (failed.frames, bonuses.failure), (decided, bonuses.decision)
    alike = Counter[str]()
    for start, end in split(text, line.standing or sorted([*failed.errors, *failed.frames])):
        alike[text[start:end]] += 1
        if alike[text[start:end]] > MOST_ALIKE:
            continue
        terms, anchor = book.read(text, start, end, line.turn, said=said)
        for told in (_shared(failed.errors, start, end), _shared(failed.frames, start, end)):
            terms = (*terms, book.mark(text[slice(*told)], line.turn)) if told else terms
        boost = bonuses.answer if line.answers else 1.0
        for spans, bonus in cues:
            boost *= bonus if _shared(spans, start, end) else 1.0
        standing = _shared(line.standing, start, end) is not None
        lead = lead_in(text, start, anchor)
        yield Segment(number, BODY, start, lead, end, text[lead:end], terms, boost, standing)


def _shared(spans: Sequence[Span], start: int, end: int) -> Span | None:
    """Return the last of `spans` (ascending, disjoint) that shares a character with ``start:end``."""
    place = bisect_left(spans, (end, 0)) - 1
    return spans[place] if place >= 0 and spans[place][1] > start else None
