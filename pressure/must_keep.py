"""What a summary must keep is looked for in it, and what is missing is put behind it, as far as there is room.

A model that was told what must stay says most of it. What it forgot is told by the rules of the extractive
summary, in its words and under its heads, so that a later summary finds it again.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from polycontext.window.text.terms import STRONG, kind_of, terms_of

if TYPE_CHECKING:
    from polycontext.pressure.extractive.facts import Fact

NAMED = frozenset({"Facts", "Files"})
"""Heads whose facts are told once their identifiers are; the words of all others must stand."""


def completed(text: str, facts: Iterable["Fact"], fits: Callable[[str], bool]) -> str:
    r"""Return `text` with those of `facts` behind it that it does not tell, in the order of the heads, each while the whole `fits`.

    Pure. A text that is blank, or that does not fit as it is, comes back unchanged: it is for others to refuse.

    Laws: the result begins with `text`; it fits where `text` does; completing it again changes nothing.

    >>> from polycontext.pressure.extractive.facts import Fact
    >>> from polycontext.pressure.extractive.heads import Head
    >>> facts = [Fact(Head.CONSTRAINTS, "Never delete a file.", "t1"), Fact(Head.FILES, "I count shelf-42.", "t2")]
    >>> completed("Shelf-42? No: shelf-42 is counted.", facts, lambda text: len(text) < 100)
    'Shelf-42? No: shelf-42 is counted.\nConstraints:\nNever delete a file.'
    """
    from polycontext.pressure.extractive.heads import Head  # noqa: PLC0415 - not loaded with the room

    if not text.strip() or not fits(text):
        return text
    under, order = None, list(Head)
    for fact in sorted(facts, key=lambda fact: order.index(fact.head)):
        if is_told(fact, text):
            continue
        words = " ".join(fact.text.split())
        more = words if fact.head is under else f"{fact.head.value}:\n{words}"
        if fits(f"{text}\n{more}"):
            text, under = f"{text}\n{more}", fact.head
    return text


def is_told(fact: "Fact", text: str) -> bool:
    """Tell whether `text` says `fact`: its words, case and white space aside, and its identifiers; of values and files the identifiers are enough.

    An identifier stands where it is no part of a longer one: ``run-1`` is not in ``run-12``.
    """
    words = " ".join(fact.text.split())
    if not words or words in text.split("\n"):
        return True
    named = [term for term in terms_of(words) if kind_of(term) in STRONG]
    stand = all(re.search(rf"(?<!\w)(?<!\w[-.]){re.escape(name)}(?!\w|[-.]\w)", text) for name in named)
    return stand and ((bool(named) and fact.head.value in NAMED) or words.casefold() in " ".join(text.casefold().split()))
