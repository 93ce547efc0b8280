"""The past of a conversation: which turns compressions have taken out of the view, in order, and what a summariser can still choose from them.

It is derived: replaying the journal gives it again. What a summariser has read is only remembered,
never kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from polycontext.linearity import Column
from polycontext.pressure import Edit, is_summary
from polycontext.pressure.fulfilment import RememberingSummariser
from polycontext.pressure.gist import source_ids
from polycontext.window import ContextWindow, TokenCounter, Turn
from polycontext.window.part_removal import bare
from polycontext.window.turn import GIST

from .events import is_erased
from .log import Log

if TYPE_CHECKING:
    from polycontext.pressure.notes import Candidates

CANDIDATE_SHARE = 2.0
"""How many times the window candidates may take: some four times what a gist takes of it."""

_REMEMBERED = 4

Batch = tuple[int, tuple[str, ...]]
"""The ids that yielded together, behind a number that stands for them and for all before."""


@define(eq=False, repr=False)
class _Memory:
    """Remember the candidates after the newest batches.

    Replaced as a whole, so that a race costs one reading and nothing else.
    """

    entries: tuple[tuple[tuple[object, int, int], "Candidates"], ...] = ()

    def find(self, summariser: object, most: int, batch: int) -> "Candidates | None":
        """Return what is behind a batch, about `most` tokens of it.

        Where another budget was read for, that: no turn is read twice.
        """
        found = {
            known: candidates
            for (reader, known, key), candidates in self.entries
            if (reader, key) == (summariser, batch)
        }
        return found.get(most if most in found else max(found, default=0))

    def keep(self, key: tuple[object, int, int], candidates: "Candidates") -> None:
        self.entries = (*self.entries[1 - _REMEMBERED :], (key, candidates))

    # What can be read again does not travel; a copy shares it.
    def __reduce__(self) -> tuple[object, ...]:
        return _Memory, ()

    def __deepcopy__(self, _: object) -> "_Memory":
        return _Memory(self.entries)


@frozen(eq=False)
class Past:
    """Hold the ids of the turns that yielded to gists, by compressions (immutable, appending is O(1)).

    `tellers` are gists that are read themselves, by their ids: the turns that they stand for have
    expired.
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
        """Return the past in which these ids yielded together, batch by batch."""
        key, known = 0, list[Batch]()
        for ids in batches:
            key = hash((key, ids))
            known.append((key, ids))
        return cls(Column.of(known), {turn.resource_id: turn for turn in tellers})

    @classmethod
    def told(cls, gists: Iterable[Turn]) -> "Past":
        """Return the past of which these gists alone tell; their words are all that is left."""
        tellers = [evolve(gist, sources=(), level=0, metadata={GIST: True}) for gist in gists]
        return cls.of([tuple(turn.resource_id for turn in tellers)] if tellers else [], tellers)

    def remembered(self) -> "tuple[object, int, int, Candidates] | None":
        """Return what was read last: by which summariser, about how many tokens of it, the batches that it is behind, and what."""
        first = max(0, self.batches.length - _REMEMBERED)
        newest = {key: place for place, (key, _) in enumerate(self.batches.since(first), first + 1)}
        for (summariser, most, key), candidates in reversed(self._memory.entries):
            if key in newest:
                return summariser, most, newest[key], candidates
        return None

    def remember(
        self, summariser: object, most: int, batches: int, candidates: "Candidates"
    ) -> None:
        """Know, as if it had been read, what `remembered` returned of this past."""
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
        """Return what a gist of `sources`, which follow this past, is chosen from.

        Without any, what is known of this past itself.

        Law: the same whether what came before was remembered or is read again, under one budget.
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
            found = (
                self.tellers.get(each) or (log[log.place(each)] if log.knows(each) else None)
                for each in batch_ids
            )
            turns = [
                bare(turn, counter) for turn in found if turn is not None and not is_erased(turn)
            ]
            known = summariser.read(turns, known, counter=counter, most=most)
            self._memory.keep((summariser, most, key), known)
        assert known is not None
        return known


def yielding(window: ContextWindow, edit: Edit) -> tuple[str, ...]:
    """Return the ids of the turns of the log that go into a gist by `edit`: neither dropped, nor cut where they stand, nor said again, nor gone before."""
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
    """Tell whether `turn` is a gist of turns of this log.

    One that came in is in the log itself, and is read as it is.
    """
    return bool(turn.sources) and is_summary(turn)
