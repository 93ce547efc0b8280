"""Views: the fidelity of each atom of a log, their Galois connection, and edits that lower them.

Views over one log are ordered pointwise and have meets. Compressing under a ceiling c is the meet
with c; expanding embeds a compressed view among all views. It follows that compressing is monotone,
deflationary and idempotent, that ``compress(expand(v)) == v``, and that ``expand(v) <= w`` exactly
when ``v <= compress(w)`` (Ore, Galois Connexions).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Self

from attrs import define, evolve, field, frozen

from polycontext.base import CallerError, InvalidOptionError
from polycontext.base.json_data import FrozenDict
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.window import Atom, ContextWindow, Epoch, Splice
from polycontext.window.part_removal import bare, fell, unbound

from .gist import is_summary

_SHOWN = 9
"""How many ids an error lists."""


class Fidelity(IntEnum):
    """How much of an atom a view holds: nothing, a gist, or every word."""

    DROPPED = 0
    GIST = 1
    VERBATIM = 2


_FLOORS = {
    ResourceClass.DROPPABLE: Fidelity.DROPPED,
    ResourceClass.REQUIRED: Fidelity.GIST,
    ResourceClass.PRESERVED: Fidelity.VERBATIM,
}


def floor_of(resource_class: ResourceClass) -> Fidelity:
    """Return the lowest fidelity that a class allows.

    See docs/pressure.md, "Fidelity, floors and ceilings".

    Law: monotone in the class.

    >>> floor_of(ResourceClass.REQUIRED)
    <Fidelity.GIST: 1>
    """
    return _FLOORS[resource_class]


@define(slots=False, eq=False)
class FloorError(CallerError, ValueError):
    """An edit, whatever its origin, would take an atom below the floor of its class."""

    resource_id: str
    resource_class: ResourceClass
    fidelity: Fidelity
    floor: Fidelity

    def __str__(self) -> str:
        return (
            f"{self.resource_class.name} turn {self.resource_id!r} would be {self.fidelity.name}. "
            f"Use {' or '.join(f.name for f in type(self.floor) if f >= self.floor)}."
        )


@frozen(order=False)
class View:
    """A fidelity for every atom of one log, by the atom's id.

    >>> full = View({"t1": Fidelity.VERBATIM, "t2": Fidelity.VERBATIM})
    >>> cut = View({"t1": Fidelity.VERBATIM, "t2": Fidelity.GIST})
    >>> cut <= full, full <= cut, full.meet(cut) == cut
    (True, False, True)
    """

    fidelities: Mapping[str, Fidelity] = field(converter=FrozenDict[Fidelity], hash=False)

    def __le__(self, other: "View") -> bool:
        """Return whether no atom has a higher fidelity here than in `other`."""
        self._same_log(other)
        return all(fidelity <= other.fidelities[atom] for atom, fidelity in self.fidelities.items())

    def __ge__(self, other: "View") -> bool:
        """Return whether `other` is at most this view."""
        return other <= self

    def meet(self, other: "View") -> Self:
        """Return the view with the lower fidelity of each atom.

        Laws: associative, commutative, idempotent.
        """
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
                f"a view over the same log; atoms of only one of the two: "
                f"{sorted(left ^ right)[:_SHOWN]}",
            )


def view_of(window: ContextWindow, log: Iterable[Atom]) -> View:
    """Return the fidelity at which `window` holds each atom of `log`.

    An atom is VERBATIM if all its turns are in the window, GIST if a gist in the window names one
    of them, and DROPPED otherwise.
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
    """A change of a window: its replaced runs of turns, and more.

    The runs `splices` are disjoint and in order. `dropped` holds the ids of the DROPPABLE turns
    that leave the view. `bared` holds the ids of turns that stay but lose their parts. Bound parts
    are removed from the first change on, and from turn `unbound_from` (an index) on even if nothing
    before them changes. Before that turn, those of the providers `keeps_bound` stay: these
    providers wrote the gist themselves and accept the parts that were bound to its sources.

    `again` holds the ids of turns that a run removes and that are inserted again, unchanged, before
    turn `again_at` (an index of the original window).
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
        """Return whether nothing changes."""
        return not self.splices and not self.bared and self.unbound_from is None


def first_changed(window: ContextWindow, edit: Edit) -> int | None:
    """Return the index of the first turn that `edit` changes, or None if nothing changes.

    The provider's cached prefix of the view ends there.
    """
    bound = () if edit.unbound_from is None else (edit.unbound_from,)
    return min(
        (*(splice.start for splice in edit.splices[:1]), *_indices(window, edit.bared), *bound),
        default=None,
    )


def splices_of(window: ContextWindow, edit: Edit) -> tuple[Splice, ...]:
    """Return all replacements that `edit` makes.

    These are its own runs, the turns that lose their parts, and turns after the first change that
    lose bound parts. A bound part is valid only after the prefix it was made on, so it is removed
    with the first change before it.
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
    # An insertion comes before the turn at its position.
    return tuple(sorted([*own, *falling], key=lambda splice: (splice.start, splice.stop)))


def reinsert_turns(window: ContextWindow, edit: Edit) -> tuple[Splice, ...]:
    """Return the run, if there is one, that inserts the turns `edit.again` unchanged."""
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
    """Return `window` after `edit`, with gists and drops in its ledger, in a new epoch.

    Law: the same edit on the same window gives the same window.
    """
    splices = splices_of(window, edit)
    ledger: LinearityMap = window.linearity
    for splice in edit.splices:
        for turn in splice.turns:
            if turn.resource_id not in ledger:
                # A truncated turn keeps its class.
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
    fallen = {each for turn in turns for each in turn.bound_providers}.difference(edit.keeps_bound)
    fallen |= {each for turn in window.turns_from(unbound_from) for each in turn.bound_providers}
    return window.epoch.next(first, "compress" if compressed else "recall", lost, fallen)
