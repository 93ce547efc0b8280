"""Completion of the characters typed after ``@`` to the names that can be attached."""

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
    """Completes names from its sources.

    The sources are read once, on first use, and again after `refresh`.

    >>> from polycontext.pills import BufferResolver
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
        """Return at most `limit` candidates for `prefix`, best first.

        `types` restricts the candidates to one or several types. A name matches if it contains the
        characters of `prefix` in order, ignoring case. A leading ``@`` or ``[@`` is not part of the
        prefix. Matches rank in this order:

        1. the name itself
        2. names that begin with the prefix
        3. names whose last part begins with it
        4. names with path parts that begin with it (``src/ag`` for ``src/core/agent.py``)
        5. names that contain it in one piece
        6. names whose last part contains it in order
        7. all other matches

        Equal ranks are sorted by length, then alphabetically.

        Raises:
            InvalidPillNameError: A type is unknown.

        Law: every candidate for ``prefix + c`` is one for `prefix`, if `limit` is large enough.
        """
        wanted = map(
            as_type, PillType if types is None else [types] if isinstance(types, str) else types
        )
        return self._ranking(wanted).best(prefix.removeprefix("[").removeprefix("@"), limit)

    def namesakes(self, pill: Pill, limit: int = 5) -> Sequence[Candidate]:
        """Return at most `limit` names of the pill's type that have the same last part.

        Use this to find a renamed or moved target. The names that share the longest ending with the
        pill's name come first, then shorter ones, then in alphabetical order. A name that still
        exists is its own best match. Case is ignored, as in completion.

        >>> from polycontext.pills import BufferResolver
        >>> completer = Completer([BufferResolver({"src/new/agent.py": "", "src/agents.py": ""})])
        >>> [candidate.name for candidate in completer.namesakes(Pill("src/agent.py", "buffer"))]
        ['src/new/agent.py']
        """
        return self._ranking([pill.type]).namesakes(pill, limit)

    def refresh(self) -> None:
        """Discard the cached names, so that the next completion reads the sources again."""
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
    """Candidates sorted once by length and alphabet, so that a look-up only computes ranks."""

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
        # Encode the rank and the position of each match in one number.
        count = len(self._names)
        keys = (
            _tier(query, name, last, holds, parts) * count + place
            for place, (name, last) in rows
            if holds(name)
        )
        return tuple(self._candidates[key % count] for key in nsmallest(limit, keys))

    def namesakes(self, pill: Pill, limit: int) -> tuple[Candidate, ...]:
        """Return at most `limit` namesakes, best first (see `Completer.namesakes`)."""
        separator = _SEPARATOR[pill.type]
        parts = _folded(pill.name).split(separator)
        rows = zip(self._candidates, self._names, self._lasts, strict=True)
        alike = [
            (-_shared(parts, name.split(separator)), each)
            for each, name, last in rows
            if last == parts[-1]
        ]
        # The sort is stable, so equal entries keep the order of length and alphabet.
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
    """Return the number of trailing parts that both have in common."""
    return sum(
        1
        for _ in takewhile(
            lambda pair: pair[0] == pair[1], zip(reversed(parts), reversed(others), strict=False)
        )
    )


def _in_order(query: str) -> re.Pattern[str]:
    """Return a pattern that finds the characters of `query` in order, in linear time."""
    return re.compile("".join(f"[^{re.escape(char)}]*{re.escape(char)}" for char in query))


def _by_parts(query: str) -> re.Pattern[str]:
    """Return a pattern for names with parts that begin, in order, with the parts of `query`.

    The first matching part is always the best one to continue from, so each group is atomic and
    never backtracks.
    """
    first, *others = map(re.escape, _BOUNDARY.split(query))
    return re.compile(
        rf"(?>.*?(?:^|(?<=[/.])){first})" + "".join(rf"(?>.*?[/.]{part})" for part in others)
    )


def _folded(name: str) -> str:
    """Return `name` normalised for comparison: case-folded and with composed accents."""
    return normalize("NFC", name.casefold())
