"""What planning knows of each atom of a window, as columns."""

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure.gist import is_summary
from polycontext.pressure.reach import Reach
from polycontext.window import AtomColumns, ContextWindow, Role, Turn


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
    """Hold atoms, their kinds and where the recent tail starts (an atom index)."""

    atoms: AtomColumns
    kinds: list[Kind]
    tail: int


def columns_of(window: ContextWindow, reach: Reach) -> Columns:
    """Look at every atom of `window` once; O(n)."""
    atoms = window.atom_columns()
    kinds = _kinds(window, atoms)
    for fixed in _fixed(window, atoms):
        kinds[fixed] = Kind.FIXED
    return Columns(atoms, kinds, _tail_start(atoms, reach))


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


def _fixed(window: ContextWindow, atoms: AtomColumns) -> set[int]:
    """Return the atoms that never yield whatever their class: the open one and the last user turn."""
    fixed = {len(atoms) - 1} if window.open_calls else set()
    for atom in range(len(atoms) - 1, -1, -1):
        turn = atoms.turns[atoms.bounds[atom]]
        if turn.role is Role.USER and not turn.is_gist:
            fixed.add(atom)
            break
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
