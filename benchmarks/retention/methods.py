"""Methods that shorten a conversation: the library, simple baselines, and two oracles."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from benchmarks.retention.recall import Wanted, whole_text
from benchmarks.retention.recordings import PROVIDER, Message, counter, message_tokens, pinned
from polycontext.polynomial import project
from polycontext.window import REQUEST_OVERHEAD
from polycontext.window.tokens.counter import TURN_OVERHEAD

_WORD = re.compile(r"\w+")
_PIECE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_SATURATION, _LENGTH = 1.2, 0.75
"""The usual constants of BM25."""


@frozen
class Asked:
    """The input of a method: a list of messages, a budget in tokens, and optionally a question.

    `wanted` is for oracles, which know the answer.
    """

    messages: Sequence[Message]
    max_tokens: int
    query: str | None = None
    wanted: Sequence[Wanted] = ()
    seed: str = ""


Method = Callable[[Asked], list[Message]]


def projected(asked: Asked) -> list[Message]:
    """Project the messages with the library."""
    return list(
        project(
            asked.messages,
            asked.max_tokens,
            query=asked.query,
            counter=counter(),
            provider=PROVIDER,
        ).messages
    )


def plain_tail(asked: Asked) -> list[Message]:
    """Keep as many whole messages from the end as fit."""
    return list(
        asked.messages[
            tail_start([message_tokens(message) for message in asked.messages], asked.max_tokens) :
        ]
    )


def tail_start(tokens: Sequence[int], max_tokens: int) -> int:
    """Return the start of the longest tail of messages that fits a request of `max_tokens`.

    >>> tail_start([10, 10, 10], 23 + 3), tail_start([10, 50], 20)
    (1, 2)
    """
    start, left = len(tokens), max_tokens - REQUEST_OVERHEAD
    while start and tokens[start - 1] <= left:
        start -= 1
        left -= tokens[start]
    return start


def anchored_tail(asked: Asked) -> list[Message]:
    """Keep the system and first user messages, and as many exchanges from the end as fit.

    Calls are kept with their results.
    """
    fill = _Filling(asked)
    for atom in reversed(_atoms(asked.messages)):
        if not fill.take(atom):
            break
    return fill.messages


def at_random(asked: Asked) -> list[Message]:
    """Keep the system and first user messages, and random whole messages, the same in every run."""
    order = list(range(len(asked.messages)))
    random.Random(f"{asked.seed}/{len(order)}").shuffle(order)  # noqa: S311 - repeatable
    return _filled(asked, order)


def best_messages(asked: Asked) -> list[Message]:
    """Keep the whole messages with the most answers per token, chosen greedily by an oracle."""
    fill = _Filling(asked)
    texts = [whole_text([message]) for message in asked.messages]
    fill.take(_cover(_held(texts, fill.missing), fill.tokens, fill.left))
    return fill.messages


def greedy_oracle(asked: Asked) -> list[Message]:
    """Keep in one message the pieces with the most answers per token, as an oracle."""
    fill = _Filling(asked)
    missing = fill.missing
    pieces = list(
        dict.fromkeys(piece for message in asked.messages for piece in _pieces(message, missing))
    )
    costs = [1 + counter().count(piece) for piece in pieces]
    taken = _cover(_held(pieces, missing), costs, fill.left - TURN_OVERHEAD - 1)
    # The text that binds an identifier may begin with a space, which a message must not lose.
    said = "\n".join(["…", *(pieces[number] for number in sorted(taken))])
    return [*fill.messages, *([{"role": "user", "content": said}] if taken else [])]


def _held(texts: Sequence[str], wanted: Sequence[Wanted]) -> list[set[int]]:
    return [
        {number for number, each in enumerate(wanted) if each.stands_in(text)} for text in texts
    ]


def _cover(held: Sequence[set[int]], costs: Sequence[int], left: int) -> list[int]:
    """Return which of the sets cover most per token within `left`, chosen greedily."""
    taken, covered = list[int](), set[int]()
    while True:
        gains = [
            (len(found - covered) / costs[place], -place)
            for place, found in enumerate(held)
            if costs[place] <= left
        ]
        gain, place = max(gains, default=(0.0, 0))
        if gain <= 0:
            return taken
        taken.append(-place)
        left -= costs[-place]
        covered |= held[-place]


def _pieces(message: Message, wanted: Sequence[Wanted]) -> Iterable[str]:
    """Yield the pieces of a message with wanted text.

    For answers they are sentences or lines, for identifiers only the text that binds them.
    """
    text = whole_text([message])
    answers = [each for each in wanted if each.whole_words]
    yield from (
        piece for piece in _PIECE_END.split(text) if any(each.stands_in(piece) for each in answers)
    )
    yield from (
        spelling
        for each in wanted
        if not each.whole_words
        for spelling in sorted(each.spellings)
        if spelling in text
    )


def bm25(asked: Asked) -> list[Message]:
    """Keep the system and first user messages, and the best messages for the question by BM25.

    Without a question, keep the latest.
    """
    if not asked.query:
        return _filled(asked, range(len(asked.messages) - 1, -1, -1))
    scores = bm25_scores(asked.query, [whole_text([message]) for message in asked.messages])
    return _filled(asked, sorted(range(len(scores)), key=lambda place: (-scores[place], -place)))


def bm25_scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return the score of each text for `query` by Robertson's BM25, ignoring case.

    >>> scores = bm25_scores("red bus", ["a red bus came", "the bus came, the bus went", "nothing"])
    >>> scores[0] > scores[1] > scores[2] == 0.0
    True
    """
    terms = [Counter(_words(text)) for text in texts]
    lengths = [counts.total() for counts in terms]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    found = [0.0] * len(texts)
    for word in set(_words(query)):
        holders = sum(word in counts for counts in terms)
        rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        for place, counts in enumerate(terms):
            if often := counts[word]:
                found[place] += (
                    rarity
                    * often
                    * (_SATURATION + 1)
                    / (often + _SATURATION * (1 - _LENGTH + _LENGTH * lengths[place] / mean))
                )
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class _Filling:
    """A budget to fill with whole messages, starting with the system and first user messages."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.tokens = [message_tokens(message) for message in asked.messages]
        self.taken = set(pinned(asked.messages))
        self.left = (
            asked.max_tokens - REQUEST_OVERHEAD - sum(self.tokens[place] for place in self.taken)
        )

    def take(self, places: Iterable[int]) -> bool:
        """Take some places together if they fit."""
        new = set(places) - self.taken
        cost = sum(self.tokens[place] for place in new)
        if cost > self.left:
            return False
        self.taken |= new
        self.left -= cost
        return True

    @property
    def messages(self) -> list[Message]:
        """Return the messages taken, in the order of the conversation."""
        return [self._asked.messages[place] for place in sorted(self.taken)]

    @property
    def missing(self) -> list[Wanted]:
        """Return the wanted things that are not in the messages taken."""
        text = whole_text(self.messages)
        return [each for each in self._asked.wanted if not each.stands_in(text)]


def _filled(asked: Asked, order: Iterable[int]) -> list[Message]:
    fill = _Filling(asked)
    for place in order:
        fill.take([place])
    return fill.messages


def _atoms(messages: Sequence[Message]) -> list[list[int]]:
    """Return the places of the messages, grouping results with their calls."""
    atoms: list[list[int]] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool" and atoms:
            atoms[-1].append(place)
        else:
            atoms.append([place])
    return atoms


METHODS: dict[str, Method] = {
    "project": projected,
    "plain tail": plain_tail,
    "anchored tail": anchored_tail,
    "random messages": at_random,
    "best whole messages": best_messages,
    "greedy oracle": greedy_oracle,
    "BM25": bm25,
}
ASKED = ("project", "BM25")
"""Methods that use the question."""
