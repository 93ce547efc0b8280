"""The reach of compression: its options, and the resulting columns of a window's atoms."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import chain, pairwise

from attrs import evolve, field, frozen
from attrs.validators import optional

from polycontext.base import guided, is_number, is_whole, must_be
from polycontext.linearity import ResourceClass, ToolRule
from polycontext.window import (
    AtomColumns,
    ContextWindow,
    Role,
    TokenCounter,
    Turn,
)
from polycontext.window.items import attachment_of
from polycontext.window.items.attachment import Attachment
from polycontext.window.part_removal import bare, unbound
from polycontext.window.rules import REMOVED, Rule, is_rule

from .floors import is_pinned, may_be_cut_beside
from .gist import is_summary, least_digest, source_ids


def _is_count(value: object) -> bool:
    return is_whole(value, 0)


_check_share = must_be(lambda value: is_number(value, 0, 1), "a share from 0.0 to 1.0")


@guided
@frozen
class Reach:
    """The options that say which turns compression keeps complete, as far as there is room.

    The last `keep_recent` turns are compressed last, and older ones stay before them as far as they
    fit; with `keep_recent_tokens`, as many turns as fit into these are compressed last, and no
    others stay. If kept complete, they take at most `recent_share` of the room that fixed atoms
    leave (by default 0.4, 0.6 where only users speak, and what a first gist that is full leaves),
    and the newest results, which the model has not read yet, at most `newest_share` of it. The rest
    is for gists. A reply that ends the window stays complete as long as it fits.

    If a compression has a query, the atoms most relevant to it stay complete in up to `asked_share`
    of that room. With `cuts_question`, the last user turn is cut if nothing else helps, and goes
    into the gist as the last resort. With `cuts_beside`, results beside PRESERVED results of the
    same turn are cut before that, and the last user turn loses its parts. `rules` are the user's
    rules for tools; `keep_last` states here which results a later call replaces.
    """

    keep_recent: int = field(
        default=6, validator=must_be(_is_count, "a whole number of turns, at least 0")
    )
    keep_recent_tokens: int | None = field(
        default=None,
        validator=optional(must_be(_is_count, "None, or a whole number of tokens, at least 0")),
    )
    recent_share: float | None = field(default=None, validator=optional(_check_share))
    newest_share: float = field(default=0.5, validator=_check_share)
    asked_share: float = field(default=0.5, validator=_check_share)
    cuts_question: bool = False
    cuts_beside: bool = False
    rules: tuple[ToolRule, ...] = ()

    @property
    def fills_share(self) -> bool:
        """Return whether turns before the recent tail stay as far as they fit."""
        return self.keep_recent_tokens is None and bool(self.keep_recent)


class Kind(IntEnum):
    """The ways in which a plan may treat an atom."""

    FIXED = 0
    """PRESERVED, or the last user turn."""
    DROPPABLE = 1
    REQUIRED = 2
    SUMMARY = 3
    """A gist on its own, which the next gist replaces."""
    NEWEST = 4
    """The last calls, if their results are unread or still missing. The calls stay; results may be
    cut."""
    QUESTION = 5
    """The last user turn, if it may be cut."""


@frozen
class Columns:
    """The atoms of a window with their kinds and everything else that a plan needs of them.

    `atoms` are the atoms without the parts that can be removed. `tail` is the index of the first
    atom of the recent tail. `bound` maps turns (by index) to the tokens of their bound parts, which
    are removed with the first change up to them. `bared` maps atoms to the tokens of all other
    parts, which belong to the turns with the indices `bare_turns`.

    `asked` are the atoms that a query keeps complete. `newest` and `question` are the atoms of
    these kinds, if there are any. `asking` are the last user turns if they may lose their parts.
    `is_open` states that the last atom waits for a result. `beside` maps FIXED atoms to the results
    in them that may be cut. `rules` are the rules of the user. `is_meeting` states that
    only users speak.
    """

    atoms: AtomColumns
    kinds: list[Kind]
    tail: int
    attachments: Mapping[int, Attachment]
    bound: Mapping[int, int] = {}
    bared: Mapping[int, int] = {}
    bare_turns: frozenset[int] = frozenset()
    asked: frozenset[int] = frozenset()
    newest: tuple[int, ...] = ()
    question: tuple[int, ...] = ()
    is_open: bool = False
    asking: frozenset[int] = frozenset()
    beside: Mapping[int, Sequence[int]] = {}
    rules: tuple[Rule, ...] = ()
    is_meeting: bool = False

    @property
    def reply(self) -> int | None:
        """Return the atom of the recent tail that the last user turn answers, if there is one."""
        for atom in range(len(self.kinds) - 1, self.tail, -1):
            if self.atoms.turns[self.atoms.bounds[atom]].role is Role.USER:
                return atom - 1 if self._is_reply(atom - 1) else None
        return None

    def _is_reply(self, atom: int) -> bool:
        role = self.atoms.turns[self.atoms.bounds[atom]].role
        return role is Role.ASSISTANT and self.kinds[atom] is Kind.REQUIRED

    def rules_beside(self, gone: Collection[int]) -> tuple[Rule, ...]:
        """Return what a gist has to say about rules if the turns with the indices `gone` yield.

        These are the rules that stand and that no other turn states, and those that another turn
        states and that a turn which is gone has ended.
        """
        kept = self._shown(index for index in range(len(self.atoms.turns)) if index not in gone)
        return _rules_beside(self.rules, kept, kept)

    @property
    def most_rules(self) -> tuple[Rule, ...]:
        """Return the most that the gist of any plan has to say about rules."""
        fixed = self.of_kind(range(len(self.kinds)), Kind.FIXED)
        bounds = self.atoms.bounds
        kept = self._shown(chain.from_iterable(range(*bounds[each : each + 2]) for each in fixed))
        return _rules_beside(self.rules, kept, self._shown(range(len(self.atoms.turns))))

    def _shown(self, places: Iterable[int]) -> set[str]:
        """Return the ids of the turns that are shown at `places`, whole or truncated."""
        turns = map(self.atoms.turns.__getitem__, places) if self.rules else ()
        return {
            each
            for turn in turns
            for each in (turn.resource_id, *(() if is_summary(turn) else turn.sources))
        }

    def rules_of(self, turn: Turn) -> tuple[Rule, ...]:
        """Return the rules that stand and that `turn` states, which may be truncated."""
        ids = source_ids(turn)
        return tuple(rule for rule in self.rules if rule.stands and rule.turn_id in ids)

    def least(self, turn: Turn, counter: TokenCounter) -> int:
        """Return the fewest tokens that may be left of `turn` if it is cut."""
        return min(least_digest(turn, counter, self.rules_of(turn)), _tokens(turn))

    def cuttable(self, atom: int) -> Sequence[int]:
        """Return the indices of the turns of `atom` that may be cut in place.

        These are the results of its calls, or the turn itself.
        """
        if atom in self.beside:
            return self.beside[atom]
        start, stop = self.atoms.bounds[atom : atom + 2]
        if self.atoms.is_program(atom):
            return _results(self.atoms, atom)
        return range(start + 1 if self.atoms.turns[start].tool_calls else start, stop)

    def cut_turns(self, atom: int) -> Sequence[Turn]:
        """Return the turns of `atom` that may be cut in place."""
        return [self.atoms.turns[place] for place in self.cuttable(atom)]

    def of_kind(self, zone: range, *kinds: Kind) -> list[int]:
        """Return the atoms of `zone` that are of one of `kinds`."""
        return [atom for atom in zone if self.kinds[atom] in kinds]


def _rules_beside(
    rules: Iterable[Rule], kept: Collection[str], shown: Collection[str]
) -> tuple[Rule, ...]:
    """Return the rules that the turns `kept` leave out, and ended ones in `shown` turns."""
    return tuple(
        rule
        for rule in rules
        if rule.ended_by != REMOVED
        and (
            rule.turn_id not in kept
            if rule.stands
            else rule.turn_id in shown and rule.ended_by not in kept
        )
    )


def columns_of(window: ContextWindow, reach: Reach, asked: Collection[int] = ()) -> Columns:
    """Return the columns of `window`, in one pass; O(n). The atoms `asked` are not compressed."""
    atoms = window.atom_columns().units()
    kinds, attachments = _kinds(window, atoms), _attachments(atoms)
    fixed = _fixed(atoms)
    question = tuple(
        atom
        for atom in fixed
        if reach.cuts_question and kinds[atom] is Kind.REQUIRED and atom not in attachments
    )
    # A DROPPABLE reply is dropped, but not the results that the model has not read.
    newest = tuple(
        atom
        for atom in _unanswered(atoms)
        if kinds[atom] is Kind.REQUIRED
        or (kinds[atom] is Kind.DROPPABLE and atoms.turns_of(atom)[0].tool_calls)
    )
    for kind, several in (
        (Kind.FIXED, (*fixed, *asked)),
        (Kind.QUESTION, question),
        (Kind.NEWEST, newest),
    ):
        for atom in several:
            kinds[atom] = kind
    is_open = bool(window.open_calls) or atoms.is_running
    columns = Columns(
        atoms,
        kinds,
        _tail_start(atoms, reach),
        attachments,
        asked=frozenset(asked) - fixed,
        newest=newest,
        question=question,
        is_open=is_open,
        asking=frozenset(fixed if reach.cuts_beside else ()),
        rules=window.rules.all,
        is_meeting={turn.role for turn in atoms.turns} <= {Role.USER, Role.SYSTEM},
    )
    if reach.cuts_beside:
        columns = evolve(columns, beside=_beside_pinned(window, columns))
    return (
        _without_parts(window, columns, fixed - columns.asking)
        if any(turn.parts for turn in atoms.turns)
        else columns
    )


def _results(atoms: AtomColumns, atom: int) -> Sequence[int]:
    """Return the indices of the results in `atom`."""
    places = range(*atoms.bounds[atom : atom + 2])
    return [place for place in places if atoms.turns[place].role is Role.TOOL]


def _beside_pinned(window: ContextWindow, columns: Columns) -> Mapping[int, Sequence[int]]:
    """Return the results that may be truncated of FIXED atoms with calls, by atom."""
    turns, bounds = columns.atoms.turns, columns.atoms.bounds
    fixed = columns.of_kind(range(len(columns.kinds)), Kind.FIXED)
    found = {
        atom: [
            place
            for place in _results(columns.atoms, atom)
            if may_be_cut_beside(window, turns[bounds[atom]], turns[place])
        ]
        for atom in fixed
        if turns[bounds[atom]].tool_calls and atom not in columns.asked
    }
    return {atom: places for atom, places in found.items() if places}


def _without_parts(window: ContextWindow, columns: Columns, fixed: set[int]) -> Columns:
    """Return `columns` with the turns stripped of their parts.

    Pinned turns, open calls and `fixed` atoms keep those parts that are not bound. The parts of a
    program are not removed before the whole of it is.
    """
    atoms, counter = columns.atoms, window.counter
    calling = atoms.bounds[-2] if columns.is_open else None
    turns, tokens = list(atoms.turns), list(atoms.tokens)
    bound: dict[int, int] = {}
    bared: dict[int, int] = {}
    bare_turns: set[int] = set()
    for atom, (start, stop) in enumerate(pairwise(atoms.bounds)):
        stays, is_program = atom in fixed, atoms.is_program(atom)
        for index in range(start, stop):
            turn = turns[index]
            if not turn.parts:
                continue
            loose = unbound(turn, counter)
            turns[index] = (
                loose
                if stays or index == calling or is_pinned(window, turn.resource_id)
                else bare(turn, counter)
            )
            saved = _tokens(turn) - _tokens(loose)
            more = 0 if is_program else _tokens(loose) - _tokens(turns[index])
            tokens[atom] -= saved + more
            if saved:
                bound[index] = saved
            if more:
                bared[atom] = bared.get(atom, 0) + more
                bare_turns.add(index)
    without = AtomColumns(turns, atoms.bounds, tokens)
    return evolve(
        columns, atoms=without, bound=bound, bared=bared, bare_turns=frozenset(bare_turns)
    )


def _tokens(turn: Turn) -> int:
    return turn.tokens or 0


_KIND_OF = {
    ResourceClass.DROPPABLE: Kind.DROPPABLE,
    ResourceClass.REQUIRED: Kind.REQUIRED,
    ResourceClass.PRESERVED: Kind.FIXED,
}


def _kinds(window: ContextWindow, atoms: AtomColumns) -> list[Kind]:
    classes = window.linearity.classes_of([turn.resource_id for turn in atoms.turns])
    if len(atoms) < len(atoms.turns):
        classes = [max(classes[start:stop]) for start, stop in pairwise(atoms.bounds)]
    kinds = [_KIND_OF[resource_class] for resource_class in classes]
    stating = {rule.turn_id for rule in window.rules.standing}
    for atom, start in enumerate(atoms.bounds[:-1]):
        if kinds[atom] is Kind.DROPPABLE and atoms.turns[start].resource_id in stating:
            kinds[atom] = Kind.REQUIRED
        if kinds[atom] is not Kind.FIXED and is_summary(atoms.turns[start]):
            kinds[atom] = Kind.SUMMARY
    return kinds


def _attachments(atoms: AtomColumns) -> Mapping[int, Attachment]:
    firsts = map(atoms.turns.__getitem__, atoms.bounds[:-1])
    return {
        atom: attachment
        for atom, turn in enumerate(firsts)
        if (attachment := attachment_of(turn)) is not None
    }


def _fixed(atoms: AtomColumns) -> set[int]:
    """Return the atoms that are never compressed, whatever their class.

    These are the last user turn, and the last one that asks: neither attachment nor rule.
    """
    fixed: set[int] = set()
    newest = True
    for atom in range(len(atoms) - 1, -1, -1):
        turn = atoms.turns[atoms.bounds[atom]]
        if turn.role is Role.USER and not is_summary(turn):
            is_attached = attachment_of(turn) is not None or is_rule(turn)
            if newest or not is_attached:
                fixed.add(atom)
            if not is_attached:
                break
            newest = False
    return fixed


def _unanswered(atoms: AtomColumns) -> Sequence[int]:
    """Return the last assistant atom if it makes calls or ends the window.

    Nobody has replied to it yet.
    """
    for atom in range(len(atoms) - 1, -1, -1):
        turn = atoms.turns[atoms.bounds[atom]]
        if turn.role is Role.ASSISTANT:
            calls = any(each.tool_calls for each in atoms.turns_of(atom))
            return [atom] if calls or atom == len(atoms) - 1 else []
    return []


def _tail_start(atoms: AtomColumns, reach: Reach) -> int:
    """Return the first atom of the recent tail, which contains whole atoms only."""
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
