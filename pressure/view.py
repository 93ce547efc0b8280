"""Views: what fidelity each atom of one log is held at, and the Galois connection between them.

Views over one log are ordered pointwise and have meets. Compressing under a
ceiling c is the meet with c; expanding embeds a compressed view among all
views. That gives, for nothing: compressing is monotone, deflationary and
idempotent, ``compress(expand(v)) == v``, and ``expand(v) <= w`` exactly when
``v <= compress(w)`` (seed 004 §2.2).
"""

from collections.abc import Iterable, Mapping
from typing import Self

from attrs import define, field, frozen

from polycontext.linearity import CallerError, LinearityMap, ResourceClass
from polycontext.linearity.json_data import FrozenDict
from polycontext.pressure.fidelity import Fidelity
from polycontext.window import Atom, ContextWindow, Splice


@define(slots=False, eq=False)
class DifferentLogsError(CallerError, ValueError):
    """Refuse to compare views over different logs."""

    only_left: tuple[str, ...]
    only_right: tuple[str, ...]

    def __str__(self) -> str:
        return f"views over different logs: {self.only_left} only on the left, {self.only_right} only on the right; legal: one log"


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
        return type(self)({atom: min(fidelity, other.fidelities[atom]) for atom, fidelity in self.fidelities.items()})

    def _same_log(self, other: "View") -> None:
        left, right = self.fidelities.keys(), other.fidelities.keys()
        if left != right:
            raise DifferentLogsError(tuple(left - right), tuple(right - left))


def compress_view(ceiling: View, view: View) -> View:
    """Compress `view` under `ceiling`: the meet of both."""
    return view.meet(ceiling)


def expand_view(view: View) -> View:
    """Embed a compressed view among all views; it holds no more than it held (the Lens Fallacy, seed 004 Part VIII)."""
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
    """Hold the runs of turns replaced (disjoint, in order) and the ids of the DROPPABLE turns that left."""

    splices: tuple[Splice, ...] = ()
    dropped: tuple[str, ...] = ()


def apply_edit(window: ContextWindow, edit: Edit, *, compressed: bool) -> ContextWindow:
    """Return `window` edited, gists and drops entered in its ledger.

    Law: the same edit on the same window gives the same window.
    """
    ledger: LinearityMap = window.linearity
    for splice in edit.splices:
        for turn in splice.turns:
            if turn.resource_id not in ledger:
                ledger = ledger.tag(turn.resource_id, ResourceClass.REQUIRED, provenance="gist", when=turn.timestamp)
    for resource_id in edit.dropped:
        ledger = ledger.drop(resource_id)
    return window.splice(edit.splices, linearity=ledger, compressed=compressed)
