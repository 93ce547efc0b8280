"""Plans: a ceiling for every atom and the token counts, before any model is called.

A plan also shares out the tokens that are left among its gists.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from attrs import evolve, field, frozen

from polycontext.base.json_data import FrozenDict
from polycontext.linearity import ResourceClass
from polycontext.window import Atom, ContextWindow, Role, Splice, Turn, count_turn
from polycontext.window.filler import Introduced
from polycontext.window.part_removal import bare, unbound

from . import notes
from .gist import GistJob, GistKind, is_request, is_summary, pointer_turn
from .ladder import Ladder, Rung
from .reach import Columns, Kind, Reach, columns_of
from .view import Fidelity, View

_SUMMARY = Turn(Role.USER, "")
"""Stands in for a summary that is not written yet."""

ROWS = (
    "preserved",
    "rules",
    "the last user turn",
    "open calls",
    "asked for",
    "newest results, whole",
    "newest results, cut",
    "the newest answer",
    "recent turns",
    "older turns",
    "the gist",
    "an earlier gist",
    "pointers",
    "dropped",
)
"""The rows of an explanation, in the order in which they are shown."""


@frozen
class Spent:
    """A row of an explanation: the tokens of some turns before, and the most after."""

    what: str
    turns: int
    before: int
    after: int


@frozen
class Explanation:
    """The rows of a plan, none of them empty; its string form is a table.

    Law: the tokens after all rows are those that the plan promises.
    """

    rows: tuple[Spent, ...]

    @property
    def total(self) -> Spent:
        """Return the sum of the rows."""
        return _total("all", self.rows)

    def __str__(self) -> str:
        rows = (*self.rows, self.total)
        width = max(len(row.what) for row in rows)
        lines = (
            f"{row.what:{width}}  {row.turns:5}  {row.before:7,} -> {row.after:7,}" for row in rows
        )
        return "\n".join((f"{'':{width}}  turns   before -> at most", *lines))


@frozen(kw_only=True)
class Plan:
    """A ceiling for every atom of `window`, and the bill (docs/pressure.md, "The ladder").

    `lowered` names the atoms with a ceiling below VERBATIM. `bared` holds the ids of turns that
    lose their parts; bound parts are removed after `first_changed` in any case, and from turn
    `unbound_from` on. Token counts are for whole windows. `first_changed` is the index of the first
    turn that changes, where the provider's cached prefix ends, or None if nothing does. `reached`
    states whether `tokens_promised` is within `tokens_wanted`; `floor` is the least that any plan
    for this window promises. `query` is what the user will ask next, if known.

    Law: tokens promised >= tokens achieved by any accepted fulfilment.
    """

    window: ContextWindow = field(eq=False, repr=False)
    reach: Reach = field(factory=Reach, eq=False, repr=False)
    asked: frozenset[int] = field(default=frozenset(), eq=False, repr=False)
    step: int = 0
    lowered: Mapping[str, Fidelity] = field(factory=FrozenDict[Fidelity], hash=False)
    drops: tuple[Splice, ...] = field(default=(), repr=False)
    bared: tuple[str, ...] = field(default=(), repr=False)
    unbound_from: int | None = None
    jobs: tuple[GistJob, ...] = field(default=(), repr=False)
    tokens_wanted: int
    tokens_before: int
    tokens_promised: int
    floor: int
    first_changed: int | None = None
    query: str | None = None

    @staticmethod
    def empty(window: ContextWindow) -> "Plan":
        """Return the plan that changes nothing, without a ladder; O(1)."""
        now = window.total_tokens
        return Plan(
            window=window, tokens_wanted=now, tokens_before=now, tokens_promised=now, floor=now
        )

    @property
    def reached(self) -> bool:
        """Return whether the promised tokens are within the wanted tokens."""
        return self.tokens_promised <= self.tokens_wanted

    @property
    def yielding(self) -> set[int]:
        """Return the indices of the turns that are dropped or replaced by a gist."""
        gisted = {index for job in self.jobs for run in job.runs for index in range(*run)}
        return gisted.union(*(range(drop.start, drop.stop) for drop in self.drops))

    @property
    def introduced_tokens(self) -> int:
        """Return the most tokens of filler messages needed after the plan is applied; O(n).

        A provider may require such messages between the remaining turns.
        """
        blocks = tuple(job for job in self.jobs if job.kind in (GistKind.BLOCK, GistKind.NATIVE))
        standing: dict[int, Turn] = dict(enumerate(self.window.all_turns()))
        for index in evolve(self, jobs=blocks).yielding:
            del standing[index]
        standing |= {job.start: _SUMMARY for job in blocks}
        turns = (turn for _, turn in sorted(standing.items()))
        return Introduced().after(turns, self.window.counter).tokens

    @property
    def is_empty(self) -> bool:
        """Return whether the plan changes nothing."""
        return self.step == 0

    @property
    def is_native(self) -> bool:
        """Return whether a summary that a provider writes itself replaces a whole prefix."""
        return any(job.kind is GistKind.NATIVE for job in self.jobs)

    def fits(self, window: ContextWindow) -> bool:
        """Return whether the plan can be applied to `window`.

        It can be applied to its own window and to one that this grew to, if no class in it was
        raised. O(1) if nothing has happened since, O(turns of the planned window) otherwise.
        """
        planned = self.window
        if window.has_contents_of(planned):
            return True
        ids = [turn.resource_id for turn in planned.all_turns()]
        grown = window.has_rules_of(planned, any_size=True) and window.extends(planned)
        return grown and window.linearity.classes_of(ids) == planned.linearity.classes_of(ids)

    def explain(self) -> Explanation:
        """Return what the promised tokens are spent on, row by row; its string form is a table."""
        rows = [*_standing(self), *_gists(self)]
        of_kind = ((what, [row for row in rows if row.what == what]) for what in ROWS)
        return Explanation(tuple(_total(what, found) for what, found in of_kind if found))

    @property
    def facts(self) -> "tuple[notes.Fact, ...]":
        """Return the facts that the plan's gists must keep, each once; O(compressed turns).

        Facts are demands, ids in use and next steps, with the turns that state them.
        """
        wordy = [job for job in self.jobs if job.kind.needs_words]
        told = (notes.facts_of(job.reads, self.window.counter) for job in wordy)
        return tuple(dict.fromkeys(chain.from_iterable(told)))

    def ceiling(self, log: Iterable[Atom]) -> View:
        """Return the ceiling over all atoms of `log`."""
        return View({atom.id: self.lowered.get(atom.id, Fidelity.VERBATIM) for atom in log})


def plan_at(ladder: Ladder, step: int, tokens_wanted: int, query: str | None = None) -> Plan:
    """Return plan number `step` of the ladder's chain.

    The tokens of `tokens_wanted` that it leaves are shared out among its gists.
    """
    rungs, bounds = ladder.group_by_rung(step), ladder.columns.atoms.bounds
    jobs, spent = _jobs(ladder, rungs, max(0, tokens_wanted - ladder.tokens[step]))
    drops = _runs(bounds, sorted(rungs[Rung.DROP]))
    places = (range(bounds[atom], bounds[atom + 1]) for atom in rungs[Rung.BARE])
    bared = [i for i in chain.from_iterable(places) if i in ladder.columns.bare_turns]
    changed = [
        *(run[0] for job in jobs for run in job.runs),
        *(start for start, _ in drops),
        *bared,
    ]
    changed += rungs[Rung.UNBIND]
    return Plan(
        window=ladder.window,
        reach=ladder.reach,
        asked=ladder.columns.asked,
        step=step,
        lowered=_lowered(ladder, rungs),
        drops=tuple(Splice(start, stop) for start, stop in drops),
        bared=tuple(ladder.window.all_turns()[index].resource_id for index in bared),
        unbound_from=min(rungs[Rung.UNBIND], default=None),
        jobs=tuple(jobs),
        tokens_wanted=tokens_wanted,
        tokens_before=ladder.tokens[0],
        tokens_promised=ladder.tokens[step] + spent,
        floor=ladder.floor,
        first_changed=min(changed, default=None),
        query=query,
    )


def _jobs(
    ladder: Ladder, rungs: Mapping[Rung, Sequence[int]], pool: int
) -> tuple[list[GistJob], int]:
    """Return the gists of a plan by place, and how much of `pool` they take beyond the minimum."""
    atoms, ledger, gisted = ladder.columns.atoms, ladder.window.linearity, sorted(rungs[Rung.GIST])
    jobs = [job for atom in rungs[Rung.POINT] for job in _pointers(ladder, atom)]
    # A gist is shorter than its sources.
    needed = max(0, sum(map(atoms.tokens.__getitem__, gisted)) - 1 - ladder.least_gist)
    # The newest results come first, but never take all of the room for older turns.
    for_block = min(needed, int((1 - ladder.reach.newest_share) * pool))
    shares, spent = _shares(ladder, rungs[Rung.CUT], pool - for_block)
    for place, allowance in shares.items():
        turn = atoms.turns[place]
        if allowance < (turn.tokens or 0):
            about = _asked_for(atoms.turns, place)
            kind, rules = GistKind.DIGEST, ladder.columns.rules_of(turn)
            job = GistJob.of_turn(kind, place, turn, allowance, ledger, about=about, rules=rules)
            jobs.append(job)
    if gisted:
        more = min(pool - spent, needed)
        spent += more
        sources = tuple(chain.from_iterable(map(atoms.turns_of, gisted)))
        runs = _behind_request(atoms.turns, _runs(atoms.bounds, gisted))
        reads = _worth_reading(ladder, gisted)
        allowance = ladder.least_gist + more
        gone = {index for run in runs for index in range(*run)}
        rules = ladder.columns.rules_beside(gone)
        jobs.append(GistJob(GistKind.BLOCK, runs, sources, reads, allowance, ledger, rules=rules))
    return sorted(jobs, key=lambda job: job.start), spent


def _behind_request(
    turns: Sequence[Turn], runs: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Return `runs` with the one first in whose place the gist stands.

    It is the first run, but a first request that stays stands before the gist, even where somebody
    else spoke before it: behind the gist, it would look new.
    """
    gone = {index for run in runs for index in range(*run)}
    asked = next((place for place, turn in enumerate(turns) if is_request(turn)), -1)
    first = next((place for place, run in enumerate(runs) if run[0] > asked), 0)
    return tuple(runs if asked in gone else (runs[first], *runs[:first], *runs[first + 1 :]))


