"""Check that needed text is still there: identifiers with context, answers and evidence."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from attrs import field, frozen

from benchmarks.retention.recordings import Message, Probe

BOUND_CHARS = 20
"""The number of characters to the left of an identifier that give its meaning."""
LEAST_ANSWER = 4
MOST_PLACES = 3
"""The most messages that may hold an answer for it to count as a needle."""

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")


def flat(text: str) -> str:
    r"""Return `text` with white space normalised.

    >>> flat(" a\n  b ")
    'a b'
    """
    return " ".join(text.split())


def bindings(needle: str, texts: Iterable[str]) -> frozenset[str]:
    """Return every occurrence of `needle` in flat `texts`, each with the characters to its left.

    >>> bindings("B7", ["gate B7, then gate A7", "B7"]) == {"gate B7", "B7"}
    True
    """
    found = (match for text in texts for match in re.finditer(re.escape(needle), text))
    return frozenset(
        match.string[max(0, match.start() - BOUND_CHARS) : match.end()] for match in found
    )


def texts_of(message: Message) -> list[str]:
    """Return the flat texts of a message: its content and the arguments of its calls."""
    content = message.get("content")
    said = (
        content
        if isinstance(content, str)
        else " ".join(part.get("text", "") for part in content or ())
    )
    return [
        _flat(text)
        for text in (
            said,
            *(call["function"]["arguments"] for call in message.get("tool_calls") or ()),
        )
        if text
    ]


_flat = lru_cache(100_000)(flat)


def whole_text(messages: Iterable[Message]) -> str:
    """Return all texts of a list, one per line, so that no match spans two texts."""
    return "\n".join(text for message in messages for text in texts_of(message))


@frozen
class Wanted:
    """One thing that is needed; any of its `spellings` in the view suffices.

    `places` are the messages in which it occurs.
    """

    name: str
    spellings: frozenset[str]
    whole_words: bool = False
    places: frozenset[int] = field(default=frozenset(), repr=False)

    def stands_in(self, text: str) -> bool:
        """Return whether it occurs in a flat text."""
        if not self.whole_words:
            return any(spelling in text for spelling in self.spellings)
        folded = _folded(text)
        return any(
            spelling.casefold() in folded and _as_words(spelling).search(text)
            for spelling in self.spellings
        )


_folded = lru_cache(10_000)(str.casefold)
"""Searching for a substring is far cheaper than for a word, and excludes most texts."""


@lru_cache(10_000)
def _as_words(spelling: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(spelling)}(?!\w)", re.IGNORECASE)


def needles_of(probe: Probe, messages: Sequence[Message]) -> list[Wanted]:
    """Return the identifiers of a probe that occur in `messages`, with their left context.

    `places` are all messages in which an identifier occurs.
    """
    texts = [texts_of(message) for message in messages]
    bound = {
        needle: bindings(needle, (text for each in texts for text in each))
        for needle in probe.needles
    }
    return [
        Wanted(
            needle,
            found,
            places=frozenset(
                place for place, each in enumerate(texts) if any(needle in text for text in each)
            ),
        )
        for needle, found in bound.items()
        if found
    ]


def answers_of(probe: Probe, messages: Sequence[Message], *, by_word: bool) -> list[Wanted]:
    """Return the answers of a probe that occur in one to three messages.

    With `by_word`, each word of an answer is a separate answer.
    """
    if by_word:
        asked = [
            frozenset({word})
            for word in dict.fromkeys(
                word.casefold() for text in probe.answers for word in _WORD.findall(text)
            )
        ]
    else:
        asked = [frozenset(map(flat, probe.answers))] if probe.answers else []
    texts = [whole_text([message]) for message in messages]
    return [wanted for spellings in asked for wanted in _rare(spellings, texts)]


def _rare(spellings: frozenset[str], texts: Sequence[str]) -> Iterable[Wanted]:
    long_enough = frozenset(spelling for spelling in spellings if len(spelling) >= LEAST_ANSWER)
    if long_enough:
        wanted = Wanted(min(long_enough), long_enough, whole_words=True)
        places = frozenset(place for place, text in enumerate(texts) if wanted.stands_in(text))
        if 1 <= len(places) <= MOST_PLACES:
            yield Wanted(wanted.name, long_enough, whole_words=True, places=places)


def evidence_kept(
    probe: Probe, messages: Sequence[Message], view: Sequence[Message]
) -> tuple[int, int]:
    """Return how many messages of a probe's evidence are whole in the view, and their number."""
    held = {text for message in view for text in texts_of(message)}
    texts = [texts_of(messages[index]) for index in probe.evidence if index < len(messages)]
    return sum(all(part in held for part in text) for text in texts if text), sum(map(bool, texts))
