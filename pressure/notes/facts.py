"""Facts that a summary must keep, and the completion of a text that leaves some of them out.

A model that is told what to keep states most of it. The facts that it left out are appended to its
text, under their headings, so that a later summary finds them again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from polycontext.linearity import constraint_sentences
from polycontext.window import TokenCounter, Turn

from ..terms import STRONG, kind_of, terms_of
from .lines import LAWGIVERS, Head, Unit, pair_text, parse_summary
from .pieces import one_line
from .summariser import Candidates, ExtractiveSummariser

MOST_IDS, MOST_NEWEST = 20, 20
"""The most identifiers that are kept, by importance, and the most updated values, by recency."""

NAMED = frozenset({Head.FACTS, Head.FILES})
"""Headings whose facts count as stated once their identifiers are; all others must be verbatim."""


@frozen
class Fact:
    """A text that must be kept, its heading, and the id of the turn that contains it.

    The turn may be an earlier gist (docs/summarisers.md).
    """

    head: Head
    text: str
    source: str


def facts_of(turns: Sequence[Turn], counter: TokenCounter) -> tuple[Fact, ...]:
    """Return the facts that a summary of `turns` must keep; takes as long as a summary.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [
    ...     Turn("user", "Sort them. Never delete a file."),
    ...     Turn("assistant", "Next I'll count the files in shelf-42."),
    ... ]
    >>> [(fact.head.value, fact.text) for fact in facts_of(turns, TiktokenCounter("o200k_base"))]
    [('Constraints', 'Never delete a file.'), ('Files', "Next I'll count the files in shelf-42."), \
('Next step', "Next I'll count the files in shelf-42.")]
    """
    candidates = ExtractiveSummariser().read(turns, counter=counter)
    coming = [unit for unit in candidates.current.units if unit.step]
    told = {
        Head.FACTS: [unit for unit in candidates.units if unit.was][-MOST_NEWEST:],
        Head.FILES: _naming(candidates),
        Head.OPEN: [unit for unit in coming if not unit.intended],
        Head.NEXT: [unit for unit in coming if unit.intended],
    }
    demands = (
        Fact(Head.CONSTRAINTS, text, turn.resource_id) for turn in turns for text in _demands(turn)
    )
    return (
        *demands,
        *(_fact(head, unit, candidates) for head, units in told.items() for unit in units),
    )


def _demands(turn: Turn) -> Iterator[str]:
    if turn.is_gist:
        yield from (text for told in parse_summary(turn) for text in told.standing)
    elif turn.role in LAWGIVERS:
        yield from constraint_sentences(turn.text)


def _fact(head: Head, unit: Unit, candidates: Candidates) -> Fact:
    entry = candidates.entries[unit.entry]
    return Fact(head, f"{unit.parent}{unit.header}{pair_text([unit], entry)}", entry.id)


def _naming(candidates: Candidates) -> Iterator[Unit]:
    """Yield units with identifiers that were said, or used in more than one turn."""
    weights = candidates.weights()
    spoken, in_turns = set[str](), dict[str, set[int]]()
    for unit in candidates.units:
        spoken.update(unit.terms if unit.said else ())
        for term in unit.terms:
            in_turns.setdefault(term, set()).add(unit.turn)
    used = [
        term
        for term, turns in in_turns.items()
        if kind_of(term) in STRONG and (term in spoken or len(turns) > 1)
    ]
    wanted = set(sorted(used, key=lambda term: -weights[term])[:MOST_IDS])
    for unit in candidates.units:
        if wanted.intersection(unit.terms):
            wanted.difference_update(unit.terms)
            yield unit


def complete_text(text: str, facts: Iterable[Fact], fits: Callable[[str], bool]) -> str:
    r"""Return `text` with those of `facts` appended that it does not state.

    They are in the order of the headings, and each is appended only if the result `fits`. The
    function is pure. A text that is blank or does not fit is returned unchanged, to be rejected
    later.

    Laws: the result begins with `text`; it fits if `text` does; completing it again changes
    nothing.

    >>> facts = [
    ...     Fact(Head.CONSTRAINTS, "Never delete a file.", "t1"),
    ...     Fact(Head.FILES, "I count shelf-42.", "t2"),
    ... ]
    >>> complete_text("Shelf-42? No: shelf-42 is counted.", facts, lambda text: len(text) < 100)
    'Shelf-42? No: shelf-42 is counted.\nConstraints:\nNever delete a file.'
    """
    if not text.strip() or not fits(text):
        return text
    under, order = None, list(Head)
    for fact in sorted(facts, key=lambda fact: order.index(fact.head)):
        title = "" if fact.head is under else f"{fact.head.value}:\n"
        longer = f"{text}\n{title}{one_line(fact.text)}"
        if not is_told(fact, text) and fits(longer):
            text, under = longer, fact.head
    return text


def is_told(fact: Fact, text: str) -> bool:
    """Return whether `text` states `fact`.

    It must contain the words, regardless of case and white space, and the identifiers. For values
    and files, the identifiers are enough. An identifier must not be part of a longer one: ``run-1``
    is not in ``run-12``.
    """
    words = one_line(fact.text)
    if not words or words in text.split("\n"):
        return True
    named = [term for term in terms_of(words) if kind_of(term) in STRONG]
    stand = all(
        re.search(rf"(?<!\w)(?<!\w[-.]){re.escape(name)}(?!\w|[-.]\w)", text) for name in named
    )
    return stand and (
        (bool(named) and fact.head in NAMED) or words.casefold() in one_line(text.casefold())
    )
