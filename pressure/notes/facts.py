"""Facts that a summary must keep, and the completion of a text that leaves some of them out.

A model that is told what to keep states most of it. The facts that it left out are appended to its
text, under their headings, so that a later summary finds them again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from polycontext.linearity import constraint_sentences
from polycontext.window import TokenCounter, Turn

from ..terms import Kind, is_strong, kind_of, strong_terms, terms_of
from .call_items import CallTeller, call_line
from .candidates import Candidates
from .events import Event, Happening
from .items import Section
from .lines import LAWGIVERS, parse_summary
from .note import named_in
from .pieces import one_line
from .prose import sentences_of

MOST_IDS, MOST_NEWEST = 20, 20
"""The most identifiers that are kept, by importance, and the most updated values, by recency."""

NAMED = frozenset({Section.KNOWN, Section.FILES})
"""Headings whose facts count as stated once their identifiers are; all others must be verbatim."""


@frozen
class Fact:
    """A text that must be kept, its heading, and the id of the turn that contains it.

    The turn may be an earlier gist (docs/summarisers.md).
    """

    head: Section
    text: str
    source: str


def facts_of(turns: Sequence[Turn], counter: TokenCounter) -> tuple[Fact, ...]:
    """Return the facts that a summary of `turns` must keep; takes as long as a summary.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [
    ...     Turn("user", "Sort them. Never delete a file."),
    ...     Turn("assistant", "Next I'll count the files in shelf-42."),
    ... ]
    >>> [(str(fact.head), fact.text) for fact in facts_of(turns, TiktokenCounter("o200k_base"))]
    [('Constraints', 'Never delete a file.'), ('Open', "Next I'll count the files in shelf-42."), \
('Files', "Next I'll count the files in shelf-42.")]
    """
    del counter  # Facts are not measured.
    candidates = Candidates().reading(turns)
    events = candidates.events
    rules = [
        Fact(Section.RULES, text, turn.resource_id) for turn in turns for text in _demands(turn)
    ]
    coming = [
        Fact(Section.OPEN, text, events[item.event].id)
        for item in candidates.items()
        if item.section is Section.OPEN
        for text in item.variants[-1].removeprefix("assistant: ").split("\n")
    ]
    # The newest of several changes of one record stands.
    changed = {
        text.partition(": ")[0]: Fact(Section.KNOWN, text, events[place].id)
        for place, texts in CallTeller(events, candidates.turns, {}).changed().items()
        for text in texts
    }
    naming = (Fact(Section.FILES, text, event.id) for text, event in _naming(events))
    return (*rules, *coming, *[*changed.values()][-MOST_NEWEST:], *naming)


def _demands(turn: Turn) -> Iterator[str]:
    if turn.is_gist:
        yield from (text for told in parse_summary(turn) for text in told.standing)
    elif turn.role in LAWGIVERS:
        yield from constraint_sentences(turn.text)


def _naming(events: Sequence[Event]) -> Iterator[tuple[str, Event]]:
    """Yield the sentences and calls that first name the identifiers that weigh most."""
    weights = named_in(events, least=0.0)
    wanted = set(sorted(weights, key=lambda term: -weights[term])[:MOST_IDS])
    for event in events:
        if event.happening == Happening.CALL:
            texts = [call_line(event)]
        elif event.happening in (Happening.ASK, Happening.SAY, Happening.LINE):
            texts = sentences_of(event.text)
        else:
            continue
        for text in texts:
            found = wanted & strong_terms(text)
            if found:
                wanted -= found
                yield text, event


def identifiers_of(text: str) -> dict[str, bool]:
    """Return the identifiers, dates and paths in `text`, and whether each is a path.

    >>> identifiers_of("Fix src/app.py for ZFA04Y.")
    {'src/app.py': True, 'ZFA04Y': False}
    """
    kinds = {term: kind_of(term) for term in terms_of(text)}
    named = (Kind.ID, Kind.DATE, Kind.PATH, Kind.FILE)
    return {term: kind in (Kind.PATH, Kind.FILE) for term, kind in kinds.items() if kind in named}


def complete_text(text: str, facts: Iterable[Fact], fits: Callable[[str], bool]) -> str:
    r"""Return `text` with those of `facts` appended that it does not state.

    They are in the order of the headings, and each is appended only if the result `fits`. The
    function is pure. A text that is blank or does not fit is returned unchanged, to be rejected
    later.

    Laws: the result begins with `text`; it fits if `text` does; completing it again changes
    nothing.

    >>> facts = [
    ...     Fact(Section.RULES, "Never delete a file.", "t1"),
    ...     Fact(Section.FILES, "I count shelf-42.", "t2"),
    ... ]
    >>> complete_text("Shelf-42? No: shelf-42 is counted.", facts, lambda text: len(text) < 100)
    'Shelf-42? No: shelf-42 is counted.\nConstraints:\nNever delete a file.'
    """
    if not text.strip() or not fits(text):
        return text
    under, order = None, list(Section)
    for fact in sorted(facts, key=lambda fact: order.index(fact.head)):
        title = "" if fact.head is under else f"{fact.head}:\n"
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
    named = [*filter(is_strong, terms_of(words))]
    stand = all(
        re.search(rf"(?<!\w)(?<!\w[-.]){re.escape(name)}(?!\w|[-.]\w)", text) for name in named
    )
    return stand and (
        (bool(named) and fact.head in NAMED) or words.casefold() in one_line(text.casefold())
    )
