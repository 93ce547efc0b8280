"""What a plan spends its tokens on: who stands and why, what stands for the rest, and what is gone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.window.part_removal import bare, unbound

from .reach import Kind

if TYPE_CHECKING:
    from .plan import Plan

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


def explain(plan: "Plan") -> Explanation:
    """Return what each token of the view that `plan` promises is spent on."""
    sums: dict[str, tuple[int, int, int]] = {}
    for what, turns, before, after in (*_standing(plan), *_gists(plan)):
        old = sums.get(what, (0, 0, 0))
        sums[what] = old[0] + turns, old[1] + before, old[2] + after
    return Explanation(tuple(Spent(what, *sums[what]) for what in ROWS if what in sums))


def _gists(plan: "Plan") -> Iterator[tuple[str, int, int, int]]:
    rows = {"block": "the gist", "digest": "newest results, cut", "pointer": "pointers", "native": "the gist"}
    turns = plan.window.all_turns()
    for job in plan.jobs:
        again = {turn.resource_id for turn in job.again}
        places = [place for run in job.runs for place in range(*run) if turns[place].resource_id not in again]
        yield rows[job.kind.value], len(places), sum(turns[place].tokens or 0 for place in places), job.allowance
    for drop in plan.drops:
        yield "dropped", drop.stop - drop.start, sum(turn.tokens or 0 for turn in turns[drop.start : drop.stop]), 0


def _standing(plan: "Plan") -> Iterator[tuple[str, int, int, int]]:
    runs = [*(run for job in plan.jobs for run in job.runs), *((drop.start, drop.stop) for drop in plan.drops)]
    turns, counter, bared = plan.window.all_turns(), plan.window.counter, frozenset(plan.bared)
    again = {turn.resource_id for job in plan.jobs for turn in job.again}
    gone = {place for run in runs for place in range(*run) if turns[place].resource_id not in again}
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


def _why(plan: "Plan", atom: int) -> str:
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
