"""What a summary of turns must not lose, as data, and how a text that does not say all of it is completed.

A model that was told what must stay says most of it. What it forgot is put behind its words, under
their heads, so that a later summary finds it again. It also lists standing instructions as quotes,
and each counts only where the user said it word for word.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Self

from attrs import frozen

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification import sentences, unquoted
from polycontext.window import Role, TokenCounter, Turn
from polycontext.window.items import attachment_of

from .cues import is_intention
from .lines import LAWGIVERS, TITLES, Head, pair_text, parse_summary
from .pieces import one_line
from .summariser import Candidates, ExtractiveSummariser
from .terms import STRONG, kind_of, terms_of
from .units import Unit

MOST_IDS, MOST_NEWEST = 20, 20
"""How many identifiers are told, those that matter most first, and how many newer values, the
latest."""

NAMED = frozenset({Head.FACTS, Head.FILES})
"""Heads whose facts are told once their identifiers are; the words of all others must stand."""


@frozen
class Fact:
    """Hold words that were said and must stand: under which head, and the id of the turn that has them, which may be an earlier gist (docs/summarisers.md)."""

    head: Head
    text: str
    source: str


def facts_of(turns: Sequence[Turn], counter: TokenCounter) -> tuple[Fact, ...]:
    """Return what a summary of `turns` must not lose; time is that of a summary.

    >>> from polycontext.window import TiktokenCounter
    >>> turns = [Turn("user", "Sort them. Never delete a file."), Turn("assistant", "Next I'll count the files in shelf-42.")]
    >>> [(fact.head.value, fact.text) for fact in facts_of(turns, TiktokenCounter("o200k_base"))]
    [('Constraints', 'Never delete a file.'), ('Files', "Next I'll count the files in shelf-42."),
    ('Next step', "Next I'll count the files in shelf-42.")]
    """
    candidates = ExtractiveSummariser().read(turns, counter=counter)
    coming = [unit for unit in candidates.current.units if unit.step]
    told = {
        Head.FACTS: [unit for unit in candidates.units if unit.was][-MOST_NEWEST:],
        Head.FILES: _naming(candidates),
        Head.OPEN: [unit for unit in coming if not is_intention(unit.text)],
        Head.NEXT: [unit for unit in coming if is_intention(unit.text)],
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
    """Yield units in which identifiers stand that were said, or used in more than one turn."""
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
    r"""Return `text` with those of `facts` behind it that it does not tell, in the order of the heads, each while the whole `fits`.

    Pure. A text that is blank, or that does not fit as it is, comes back unchanged: it is for
    others to refuse.

    Laws: the result begins with `text`; it fits where `text` does; completing it again changes
    nothing.

    >>> facts = [Fact(Head.CONSTRAINTS, "Never delete a file.", "t1"), Fact(Head.FILES, "I count shelf-42.", "t2")]
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
    """Tell whether `text` says `fact`: its words, case and white space aside, and its identifiers.

    Of values and files the identifiers are enough.

    An identifier stands where it is no part of a longer one: ``run-1`` is not in ``run-12``.
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


SHORTEST_QUOTE, LONGEST_QUOTE, MOST_QUOTES = 4, 400, 100
"""How many characters a quote has at least and at most, and how many quotes of a summary are looked
for."""
TITLE = f"{Head.CONSTRAINTS.value}:"
USER = "user: "
"""How a line under `TITLE` begins that holds the user's own words: a later summary keeps it."""

_MARKUP = re.compile(r"\A(?:[-*•+>]|\d{1,3}[.)])\s+")
_LABELS = re.compile(r"\A(?:(?:\[[^\]\s]{1,80}\] )?user(?: [^:\n]{1,64})?:\s*)+")
_MARKS = " \"'`*“”„«»「」『』‘’"


@frozen
class Quotes:
    """Look for quotes in what was said: each text as prose, and with what it quotes itself blanked out."""

    said: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, turns: Iterable[Turn], facts: Iterable[Fact] = ()) -> Self:
        """Return what looks in the prose of the user's `turns` (no code, nothing pasted, no attachment, no gist), and in the demands among `facts`."""
        texts = [
            turn.text
            for turn in turns
            if turn.role is Role.USER and not turn.is_gist and attachment_of(turn) is None
        ]
        texts += [fact.text for fact in facts if fact.head is Head.CONSTRAINTS]
        prose = (" ".join(" ".join(sentences(text)).split()) for text in texts)
        return cls(tuple((text, unquoted(text)) for text in prose))

    def mark(self, summary: str) -> str:
        r"""Return `summary` with the lines under `TITLE` that quote the user marked as the user's, each once, and no other line there.

        >>> Quotes.of([Turn("user", "Hello! Never  push.")]).mark("Constraints:\n- \"Never push.\"\n- user: Push daily.")
        'Constraints:\nuser: Never push.\nPush daily.'
        """
        lines, under, left = dict[object, str](), "", MOST_QUOTES
        for number, line in enumerate(summary.splitlines()):
            title = line.strip().strip("#*: ") + ":"
            if title in TITLES:
                lines[number] = under = title
            elif under != TITLE:
                lines[number] = line
            elif bare := _LABELS.sub("", _MARKUP.sub("", " ".join(line.split()))):
                quote, left = bare.strip(_MARKS), left - 1
                is_own = (
                    left >= 0
                    and SHORTEST_QUOTE <= len(quote) <= LONGEST_QUOTE
                    and self._hold(quote)
                )
                lines[quote if is_own else number] = USER + quote if is_own else bare
        return "\n".join(lines.values())

    def _hold(self, quote: str) -> bool:
        for prose, own in self.said:
            start = prose.find(quote)
            if (
                start >= 0
                and own[start : start + len(quote)].count("_") * 2
                < len(quote) + quote.count("_") * 2
            ):
                return True
        return False
