"""The ladder: all plans for one window, as a chain from gentle to harsh.

Rungs, each oldest first: DROPPABLE atoms to DROPPED; pictures and other parts leave a line,
whatever the class of their words; superseded results and attachments to pointers; older gists and
REQUIRED atoms to one GIST; then the same for the recent tail, atom by atom; then the newest
results, which the model has not read yet, cut where they stand; then all falls that is bound, and
the last user turn is cut where the reach allows it; last, both go into the gist too. PRESERVED
atoms, open calls and else the last user turn are on no rung. Bound parts fall with the first change
before them, on whatever rung that comes.

The ladder says which atoms yield; what words are left of them is chosen from the tokens that a plan
leaves, so a plan promises here that each gist takes the least it may. The tokens promised fall
strictly from plan to plan (a step without gain is joined to the next), which makes the gentlest
sufficient plan a binary search, and makes plans and pressures adjoint: for every reachable t, ``c_j
<= plan_for(t)`` exactly when ``pressure(c_j) <= t``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from itertools import accumulate, chain, pairwise
from operator import neg

from attrs import define, field

from polycontext.linearity import ToolRule
from polycontext.linearity.classification import Yielding
from polycontext.window import ContextWindow, Role, TokenCounter, ToolCall, Turn, count_turn

from .gist import least_summary, pointer_turn
from .reach import Columns, Kind, Reach, columns_of

SURELY_ASKED = 5
"""How many of the atoms that speak most of a question may take more than their share: an answer
stands in few."""


class Rung(IntEnum):
    """Say how the atoms of a step yield."""

    DROP = 0
    BARE = 1
    POINT = 2
    GIST = 3
    """Into the one gist of the plan."""
    CUT = 4
    """Results are cut where they stand; their calls stay."""
    UNBIND = 5
    """All bound parts fall, from the turn on that has the first of them."""


@define
class Ladder:
    """Hold the chain of plans for `window`.

    `tokens[j]` is the least that plan j promises, `counts[j]` how many steps it takes; `rungs` hold
    all steps in their order, each an atom index. Up to plan `whole` no words go into a gist, up to
    plan `whole_tail` the recent tail stands whole, up to plan `whole_newest` the newest results do,
    and plan `cut_newest` cuts them.
    """

    window: ContextWindow
    reach: Reach
    columns: Columns
    least_gist: int
    tokens: list[int] = field(factory=list)
    counts: list[int] = field(factory=list)
    rungs: list[tuple[Rung, list[int]]] = field(factory=list)
    pointer_gains: dict[int, int] = field(factory=dict)
    whole: int = 0
    whole_tail: int = 0
    whole_newest: int = 0
    cut_newest: int = 0

    def gentlest(self, tokens: int) -> int:
        """Return the first plan that promises at most `tokens`, or the harshest one."""
        return min(bisect_left(self.tokens, -tokens, key=neg), len(self.tokens) - 1)

    def roomiest(self, tokens: int) -> int:
        """Return the plan for `tokens` that leaves its gists most room, and what is newest whole as far as the reach allows.

        Letting all that is older yield and giving the room back in words keeps more than yielding
        as little as would do.
        """
        gentlest = self.gentlest(tokens)
        if gentlest <= self.whole:
            return gentlest
        room = max(0, tokens - self.tokens[self.whole_newest])
        if room < (1 - self.reach.newest_share) * (tokens - self.tokens[self.cut_newest]):
            return max(self.cut_newest, gentlest)
        wanted = tokens - int((1 - self.reach.recent_share) * room)
        return max(
            bisect_left(self.tokens, -wanted, self.whole_tail, self.whole_newest, key=neg), gentlest
        )

    def select(
        self, tokens: int, order: Callable[[Sequence[str]], Sequence[int]]
    ) -> frozenset[int]:
        """Return the atoms that stand whole because they speak of what was asked.

        `order` ranks their texts.

        They have their share of the room that `tokens` leave; the first few may take all of it.
        """
        room = tokens - self.floor
        yielding = self.columns.of_kind(range(len(self.columns.kinds)), Kind.REQUIRED)
        standing, spent = list[int](), 0
        for place in order([_text_of(self.columns.atoms.turns_of(atom)) for atom in yielding]):
            after = spent + self.columns.atoms.tokens[yielding[place]]
            if after <= (room if len(standing) < SURELY_ASKED else self.reach.asked_share * room):
                standing.append(yielding[place])
                spent = after
        return frozenset(standing)

    def group_by_rung(self, step: int) -> dict[Rung, list[int]]:
        """Return the atoms that plan `step` touches, by how they yield.

        What goes into the gist neither points nor is cut.
        """
        left, found = self.counts[step], {rung: list[int]() for rung in Rung}
        for rung, atoms in self.rungs:
            found[rung].extend(atoms[: max(left, 0)])
            left -= len(atoms)
        gisted = set(found[Rung.GIST])
        for rung in (Rung.POINT, Rung.CUT):
            found[rung] = [atom for atom in found[rung] if atom not in gisted]
        return found

    @property
    def floor(self) -> int:
        """Return the tokens that no plan promises to get below.

        Gists may turn out shorter than promised.
        """
        return self.tokens[-1]


def ladder_of(window: ContextWindow, reach: Reach, standing: Collection[int] = ()) -> Ladder:
    """Build the chain of plans for `window`; O(n).

    The atoms `standing` (their indices) leave the list of those that yield.
    """
    ladder = Ladder(
        window,
        reach,
        columns_of(window, reach, standing),
        least_summary(window.counter),
        [window.total_tokens],
        [0],
    )
    _Climb(ladder).climb()
    return ladder


class _Climb:
    """Walk the rungs once and write down what each promises."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.columns = ladder.columns
        self.atoms = ladder.columns.atoms
        self.left = ladder.tokens[0]
        self.steps = 0
        self.first = len(self.atoms.turns)
        self.gains: dict[int, int] = {}
        self.has_gist = False
        self.waiting: list[int] = []

    def climb(self) -> None:
        ladder, columns = self.ladder, self.columns
        newest, everything = columns.newest, range(len(self.atoms))
        old, recent = everything[: columns.tail], everything[columns.tail :]
        self._drop(old)
        self._bare(old)
        self._point()
        ladder.whole = self._plan
        # An older gist is taken in first of all: there is one gist at a time.
        self._gist(columns.of_kind(everything, Kind.SUMMARY))
        self._gist(columns.of_kind(old, Kind.REQUIRED))
        ladder.whole_tail = self._plan
        self._drop(recent)
        self._bare(recent)
        self._gist(columns.of_kind(recent, Kind.REQUIRED))
        ladder.whole_newest = self._plan
        self._bare(newest, later=())
        self._cut([atom for atom in newest if self.atoms.turns_of(atom)[0].tool_calls])
        ladder.cut_newest = self._plan
        self._unbind()
        self._cut([*columns.task])
        self._cut(columns.question)
        self._gist([] if columns.is_open else [*newest])
        self._gist([*columns.question])

    @property
    def _plan(self) -> int:
        return len(self.ladder.tokens) - 1

    def _take(self, turn: int, gain: int) -> None:
        """Take a step that gains so many tokens and changes `turn` first.

        Without gain it is joined to the next.
        """
        self._touch(turn)
        self.steps += 1
        self.left -= gain
        if self.left < self.ladder.tokens[-1]:
            self.ladder.tokens.append(self.left)
            self.ladder.counts.append(self.steps)

    def _touch(self, turn: int) -> None:
        """Let bound parts fall from the first change on, which may now be `turn` (an index)."""
        if turn < self.first:
            self.left -= sum(
                tokens for bound, tokens in self.columns.bound.items() if turn <= bound < self.first
            )
            self.first = turn

    def _drop(self, zone: range) -> None:
        dropped = self.columns.of_kind(zone, Kind.DROPPABLE)
        self.ladder.rungs.append((Rung.DROP, dropped))
        for atom in dropped:
            self._take(
                self.atoms.bounds[atom], self.atoms.tokens[atom] + self.columns.bared.get(atom, 0)
            )

    def _bare(self, zone: Sequence[int], later: Sequence[Kind] = (Kind.NEWEST,)) -> None:
        """Let parts fall before the words beside them do; what is dropped has none left."""
        kinds, starts, falling = self.columns.kinds, self.atoms.bounds, self.columns.bared
        stays = (Kind.DROPPABLE, *later)
        bared = [atom for atom in falling if atom in zone and kinds[atom] not in stays]
        self.ladder.rungs.append((Rung.BARE, bared))
        for atom in bared:
            first = min(self.columns.bare_turns.intersection(range(*starts[atom : atom + 2])))
            self._take(first, falling[atom])

    def _point(self) -> None:
        """Put superseded results behind pointers."""
        costs = dict[str | None, int]()
        for atom in superseded(self.columns, self.ladder.reach.rules):
            gain = pointer_gain(self.ladder.window.counter, self.columns.cut_turns(atom), costs)
            if gain > 0:
                self.gains[atom] = gain
        self.ladder.pointer_gains.update(self.gains)
        self.ladder.rungs.append((Rung.POINT, [*self.gains]))
        for atom, gain in self.gains.items():
            # The call before cut results stays.
            self._take(self.columns.cuttable(atom)[0], gain)

    def _gist(self, atoms: list[int]) -> None:
        """Promise what is left after each of `atoms` has gone into the gist.

        Those too small for one wait for the next.
        """
        atoms, least, gains = [*self.waiting, *atoms], self.ladder.least_gist, self.gains
        tokens = list(map(self.atoms.tokens.__getitem__, atoms))
        if gains:
            tokens = [size - gains.get(atom, 0) for atom, size in zip(atoms, tokens, strict=True)]
        gathered = list(accumulate(tokens))
        first = 0 if self.has_gist else bisect_right(gathered, least)
        self.waiting = [] if self.has_gist or first < len(atoms) else atoms
        if first >= len(atoms):
            return
        self._touch(self.atoms.bounds[min(atoms)])
        before = self.left + (0 if self.has_gist else least)
        self.ladder.rungs.append((Rung.GIST, atoms))
        self.ladder.tokens.extend([before - tokens for tokens in gathered[first:]])
        self.ladder.counts.extend(range(self.steps + first + 1, self.steps + len(atoms) + 1))
        self.steps, self.left, self.has_gist = self.steps + len(atoms), self.ladder.tokens[-1], True

    def _cut(self, atoms: Sequence[int]) -> None:
        """Cut results where they stand, as far as each is longer than the least that may be left of it."""
        counter, cut = self.ladder.window.counter, list[int]()
        self.ladder.rungs.append((Rung.CUT, cut))
        for atom in atoms:
            gain = sum(
                (turn.tokens or 0) - self.columns.least(atom, turn, counter)
                for turn in self.columns.cut_turns(atom)
            )
            if gain:
                cut.append(atom)
                self.gains[atom] = gain
                self._take(self.columns.cuttable(atom)[0], gain)

    def _unbind(self) -> None:
        """Let everything fall that is bound."""
        bound = sorted(self.columns.bound)[:1]
        self.ladder.rungs.append((Rung.UNBIND, bound))
        for turn in bound:
            self._take(turn, 0)


