"""A plan: a ceiling for every atom and its bill, before any model is called; and what each gist may take of the tokens that are left."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain

from attrs import evolve, field, frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.json_data import FrozenDict
from polycontext.window import Atom, ContextWindow, Role, Splice, Turn, count_turn
from polycontext.window.filler import Introduced
from polycontext.window.part_removal import bare, unbound

from . import notes
from .gist import all_source_ids, is_summary, pointer_turn
from .ladder import Ladder, Rung, ladder_of
from .reach import Columns, Kind, Reach
from .view import Fidelity, View

_SUMMARY = Turn(Role.USER, "")
"""What a summary is to its neighbours, before it is written."""


class GistKind(Enum):
    """Say what form a gist takes."""

    BLOCK = "block"
    """One summary turn for everything that yields, an older summary included."""
    DIGEST = "digest"
    """A tool result cut along its structure; its call is kept."""
    POINTER = "pointer"
    """A superseded tool result or attachment; its call is kept."""
    NATIVE = "native"
    """One summary that the provider writes itself, for all that stands before a cut."""

    @property
    def needs_words(self) -> bool:
        """Tell whether a summariser is asked for it."""
        return self is GistKind.BLOCK


@frozen
class GistJob:
    """Ask for one gist: it stands in the place of the first of `runs` (turns ``start:stop``, disjoint, in order), and the others go.

    It stands for `sources`, `reads` is what is worth reading of them: no superseded results. It may take `allowance` tokens. What
    `about` names matters most: the words of the question and of the calls that were answered. The turns `again`, which are among
    the sources of a NATIVE one, are said again behind it.
    """

    kind: GistKind
    runs: tuple[tuple[int, int], ...]
    sources: tuple[Turn, ...]
    reads: tuple[Turn, ...]
    allowance: int
    ledger: LinearityMap = field(eq=False, repr=False)
    about: str = ""
    again: tuple[Turn, ...] = ()

    @property
    def start(self) -> int:
        """Return the index of the turn in whose place the gist stands."""
        return self.runs[0][0]

    @cached_property
    def stands_for(self) -> Sequence[str]:
        """Return the ids of the turns of the log that the gist stands for; they may be many, so they are gathered once."""
        return all_source_ids(self.sources, self.ledger)

    @property
    def source_tokens(self) -> int:
        """Return the tokens of the turns the gist stands for, but for what is said again."""
        return sum(turn.tokens or 0 for turn in self.sources) - sum(turn.tokens or 0 for turn in self.again)


ROWS = (
    "preserved",
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
"""What tokens are spent on, in the order in which it is told."""


@frozen
class Spent:
    """Say what became of some turns: their tokens before, and what they or what stands for them may take."""

    what: str
    turns: int
    before: int
    after: int


@frozen
class Explanation:
    """Hold the rows of a plan, none of them empty; printed, it is a table.

    Law: the tokens after all rows are those that the plan promises.
    """

    rows: tuple[Spent, ...]

    @property
    def total(self) -> Spent:
        """Return the sum of the rows."""
        return Spent("all", *(sum(getattr(row, name) for row in self.rows) for name in ("turns", "before", "after")))

    def __str__(self) -> str:
        width = max(len(row.what) for row in (*self.rows, self.total))
        lines = [f"{'':{width}}  turns   before -> at most"]
        lines += [f"{row.what:{width}}  {row.turns:5}  {row.before:7,} -> {row.after:7,}" for row in (*self.rows, self.total)]
        return "\n".join(lines)


@frozen
class Plan:
    """Hold a ceiling for every atom of `window`, and the bill (docs/pressure.md, "The ladder").

    `lowered` names the atoms whose ceiling is below VERBATIM. `bared` are the ids of turns whose parts
    fall beside their words; bound parts fall behind `first_changed` anyway, and from turn `unbound_from` on. Tokens are whole
    windows; `first_changed` is the index of the first turn that changes (what a
    provider's prompt cache still holds ends there), None if nothing does. `reached`
    tells whether `tokens_promised` is within `tokens_wanted`; `floor` is the least that any plan
    for this window promises. `query` is what the reader will ask, if anything is known of that.

    Law: tokens promised >= tokens achieved by any accepted fulfilment.
    """

    window: ContextWindow = field(eq=False, repr=False)
    columns: Columns = field(eq=False, repr=False)
    step: int
    lowered: Mapping[str, Fidelity] = field(hash=False)
    drops: tuple[Splice, ...] = field(repr=False)
    bared: tuple[str, ...] = field(repr=False)
    unbound_from: int | None
    jobs: tuple[GistJob, ...] = field(repr=False)
    tokens_wanted: int
    tokens_before: int
    tokens_promised: int
    floor: int
    first_changed: int | None
    query: str | None = None

    @property
    def reached(self) -> bool:
        """Tell whether the promise is within what was wanted."""
        return self.tokens_promised <= self.tokens_wanted

    @property
    def yielding(self) -> set[int]:
        """Return the indices of the turns that are dropped, or that a gist stands for."""
        runs = [*(run for job in self.jobs for run in job.runs), *((drop.start, drop.stop) for drop in self.drops)]
        return {index for run in runs for index in range(*run)}

    @property
    def introduced_tokens(self) -> int:
        """Return the most tokens that a provider is sent besides once the plan is carried out; O(n)."""
        blocks = [job for job in self.jobs if job.kind in (GistKind.BLOCK, GistKind.NATIVE)]
        runs = [*((splice.start, splice.stop) for splice in self.drops), *(run for job in blocks for run in job.runs)]
        yielding: dict[int, Turn | None] = {index: None for start, stop in runs for index in range(start, stop)}
        yielding |= {job.start: _SUMMARY for job in blocks}
        standing = (yielding.get(index, turn) for index, turn in enumerate(self.window.all_turns()))
        return Introduced().after((turn for turn in standing if turn is not None), self.window.counter).tokens

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing changes."""
        return self.step == 0

    @property
    def is_native(self) -> bool:
        """Tell whether a whole prefix yields to a summary that a provider writes itself."""
        return any(job.kind is GistKind.NATIVE for job in self.jobs)

    def fits(self, window: ContextWindow) -> bool:
        """Tell whether the plan can be carried out on `window`: its own, or what that grew to, with no class in it raised.

        O(1) where nothing has happened since, O(turns that were planned on) otherwise.
        """
        planned = self.window
        if window.has_contents_of(planned):
            return True
        ids = [turn.resource_id for turn in planned.all_turns()]
        grown = window.has_rules_of(planned, any_size=True) and window.extends(planned)
        return grown and window.linearity.classes_of(ids) == planned.linearity.classes_of(ids)

    def explain(self) -> Explanation:
        """Return what each token that is promised is spent on, row by row; printed, it is a table."""
        return _explain(self)

    @property
    def facts(self) -> "tuple[notes.Fact, ...]":
        """Return what its gists must not lose: demands, ids in use, what comes next, each once, with the turn that said it; O(what yields)."""
        wordy = [job for job in self.jobs if job.kind.needs_words]
        return tuple(dict.fromkeys(fact for job in wordy for fact in notes.facts_of(job.reads, self.window.counter)))

    def ceiling(self, log: Iterable[Atom]) -> View:
        """Return the ceiling over all atoms of `log`."""
        return View({atom.id: self.lowered.get(atom.id, Fidelity.VERBATIM) for atom in log})


def plan_at(ladder: Ladder, step: int, tokens_wanted: int, query: str | None = None) -> Plan:
    """Return plan number `step` of the ladder's chain; what it leaves of `tokens_wanted` is shared out among its gists."""
    taken, bounds = ladder.taken(step), ladder.columns.atoms.bounds
    pool = max(0, tokens_wanted - ladder.tokens[step])
    jobs, spent = _jobs(ladder, taken, pool)
    drops = _runs(bounds, sorted(taken[Rung.DROP]))
    bared = [i for atom in taken[Rung.BARE] for i in range(bounds[atom], bounds[atom + 1]) if i in ladder.columns.bare_turns]
    unbound_from = min(taken[Rung.UNBIND], default=None)
    changed = [*(job.start for job in jobs), *(start for start, _ in drops), *bared, *([] if unbound_from is None else [unbound_from])]
    return Plan(
        window=ladder.window,
        columns=ladder.columns,
        step=step,
        lowered=_lowered(ladder, taken),
        drops=tuple(Splice(start, stop) for start, stop in drops),
        bared=tuple(ladder.window.all_turns()[index].resource_id for index in bared),
        unbound_from=unbound_from,
        jobs=tuple(jobs),
        tokens_wanted=tokens_wanted,
        tokens_before=ladder.tokens[0],
        tokens_promised=ladder.tokens[step] + spent,
        floor=ladder.floor,
        first_changed=min(changed, default=None),
        query=query,
    )


def _jobs(ladder: Ladder, taken: Mapping[Rung, Sequence[int]], pool: int) -> tuple[list[GistJob], int]:
    """Return the gists of a plan in the order of their places, and how much of `pool` they may take beyond the least."""
    bounds, turns = ladder.columns.atoms.bounds, ladder.columns.atoms.turns
    jobs = [job for atom in taken[Rung.POINT] for job in _pointers(ladder, atom)]
    gisted = sorted(taken[Rung.GIST])
    # A gist is shorter than what it stands for.
    needed = max(0, sum(map(ladder.columns.atoms.tokens.__getitem__, gisted)) - 1 - ladder.least_gist)
    # The newest results come first, but never take all of what the past is left in.
    for_block = min(needed, int((1 - ladder.reach.newest_share) * pool))
    shares, spent = _shares(ladder, taken[Rung.CUT], pool - for_block)
    for place, allowance in shares.items():
        if allowance < (turns[place].tokens or 0):
            jobs.append(_in_place(GistKind.DIGEST, ladder, place, allowance, _asked_for(turns, place)))
    if gisted:
        more = min(pool - spent, needed)
        sources, spent = tuple(chain.from_iterable(map(ladder.columns.atoms.turns_of, gisted))), spent + more
        runs, reads = tuple(_runs(bounds, gisted)), _worth_reading(ladder, gisted)
        jobs.append(GistJob(GistKind.BLOCK, runs, sources, reads, ladder.least_gist + more, ladder.window.linearity))
    return sorted(jobs, key=lambda job: job.start), spent


def _in_place(kind: GistKind, ladder: Ladder, place: int, allowance: int, about: str = "") -> GistJob:
    """Return the job for what is to stand in the place of one turn."""
    turns = (ladder.columns.atoms.turns[place],)
    return GistJob(kind, ((place, place + 1),), turns, turns, allowance, ladder.window.linearity, about)


def _asked_for(turns: Sequence[Turn], place: int) -> str:
    """Return what the user said last before turn `place`, and the arguments of the call that it answers."""
    before = turns[:place][::-1]
    said = next((turn.text for turn in before if turn.role is Role.USER and not is_summary(turn)), "")
    calls = next((turn.tool_calls for turn in before if turn.tool_calls), ()) if turns[place].tool_call_id else ()
    return "\n".join([said, *(call.arguments for call in calls if call.id == turns[place].tool_call_id)])


def _shares(ladder: Ladder, cut: Sequence[int], pool: int) -> tuple[dict[int, int], int]:
    """Return what each turn of the atoms `cut` may take: the least, and of `pool` equal parts as far as needed; and what they take of it."""
    shares, needs = dict[int, int](), dict[int, int]()
    for atom in cut:
        for place in ladder.columns.cuttable(atom):
            turn = ladder.columns.atoms.turns[place]
            shares[place] = ladder.columns.least(atom, turn, ladder.window.counter)
            needs[place] = 0 if atom in ladder.columns.task else (turn.tokens or 0) - shares[place]
        # What yields is shorter afterwards, whatever room there is: a harsher plan must not hold more of it.
        needs[max(ladder.columns.cuttable(atom), key=needs.__getitem__)] -= 1
    left = pool
    for done, place in enumerate(sorted(needs, key=needs.__getitem__)):
        more = min(needs[place], left // (len(needs) - done))
        shares[place], left = shares[place] + more, left - more
    return shares, pool - left


def _worth_reading(ladder: Ladder, gisted: Sequence[int]) -> tuple[Turn, ...]:
    """Return the turns of the atoms that are gisted, of superseded ones the call alone."""
    gains, turns_of = ladder.pointer_gains, ladder.columns.atoms.turns_of
    return tuple(chain.from_iterable(turns_of(atom)[: 1 if atom in gains else None] for atom in gisted))


def _pointers(ladder: Ladder, atom: int) -> list[GistJob]:
    turns, counter = ladder.columns.atoms.turns, ladder.window.counter
    costs = {place: count_turn(counter, pointer_turn(turns[place], turns[place].resource_id)) for place in ladder.columns.cuttable(atom)}
    return [_in_place(GistKind.POINTER, ladder, place, cost) for place, cost in costs.items() if cost < (turns[place].tokens or 0)]


def _runs(bounds: Sequence[int], atoms: Sequence[int]) -> list[tuple[int, int]]:
    """Return the turns of `atoms` (ascending) as runs, half open."""
    runs: list[tuple[int, int]] = []
    for atom in atoms:
        start = runs.pop()[0] if runs and runs[-1][1] == bounds[atom] else bounds[atom]
        runs.append((start, bounds[atom + 1]))
    return runs


def _lowered(ladder: Ladder, taken: Mapping[Rung, Sequence[int]]) -> Mapping[str, Fidelity]:
    turns, bounds = ladder.columns.atoms.turns, ladder.columns.atoms.bounds
    gisted = chain(taken[Rung.POINT], taken[Rung.GIST], taken[Rung.CUT])
    lowered = {turns[bounds[atom]].resource_id: Fidelity.GIST for atom in gisted}
    lowered.update({turns[bounds[atom]].resource_id: Fidelity.DROPPED for atom in taken[Rung.DROP]})
    return FrozenDict(lowered)


def unbinding_plan(window: ContextWindow, index: int) -> Plan:
    """Return the plan by which bound parts fall from turn `index` on, and nothing else changes; it wants no words."""
    saved = sum((turn.tokens or 0) - (unbound(turn, window.counter).tokens or 0) for turn in window.turns_from(index))
    left = window.total_tokens - saved
    nothing = plan_at(ladder_of(window, Reach()), 0, left)
    return evolve(nothing, step=1, unbound_from=index, tokens_promised=left, floor=left, first_changed=index)


def _explain(plan: Plan) -> Explanation:
    """Return what each token of the view that `plan` promises is spent on."""
    sums: dict[str, tuple[int, int, int]] = {}
    for what, turns, before, after in (*_standing(plan), *_gists(plan)):
        old = sums.get(what, (0, 0, 0))
        sums[what] = old[0] + turns, old[1] + before, old[2] + after
    return Explanation(tuple(Spent(what, *sums[what]) for what in ROWS if what in sums))


def _gists(plan: Plan) -> Iterator[tuple[str, int, int, int]]:
    rows = {"block": "the gist", "digest": "newest results, cut", "pointer": "pointers", "native": "the gist"}
    turns = plan.window.all_turns()
    for job in plan.jobs:
        again = {turn.resource_id for turn in job.again}
        places = [place for run in job.runs for place in range(*run) if turns[place].resource_id not in again]
        yield rows[job.kind.value], len(places), sum(turns[place].tokens or 0 for place in places), job.allowance
    for drop in plan.drops:
        yield "dropped", drop.stop - drop.start, sum(turn.tokens or 0 for turn in turns[drop.start : drop.stop]), 0


def _standing(plan: Plan) -> Iterator[tuple[str, int, int, int]]:
    turns, counter, bared = plan.window.all_turns(), plan.window.counter, frozenset(plan.bared)
    again = {turn.resource_id for job in plan.jobs for turn in job.again}
    gone = {place for place in plan.yielding if turns[place].resource_id not in again}
    bounds = plan.columns.atoms.bounds
    for atom in range(len(plan.columns.kinds)):
        what = _why(plan, atom)
        for place in range(bounds[atom], bounds[atom + 1]):
            if place in gone:
                continue
            turn = turns[place]
            stands = bare(turn, counter) if turn.resource_id in bared else turn
            # Whoever writes the gist may keep valid what is bound behind it.
            behind = plan.first_changed is not None and place >= plan.first_changed and not plan.is_native
            after = unbound(stands, counter).tokens if behind else stands.tokens
            yield what, 1, turn.tokens or 0, after or 0


def _why(plan: Plan, atom: int) -> str:
    """Return why an atom stands, where it does."""
    columns = plan.columns
    turns = columns.atoms.turns_of(atom)
    if atom in columns.asked:
        return "asked for"
    match columns.kinds[atom]:
        case Kind.FIXED:
            kept = any(plan.window.class_of(turn) is ResourceClass.PRESERVED for turn in turns)
            return "preserved" if kept else "the last user turn"
        case Kind.QUESTION:
            return "the last user turn"
        case Kind.NEWEST:
            return "open calls" if columns.is_open else "newest results, whole" if turns[0].tool_calls else "the newest answer"
        case Kind.SUMMARY:
            return "an earlier gist"
        case _:
            return "recent turns" if atom >= columns.tail else "older turns"
