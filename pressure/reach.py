"""How far compression may reach: what its options say, and what they make of each atom of a window, as columns."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.pressure.gist import MIN_GIST_TOKENS, attachment_in, is_summary
from polycontext.window import AtomColumns, ContextWindow, Role, Turn
from polycontext.window.yielding import bare, unbound

if TYPE_CHECKING:
    from polycontext.window.items import Attachment


@frozen
class Reach:
    """Bound what compression touches.

    `keep_recent` turns at the end yield last, or as many as fit into
    `keep_recent_tokens` where that is given. All gists together get `gist_share` of
    the window; more than `fan_in` of one level side by side fold into one of the next.
    """

    keep_recent: int = 6
    keep_recent_tokens: int | None = None
    gist_share: float = 0.2
    fan_in: int = 4

    def __attrs_post_init__(self) -> None:
        _require("keep_recent", self.keep_recent, _is_whole(self.keep_recent, 0), "a whole number of turns, at least 0")
        tokens = self.keep_recent_tokens
        _require("keep_recent_tokens", tokens, tokens is None or _is_whole(tokens, 0), "None, or a whole number of tokens, at least 0")
        _require("gist_share", self.gist_share, 0.0 < self.gist_share < 1.0, "above 0.0, below 1.0")
        _require("fan_in", self.fan_in, _is_whole(self.fan_in, 2), "a whole number, at least 2")

    def gist_cap(self, max_tokens: int, standing: int) -> int:
        """Return how large one new gist may be beside `standing` tokens of older ones: half of the room left."""
        return max(MIN_GIST_TOKENS, (int(self.gist_share * max_tokens) - standing) // 2)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _require(name: str, value: object, condition: bool, legal: str) -> None:  # noqa: FBT001 - a check reads best with its condition in place
    if not condition:
        raise InvalidOptionError(name, value, legal)


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
    """Hold atoms, their kinds, where the recent tail starts (an atom index), and which atoms are attachments.

    `atoms` are as they stand once their parts have fallen. `bound` gives for turns (by their index) the tokens of their
    bound parts, which fall with the first change up to them; `bared` for atoms the tokens that all other parts are worth,
    which are parts of the turns with the indices `bare_turns`.
    """

    atoms: AtomColumns
    kinds: list[Kind]
    tail: int
    attachments: "Mapping[int, Attachment]"
    bound: Mapping[int, int] = {}
    bared: Mapping[int, int] = {}
    bare_turns: frozenset[int] = frozenset()


def columns_of(window: ContextWindow, reach: Reach) -> Columns:
    """Look at every atom of `window` once; O(n)."""
    atoms = window.atom_columns()
    kinds = _kinds(window, atoms)
    fixed = _fixed(window, atoms)
    for atom in fixed:
        kinds[atom] = Kind.FIXED
    tail = _tail_start(atoms, reach)
    if any(turn.parts for turn in atoms.turns):
        return _without_parts(window, Columns(atoms, kinds, tail, _attachments(atoms)), fixed)
    return Columns(atoms, kinds, tail, _attachments(atoms))


def _without_parts(window: ContextWindow, columns: Columns, fixed: set[int]) -> Columns:
    """Return `columns` of the turns without their parts; what is pinned keeps its own, as do the open atom and the last user turn."""
    atoms, counter = columns.atoms, window.counter
    turns, tokens = list(atoms.turns), list(atoms.tokens)
    bound: dict[int, int] = {}
    bared: dict[int, int] = {}
    bare_turns: set[int] = set()
    for atom, (start, stop) in enumerate(pairwise(atoms.bounds)):
        for index in range(start, stop):
            turn = turns[index]
            if not turn.parts:
                continue
            loose = unbound(turn, counter)
            turns[index] = loose if atom in fixed or _is_pinned(window, turn) else bare(turn, counter)
            saved, more = _tokens(turn) - _tokens(loose), _tokens(loose) - _tokens(turns[index])
            tokens[atom] -= saved + more
            if saved:
                bound[index] = saved
            if more:
                bared[atom] = bared.get(atom, 0) + more
                bare_turns.add(index)
    without = AtomColumns(turns, atoms.bounds, tokens)
    return evolve(columns, atoms=without, bound=bound, bared=bared, bare_turns=frozenset(bare_turns))


def _is_pinned(window: ContextWindow, turn: Turn) -> bool:
    tag = window.linearity.tag_of(turn.resource_id)
    return tag.pinned and tag.resource_class is ResourceClass.PRESERVED


def _tokens(turn: Turn) -> int:
    return turn.tokens or 0


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


def _attachments(atoms: AtomColumns) -> "Mapping[int, Attachment]":
    firsts = map(atoms.turns.__getitem__, atoms.bounds[:-1])
    return {atom: attachment for atom, turn in enumerate(firsts) if turn.metadata and (attachment := attachment_in(turn)) is not None}


def _fixed(window: ContextWindow, atoms: AtomColumns) -> set[int]:
    """Return the atoms that never yield whatever their class: the open one, the last user turn, and the last that was not attached."""
    fixed = {len(atoms) - 1} if window.open_calls else set()
    newest = True
    for atom in range(len(atoms) - 1, -1, -1):
        turn = atoms.turns[atoms.bounds[atom]]
        if turn.role is Role.USER and not turn.is_gist:
            is_attached = attachment_in(turn) is not None
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
