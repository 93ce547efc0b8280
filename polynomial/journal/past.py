"""The turns that compressions took out of the view, and the candidates for later gists.

The past is derived: replaying the journal gives it again. What a summariser has read is a cache and
never stored as an event.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from polycontext.base import Column
from polycontext.pressure import Edit, RememberingSummariser, is_summary
from polycontext.pressure.gist import source_ids
from polycontext.window import ContextWindow, TokenCounter, Turn
from polycontext.window.part_removal import bare

from .events import is_erased
from .log import Log

if TYPE_CHECKING:
    from polycontext.pressure.notes import Candidates

CANDIDATE_SHARE = 2.0
"""The size of the candidates as a multiple of the budget: about four times that of a gist."""

_REMEMBERED = 4

Batch = tuple[int, tuple[str, ...]]
"""The ids that one compression took out, after a hash of them and of all earlier batches."""


@define(eq=False, repr=False)
class _Memory:
    """A cache of the candidates after the newest batches.

    Its entries are replaced as a whole, so a race costs one repeated reading and nothing else.
    """

    entries: tuple[tuple[tuple[object, int, int], "Candidates"], ...] = ()

    def find(self, summariser: object, most: int, batch: int) -> "Candidates | None":
        """Return the candidates after a batch, about `most` tokens of them.

        If they were read for another budget, return those, so that no turn is read twice.
        """
        found = {
            known: candidates
            for (reader, known, key), candidates in self.entries
            if (reader, key) == (summariser, batch)
        }
        return found.get(most if most in found else max(found, default=0))

    def keep(self, key: tuple[object, int, int], candidates: "Candidates") -> None:
        self.entries = (*self.entries[1 - _REMEMBERED :], (key, candidates))

    # A pickle leaves the cache out; a deep copy shares the entries.
    def __reduce__(self) -> tuple[object, ...]:
        return _Memory, ()

    def __deepcopy__(self, _: object) -> "_Memory":
        return _Memory(self.entries)


@frozen(eq=False)
class Past:
    """The ids of the turns that were summarised into gists, grouped by compression.

    Immutable; appending is O(1). `tellers` are gists, by id, that are read themselves because the
    turns they stand for have expired.
    """

    batches: Column[Batch] = field(factory=Column[Batch])
    tellers: Mapping[str, Turn] = field(factory=dict)
    _memory: _Memory = field(factory=_Memory, repr=False)

    def after(self, window: ContextWindow, edit: Edit) -> "Past":
        """Return the past after a compression of `window` by `edit`."""
        ids = yielding(window, edit)
        return (
            Past(self.batches.appended((hash((self._key, ids)), ids)), self.tellers, self._memory)
            if ids
            else self
        )

    @classmethod
    def of(cls, batches: Iterable[tuple[str, ...]], tellers: Iterable[Turn] = ()) -> "Past":
        """Return the past with these batches of ids, each taken out together."""
        key, known = 0, list[Batch]()
        for ids in batches:
            key = hash((key, ids))
            known.append((key, ids))
        return cls(Column.of(known), {turn.resource_id: turn for turn in tellers})

    def unread(self) -> "Past":
        """Return the same past, of which nothing was read yet."""
        return evolve(self, memory=_Memory())

    @classmethod
    def told(cls, gists: Iterable[Turn]) -> "Past":
        """Return a past of these gists alone; their words are all that is left of their turns."""
        tellers = [evolve(gist, sources=(), level=0, metadata={}).as_gist() for gist in gists]
        return cls.of([tuple(turn.resource_id for turn in tellers)] if tellers else [], tellers)

    def remembered(self) -> "tuple[object, int, int, Candidates] | None":
        """Return the latest cached reading of this past, None if there is none.

        It consists of the summariser, its token limit, the number of batches read, and the
        candidates.
        """
        first = max(0, self.batches.length - _REMEMBERED)
        newest = {key: place for place, (key, _) in enumerate(self.batches.since(first), first + 1)}
        for (summariser, most, key), candidates in reversed(self._memory.entries):
            if key in newest:
                return summariser, most, newest[key], candidates
        return None

    def remember(
        self, summariser: object, most: int, batches: int, candidates: "Candidates"
    ) -> None:
        """Cache a reading that `remembered` returned for this past."""
        self._memory.keep((summariser, most, self.batches[batches - 1][0]), candidates)

    @property
    def _key(self) -> int:
        return self.batches[self.batches.length - 1][0] if self.batches.length else 0

    def candidates(
        self,
        summariser: RememberingSummariser,
        sources: Sequence[Turn],
        log: Log,
        counter: TokenCounter,
        max_tokens: int,
    ) -> "Candidates":
        """Return the candidates for a gist of `sources`, which follow this past.

        Without `sources`, return the candidates of the past itself.

        Law: under one budget, the result is the same whether earlier batches are cached or read
        again.
        """
        most = int(CANDIDATE_SHARE * max_tokens)
        ids = tuple(each for turn in sources if not _made_here(turn) for each in source_ids(turn))
        unread: list[Batch] = []
        known = None
        coming = [(hash((self._key, ids)), ids)] if sources else []
        for batch in chain(
            coming, map(self.batches.__getitem__, range(self.batches.length - 1, -1, -1))
        ):
            known = self._memory.find(summariser, most, batch[0])
            if known is not None:
                break
            unread.append(batch)
        for key, batch_ids in reversed(unread):
            found = (self.tellers.get(each) or log.get(each) for each in batch_ids)
            turns = [bare(turn, counter) for turn in found if turn and not is_erased(turn)]
            known = summariser.read(turns, known, counter=counter, most=most)
            self._memory.keep((summariser, most, key), known)
        assert known is not None
        return known


def yielding(window: ContextWindow, edit: Edit) -> tuple[str, ...]:
    """Return the ids of the logged turns that `edit` summarises into gists.

    Turns that are dropped, truncated in place or reinserted are not among them, nor are those
    summarised earlier.
    """
    turns, stays = window.all_turns(), {*edit.dropped, *edit.again}
    return tuple(
        each
        for splice in edit.splices
        if all(_made_here(turn) for turn in splice.turns)
        for turn in turns[splice.start : splice.stop]
        if not _made_here(turn) and turn.resource_id not in stays
        for each in source_ids(turn)
    )


def _made_here(turn: Turn) -> bool:
    """Return whether `turn` is a gist of turns of this log.

    A gist that was added as a turn is in the log itself, and is read like any other turn.
    """
    return bool(turn.sources) and is_summary(turn)
