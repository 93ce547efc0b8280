"""What planning knows of each atom of a window, as columns."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import pairwise

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure.gist import is_summary
from polycontext.pressure.reach import Reach
from polycontext.window import AtomColumns, ContextWindow, Role, Turn
from polycontext.window.items import Attachment, attachment_of


class Kind(IntEnum):
    """Say what a plan may do with an atom."""

    FIXED = 0
    """PRESERVED, open, or the last user turn."""
    DROPPABLE = 1
    REQUIRED = 2
    SUMMARY = 3
    """A gist that stands alone; it can only fold."""


@frozen
class Columns:
    """Hold atoms, their kinds, where the recent tail starts (an atom index), and which atoms are attachments."""

    atoms: AtomColumns
    kinds: list[Kind]
    tail: int
    attachments: Mapping[int, Attachment]


def columns_of(window: ContextWindow, reach: Reach) -> Columns:
    """Look at every atom of `window` once; O(n)."""
    atoms = window.atom_columns()
    kinds = _kinds(window, atoms)
    for fixed in _fixed(window, atoms):
        kinds[fixed] = Kind.FIXED
    return Columns(atoms, kinds, _tail_start(atoms, reach), _attachments(atoms))


_KIND_OF = {
    ResourceClass.DROPPABLE: Kind.DROPPABLE,
    ResourceClass.REQUIRED: Kind.REQUIRED,
    ResourceClass.PRESERVED: Kind.FIXED,
}


def _kinds(window: ContextWindow, atoms: AtomColumns) -> list[Kind]:
    classes = window.linearity.classes_of([turn.resource_id for turn in atoms.turns])
    if len(atoms) == len(atoms.turns):
        kinds = [_KIND_OF[c] for c in classes]
    else:
        bounds = atoms.bounds
        kinds = [_KIND_OF[classes[start] if stop - start == 1 else max(classes[start:stop])] for start, stop in pairwise(bounds)]
    for atom, turn in _summaries(atoms):
        if kinds[atom] is not Kind.FIXED and is_summary(turn):
            kinds[atom] = Kind.SUMMARY
    return kinds


def _summaries(atoms: AtomColumns) -> Sequence[tuple[int, Turn]]:
    turns = atoms.turns
    return [(atom, turns[start]) for atom, start in enumerate(atoms.bounds[:-1]) if turns[start].sources]


def _attachments(atoms: AtomColumns) -> Mapping[int, Attachment]:
    firsts = map(atoms.turns.__getitem__, atoms.bounds[:-1])
    noted = [(atom, turn) for atom, turn in enumerate(firsts) if turn.metadata]
    return {atom: attachment for atom, turn in noted if (attachment := attachment_of(turn)) is not None}


def _fixed(window: ContextWindow, atoms: AtomColumns) -> set[int]:
    """Return the atoms that never yield whatever their class: the open one, the last user turn, and the last that was not attached."""
    fixed = {len(atoms) - 1} if window.open_calls else set()
    newest = True
    for atom in range(len(atoms) - 1, -1, -1):
        turn = atoms.turns[atoms.bounds[atom]]
        if turn.role is Role.USER and not turn.is_gist:
            is_attached = attachment_of(turn) is not None
            if newest or not is_attached:
                fixed.add(atom)
            if not is_attached:
                break
            newest = False
    return fixed


def _tail_start(atoms: AtomColumns, reach: Reach) -> int:
    """Return the first atom of the recent tail; an atom belongs to it whole."""
    total = len(atoms.turns)
    if reach.keep_recent_tokens is None:
        atom = len(atoms)
        while atom > 0 and total - atoms.bounds[atom] < reach.keep_recent:
            atom -= 1
        return atom
    tokens, atom = 0, len(atoms)
    while atom > 0 and tokens + atoms.tokens[atom - 1] <= reach.keep_recent_tokens:
        atom -= 1
        tokens += atoms.tokens[atom]
    return atom
