"""Recall: raise atoms back to VERBATIM from the log.

That is not `expand`: compressing is lossy, so it needs the log (the Lens Fallacy,
seed 004 Part VIII). Recalled atoms come back whole and where they stood.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from attrs import define, frozen

from polycontext.linearity import UnknownResourceError
from polycontext.pressure import Edit
from polycontext.window import ContextWindow, Role, Splice, Turn
from polycontext.window.items import ITEM_IDS, attachment_of


@define
class Log:
    """Keep every turn ever accepted, in order, and find atoms in it by the id of any of their turns.

    `items` says where each context item was attached first; whatever item is made later gets another id.
    """

    turns: list[Turn]
    items: dict[str, int]
    _at: dict[str, int]
    _starts: list[int]

    @classmethod
    def empty(cls) -> "Log":
        """Return the log of a new conversation."""
        return cls([], {}, {}, [])

    def append(self, turn: Turn) -> None:
        """Add an accepted turn; O(1)."""
        index = len(self.turns)
        self._at[turn.resource_id] = index
        self._starts.append(self._starts[-1] if turn.role is Role.TOOL else index)
        self.turns.append(turn)
        if (attachment := attachment_of(turn)) is not None:
            self.items.setdefault(attachment.id, index)
            ITEM_IDS.skip_past(attachment.id)

    def truncate(self, length: int) -> None:
        """Forget the turns from index `length` on, which were not accepted after all."""
        for turn in self.turns[length:]:
            del self._at[turn.resource_id]
        self.items = {item_id: index for item_id, index in self.items.items() if index < length}
        del self.turns[length:], self._starts[length:]

    def knows(self, resource_id: str) -> bool:
        """Tell whether a turn of that id was accepted; a gist made here was not."""
        return resource_id in self._at

    def place(self, resource_id: str) -> int:
        """Return the index of a turn.

        Raises:
            UnknownResourceError: no such turn.
        """
        index = self._at.get(resource_id)
        if index is None:
            raise UnknownResourceError(resource_id, tuple(get_close_matches(resource_id, self._at)))
        return index

    def atom(self, resource_id: str) -> tuple[Turn, ...]:
        """Return all turns of the atom that holds `resource_id`."""
        start = self._starts[self.place(resource_id)]
        stop = start + 1
        while stop < len(self.turns) and self._starts[stop] == start:
            stop += 1
        return tuple(self.turns[start:stop])


@frozen
class _View:
    """Know where the turns of a window stand in the log; a gist stands where its first source stood."""

    turns: Sequence[Turn]
    keys: list[int]
    standing: dict[str, int]


def recall_edit(window: ContextWindow, log: Log, resource_ids: Iterable[str]) -> Edit:
    """Return the edit that brings the atoms of `resource_ids` back; a gist's id brings all its sources.

    Raises:
        UnknownResourceError: an id that is neither in the log nor a gist of the window.
    """
    view = _view(window, log)
    atoms = {atom[0].resource_id: atom for atom in (log.atom(i) for i in _logged(view, log, resource_ids))}
    splices: dict[int, list[Splice]] = {}
    for atom in sorted(atoms.values(), key=lambda atom: log.place(atom[0].resource_id)):
        if not all(turn.resource_id in view.standing for turn in atom):
            splice = _splice(view, log, atom)
            splices.setdefault(splice.start, []).append(splice)
    return Edit(tuple(_joined(same) for _, same in sorted(splices.items())))


def _view(window: ContextWindow, log: Log) -> _View:
    turns = window.all_turns()
    keys = [log.place(next((i for i in turn.sources if log.knows(i)), turn.resource_id)) for turn in turns]
    return _View(turns, keys, {turn.resource_id: index for index, turn in enumerate(turns)})


def _logged(view: _View, log: Log, resource_ids: Iterable[str]) -> Iterable[str]:
    for resource_id in resource_ids:
        index = view.standing.get(resource_id)
        if index is not None and view.turns[index].sources and not log.knows(resource_id):
            yield from view.turns[index].sources
        else:
            yield resource_id


def _splice(view: _View, log: Log, atom: tuple[Turn, ...]) -> Splice:
    """Return the splice for one atom: in place of its digests or of the gist that stands for it alone, else in the order of the log."""
    first = view.standing.get(atom[0].resource_id)
    if first is not None:
        return Splice(first, first + len(atom), atom)
    at = bisect_right(view.keys, log.place(atom[0].resource_id))
    lead = next((i for i, turn in enumerate(view.turns) if turn.role is not Role.SYSTEM), len(view.turns))
    at = max(at, lead)
    stands_for_it = at > 0 and set(view.turns[at - 1].sources) == {turn.resource_id for turn in atom}
    return Splice(at - 1 if stands_for_it else at, at, atom)


def _joined(same: list[Splice]) -> Splice:
    """Return one splice for several atoms that come back at one place."""
    stop = max(splice.stop for splice in same)
    return Splice(same[0].start, stop, tuple(turn for splice in same for turn in splice.turns))
