"""Merging two conversations: what both accepted, once, whole atoms in the order of time.

A turn is the same in both if it says the same at the same moment, whatever its id: that is how a fork is known again, and what was merged
before. Two that were begun apart share the beginning that says the same, whenever it was said. Everything else is in one of
them, and comes behind what was said before it. Where no clock ran backwards this is a union of sets that are ordered by time: hence its laws.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate, count, takewhile
from typing import NamedTuple

from attrs import evolve, frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.shared_store import number_of
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.window import OrderError, Role, TokenCounter, Turn
from polycontext.window.part import PartKind
from polycontext.window.yielding import THOUGHT, unbound


class Accepted(NamedTuple):
    """Hold a turn that was accepted, the class that it has now, and whether a caller gave it."""

    turn: Turn
    resource_class: ResourceClass
    pinned: bool

    def raised(self, other: "Accepted") -> "Accepted":
        """Return the same turn in the higher class of the two."""
        higher = other.resource_class > self.resource_class
        return Accepted(self.turn, other.resource_class if higher else self.resource_class, self.pinned or other.pinned)


FORGOTTEN = "[no result: the view was cleared meanwhile]"
"""What stands for the result of a call that a cleared view has forgotten, where the call is taken in anew."""
Whole = tuple[Accepted, ...]
"""The turns of one atom."""
_Keyed = tuple[datetime, int | None, int | None]
"""When an atom was said, and its places in the first and in the second conversation."""


@frozen
class _Branch:
    """Hold what one conversation accepted: atoms, what tells each from all others, and since when nothing later had been said."""

    atoms: Sequence[Whole]
    keys: Sequence[Hashable]
    times: Sequence[datetime]


@frozen
class Merged:
    """Hold the atoms of two conversations in their order: of each, what the first has of it and what the second has, None where it has none."""

    atoms: Sequence[tuple[Whole | None, Whole | None]]

    def begun_by(self, side: int) -> int:
        """Return how many turns at the beginning are those of one conversation (0 the first, 1 the second); it has them in this order."""
        own = takewhile(bool, (atom[side] or () for atom in self.atoms))
        return sum(len(whole) for whole in own)

    def told_by(self, side: int) -> Iterator[tuple[Whole, bool]]:
        """Iterate over the atoms, each in the higher of its classes; where both have it, under the ids of one of them. Tell whether that one has it."""
        for atom in self.atoms:
            own, others = atom[side], atom[1 - side]
            if own is None:
                assert others is not None
                yield others, False
            else:
                # Where one of them has forgotten that a call waited, the other may have a result that says so.
                known = closed(others or own)
                yield tuple(mine.raised(yours) for mine, yours in zip(own, known, strict=False)), True


def merge_accepted(first: Conversation, second: Conversation, *, interleave: bool = True) -> Merged:
    """Return the atoms of both conversations, none torn, each once, in the higher of its classes; ids are left as they are.

    They stand in the order of time; of what was said at one moment, that of the first comes first. Without `interleave` all of the first
    comes before what only the second has.

    Raises:
        OrderError: calls are open in one of them: whatever came behind would part them from their results.

    Laws: merging is idempotent, associative for conversations of one beginning, and commutative but for ids and for the order of what was said at one moment.
    """
    for conversation in (first, second):
        if conversation.window.open_calls:
            problem = f"calls {list(conversation.window.open_calls)} are open in one of the conversations that are merged"
            raise OrderError("merged", problem, "their results, or close_open_calls with a reason")
    one, other = _branch(first), _branch(second)
    shared = _shared(one, other)
    known = set(shared.values())
    keyed: list[_Keyed] = [(when, place, shared.get(place)) for place, when in enumerate(one.times)]
    keyed += [(when, None, place) for place, when in enumerate(other.times) if place not in known]
    if interleave:
        # Stable: of one moment, the first one's comes first; and what both began with stays at the beginning.
        begun = next(place for place in count() if shared.get(place) != place)
        keyed[begun:] = sorted(keyed[begun:], key=lambda each: each[0])
    return Merged([(_at(one, ours), _at(other, theirs)) for _, ours, theirs in keyed])


def with_free_ids(
    atoms: Iterable[tuple[Whole, bool]], own: LinearityMap, others: LinearityMap, counter: TokenCounter
) -> Iterator[Accepted]:
    """Iterate over the turns of `atoms` that are to go behind others, fit for that.

    Those that are not its own get another id where theirs names something in `own`, above all that are in use. Bound parts fall: they were made behind other turns.
    """
    numbers = (number_of(each) or 0 for ledger in (own, others) for each in ledger.ids)
    free = map("t{}".format, count(max(numbers, default=0) + 1))
    for atom, is_own in atoms:
        for accepted in closed(atom):
            turn = accepted.turn
            if not turn.resource_id or (not is_own and turn.resource_id in own):
                turn = evolve(turn, resource_id=next(free))
            yield accepted._replace(turn=unbound(turn, counter))


def closed(atom: Whole) -> Whole:
    """Return an atom with a marked result for every call that has none: a view that was cleared has forgotten that it waited."""
    calling = atom[0].turn
    answered = {accepted.turn.tool_call_id for accepted in atom}
    waiting = [call.id for call in calling.tool_calls if call.id not in answered]
    results = (Turn(Role.TOOL, FORGOTTEN, tool_call_id=call, timestamp=calling.timestamp, metadata={"repaired": True}) for call in waiting)
    return (*atom, *(Accepted(result, ResourceClass.REQUIRED, pinned=False) for result in results)) if waiting else atom


def _branch(conversation: Conversation) -> _Branch:
    atoms = list(_atoms(conversation))
    seen: Counter[Hashable] = Counter()
    keys: list[Hashable] = []
    for atom in atoms:
        key = tuple((_said(accepted.turn), accepted.turn.timestamp) for accepted in closed(atom))
        # What is said twice at one moment is there twice.
        seen[key] += 1
        keys.append((key, seen[key]))
    return _Branch(atoms, keys, list(accumulate((atom[0].turn.timestamp for atom in atoms), max)))


def _atoms(conversation: Conversation) -> Iterator[Whole]:
    atom: list[Accepted] = []
    for turn in conversation.log:
        if turn.role is not Role.TOOL and atom:
            yield tuple(atom)
            atom = []
        tag = conversation.window.linearity.tag_of(turn.resource_id)
        atom.append(Accepted(turn, tag.resource_class, tag.pinned))
    if atom:
        yield tuple(atom)


def _said(turn: Turn) -> Hashable:
    """Return what a turn says: words and calls, whatever became of parts that are bound to what stood before them."""
    content = THOUGHT if turn.content is None and not turn.tool_calls else turn.content
    blocks = tuple(part.data for part in turn.parts if part.kind is PartKind.BLOCK and not part.is_bound)
    return turn.role, content, turn.tool_calls, turn.tool_call_id, turn.name, blocks


def _shared(one: _Branch, other: _Branch) -> dict[int, int]:
    """Return the places in the other of the atoms that both have, by those in the one."""
    there = {key: place for place, key in enumerate(other.keys)}
    shared = {place: there[key] for place, key in enumerate(one.keys) if key in there}
    if shared:
        return shared
    pairs = zip(one.atoms, other.atoms, strict=False)
    same = takewhile(lambda pair: [_said(each.turn) for each in pair[0]] == [_said(each.turn) for each in pair[1]], pairs)
    return {place: place for place, _ in enumerate(same)}


def _at(branch: _Branch, place: int | None) -> Whole | None:
    return None if place is None else branch.atoms[place]
