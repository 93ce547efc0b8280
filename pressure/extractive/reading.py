"""Read lines into weighed segments: what could be kept, what each piece is worth and what it costs."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from attrs import evolve, field, frozen

from polycontext.pressure.extractive.choice import Chooser, Segment
from polycontext.pressure.extractive.heads import Head
from polycontext.pressure.extractive.lines import BODY, CALL, LAWGIVERS, Line, LineKind, lines_of
from polycontext.pressure.extractive.newest import Known, Update, cut, replaced, updated
from polycontext.window import Role, TokenCounter, Turn
from polycontext.window.text.claims.retelling import retold
from polycontext.window.text.cues import decision_spans, failures, preference_spans, work_lists
from polycontext.window.text.pairs import shown, whole_lead
from polycontext.window.text.segments import LIMIT, Span, lead_in, split
from polycontext.window.text.steps import intention, open_entries, open_items
from polycontext.window.text.terms import STRONG, TermBook

MOST_ALIKE = 1_000
"""How often one text may have the very same piece: a log that says one thing a million times is not read a million times."""

WHOLE_CALL = 90
"""A call's arguments up to this many characters are one segment."""

TOLD_LIMIT = 120
"""Near how many characters the words of an assistant are cut: it writes whole sentences, and more of them than others."""

CHANGED = 4.0
"""How much more a sentence is worth that says that something changed, though not what."""

RETOLD, RETOLD_CHARS = 6.0, 300
"""How much more a piece is worth of a result of so many characters at most that tells anew what an earlier one told."""

_GAP_TOKENS = 1
_LABEL_TOKENS = 2


@frozen
class Bonuses:
    """Hold the factors that raise a segment's worth."""

    answer: float
    failure: float
    decision: float
    query: float
    newest: float = 6.0
    """What says a newer value in the place of one that is out of date."""


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
    claimed: Known = field(factory=Known)

    def chooser(self, boosts: Sequence[float] | None = None) -> Chooser:
        """Return what ranks all segments by what they are worth now."""
        return Chooser(self.segments, self.book.weights(self.turns), boosts or self.boosts, self.openings, self.steps)

    @property
    def steps(self) -> frozenset[int]:
        """Return the lines that say what comes next: the last plan, and what the assistant said last where it intends something."""
        planned = max((segment.line for segment in self.segments if segment.head is Head.OPEN), default=-1)
        said = max(
            (number for number, line in self.lines.items() if line.role is Role.ASSISTANT and line.kind is LineKind.SPOKEN), default=-1
        )
        return frozenset((planned, said))

    @property
    def boosts(self) -> list[float]:
        """Return the factors that raise the segments' worth; what tells anew what a short result told before is likely newer."""
        told: dict[int, list[Segment]] = {}
        for segment in self.segments:
            if segment.part == BODY and self.lines[segment.line].role is Role.TOOL:
                told.setdefault(segment.line, []).append(segment)
        short = {line: pieces for line, pieces in told.items() if sum(len(piece.text) for piece in pieces) <= RETOLD_CHARS}
        named = {term for term, kind in enumerate(self.book.kinds) if kind in STRONG and self.book.said[term]}
        earlier = retold({line: {term for piece in pieces for term in piece.terms} for line, pieces in short.items()}, named)
        anew = {
            id(piece)
            for line, before in earlier.items()
            for piece in short[line]
            if all(piece.text != other.text for other in short[before])
        }
        return [segment.boost * (RETOLD if id(segment) in anew else 1) for segment in self.segments]

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

    def without(self, lines: Container[int]) -> "Candidates":
        """Return all but the segments of `lines`."""
        segments = tuple(segment for segment in self.segments if segment.line not in lines)
        return self if len(segments) == len(self.segments) else self._of(segments, self.book)

    def beside(self, standing: Sequence[tuple[Turn, int]], counter: TokenCounter) -> "Candidates":
        """Return those that `standing` turns do not make out of date: they stay as they are, each before so many of the turns read."""
        lines = dict(enumerate(lines_of([turn for turn, _ in standing]), self.read))
        first = {number: self.turns - standing[line.turn][1] for number, line in lines.items()}
        numbers, turns = [*self.lines, self.read], list(accumulate((line.turn for line in self.lines.values()), max))
        before = {number: numbers[bisect_left(turns, turn)] for number, turn in first.items()}
        kept = self.without(replaced({**self.lines, **lines}, before))
        return kept.since(updated(self.claimed, lines, before), counter)

    def since(self, update: Update, counter: TokenCounter) -> "Candidates":
        """Return those of which nothing is out of date since `update`."""
        if not update.stale:
            return self
        roles = {number: line.role for number, line in self.lines.items()}
        return self._of(_counted(cut(self.segments, update, self.book, roles), counter), self.book)

    def behind(self, line: int) -> "Candidates":
        """Return those of the lines behind number `line`."""
        return self._of(tuple(segment for segment in self.segments if segment.line > line), self.book)

    def _of(self, segments: tuple[Segment, ...], book: TermBook) -> "Candidates":
        living = {segment.line for segment in segments}
        lines = {number: line for number, line in self.lines.items() if number in living}
        openings = {number: tokens for number, tokens in self.openings.items() if number in living}
        return Candidates(segments, lines, book, openings, self.turns, self.read, self.claimed.within(living))


