"""The ladder: all plans for one window, as a chain from gentle to harsh.

Rungs, each oldest first: DROPPABLE atoms to DROPPED; pictures and other parts leave a line, whatever the
class of their words; superseded results and attachments to
pointers; REQUIRED atoms to GIST, runs of them as one block, an attachment by itself; then the same for the
recent tail, atom by atom; then gists that stand side by side fold, and all gists
tighten; last, everything between two atoms that never yield becomes one gist. PRESERVED
atoms, open atoms and the last user turn are on no rung; of the open atom, on the last one, its bound parts. Bound parts
fall with the first change before them, on whatever rung that comes. The tokens promised fall
strictly from rung to rung (a step without gain is joined to the next), which makes the
gentlest sufficient plan a binary search, and makes plans and pressures adjoint:
for every reachable t, ``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, count, groupby, pairwise
from operator import neg

from attrs import define, field, frozen

from polycontext.pressure.gist import MIN_GIST_TOKENS, gist_allowance, pointer_turn
from polycontext.pressure.reach import Columns, Kind, Reach, columns_of
from polycontext.window import ContextWindow, TokenCounter, Turn, count_turn


@frozen
class Fold:
    """Name a run of adjacent summaries (atom indices, half open) and what their fold may take."""

    start: int
    stop: int
    allowance: int
    gain: int


@define
class Ladder:
    """Hold the chain of plans for `window`.

    `tokens[j]` is promised by plan j, `counts[j]` how many steps it takes; the four
    step lists are in the ladder's order and hold atom indices. Plans up to number
    `comfortable` give every gist its ordinary room; harsher ones squeeze.
    """

    window: ContextWindow
    reach: Reach
    columns: Columns
    cap: int
    tokens: list[int] = field(factory=list)
    counts: list[int] = field(factory=list)
    drops: list[int] = field(factory=list)
    bared: list[int] = field(factory=list)
    pointers: list[int] = field(factory=list)
    blocks: list[list[int]] = field(factory=list)
    block_tokens: list[int] = field(factory=list)
    tail_drops: list[int] = field(factory=list)
    tail_bared: list[int] = field(factory=list)
    tail: list[int] = field(factory=list)
    folds: list[Fold] = field(factory=list)
    last_folds: list[Fold] = field(factory=list)
    pointer_gains: dict[int, int] = field(factory=dict)
    pointer_costs: dict[str | None, int] = field(factory=dict)
    tightenings: list[int] = field(factory=list)
    comfortable: int = 0
    has_collapse: bool = False

    def gentlest(self, tokens: int) -> int:
        """Return the first plan that promises at most `tokens`, or the harshest one."""
        return min(bisect_left(self.tokens, -tokens, key=neg), len(self.tokens) - 1)

    def tightening(self, step: int) -> int:
        """Return how often plan `step` halves the allowances of its gists."""
        first = self._before_collapse - len(self.tightenings)
        return self.tightenings[step - first] if first <= step < self._before_collapse else 0

    def folds_last(self, step: int) -> bool:
        """Tell whether plan `step` folds whatever stands side by side."""
        return step > 0 and step >= self._before_collapse - len(self.tightenings) - (1 if self.last_folds else 0)

    def collapses(self, step: int) -> bool:
        """Tell whether plan `step` makes one gist of everything between two atoms that never yield."""
        return step >= self._before_collapse

    @property
    def _before_collapse(self) -> int:
        return len(self.tokens) - (1 if self.has_collapse else 0)

    @property
    def floor(self) -> int:
        """Return the tokens that no plan promises to get below; gists may turn out shorter than promised."""
        return self.tokens[-1]


def ladder_of(window: ContextWindow, reach: Reach) -> Ladder:
    """Build the chain of plans for `window`; O(n)."""
    columns = columns_of(window, reach)
    atoms = columns.atoms
    standing = sum(atoms.tokens[atom] for atom in _summaries(columns))
    ladder = Ladder(window, reach, columns, reach.gist_cap(window.max_tokens, standing))
    crowded = standing > 0.75 * reach.gist_share * window.max_tokens
    ladder.folds = _folds(columns, 2, any_level=True) if crowded else _folds(columns, reach.fan_in + 1)
    ladder.tokens.append(window.total_tokens)
    ladder.counts.append(0)
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
        self._fold(ladder.folds)

    def climb(self) -> None:
        tail = self.columns.tail
        self._drop(range(tail), self.ladder.drops)
        self._bare(range(tail), self.ladder.bared)
        self._point()
        self._block(range(tail))
        self._drop(range(tail, len(self.atoms)), self.ladder.tail_drops)
        self._bare(range(tail, len(self.atoms)), self.ladder.tail_bared)
        self._digest_tail(range(tail, len(self.atoms)))
        self._fold_last()
        self.ladder.comfortable = len(self.ladder.tokens) - 1
        self._tighten()
        self._collapse()

    def _note(self, tokens: int) -> None:
        """Write a plan down where it promises less than the one before; join it to the next otherwise."""
        if tokens < self.ladder.tokens[-1]:
            self.ladder.tokens.append(tokens)
            self.ladder.counts.append(self.steps)

    def _droppable(self, zone: Iterable[int]) -> list[int]:
        kinds = self.columns.kinds
        return [atom for atom in zone if kinds[atom] is Kind.DROPPABLE]

    def _drop(self, zone: Iterable[int], taken: list[int]) -> None:
        for atom in self._droppable(zone):
            self._take(self.atoms.bounds[atom], self.atoms.tokens[atom] + self.columns.bared.get(atom, 0))
            taken.append(atom)

    def _bare(self, zone: range, taken: list[int]) -> None:
        """Let parts fall before the words beside them do; what is dropped has none left."""
        kinds, bounds, bare_turns = self.columns.kinds, self.atoms.bounds, self.columns.bare_turns
        for atom, gain in self.columns.bared.items():
            if atom in zone and kinds[atom] is not Kind.DROPPABLE:
                self._take(next(turn for turn in range(bounds[atom], bounds[atom + 1]) if turn in bare_turns), gain)
                taken.append(atom)

    def _touch(self, turn: int) -> None:
        """Let bound parts fall from the first change on, which may now be `turn` (an index)."""
        if turn < self.first:
            self.left -= sum(tokens for bound, tokens in self.columns.bound.items() if turn <= bound < self.first)
            self.first = turn

    def _results_of(self, atom: int) -> int:
        """Return the first turn that changes where results are cut: the call before them stays."""
        start, stop = self.atoms.bounds[atom : atom + 2]
        return start if stop - start == 1 else start + 1

    def _fold(self, folds: Sequence[Fold]) -> None:
        for fold in folds:
            self._touch(self.atoms.bounds[fold.start])
            self.left -= fold.gain

    def _take(self, turn: int, gain: int) -> None:
        """Take a step that gains so many tokens and changes `turn` first."""
        self._touch(turn)
        self.steps += 1
        self.left -= gain
        self._note(self.left)

    def _point(self) -> None:
        """Put superseded results behind pointers."""
        costs = self.ladder.pointer_costs
        for atom in superseded(self.columns):
            gain = _pointer_gain(self.ladder.window.counter, self.atoms.turns_of(atom), costs)
            if gain > 0:
                self.ladder.pointers.append(atom)
                self.ladder.pointer_gains[atom] = gain
                self._take(self._results_of(atom), gain)

    def _block(self, zone: range) -> None:
        tokens, gains = self.atoms.tokens, self.ladder.pointer_gains
        if gains:
            tokens = [weight - gains.get(atom, 0) for atom, weight in enumerate(tokens)]
        for block in self._parted(_runs(self.columns, zone)):
            sums = list(accumulate(map(tokens.__getitem__, block)))
            if sums[-1] > MIN_GIST_TOKENS:
                self.ladder.blocks.append(block)
                self.ladder.block_tokens.append(sums[-1])
                self._touch(self.atoms.bounds[block[0]])
                self._promise(sums)

    def _parted(self, runs: list[list[int]]) -> list[list[int]]:
        """Return `runs` cut at attachments, each of which is a run of its own unless a pointer stands for it already."""
        attachments, pointed = self.columns.attachments, self.ladder.pointer_gains
        if not attachments:
            return runs
        parts: list[list[int]] = []
        for attached, group in chain.from_iterable(groupby(run, attachments.__contains__) for run in runs):
            atoms = list(group)
            parts.extend([[atom] for atom in atoms if atom not in pointed] if attached else [atoms])
        return parts

    def _promise(self, sums: list[int]) -> None:
        """Note the promise after each atom of a block; the first ones that gain nothing are joined."""
        cap, small, base, steps = self.ladder.cap, MIN_GIST_TOKENS, self.left, self.steps
        first = bisect_right(sums, small)
        promised = [base - s + (small if s < 4 * small else cap if s > 4 * cap else s // 4) for s in sums[first:]]
        self.steps = steps + len(sums)
        self.left = promised[-1]
        self.ladder.tokens.extend(promised)
        self.ladder.counts.extend(range(steps + first + 1, self.steps + 1))

    def _digest_tail(self, zone: Iterable[int]) -> None:
        for atom in zone:
            if self.columns.kinds[atom] is not Kind.REQUIRED:
                continue
            gain = self.atoms.tokens[atom] - lone_allowance(self.atoms.turns_of(atom), self.ladder.cap)
            if gain > 0:
                self.ladder.tail.append(atom)
                self._take(self._results_of(atom), gain)

    def _fold_last(self) -> None:
        folded = {atom for fold in self.ladder.folds for atom in range(fold.start, fold.stop)}
        folds = [fold for fold in _folds(self.columns, 2) if folded.isdisjoint(range(fold.start, fold.stop))]
        self.ladder.last_folds = folds
        self._fold(folds)
        self._note(self.left)

    def _tighten(self) -> None:
        """Halve the allowances of all gists until none can shrink any more."""
        if not self.steps:
            return
        allowances = self._allowances()
        for halvings in count(1):
            gain = sum(allowance - tightened(allowance, halvings) for allowance in allowances)
            if self.left - gain >= self.ladder.tokens[-1]:
                return
            self.ladder.tokens.append(self.left - gain)
            self.ladder.counts.append(self.steps)
            self.ladder.tightenings.append(halvings)

    def _collapse(self) -> None:
        """Make one small gist of each run of whatever may yield, old gists and the recent tail included; nothing bound stays."""
        left = _collapsed_tokens(self.columns) - sum(map(self.ladder.pointer_gains.__getitem__, lasting_pointers(self.ladder)))
        if left < self.ladder.tokens[-1]:
            self.ladder.has_collapse = True
            self.ladder.tokens.append(left)
            self.ladder.counts.append(self.steps)

    def _allowances(self) -> list[int]:
        """Return what each gist may take on the last rung so far."""
        ladder, atoms = self.ladder, self.atoms
        allowances = [fold.allowance for fold in ladder.folds + ladder.last_folds]
        allowances.extend(gist_allowance(tokens, ladder.cap) for tokens in ladder.block_tokens)
        for atom in ladder.tail:
            turns = atoms.turns_of(atom)
            allowances.extend([gist_allowance(atoms.tokens[atom], ladder.cap)] if len(turns) == 1 else _digests(turns, ladder.cap))
        return allowances


def tightened(allowance: int, halvings: int) -> int:
    """Return `allowance` halved so often, but never below what a gist needs.

    >>> tightened(200, 1), tightened(200, 9)
    (100, 40)
    """
    return max(min(allowance, MIN_GIST_TOKENS), allowance >> halvings)


def _digests(turns: Sequence[Turn], cap: int) -> list[int]:
    """Return the allowances of the results of one atom that would be cut."""
    return [allowance for turn in turns[1:] if (allowance := result_allowance(turn, cap)) < (turn.tokens or 0)]


def _runs(columns: Columns, zone: range, joining: frozenset[Kind] = frozenset({Kind.REQUIRED})) -> list[list[int]]:
    """Return the runs of atoms of the `joining` kinds; dropped atoms do not part them, all others do."""
    runs: list[list[int]] = [[]]
    kinds = columns.kinds
    for atom in zone:
        kind = kinds[atom]
        if kind in joining:
            runs[-1].append(atom)
        elif kind is not Kind.DROPPABLE and runs[-1]:
            runs.append([])
    return runs if runs[-1] else runs[:-1]


def collapsed_runs(columns: Columns) -> list[list[int]]:
    """Return the runs that the last rung makes one gist of each."""
    runs = _runs(columns, range(len(columns.atoms)), frozenset({Kind.REQUIRED, Kind.SUMMARY}))
    return [run for run in runs if sum(map(columns.atoms.tokens.__getitem__, run)) > MIN_GIST_TOKENS]


def lasting_pointers(ladder: Ladder) -> list[int]:
    """Return the superseded atoms in runs too small for the last rung: no gist takes the place of their pointers."""
    if not ladder.pointers:
        return []
    collapsed = set(chain.from_iterable(collapsed_runs(ladder.columns)))
    return [atom for atom in ladder.pointers if atom not in collapsed]


def _collapsed_tokens(columns: Columns) -> int:
    """Return what is left when every run of yielding atoms is one gist of the least size; one that is smaller stays."""
    left = run = 0
    for kind, tokens in zip(columns.kinds, columns.atoms.tokens, strict=True):
        if kind is Kind.FIXED:
            left += tokens + min(run, MIN_GIST_TOKENS)
            run = 0
        elif kind is not Kind.DROPPABLE:
            run += tokens
    return left + min(run, MIN_GIST_TOKENS)


def _folds(columns: Columns, wanted: int, *, any_level: bool = False) -> list[Fold]:
    """Return what folds when `wanted` gists of one level side by side are enough; of any level where room is short."""
    runs: list[list[int]] = []
    for atom in _summaries(columns):
        if runs and runs[-1][-1] == atom - 1 and (any_level or _level(columns, atom - 1) == _level(columns, atom)):
            runs[-1].append(atom)
        else:
            runs.append([atom])
    return [fold for run in runs for fold in _fold(columns, run, wanted)]


def _summaries(columns: Columns) -> list[int]:
    if Kind.SUMMARY not in columns.kinds:
        return []
    return [atom for atom, kind in enumerate(columns.kinds) if kind is Kind.SUMMARY]


def _fold(columns: Columns, run: Sequence[int], wanted: int) -> list[Fold]:
    if len(run) < wanted:
        return []
    tokens = sum(columns.atoms.tokens[atom] for atom in run)
    allowance = max(MIN_GIST_TOKENS, tokens // 2)
    return [Fold(run[0], run[-1] + 1, allowance, tokens - allowance)] if tokens > allowance else []


def _level(columns: Columns, atom: int) -> int:
    return columns.atoms.turns_of(atom)[0].level


def superseded(columns: Columns) -> list[int]:
    """Return the old REQUIRED atoms that a later one makes out of date, in order."""
    attached = _superseded_attachments(columns)
    results = _superseded_results(columns)
    return sorted(attached + results) if attached else results


def _superseded_attachments(columns: Columns) -> list[int]:
    """Return the attachments whose source is attached again later."""
    latest = {attachment.source: atom for atom, attachment in columns.attachments.items()}
    return [
        atom
        for atom, attachment in columns.attachments.items()
        if attachment.source is not None and latest[attachment.source] > atom and _yields(columns, atom)
    ]


def _superseded_results(columns: Columns) -> list[int]:
    """Return the atoms whose every call is made and answered again later, name and arguments alike."""
    turns, bounds = columns.atoms.turns, columns.atoms.bounds
    keyed: list[tuple[int, list[tuple[str, str]]]] = []
    latest: dict[tuple[str, str], int] = {}
    for atom in [atom for atom, (start, stop) in enumerate(pairwise(bounds)) if stop - start > 1]:
        keys = [(call.name, call.arguments) for call in turns[bounds[atom]].tool_calls]
        keyed.append((atom, keys))
        if bounds[atom + 1] - bounds[atom] > len(keys):
            for key in keys:
                latest[key] = atom
    return [atom for atom, keys in keyed if min([latest.get(key, 0) for key in keys]) > atom and _yields(columns, atom)]


def _yields(columns: Columns, atom: int) -> bool:
    if atom >= columns.tail or columns.kinds[atom] is not Kind.REQUIRED:
        return False
    return not any(turn.is_gist for turn in columns.atoms.turns_of(atom))


def _pointer_gain(counter: TokenCounter, turns: Sequence[Turn], costs: dict[str | None, int]) -> int:
    """Return what pointers save in one atom, where they are shorter; one costs the same for every result of a tool, noted in `costs`."""
    if len(turns) == 1:  # an attachment
        return (turns[0].tokens or 0) - count_turn(counter, pointer_turn(turns[0], turns[0].resource_id))
    gain = 0
    for turn in turns[1:]:
        if turn.name not in costs:
            costs[turn.name] = count_turn(counter, pointer_turn(turn, turn.resource_id))
        gain += max(0, (turn.tokens or 0) - costs[turn.name])
    return gain


def lone_allowance(turns: Sequence[Turn], cap: int) -> int:
    """Return what an atom of the tail may take at GIST: its call kept and each result cut, or a summary of its own."""
    if len(turns) == 1:
        return gist_allowance(turns[0].tokens or 0, cap)
    return (turns[0].tokens or 0) + sum(result_allowance(turn, cap) for turn in turns[1:])


def result_allowance(result: Turn, cap: int) -> int:
    """Return what the digest of one tool result may take; a small one or a digest stays as it is."""
    tokens = result.tokens or 0
    return tokens if result.is_gist else min(tokens, gist_allowance(tokens, cap))
