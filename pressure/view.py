"""Views: what fidelity each atom of one log is held at, the Galois connection between them, and the edits that lower them.

Views over one log are ordered pointwise and have meets. Compressing under a
ceiling c is the meet with c; expanding embeds a compressed view among all
views. That gives, for nothing: compressing is monotone, deflationary and
idempotent, ``compress(expand(v)) == v``, and ``expand(v) <= w`` exactly when
``v <= compress(w)`` (Ore, Galois Connexions).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Self

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidOptionError, LinearityMap, ResourceClass
from polycontext.linearity.json_data import FrozenDict
from polycontext.window import Atom, ContextWindow, Epoch, PositionError, Role, Splice, Turn
from polycontext.window.part import bound_providers
from polycontext.window.part_removal import bare, fell, unbound
from polycontext.window.sources import Traces

from .errors import FloorError
from .gist import is_summary

_SHOWN = 9
"""How many ids an error lists."""


class Fidelity(IntEnum):
    """Order how much of an atom a view holds: nothing, a gist, every word."""

    DROPPED = 0
    GIST = 1
    VERBATIM = 2


_FLOORS = {
    ResourceClass.DROPPABLE: Fidelity.DROPPED,
    ResourceClass.REQUIRED: Fidelity.GIST,
    ResourceClass.PRESERVED: Fidelity.VERBATIM,
}


def floor_of(resource_class: ResourceClass) -> Fidelity:
    """Return the lowest fidelity a class allows (docs/pressure.md, "Fidelity, floors and ceilings").

    Law: monotone in the class.

    >>> floor_of(ResourceClass.REQUIRED)
    <Fidelity.GIST: 1>
    """
    return _FLOORS[resource_class]


def _frozen(fidelities: Mapping[str, Fidelity]) -> Mapping[str, Fidelity]:
    return FrozenDict(fidelities)


@frozen(order=False)
class View:
    """Assign a fidelity to every atom of one log, named by the atom's id.

    >>> full = View({"t1": Fidelity.VERBATIM, "t2": Fidelity.VERBATIM})
    >>> cut = View({"t1": Fidelity.VERBATIM, "t2": Fidelity.GIST})
    >>> cut <= full, full <= cut, full.meet(cut) == cut
    (True, False, True)
    """

    fidelities: Mapping[str, Fidelity] = field(converter=_frozen, hash=False)

    def __le__(self, other: "View") -> bool:
        """Tell whether no atom is held at a higher fidelity here than in `other`."""
        self._same_log(other)
        return all(fidelity <= other.fidelities[atom] for atom, fidelity in self.fidelities.items())

    def __ge__(self, other: "View") -> bool:
        """Tell whether `other` is at most this view."""
        return other <= self

    def meet(self, other: "View") -> Self:
        """Return the lower fidelity of each atom. Laws: associative, commutative, idempotent."""
        self._same_log(other)
        return type(self)(
            {
                atom: min(fidelity, other.fidelities[atom])
                for atom, fidelity in self.fidelities.items()
            }
        )

    def _same_log(self, other: "View") -> None:
        left, right = self.fidelities.keys(), other.fidelities.keys()
        if left != right:
            raise InvalidOptionError(
                "other",
                other,
                f"a view over the same log; atoms of only one of the two: {sorted(left ^ right)[:_SHOWN]}",
            )


def compress_view(ceiling: View, view: View) -> View:
    """Compress `view` under `ceiling`: the meet of both."""
    return view.meet(ceiling)


def expand_view(view: View) -> View:
    """Embed a compressed view among all views; it holds no more than it held."""
    return view


def view_of(window: ContextWindow, log: Iterable[Atom]) -> View:
    """Return what fidelity `window` holds each atom of `log` at.

    An atom is VERBATIM when all its turns stand in the window, GIST when a gist there
    names one of them, DROPPED otherwise.
    """
    turns = window.all_turns()
    standing = {turn.resource_id for turn in turns}
    summarised = {source for turn in turns for source in turn.sources}
    return View({atom.id: _fidelity(atom, standing, summarised) for atom in log})


def _fidelity(atom: Atom, standing: set[str], summarised: set[str]) -> Fidelity:
    ids = atom.resource_ids
    if standing.issuperset(ids):
        return Fidelity.VERBATIM
    return Fidelity.DROPPED if summarised.isdisjoint(ids) else Fidelity.GIST


@frozen
class Edit:
    """Hold the runs of turns replaced (disjoint, in order), and the ids of the DROPPABLE turns that left.

    `bared` are the ids of turns that stand and whose parts fall. Bound parts fall from the first
    change on, and from turn `unbound_from` (an index) even where nothing before them changes. Of
    the providers `keeps_bound` they stay before
    that: those wrote the gist themselves, and take what was bound to the turns it stands for.

    `again` are the ids of turns that a run takes out and that come back as they were before turn
    `again_at` (an index of the window that is edited).
    """

    splices: tuple[Splice, ...] = ()
    dropped: tuple[str, ...] = ()
    bared: tuple[str, ...] = ()
    unbound_from: int | None = None
    keeps_bound: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    again_at: int = 0

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing changes."""
        return not self.splices and not self.bared and self.unbound_from is None


