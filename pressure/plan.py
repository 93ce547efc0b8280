"""A plan: a ceiling for every atom and its bill, before any model is called."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain

from attrs import evolve, field, frozen

from polycontext.linearity import LinearityMap
from polycontext.linearity.json_data import FrozenDict
from polycontext.pressure.fidelity import Fidelity
from polycontext.pressure.gist import MIN_GIST_TOKENS, all_source_ids, gist_allowance, outlined
from polycontext.pressure.ladder import Fold, Ladder, collapsed_runs, lasting_pointers, result_allowance, tightened
from polycontext.pressure.reach import Kind
from polycontext.pressure.view import View
from polycontext.window import Atom, ContextWindow, Splice, Turn
from polycontext.window.yielding import unbound


class GistKind(Enum):
    """Say what form a gist takes."""

    BLOCK = "block"
    """One summary turn for a run of atoms."""
    DIGEST = "digest"
    """A tool result cut to its essentials; its call is kept."""
    POINTER = "pointer"
    """A superseded tool result; its call is kept."""
    OUTLINE = "outline"
    """An attachment by name, lines and the names it defines."""
    FOLD = "fold"
    """One summary turn of the next level for adjacent summaries."""

    @property
    def needs_words(self) -> bool:
        """Tell whether a summariser is asked for it."""
        return self not in (GistKind.POINTER, GistKind.OUTLINE)


@frozen
class GistJob:
    """Ask for one gist: it replaces the turns ``start:stop``, stands for `sources`, and may take `allowance` tokens.

    `reads` is what is worth reading of them: no superseded results, and of attachments among many turns the outline.
    """

    kind: GistKind
    start: int
    stop: int
    sources: tuple[Turn, ...]
    reads: tuple[Turn, ...]
    allowance: int
    ledger: LinearityMap = field(eq=False, repr=False)

    @cached_property
    def stands_for(self) -> Sequence[str]:
        """Return the ids of the turns of the log that the gist stands for; they may be many, so they are gathered once."""
        return all_source_ids(self.sources, self.ledger)

    @property
    def source_tokens(self) -> int:
        """Return the tokens of the turns the gist stands for."""
        return sum(turn.tokens or 0 for turn in self.sources)


@frozen
class Plan:
    """Hold a ceiling for every atom of `window`, and the bill (design §3, §6).

    `lowered` names the atoms whose ceiling is below VERBATIM. `bared` are the ids of turns whose parts
    fall beside their words; bound parts fall behind `first_changed` anyway, and from turn `unbound_from` on. Tokens are whole
    windows; `first_changed` is the index of the first turn that changes (what a
    provider's prompt cache still holds ends there), None if nothing does. `reached`
    tells whether `tokens_promised` is within `tokens_wanted`; `floor` is the least that any plan
    for this window promises.

    Law: tokens promised >= tokens achieved by any accepted fulfilment.
    """

    window: ContextWindow = field(eq=False, repr=False)
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

    @property
    def reached(self) -> bool:
        """Tell whether the promise is within what was wanted."""
        return self.tokens_promised <= self.tokens_wanted

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing changes."""
        return self.step == 0

    def ceiling(self, log: Iterable[Atom]) -> View:
        """Return the ceiling over all atoms of `log`."""
        return View({atom.id: self.lowered.get(atom.id, Fidelity.VERBATIM) for atom in log})


def plan_at(ladder: Ladder, step: int, tokens_wanted: int) -> Plan:
    """Return plan number `step` of the ladder's chain."""
    taken = _collapsed(ladder) if ladder.collapses(step) else _taken(ladder, step)
    jobs = sorted(_jobs(ladder, step, taken), key=lambda job: job.start)
    splices = _drop_splices(ladder, taken.drops, jobs)
    bounds, bare_turns = ladder.columns.atoms.bounds, ladder.columns.bare_turns
    bared = [index for atom in taken.bared for index in range(bounds[atom], bounds[atom + 1]) if index in bare_turns]
    unbound_from = _first_bound(ladder) if ladder.collapses(step) else None
    changed = [*(job.start for job in jobs), *(splice.start for splice in splices), *bared]
    changed += [] if unbound_from is None else [unbound_from]
    return Plan(
        window=ladder.window,
        step=step,
        lowered=_lowered(ladder, taken.drops, chain(taken.pointers, *taken.blocks, taken.tail)),
        drops=splices,
        bared=tuple(ladder.window.all_turns()[index].resource_id for index in bared),
        unbound_from=unbound_from,
        jobs=tuple(jobs),
        tokens_wanted=tokens_wanted,
        tokens_before=ladder.tokens[0],
        tokens_promised=ladder.tokens[step],
        floor=ladder.floor,
        first_changed=min(changed, default=None),
    )


def unbinding_plan(window: ContextWindow, index: int) -> Plan:
    """Return the plan by which bound parts fall from turn `index` on, and nothing else changes; it wants no words."""
    saved = sum((turn.tokens or 0) - (unbound(turn, window.counter).tokens or 0) for turn in window.turns_from(index))
    left = window.total_tokens - saved
    return Plan(
        window=window,
        step=1,
        lowered=FrozenDict(),
        drops=(),
        bared=(),
        unbound_from=index,
        jobs=(),
        tokens_wanted=left,
        tokens_before=window.total_tokens,
        tokens_promised=left,
        floor=left,
        first_changed=index,
    )


@frozen
class _Taken:
    """Hold the atoms that a plan touches, rung by rung."""

    drops: list[int]
    bared: list[int]
    pointers: list[int]
    blocks: list[list[int]]
    tail: list[int]


def _taken(ladder: Ladder, step: int) -> _Taken:
    """Return the atoms that the first counts[step] steps touch."""
    left = ladder.counts[step]

    def first_of(steps: list[int]) -> list[int]:
        nonlocal left
        taken, left = steps[: max(left, 0)], left - len(steps)
        return taken

    drops, bared, pointers = first_of(ladder.drops), first_of(ladder.bared), first_of(ladder.pointers)
    blocks: list[list[int]] = []
    for block in ladder.blocks:
        if left > 0:
            blocks.append(block[:left])
        left -= len(block)
    drops, bared = drops + first_of(ladder.tail_drops), bared + first_of(ladder.tail_bared)
    return _Taken(drops, bared, pointers, blocks, first_of(ladder.tail))


def _collapsed(ladder: Ladder) -> _Taken:
    """Return every atom that the last rung touches, and the pointers that it leaves."""
    kinds = ladder.columns.kinds
    drops = [atom for atom, kind in enumerate(kinds) if kind is Kind.DROPPABLE]
    blocks = [[atom for atom in run if kinds[atom] is Kind.REQUIRED] for run in collapsed_runs(ladder.columns)]
    bared = [atom for atom in ladder.columns.bared if kinds[atom] is not Kind.DROPPABLE]
    return _Taken(drops, bared, lasting_pointers(ladder), blocks, [])


def _first_bound(ladder: Ladder) -> int | None:
    """Return the index of the first turn with bound parts."""
    return min(ladder.columns.bound, default=None)


def _lowered(ladder: Ladder, dropped: Sequence[int], touched: Iterable[int]) -> Mapping[str, Fidelity]:
    turns, bounds = ladder.columns.atoms.turns, ladder.columns.atoms.bounds
    lowered = {turns[bounds[atom]].resource_id: Fidelity.GIST for atom in touched}
    lowered.update({turns[bounds[atom]].resource_id: Fidelity.DROPPED for atom in dropped})
    return FrozenDict(lowered)


def _jobs(ladder: Ladder, step: int, taken: _Taken) -> list[GistJob]:
    if step == 0:
        return []
    if ladder.collapses(step):
        gists = [_collapse_job(ladder, run) for run in collapsed_runs(ladder.columns)]
        return gists + [job for atom in taken.pointers for job in _result_jobs(ladder, atom, GistKind.POINTER)]
    in_blocks = set(chain.from_iterable(taken.blocks)) if taken.pointers else set[int]()
    jobs = [_block_job(ladder, block) for block in taken.blocks]
    for atom in taken.pointers:
        if atom not in in_blocks:
            jobs.extend(_result_jobs(ladder, atom, GistKind.POINTER))
    for atom in taken.tail:
        jobs.extend(_lone_jobs(ladder, atom))
    folds = ladder.folds + (ladder.last_folds if ladder.folds_last(step) else [])
    jobs.extend(_fold_job(ladder, fold) for fold in folds)
    halvings = ladder.tightening(step)
    return [evolve(job, allowance=tightened(job.allowance, halvings)) for job in jobs] if halvings else jobs


def _collapse_job(ladder: Ladder, run: list[int]) -> GistJob:
    bounds, sources = ladder.columns.atoms.bounds, _standing(ladder, run)
    reads = tuple(outlined(turn, ladder.window.counter) for turn in sources) if ladder.columns.attachments else sources
    return GistJob(GistKind.BLOCK, bounds[run[0]], bounds[run[-1] + 1], sources, reads, MIN_GIST_TOKENS, ladder.window.linearity)


def _block_job(ladder: Ladder, block: list[int]) -> GistJob:
    atoms, gains = ladder.columns.atoms, ladder.pointer_gains
    start, stop = atoms.bounds[block[0]], atoms.bounds[block[-1] + 1]
    kind = GistKind.OUTLINE if block[0] in ladder.columns.attachments else GistKind.BLOCK
    sources = reads = _standing(ladder, block)
    # A superseded atom weighs what its pointer weighed on the rung before.
    weight = sum(map(atoms.tokens.__getitem__, block))
    if not gains.keys().isdisjoint(block):
        reads = tuple(chain.from_iterable(atoms.turns_of(atom)[: 1 if atom in gains else None] for atom in block))
        weight -= sum(gains.get(atom, 0) for atom in block)
    return GistJob(kind, start, stop, sources, reads, gist_allowance(weight, ladder.cap), ladder.window.linearity)


def _standing(ladder: Ladder, block: list[int]) -> tuple[Turn, ...]:
    """Return the turns of a block, without those of dropped atoms between."""
    turns, bounds = ladder.columns.atoms.turns, ladder.columns.atoms.bounds
    if block[-1] - block[0] == len(block) - 1:
        return tuple(turns[bounds[block[0]] : bounds[block[-1] + 1]])
    if len(turns) == len(bounds) - 1:
        return tuple(map(turns.__getitem__, block))
    return tuple(turn for atom in block for turn in turns[bounds[atom] : bounds[atom + 1]])


def _lone_jobs(ladder: Ladder, atom: int) -> list[GistJob]:
    turns = ladder.columns.atoms.turns_of(atom)
    if len(turns) > 1:
        return _result_jobs(ladder, atom, GistKind.DIGEST)
    return [_block_job(ladder, [atom])]


def _result_jobs(ladder: Ladder, atom: int, kind: GistKind) -> list[GistJob]:
    start = ladder.columns.atoms.bounds[atom]
    if atom in ladder.columns.attachments:
        turn = ladder.columns.atoms.turns[start]
        return [GistJob(kind, start, start + 1, (turn,), (turn,), turn.tokens or 0, ladder.window.linearity)]
    jobs = []
    for offset, turn in enumerate(ladder.columns.atoms.turns_of(atom)[1:], start + 1):
        allowance = result_allowance(turn, ladder.cap)
        least = ladder.pointer_costs[turn.name] if kind is GistKind.POINTER else allowance
        if least < (turn.tokens or 0):
            jobs.append(GistJob(kind, offset, offset + 1, (turn,), (turn,), allowance, ladder.window.linearity))
    return jobs


def _fold_job(ladder: Ladder, fold: Fold) -> GistJob:
    atoms = ladder.columns.atoms
    start, stop = atoms.bounds[fold.start], atoms.bounds[fold.stop]
    sources = tuple(atoms.turns[start:stop])
    return GistJob(GistKind.FOLD, start, stop, sources, sources, fold.allowance, ladder.window.linearity)


def _drop_splices(ladder: Ladder, dropped: Sequence[int], jobs: Sequence[GistJob]) -> tuple[Splice, ...]:
    """Return the removals that no job's range covers already."""
    bounds = ladder.columns.atoms.bounds
    splices: list[Splice] = []
    covering = iter(jobs)
    job = next(covering, None)
    for atom in sorted(dropped):
        start, stop = bounds[atom], bounds[atom + 1]
        while job is not None and job.stop <= start:
            job = next(covering, None)
        if job is None or start < job.start:
            splices.append(Splice(start, stop))
    return tuple(splices)
