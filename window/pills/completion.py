"""Completion: from the few characters typed behind ``@`` to the names that can be attached."""

from collections.abc import Iterable, Sequence

from polycontext.window.pills._ranking import Ranking
from polycontext.window.pills.candidate import Candidate, Source
from polycontext.window.pills.pill import PillType, as_type


class Completer:
    """Offer the names that its sources know; they are asked once, when first needed, and again after `refresh`.

    >>> from polycontext.window.pills import BufferResolver
    >>> completer = Completer([BufferResolver({"*scratch*": "", "*messages*": ""})])
    >>> [candidate.name for candidate in completer.candidates("@scr")]
    ['*scratch*']
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._rankings: dict[frozenset[PillType], Ranking] = {}

    def candidates(self, prefix: str, types: Iterable[PillType | str] | str | None = None, limit: int = 20) -> Sequence[Candidate]:
        """Return at most `limit` candidates for `prefix`, the best first; `types` are those wanted (or the one), by default all.

        A name is offered when the characters of `prefix` stand in it in order; upper and
        lower case are the same. Best is the name itself, then what begins so, a last
        part that begins so, parts of a path that begin so (``src/ag`` for
        ``src/core/agent.py``), what holds it in one piece, what holds it in order in the last part, and the rest; among equals
        the shortest, then by the alphabet. An ``@`` or ``[@`` in front is not part of it.

        Raises:
            InvalidPillNameError: an unknown type.

        Law: every candidate for ``prefix + c`` is one for `prefix`, if `limit` is large enough.
        """
        wanted = frozenset(map(as_type, PillType if types is None else [types] if isinstance(types, str) else types))
        ranking = self._rankings.get(wanted)
        if ranking is None:
            ranking = self._rankings[wanted] = self._ranking(wanted)
        return ranking.best(prefix.removeprefix("[").removeprefix("@"), limit)

    def refresh(self) -> None:
        """Forget what the sources said; the next completion asks them again."""
        self._rankings.clear()

    def _ranking(self, wanted: frozenset[PillType]) -> Ranking:
        return Ranking(entry for source in self._sources if source.type in wanted for entry in source.entries())