def first_changed(window: ContextWindow, edit: Edit) -> int | None:
    """Return the index of the first turn that `edit` changes: what a provider holds of the view ends there. None where nothing changes."""
    bound = () if edit.unbound_from is None else (edit.unbound_from,)
    return min(
        (*(splice.start for splice in edit.splices[:1]), *_indices(window, edit.bared), *bound),
        default=None,
    )


def splices_of(window: ContextWindow, edit: Edit) -> tuple[Splice, ...]:
    """Return all that `edit` replaces: its own runs, the turns that are bared, and behind the first change what is bound there.

    A bound part is valid only behind the prefix it was made on, so it falls with the first change
    before it.
    """
    first = first_changed(window, edit)
    if first is None:
        return ()
    turns, counter = window.all_turns(), window.counter
    coming = [*edit.splices, *reinsert_turns(window, edit)]
    own = [
        evolve(splice, turns=tuple(unbound(turn, counter) for turn in splice.turns))
        for splice in coming
    ]
    replaced = {index for splice in own for index in range(splice.start, splice.stop)}
    bared = _indices(window, edit.bared)
    kept_until = len(turns) if edit.unbound_from is None else edit.unbound_from
    falling: list[Splice] = []
    for index, turn in enumerate(turns[first:], first):
        if not turn.parts or index in replaced:
            continue
        kept = edit.keeps_bound if index < kept_until else ()
        less = bare(turn, counter) if index in bared else unbound(turn, counter, kept)
        if less is not turn:
            falling.append(Splice(index, index + 1, (less,)))
    # An insertion stands before the turn at whose place it is made.
    return tuple(sorted([*own, *falling], key=lambda splice: (splice.start, splice.stop)))


def reinsert_turns(window: ContextWindow, edit: Edit) -> tuple[Splice, ...]:
    """Return the run, if there is one, in which turns that `edit` takes out come back as they were."""
    if not edit.again:
        return ()
    wanted = set(edit.again)
    turns = tuple(turn for turn in window.all_turns() if turn.resource_id in wanted)
    return (Splice(edit.again_at, edit.again_at, turns),)


def _indices(window: ContextWindow, resource_ids: Sequence[str]) -> set[int]:
    if not resource_ids:
        return set()
    wanted = set(resource_ids)
    return {index for index, turn in enumerate(window.all_turns()) if turn.resource_id in wanted}


def apply_edit(window: ContextWindow, edit: Edit, *, compressed: bool) -> ContextWindow:
    """Return `window` edited, gists and drops entered in its ledger, and the epoch that begins by it.

    Law: the same edit on the same window gives the same window.
    """
    splices = splices_of(window, edit)
    ledger: LinearityMap = window.linearity
    for splice in edit.splices:
        for turn in splice.turns:
            if turn.resource_id not in ledger:
                # What is left of a turn where it stands keeps its class.
                of = () if is_summary(turn) else ledger.classes_of(turn.sources)
                ledger = ledger.tag(
                    turn.resource_id,
                    max([ResourceClass.REQUIRED, *of]),
                    provenance="gist",
                    when=turn.timestamp,
                )
    for resource_id in edit.dropped:
        ledger = ledger.drop(resource_id)
    return window.splice(
        splices,
        linearity=ledger,
        compressed=compressed,
        epoch=_epoch_after(window, splices, edit, compressed=compressed),
    )


def _epoch_after(
    window: ContextWindow, splices: Sequence[Splice], edit: Edit, *, compressed: bool
) -> Epoch:
    if not splices:
        return window.epoch
    first, turns = splices[0].start, window.turns_from(splices[0].start)
    standing = {turn.resource_id: turn for turn in turns if turn.parts}
    lost = [
        turn.resource_id
        for s in splices
        for turn in s.turns
        if turn.resource_id in standing and fell(standing[turn.resource_id], turn)
    ]
    unbound_from = len(window) if edit.unbound_from is None else edit.unbound_from
    fallen = bound_providers(part for turn in turns for part in turn.parts).difference(
        edit.keeps_bound
    )
    fallen |= bound_providers(
        part for turn in window.turns_from(unbound_from) for part in turn.parts
    )
    return window.epoch.next(first, "compress" if compressed else "recall", lost, fallen)


