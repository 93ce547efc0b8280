"""Completion: from the few characters typed behind ``@`` to the names that can be attached."""

import re
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from itertools import takewhile
from unicodedata import normalize

from .pill import Pill, PillType, as_type
from .resolver import Candidate, Source

_BOUNDARY = re.compile(r"[/.]")
_SEPARATOR = {PillType.FILE: "/", PillType.SYMBOL: ".", PillType.BUFFER: "/"}


class Completer:
    """Offer the names that its sources know.

    They are asked once, when first needed, and again after `refresh`.

    >>> from polycontext.window.pills import BufferResolver
    >>> completer = Completer([BufferResolver({"*scratch*": "", "*messages*": ""})])
    >>> [candidate.name for candidate in completer.candidates("@scr")]
    ['*scratch*']
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._rankings: dict[frozenset[PillType], _Ranking] = {}

    def candidates(
        self, prefix: str, types: Iterable[PillType | str] | str | None = None, limit: int = 20
    ) -> Sequence[Candidate]:
        """Return at most `limit` candidates for `prefix`, the best first.

        `types` are those wanted (or the one), by default all.

        A name is offered when the characters of `prefix` stand in it in order; upper and
        lower case are the same. Best is the name itself, then what begins so, a last
        part that begins so, parts of a path that begin so (``src/ag`` for
        ``src/core/agent.py``), what holds it in one piece, what holds it in order in the last part,
        and the rest; among equals the shortest, then by the alphabet. An ``@`` or ``[@`` in front
        is not part of it.

        Raises:
            InvalidPillNameError: an unknown type.

        Law: every candidate for ``prefix + c`` is one for `prefix`, if `limit` is large enough.
        """
        wanted = map(
            as_type, PillType if types is None else [types] if isinstance(types, str) else types
        )
        return self._ranking(wanted).best(prefix.removeprefix("[").removeprefix("@"), limit)

    def namesakes(self, pill: Pill, limit: int = 5) -> Sequence[Candidate]:
        """Return where what `pill` names may be now: at most `limit` names of its type with the same last part.

        Best is what ends most as the pill's name does; among equals the shortest, then by the
        alphabet. A name that is there still is the best of its own namesakes. Upper and lower case
        are the same, as in completion.

        >>> from polycontext.window.pills import BufferResolver
        >>> completer = Completer([BufferResolver({"src/new/agent.py": "", "src/agents.py": ""})])
        >>> [candidate.name for candidate in completer.namesakes(Pill("src/agent.py", "buffer"))]
        ['src/new/agent.py']
        """
        return self._ranking([pill.type]).namesakes(pill, limit)

    def refresh(self) -> None:
        """Forget what the sources said; the next completion asks them again."""
        self._rankings.clear()

    def _ranking(self, types: Iterable[PillType]) -> "_Ranking":
        wanted = frozenset(types)
        if wanted not in self._rankings:
            self._rankings[wanted] = _Ranking(
                each
                for source in self._sources
                if source.type in wanted
                for each in source.entries()
            )
        return self._rankings[wanted]


class _Ranking:
    """Hold candidates sorted once, by length and alphabet, so that a look-up only has to find the tier of each."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = sorted(set(candidates), key=lambda each: (len(each.name), each))
        self._names = [_folded(each.name) for each in self._candidates]
        self._longest = max(map(len, self._names), default=0)
        self._lasts = [
            name.rpartition(_SEPARATOR[each.type])[2]
            for name, each in zip(self._names, self._candidates, strict=True)
        ]

    def best(self, query: str, limit: int) -> tuple[Candidate, ...]:
        """Return at most `limit` candidates, best first (see `Completer.candidates`)."""
        query = _folded(query)
        if not query:
            return tuple(self._candidates[: max(limit, 0)])
        if len(query) > self._longest:
            return ()
        holds, parts = _in_order(query).match, _by_parts(query).match
        rows = enumerate(zip(self._names, self._lasts, strict=True))
        # Of each match its tier and place as one number.
        count = len(self._names)
        keys = (
            _tier(query, name, last, holds, parts) * count + place
            for place, (name, last) in rows
            if holds(name)
        )
        return tuple(self._candidates[key % count] for key in nsmallest(limit, keys))

    def namesakes(self, pill: Pill, limit: int) -> tuple[Candidate, ...]:
        """Return at most `limit` candidates with the last part of a pill's name, best first (see `Completer.namesakes`)."""
        separator = _SEPARATOR[pill.type]
        parts = _folded(pill.name).split(separator)
        rows = zip(self._candidates, self._names, self._lasts, strict=True)
        alike = [
            (-_shared(parts, name.split(separator)), each)
            for each, name, last in rows
            if last == parts[-1]
        ]
        # Stable: what shares as much keeps the order of length and alphabet.
        return tuple(each for _, each in sorted(alike, key=lambda pair: pair[0])[: max(limit, 0)])


def _tier(
    query: str, name: str, last: str, holds: Callable[[str], object], parts: Callable[[str], object]
) -> int:
    if name.startswith(query):
        return int(len(name) > len(query))
    if last.startswith(query):
        return 2
    if parts(name):
        return 3
    if query in name:
        return 4
    return 5 if holds(last) else 6


def _shared(parts: Sequence[str], others: Sequence[str]) -> int:
    """Return how many parts both end with."""
    return sum(
        1
        for _ in takewhile(
            lambda pair: pair[0] == pair[1], zip(reversed(parts), reversed(others), strict=False)
        )
    )


def _in_order(query: str) -> re.Pattern[str]:
    """Return a pattern of what has the characters of `query` in order.

    Each character is looked at once.
    """
    return re.compile("".join(f"[^{re.escape(char)}]*{re.escape(char)}" for char in query))


def _by_parts(query: str) -> re.Pattern[str]:
    """Return a pattern of paths and dotted names with parts that begin as the parts of `query` do, in order.

    The first part that fits is the best to go on from, so each group is atomic and nothing is tried
    twice.
    """
    first, *others = map(re.escape, _BOUNDARY.split(query))
    return re.compile(
        rf"(?>.*?(?:^|(?<=[/.])){first})" + "".join(rf"(?>.*?[/.]{part})" for part in others)
    )


def _folded(name: str) -> str:
    """Return `name` as it is compared: upper and lower case, and both ways to write an accent, are the same."""
    return normalize("NFC", name.casefold())
