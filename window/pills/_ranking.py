"""Names in the order in which they answer a few typed characters."""

import re
from collections.abc import Callable, Iterable
from heapq import nsmallest
from unicodedata import normalize

from polycontext.window.pills.candidate import Candidate
from polycontext.window.pills.pill import PillType

_BOUNDARY = re.compile(r"[/.]")
_SEPARATOR = {PillType.FILE: "/", PillType.SYMBOL: ".", PillType.BUFFER: "/"}


class Ranking:
    """Hold candidates sorted once, by length and alphabet, so that a look-up only has to find the tier of each."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = sorted(set(candidates), key=lambda each: (len(each.name), each))
        self._names = [_folded(each.name) for each in self._candidates]
        self._longest = max(map(len, self._names), default=0)
        self._lasts = [name.rpartition(_SEPARATOR[each.type])[2] for name, each in zip(self._names, self._candidates, strict=True)]

    def best(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Return at most `limit` candidates, best first (see `Completer.candidates`)."""
        query = _folded(query)
        if not query:
            return tuple(self._candidates[: max(limit, 0)])
        if len(query) > self._longest:
            return ()
        keys = self._keys(query)
        return tuple(self._candidates[key % len(self._candidates)] for key in nsmallest(limit, keys))

    def _keys(self, query: str) -> list[int]:
        """Return for each match its tier and place as one number."""
        count = len(self._names)
        holds, parts = _in_order(query).match, _by_parts(query).match
        rows = zip(range(count), self._names, self._lasts, strict=True)
        return [_tier(query, name, last, holds, parts) * count + place for place, name, last in rows if holds(name)]


def _tier(query: str, name: str, last: str, holds: Callable[[str], object], parts: Callable[[str], object]) -> int:
    if name.startswith(query):
        return int(len(name) > len(query))
    if last.startswith(query):
        return 2
    if parts(name):
        return 3
    if query in name:
        return 4
    return 5 if holds(last) else 6


def _in_order(query: str) -> re.Pattern[str]:
    """Return a pattern of what has the characters of `query` in order; each character is looked at once."""
    return re.compile("".join(f"[^{re.escape(char)}]*{re.escape(char)}" for char in query))


def _by_parts(query: str) -> re.Pattern[str]:
    """Return a pattern of paths and dotted names with parts that begin as the parts of `query` do, in order.

    The first part that fits is the best to go on from, so each group is atomic and nothing is tried twice.
    """
    first, *others = map(re.escape, _BOUNDARY.split(query))
    return re.compile(rf"(?>.*?(?:^|(?<=[/.])){first})" + "".join(rf"(?>.*?[/.]{part})" for part in others))


def _folded(name: str) -> str:
    """Return `name` as it is compared: upper and lower case, and both ways to write an accent, are the same."""
    return normalize("NFC", name.casefold())