def fidelities_after(window: ContextWindow, edit: Edit) -> dict[str, Fidelity]:
    """Return what fidelity `edit` leaves of each atom of `window` that it touches, by the atom's id; O(n).

    VERBATIM where every turn of the atom stands again as it was; GIST where all that is gone is
    named by a turn that comes; DROPPED where anything is gone that nothing names. A gist among the
    turns of `window` is as good
    as what it stands for: a fold has to name all of its sources.

    Law: of an atom without gists it is what `view_of` says of the edited window.

    Raises:
        PositionError: the edit reaches outside of `window`.
    """
    return {turns[0].resource_id: fidelity for turns, fidelity in _touched(window, edit)}


def check_floors(window: ContextWindow, edit: Edit) -> None:
    """Refuse `edit` if it takes an atom of `window` below the floor of its class; O(n).

    Who takes an edit from somebody else makes the new window by `apply_edit` of what was checked
    here.

    Raises:
        FloorError: names the first such atom, its class, what would be left of it, and its floor.
        PositionError: the edit reaches outside of `window`.
    """
    for resource_id in edit.bared:
        if is_pinned(window, resource_id):
            raise FloorError(resource_id, ResourceClass.PRESERVED, Fidelity.GIST, Fidelity.VERBATIM)
    for turns, fidelity in _touched(window, edit):
        resource_class = max(window.linearity.classes_of([turn.resource_id for turn in turns]))
        if fidelity < floor_of(resource_class) and not (
            may_be_truncated(window, turns[0]) and _is_truncated(turns[0], edit)
        ):
            raise FloorError(
                turns[0].resource_id, resource_class, fidelity, floor_of(resource_class)
            )


def is_pinned(window: ContextWindow, resource_id: str) -> bool:
    """Tell whether a caller has made a turn PRESERVED."""
    tag = window.linearity.tag_of(resource_id)
    return tag.pinned and tag.resource_class is ResourceClass.PRESERVED


def may_be_truncated(window: ContextWindow, turn: Turn) -> bool:
    """Tell whether a PRESERVED turn may be truncated where nothing else helps: one of the user that is whole still and that no caller has pinned."""
    tag = window.linearity.tag_of(turn.resource_id)
    return (
        turn.role is Role.USER
        and not turn.is_gist
        and tag.resource_class is ResourceClass.PRESERVED
        and not tag.pinned
    )


def _is_truncated(turn: Turn, edit: Edit) -> bool:
    """Tell whether a turn comes that is what is left of `turn` alone, and no summary."""
    coming = (each for splice in edit.splices for each in splice.turns)
    return any([*each.sources] == [turn.resource_id] and not is_summary(each) for each in coming)


def _touched(window: ContextWindow, edit: Edit) -> Iterator[tuple[Sequence[Turn], Fidelity]]:
    """Yield the turns of every atom that `edit` touches, and what is left of it."""
    turns = window.all_turns()
    coming = {
        turn.resource_id: turn
        for splice in (*edit.splices, *reinsert_turns(window, edit))
        for turn in splice.turns
    }
    named = Traces.of(window.linearity, (turn.sources for turn in coming.values()))
    traced = evolve(named, few=named.few | coming.keys())
    for start, gone in _gone(turns, edit).items():
        stop = start + 1
        while stop < len(turns) and turns[stop].role is Role.TOOL:
            stop += 1
        left = (
            _left(turns[index], coming, named, traced) if index in gone else _held(turns[index])
            for index in range(start, stop)
        )
        yield turns[start:stop], min(left)


def _gone(turns: Sequence[Turn], edit: Edit) -> dict[int, set[int]]:
    """Return the indices of the turns that `edit` takes away, by the index at which their atom starts."""
    gone: dict[int, set[int]] = {}
    for splice in edit.splices:
        for place in (splice.start, splice.stop):
            if not 0 <= place <= len(turns):
                raise PositionError(
                    place, "is outside of the window that is edited", f"0..{len(turns)}"
                )
        start = splice.start
        while splice.start < splice.stop and start > 0 and turns[start].role is Role.TOOL:
            start -= 1
        for index in range(splice.start, splice.stop):
            start = start if turns[index].role is Role.TOOL else index
            gone.setdefault(start, set()).add(index)
    return gone


def _held(turn: Turn) -> Fidelity:
    return Fidelity.GIST if turn.sources else Fidelity.VERBATIM


def _left(turn: Turn, coming: Mapping[str, Turn], named: Traces, traced: Traces) -> Fidelity:
    """Return what is left of a turn that goes: itself if it comes back as it was, or a trace of all that it stood for."""
    if coming.get(turn.resource_id) == turn:
        return _held(turn)
    if not turn.sources:
        return Fidelity.GIST if turn.resource_id in named else Fidelity.DROPPED
    if not traced.covers(turn.sources):
        return Fidelity.DROPPED
    return Fidelity.GIST if named.meets(turn.sources) else Fidelity.VERBATIM
