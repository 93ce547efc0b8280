"""What a summary of turns must not lose, as data: demands, newest values, what comes next, ids in use, each with the turn it is from."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from polycontext.pressure.extractive.heads import Head
from polycontext.pressure.extractive.lines import LAWGIVERS, Line, LineKind, lines_of
from polycontext.pressure.extractive.reading import Candidates
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.window import Role, TokenCounter, Turn
from polycontext.window.text.steps import intention, open_entries, open_items
from polycontext.window.text.terms import STRONG

if TYPE_CHECKING:
    from polycontext.pressure.plan import Plan

MOST_IDS = 20
"""How many identifiers are told, those that matter most first."""

MOST_NEWEST = 20
"""How many newer values are told, the latest of them."""


@frozen
class Fact:
    """Hold words that were said and must stand: under which head, and the id of the turn that has them, which may be an earlier gist (docs/summarisers.md)."""

    head: Head
    text: str
    source: str


def facts_of_plan(plan: "Plan") -> tuple[Fact, ...]:
    """Return what the gists of `plan` must not lose, each fact once, in the order of the heads."""
    found = [fact for job in plan.jobs if job.kind.needs_words for fact in facts_of(job.reads, plan.window.counter)]
    return tuple(dict.fromkeys(found))


def facts_of(turns: Sequence[Turn], counter: TokenCounter) -> tuple[Fact, ...]:
    """Return what a summary of `turns` must not lose; time is that of a summary.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [Turn("user", "Sort them. Never delete a file."), Turn("assistant", "Next I'll count the files in shelf-42.")]
    >>> [(fact.head.value, fact.text) for fact in facts_of(turns, TiktokenCounter("o200k_base"))]
    [('Constraints', 'Never delete a file.'), ('Files', "Next I'll count the files in shelf-42."), ('Next step', "Next I'll count the files in shelf-42.")]
    """
    lines = lines_of(turns)
    demands = [Fact(Head.CONSTRAINTS, text, turns[line.turn].resource_id) for line in lines for text in _demands(line)]
    candidates = ExtractiveSummariser().read(turns, counter=counter)
    return (*demands, *_newest(turns, candidates), *_ids(turns, candidates), *_next(turns, lines))


def _demands(line: Line) -> Iterator[str]:
    if line.role in LAWGIVERS:
        yield from (line.body[start:end] for start, end in line.standing)


def _newest(turns: Sequence[Turn], candidates: Candidates) -> Iterator[Fact]:
    """Yield what says a newer value in the place of an older one and is still the newest."""
    for segment in [segment for segment in candidates.segments if segment.newest][-MOST_NEWEST:]:
        yield Fact(Head.FACTS, segment.text.strip(), turns[candidates.lines[segment.line].turn].resource_id)


def _ids(turns: Sequence[Turn], candidates: Candidates) -> Iterator[Fact]:
    """Yield pieces in which identifiers stand that were said, or used more than once."""
    book, weights = candidates.book, candidates.book.weights(len(turns))
    used = [term for term, kind in enumerate(book.kinds) if kind in STRONG and (book.said[term] or book.turns[term] > 1)]
    wanted = set(sorted(used, key=lambda term: -weights[term])[:MOST_IDS])
    for segment in candidates.segments:
        if wanted.intersection(segment.terms):
            wanted.difference_update(segment.terms)
            yield Fact(Head.FILES, segment.text.strip(), turns[candidates.lines[segment.line].turn].resource_id)


def _next(turns: Sequence[Turn], lines: Sequence[Line]) -> Iterator[Fact]:
    """Yield the open items of the last plan, and what the assistant said last that it will do."""
    plans = ([*_open(line)] for line in reversed(lines))
    for line, text in next((plan for plan in plans if plan), ()):
        yield Fact(Head.OPEN, text, turns[line.turn].resource_id)
    last = next((line for line in reversed(lines) if line.kind is LineKind.SPOKEN and line.role is Role.ASSISTANT), None)
    intended = intention(last.body) if last else None
    if last and intended:
        yield Fact(Head.NEXT, last.body[slice(*intended)], turns[last.turn].resource_id)


def _open(line: Line) -> Iterator[tuple[Line, str]]:
    yield from ((line, line.call[start:end]) for start, end in open_entries(line.call))
    if line.role is Role.ASSISTANT:
        yield from ((line, line.body[start:end]) for start, end in open_items(line.body))