def _asked_for(turns: Sequence[Turn], place: int) -> str:
    """Return the last user message before turn `place` and the arguments of the answered call."""
    before, answered = turns[:place][::-1], turns[place].tool_call_id
    said = (turn.text for turn in before if turn.role is Role.USER and not is_summary(turn))
    calls = next((turn.tool_calls for turn in before if turn.tool_calls), ()) if answered else ()
    return "\n".join([next(said, ""), *(call.arguments for call in calls if call.id == answered)])


def _shares(ladder: Ladder, cut: Sequence[int], pool: int) -> tuple[dict[int, int], int]:
    """Return the allowance of each turn of the atoms `cut`, and how much of `pool` they take.

    Each turn gets its minimum, and an equal part of `pool` as far as it needs that.
    """
    columns, shares, needs = ladder.columns, dict[int, int](), dict[int, int]()
    for atom in cut:
        for place in columns.cuttable(atom):
            turn = columns.atoms.turns[place]
            shares[place] = columns.least(turn, ladder.window.counter)
            needs[place] = (turn.tokens or 0) - shares[place]
        # A cut turn becomes shorter even if there is room: a harsher plan must not keep more of it.
        needs[max(columns.cuttable(atom), key=needs.__getitem__)] -= 1
    left = pool
    for done, place in enumerate(sorted(needs, key=needs.__getitem__)):
        more = min(needs[place], left // (len(needs) - done))
        shares[place], left = shares[place] + more, left - more
    return shares, pool - left


def _worth_reading(ladder: Ladder, gisted: Sequence[int]) -> tuple[Turn, ...]:
    """Return the turns of the gisted atoms, without the results of superseded calls."""
    gains, turns_of = ladder.pointer_gains, ladder.columns.atoms.turns_of
    return tuple(
        chain.from_iterable(turns_of(atom)[: 1 if atom in gains else None] for atom in gisted)
    )


def _pointers(ladder: Ladder, atom: int) -> Iterator[GistJob]:
    for place in ladder.columns.cuttable(atom):
        turn = ladder.columns.atoms.turns[place]
        cost = count_turn(ladder.window.counter, pointer_turn(turn, turn.resource_id))
        if cost < (turn.tokens or 0):
            yield GistJob.of_turn(GistKind.POINTER, place, turn, cost, ladder.window.linearity)


def _runs(bounds: Sequence[int], atoms: Sequence[int]) -> list[tuple[int, int]]:
    """Return the turns of `atoms` (ascending) as half-open runs."""
    runs: list[tuple[int, int]] = []
    for atom in atoms:
        start = runs.pop()[0] if runs and runs[-1][1] == bounds[atom] else bounds[atom]
        runs.append((start, bounds[atom + 1]))
    return runs


def _lowered(ladder: Ladder, rungs: Mapping[Rung, Sequence[int]]) -> Mapping[str, Fidelity]:
    heads = ladder.columns.atoms.heads
    gisted = chain(rungs[Rung.POINT], rungs[Rung.GIST], rungs[Rung.CUT])
    lowered = dict.fromkeys(gisted, Fidelity.GIST)
    lowered |= dict.fromkeys(rungs[Rung.DROP], Fidelity.DROPPED)
    return FrozenDict({head: each for atom, each in lowered.items() for head in heads(atom)})


def unbinding_plan(window: ContextWindow, index: int) -> Plan:
    """Return the plan that only removes bound parts from turn `index` on.

    No summariser is called for it.
    """
    saved = sum(
        (turn.tokens or 0) - (unbound(turn, window.counter).tokens or 0)
        for turn in window.turns_from(index)
    )
    left = window.total_tokens - saved
    return evolve(
        Plan.empty(window),
        step=1,
        unbound_from=index,
        tokens_wanted=left,
        tokens_promised=left,
        floor=left,
        first_changed=index,
    )


def _total(what: str, rows: Sequence[Spent]) -> Spent:
    return Spent(
        what,
        sum(row.turns for row in rows),
        sum(row.before for row in rows),
        sum(row.after for row in rows),
    )


_ROW_OF = {
    GistKind.BLOCK: "the gist",
    GistKind.DIGEST: "newest results, cut",
    GistKind.POINTER: "pointers",
    GistKind.NATIVE: "the gist",
}


def _gists(plan: Plan) -> Iterator[Spent]:
    turns = plan.window.all_turns()
    for job in plan.jobs:
        again = {turn.resource_id for turn in job.again}
        gone = [turn for run in job.runs for turn in turns[slice(*run)]]
        sizes = [turn.tokens or 0 for turn in gone if turn.resource_id not in again]
        rules = job.rule_tokens(plan.window.counter)
        if rules:
            yield Spent("rules", 0, 0, rules)
        yield Spent(_ROW_OF[job.kind], len(sizes), sum(sizes), job.allowance - rules)
    for drop in plan.drops:
        sizes = [turn.tokens or 0 for turn in turns[drop.start : drop.stop]]
        yield Spent("dropped", len(sizes), sum(sizes), 0)


def _standing(plan: Plan) -> Iterator[Spent]:
    turns, counter, bared = plan.window.all_turns(), plan.window.counter, frozenset(plan.bared)
    again = {turn.resource_id for job in plan.jobs for turn in job.again}
    gone = {place for place in plan.yielding if turns[place].resource_id not in again}
    # A provider that writes the gist itself may keep bound parts after it valid.
    bound_until = len(turns) if plan.is_native or plan.first_changed is None else plan.first_changed
    for places, what in why_each_stays(plan.window, plan.reach, plan.asked):
        for place in places:
            if place in gone:
                continue
            turn = turns[place]
            stands = bare(turn, counter) if turn.resource_id in bared else turn
            after = stands if place < bound_until else unbound(stands, counter)
            yield Spent(what, 1, turn.tokens or 0, after.tokens or 0)


def why_each_stays(
    window: ContextWindow, reach: Reach, asked: Iterable[int] = ()
) -> list[tuple[range, str]]:
    """Return the turns of each atom of `window`, by index, and why a plan would keep it.

    The reasons are among `ROWS`. `asked` are the atoms that a query keeps; O(n).
    """
    columns = columns_of(window, reach, frozenset(asked))
    runs = enumerate(pairwise(columns.atoms.bounds))
    return [(range(*run), _why(window, columns, atom)) for atom, run in runs]


def _why(window: ContextWindow, columns: Columns, atom: int) -> str:
    """Return why an atom that stays does so."""
    turns = columns.atoms.turns_of(atom)
    if atom in columns.asked:
        return "asked for"
    match columns.kinds[atom]:
        case Kind.FIXED:
            kept = any(window.class_of(turn) is ResourceClass.PRESERVED for turn in turns)
            return "preserved" if kept else "the last user turn"
        case Kind.QUESTION:
            return "the last user turn"
        case Kind.NEWEST:
            return (
                "open calls"
                if columns.is_open
                else "newest results, whole"
                if turns[0].tool_calls
                else "the newest answer"
            )
        case Kind.SUMMARY:
            return "an earlier gist"
        case _:
            return "recent turns" if atom >= columns.tail else "older turns"