def _text_of(turns: Sequence[Turn]) -> str:
    texts = ((*(call.arguments for call in turn.tool_calls), turn.text) for turn in turns)
    return "\n".join(filter(None, chain.from_iterable(texts)))


def superseded(columns: Columns, rules: Sequence[ToolRule] = ()) -> list[int]:
    """Return the atoms of which a later call or attachment has the current text, oldest first.

    `rules` say what else replaces a call.
    """
    return sorted(_superseded_results(columns, rules) + _superseded_attachments(columns))


def superseded_ids(window: ContextWindow, reach: Reach) -> list[str]:
    """Return the ids of turns that `window` holds verbatim although a later turn has their current text; see `superseded`."""
    columns = columns_of(window, reach)
    cuttable = (columns.cuttable(atom) for atom in superseded(columns, reach.rules))
    return [columns.atoms.turns[place].resource_id for places in cuttable for place in places]


def _superseded_attachments(columns: Columns) -> list[int]:
    """Return the attachments whose source is attached again later."""
    latest = {attachment.source: atom for atom, attachment in columns.attachments.items()}
    return [
        atom
        for atom, attachment in columns.attachments.items()
        if attachment.source is not None
        and latest[attachment.source] > atom
        and _yields(columns, atom)
    ]


def _superseded_results(columns: Columns, rules: Sequence[ToolRule]) -> list[int]:
    """Return the atoms whose every call is made and answered again later: name and arguments alike, or what a rule says of the tool."""
    turns, bounds = columns.atoms.turns, columns.atoms.bounds
    replacing = {
        tool: rule for rule in rules if rule.yielding is Yielding.REPLACED for tool in rule.tools
    }
    keyed: list[tuple[int, list[tuple[str, ...]]]] = []
    latest: dict[tuple[str, ...], int] = {}
    for atom in [atom for atom, (start, stop) in enumerate(pairwise(bounds)) if stop - start > 1]:
        keys = [_key(call, replacing.get(call.name)) for call in turns[bounds[atom]].tool_calls]
        keyed.append((atom, keys))
        if bounds[atom + 1] - bounds[atom] > len(keys):
            for key in keys:
                latest[key] = atom
    return [
        atom
        for atom, keys in keyed
        if min([latest.get(key, 0) for key in keys]) > atom and _yields(columns, atom)
    ]


def _key(call: ToolCall, rule: ToolRule | None) -> tuple[str, ...]:
    return (call.name, *((call.arguments,) if rule is None else rule.replaces(call.arguments)))


def _yields(columns: Columns, atom: int) -> bool:
    if atom >= columns.tail or columns.kinds[atom] is not Kind.REQUIRED:
        return False
    return not any(turn.is_gist for turn in columns.atoms.turns_of(atom))


def pointer_gain(counter: TokenCounter, turns: Sequence[Turn], costs: dict[str | None, int]) -> int:
    """Return what pointers in the place of `turns` save, where they are shorter.

    One costs the same for every result of a tool, noted in `costs`.
    """
    gain = 0
    for turn in turns:
        if (
            turn.name not in costs or turn.role is not Role.TOOL
        ):  # that of an attachment has its name
            costs[turn.name] = count_turn(counter, pointer_turn(turn, turn.resource_id))
        gain += max(0, (turn.tokens or 0) - costs[turn.name])
    return gain