def read(known: Candidates, turns: Sequence[Turn], bonuses: Bonuses, counter: TokenCounter, *, ids: bool = False) -> Candidates:
    """Return `known` and the segments of `turns`, each counted once; what is said again later, or anew, is not there twice."""
    found = dict(enumerate((evolve(line, turn=known.turns + line.turn) for line in lines_of(turns, ids=ids)), known.read))
    gone = replaced({**known.lines, **found})
    known = known.without(gone)
    lines = [line for number, line in found.items() if number not in gone]
    book = known.book.copy()
    fresh = [segment for number, line in enumerate(lines, known.read) for segment in _segments(number, line, bonuses, book)]
    numbered = dict(enumerate(lines, known.read))
    update = updated(known.claimed, numbered)
    known_lines = {**known.lines, **{number: line.bare for number, line in numbered.items()}}
    roles = {number: line.role for number, line in known_lines.items()}
    raised_ones = (_raised(segment, update, bonuses.newest) for segment in fresh)
    segments = _counted(cut((*known.segments, *raised_ones), update, book, roles), counter)
    costs = {label: counter.count(label) + _LABEL_TOKENS for label in {line.prefix for line in lines}}
    return Candidates(
        segments,
        known_lines,
        book,
        {**known.openings, **{number: costs[line.prefix] for number, line in numbered.items()}},
        known.turns + len(turns),
        known.read + len(lines),
        update.known,
    )


def _counted(segments: Iterable[Segment], counter: TokenCounter) -> tuple[Segment, ...]:
    counted = tuple(segments)
    for segment in counted:
        segment.cost = segment.cost or counter.count(segment.text) + _GAP_TOKENS
    return counted


def _raised(segment: Segment, update: Update, bonus: float) -> Segment:
    """Return `segment`, worth more where it says a newer value in the place of one that is out of date."""
    if segment.part == BODY and _touch(update.newest.get(segment.line, ()), segment):
        segment.boost, segment.newest = segment.boost * bonus, True
    elif segment.part == BODY and _touch(update.changed.get(segment.line, ()), segment):
        segment.boost *= CHANGED
    return segment


def _touch(spans: Sequence[Span], segment: Segment) -> bool:
    return any(start < segment.end and segment.start < end for start, end in spans)


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
    if line.call:
        yield from _call_segments(number, line, book)
    yield from _body_segments(number, line, bonuses, book)


def _call_segments(number: int, line: Line, book: TermBook) -> Iterator[Segment]:
    """Yield the pairs of a call's arguments, each whole or in pieces; what says what the call touches is marked."""
    call, steps = line.call, open_entries(line.call)
    spans = [shown(call, pair) for pair in line.pairs]
    whole = [(0, len(call))] if 0 < len(call) <= WHOLE_CALL and not steps else _disjoint([*steps, *spans])
    touching = {start for (start, _), pair in zip(spans, line.pairs, strict=True) if pair.touches}
    for start, end in _few_alike(call, split(call, whole)):
        terms, anchor = book.read(call, start, end, line.turn, said=True)
        lead = whole_lead(line.pairs, lead_in(call, start, anchor), start)
        head = Head.OPEN if _shared(steps, start, end) else None
        yield Segment(number, CALL, start, lead, end, call[lead:end], terms, head=head, touches=start in touching)


def _body_segments(number: int, line: Line, bonuses: Bonuses, book: TermBook) -> Iterator[Segment]:
    text = line.body
    said = line.role is not Role.TOOL and not line.pasted
    failed, decided = failures(text), decision_spans(text) if said else []
    preferred = preference_spans(text) if said and line.role is Role.USER else []
    cues = (
        (failed.errors, bonuses.failure, Head.ERRORS),
        (failed.frames, bonuses.failure, Head.ERRORS),
        (decided, bonuses.decision, Head.DECISIONS),
        (preferred, bonuses.decision, Head.FACTS),
    )
    plan = open_items(text) if line.role is Role.ASSISTANT else []
    intended = intention(text) if line.role is Role.ASSISTANT and not plan else None
    steps = [intended] if intended else plan
    whole = line.standing or _disjoint([*failed.errors, *failed.frames, *work_lists(text), *steps])
    pieces = _without_blanks(text, split(text, whole, TOLD_LIMIT if line.role is Role.ASSISTANT else LIMIT))
    for start, end in _few_alike(text, pieces):
        terms, anchor = book.read(text, start, end, line.turn, said=said)
        for told in (_shared(failed.errors, start, end), _shared(failed.frames, start, end)):
            terms = (*terms, book.mark(text[slice(*told)], line.turn)) if told else terms
        boost = bonuses.answer if line.answers else 1.0
        head = (Head.NEXT if intended else Head.OPEN) if _shared(steps, start, end) else None
        for spans, bonus, told_of in cues:
            if _shared(spans, start, end):
                boost, head = boost * bonus, head or told_of
        standing = _shared(line.standing, start, end) is not None
        head = Head.CONSTRAINTS if standing and line.role in LAWGIVERS else head
        lead = lead_in(text, start, anchor)
        yield Segment(number, BODY, start, lead, end, text[lead:end], terms, boost, standing, head)


def _few_alike(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield `spans` without those of which `MOST_ALIKE` before say the very same."""
    alike = Counter[str]()
    for start, end in spans:
        alike[text[start:end]] += 1
        if alike[text[start:end]] <= MOST_ALIKE:
            yield start, end


def _without_blanks(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return `spans` with white space between two as a part of the one before: what stands side by side is then printed so."""
    kept: list[Span] = []
    for start, end in spans:
        if kept and text[start:end].isspace():
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return kept


def _disjoint(spans: Sequence[Span]) -> list[Span]:
    """Return `spans` in order, without those that begin within another."""
    kept: list[Span] = []
    for span in sorted(spans):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _shared(spans: Sequence[Span], start: int, end: int) -> Span | None:
    """Return the last of `spans` (ascending, disjoint) that shares a character with ``start:end``."""
    place = bisect_left(spans, (end, 0)) - 1
    return spans[place] if place >= 0 and spans[place][1] > start else None
