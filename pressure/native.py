"""Native compaction: a summary that the provider writes itself replaces a prefix of the view.

See docs/native-compaction.md.

The provider returns a block that only it can read. The block becomes a gist at the start of the
view: the provider is sent the block, and every other one its extractive twin, so that a
conversation can change providers. Turns that must not be compressed are repeated after the last
part that is bound to the prefix, because a provider that writes the summary guarantees that its
thinking after the prefix stays valid.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise, takewhile
from typing import Any

import orjson
from attrs import evolve

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.base.json_data import FrozenDict
from polycontext.linearity import ResourceClass
from polycontext.window import (
    ContextWindow,
    Part,
    PartKind,
    Role,
    Splice,
    TokenCounter,
    Turn,
    count_turn,
)
from polycontext.window.tokens.counter import count_part

from .fulfilment import Gist, NativeGist, Reading, Rejection
from .gist import (
    NO_TEXT,
    GistJob,
    GistKind,
    least_digest,
    least_summary,
    summary_text,
    summary_turn,
)
from .ladder import ladder_of
from .plan import Plan, plan_at
from .reach import Columns, Kind, Reach
from .summariser_protocol import default_summariser
from .view import Edit, Fidelity

TAIL_SHARE = 0.5
"""The share of the room beside fixed turns that the kept turns get; the gist gets the rest."""

TWIN_TOKENS, TWIN_SHARE = 1_000, 0.5
"""The tokens that a twin may have if the block is shorter, and the largest share of the gist's
allowance that it may take."""

_SPARE = (0, 4, 8, 16, 32)


# --- planning ---------------------------------------------------------------------------------


def prefix_plan(window: ContextWindow, tokens: int, reach: Reach | None = None) -> Plan:
    """Return the plan that replaces all turns before a cut with one gist; O(n).

    At most `tokens` are left, and the cut leaves the longest tail that fits. It never splits an
    atom, and the roles of the turns before and after it differ. System turns at the start stay.
    PRESERVED turns before the cut, turns that state rules and the last user turn are repeated. The
    plan is empty if nothing has to be compressed, or nothing can be.

    Laws: those of every plan; the tail and the repeated turns are byte-identical.
    """
    ladder = ladder_of(window, reach or Reach(), _stating(window))
    nothing = plan_at(ladder, 0, tokens)
    if window.total_tokens <= tokens:
        return nothing
    found = _best(window, ladder.columns, tokens)
    if found is None:
        return nothing
    prefix, stands, allowance = found
    return _cut(nothing, prefix, ladder.columns.of_kind(prefix, Kind.FIXED), stands, allowance)


def cutting_plan(window: ContextWindow, places: Sequence[int]) -> Plan:
    """Return the plan that cuts the results at `places` down to a mark that says so."""
    turns, ladder = window.all_turns(), ladder_of(window, Reach())
    nothing, columns = plan_at(ladder, 0, window.total_tokens), ladder.columns
    jobs = []
    for place in places:
        turn, least = turns[place], least_digest(turns[place], window.counter)
        is_fixed = columns.kinds[bisect_right(columns.atoms.bounds, place) - 1] is Kind.FIXED
        if not turn.sources and not is_fixed and least < (turn.tokens or 0):
            jobs.append(GistJob.of_turn(GistKind.DIGEST, place, turn, least, window.linearity))
    if not jobs:
        return nothing
    left = window.total_tokens - sum(job.source_tokens - job.allowance for job in jobs)
    return evolve(
        nothing,
        step=1,
        jobs=tuple(jobs),
        tokens_promised=left,
        floor=min(nothing.floor, left),
        first_changed=jobs[0].start,
    )


def answered_plan(window: ContextWindow, stop: int) -> Plan:
    """Return the plan for a summary that the provider made while it answered.

    The summary is of all turns before turn `stop`. The plan is empty if nothing is compressed. It
    may take nearly as many tokens as the turns that it replaces. PRESERVED turns are repeated, and
    so is the last user turn unless it is answered.

    Raises:
        InvalidOptionError: no atom begins at `stop`.
    """
    stating = _stating(window)
    ladder = ladder_of(window, Reach(), stating)
    columns, turns = ladder.columns, window.all_turns()
    nothing = plan_at(ladder, 0, window.total_tokens)
    if stop not in columns.atoms.bounds:
        raise InvalidOptionError("stop", stop, f"where an atom begins: {columns.atoms.bounds}")
    first = _first(window, columns)
    prefix = range(first, columns.atoms.bounds.index(stop))
    kept = columns.of_kind(prefix, Kind.FIXED)
    if turns and turns[-1].role is Role.ASSISTANT and not turns[-1].tool_calls:
        turns_of, preserved = columns.atoms.turns_of, ResourceClass.PRESERVED
        kept = [
            atom
            for atom in kept
            if atom in stating or max(map(window.class_of, turns_of(atom))) is preserved
        ]
    sizes = _sizes(window, columns)
    yields = sum(sizes[atom] for atom in prefix) - sum(sizes[atom] for atom in kept)
    if yields <= least_summary(window.counter):
        return nothing
    return _cut(nothing, prefix, kept, sum(sizes) - yields, yields - 1)


def _stating(window: ContextWindow) -> set[int]:
    """Return the atoms that state rules, which a provider's summary may leave out."""
    ids, atoms = {rule.turn_id for rule in window.rules.standing}, window.atom_columns().units()
    starts = enumerate(atoms.bounds[:-1] if ids else ())
    return {atom for atom, start in starts if atoms.turns[start].resource_id in ids}


def _best(window: ContextWindow, columns: Columns, tokens: int) -> tuple[range, int, int] | None:
    """Return the atoms of the prefix, the tokens beside its gist, and the gist's allowance."""
    turns, bounds, sizes = window.all_turns(), columns.atoms.bounds, _sizes(window, columns)
    first = _first(window, columns)
    yields = [
        0 if atom < first or columns.kinds[atom] is Kind.FIXED else size
        for atom, size in enumerate(sizes)
    ]
    yielded = list(accumulate(yields, initial=0))
    least = least_summary(window.counter)
    cuts = [
        atom
        for atom in range(first + 1, len(sizes))
        if yielded[atom] > least and _may_cut(turns, bounds[atom])
    ]
    if not cuts:
        return None
    total = sum(sizes)
    room = max(least, int((1 - TAIL_SHARE) * max(0, tokens - (total - sum(yields)))))
    last = next((atom for atom in cuts if total - yielded[atom] + room <= tokens), None)
    # The provider decides how long its summary is; saving half of the prefix is worthwhile.
    most = 0 if last is not None else max(least, yielded[cuts[-1]] // 2)
    last = cuts[-1] if last is None else last
    stands = total - yielded[last]
    return range(first, last), stands, min(yielded[last] - 1, max(most, tokens - stands))


def _sizes(window: ContextWindow, columns: Columns) -> list[int]:
    """Return the tokens of each atom, including all of its parts."""
    sizes = [turn.tokens or 0 for turn in window.all_turns()]
    return [sum(sizes[start:stop]) for start, stop in pairwise(columns.atoms.bounds)]


def _first(window: ContextWindow, columns: Columns) -> int:
    """Return the first atom that is not a system turn."""
    turns, starts = window.all_turns(), columns.atoms.bounds[:-1]
    return sum(1 for _ in takewhile(lambda start: turns[start].role is Role.SYSTEM, starts))


def _may_cut(turns: tuple[Turn, ...], index: int) -> bool:
    """Return whether the messages before turn `index` stay the same without those after it.

    The turn must also have another role than the one before it.
    """
    before, after = turns[index - 1], turns[index]
    if before.role is Role.ASSISTANT:
        # Vendors refuse white space at the end of the last message, and removing it would change
        # the prefix.
        return after.role is Role.USER and bool(before.text) and not before.text[-1].isspace()
    return before.role in (Role.USER, Role.TOOL) and after.role is Role.ASSISTANT


def _cut(nothing: Plan, prefix: range, fixed: Sequence[int], stands: int, allowance: int) -> Plan:
    """Return the plan that compresses the atoms of `prefix` and repeats those that are `fixed`."""
    window = nothing.window
    turns, bounds = window.all_turns(), window.atom_columns().units().bounds
    start, stop = bounds[prefix.start], bounds[prefix.stop]
    again = tuple(turn for atom in fixed for turn in turns[bounds[atom] : bounds[atom + 1]])
    sources, stays = turns[start:stop], {turn.resource_id for turn in again}
    reads = tuple(turn for turn in sources if turn.resource_id not in stays)
    kept, ledger = set(fixed), window.linearity
    names = (turns[bounds[atom]].resource_id for atom in prefix if atom not in kept)
    job = GistJob(GistKind.NATIVE, ((start, stop),), sources, reads, allowance, ledger, again=again)
    return evolve(
        nothing,
        step=1,
        lowered=FrozenDict(dict.fromkeys(names, Fidelity.GIST)),
        jobs=(job,),
        tokens_promised=stands + allowance,
        floor=min(nothing.floor, stands + allowance),
        first_changed=start,
    )


def prefix_of(plan: Plan) -> tuple[Turn, ...]:
    """Return the turns that a provider is sent to summarise: all before the cut, with system turns.

    There are none if the plan compresses nothing.
    """
    stop = plan.jobs[0].runs[-1][1] if plan.is_native else 0
    return plan.window.all_turns()[:stop]


# --- fulfilling ---------------------------------------------------------------------------------


def with_twin(plan: Plan, gist: NativeGist, reading: Reading | None = None) -> NativeGist:
    """Return `gist` with a twin: the text for all other providers.

    The text is chosen from the turns that are compressed and, with `reading`, from all that were
    compressed before.

    Raises:
        InvalidDataError, ValueError: a block is not a JSON object with a type.
    """
    (job,), counter = plan.jobs, plan.window.counter
    bare = _bare(job, gist, job.sources[0].resource_id, counter)
    room = _room(job, count_turn(counter, bare)) - count_turn(counter, evolve(bare, parts=()))
    summariser: Any = default_summariser()
    if reading:
        candidates = reading(summariser, evolve(job, sources=job.reads))
    else:
        candidates = summariser.read(job.reads, counter=counter)
    return evolve(gist, twin=summariser.write(candidates, room, counter=counter))


def native_gist(
    job: GistJob, offer: object, failure: str | None, resource_id: str, counter: TokenCounter
) -> Gist:
    """Return the gist of a job for a provider, or one without a turn if the offer is invalid.

    A valid offer has blocks that are JSON objects, has fewer tokens than its sources and is within
    the allowance. Otherwise the sources stay and nothing changes.
    """
    made = failure or _check(job, offer, resource_id, counter)
    if isinstance(made, Turn):
        assert isinstance(offer, NativeGist)
        return Gist(made, keeps_bound=(offer.provider,) if offer.keeps_bound else ())
    return Gist(None, Rejection(tuple(turn.resource_id for turn in job.reads), made))


def _check(job: GistJob, offer: object, resource_id: str, counter: TokenCounter) -> Turn | str:
    if not isinstance(offer, NativeGist):
        return (
            "no provider was asked for its summary"
            if offer is None
            else f"the summary is {type(offer).__name__}, not a provider's own"
        )
    if not offer.blocks:
        return "the summary is empty"
    try:
        bare = _bare(job, offer, resource_id, counter)
    except ValueError as error:
        return f"the summary cannot be stored: {error}"
    taken = count_turn(counter, bare)
    if taken > job.allowance or taken >= job.source_tokens:
        return (
            f"the summary takes {taken} tokens, its allowance is {job.allowance}, its sources "
            f"take {job.source_tokens}"
        )
    return _fitting(job, offer, bare, _room(job, taken), counter)


def _bare(job: GistJob, gist: NativeGist, resource_id: str, counter: TokenCounter) -> Turn:
    """Return the gist turn around the blocks, without a text."""
    parts = tuple(_part(gist, number, counter) for number in range(len(gist.blocks)))
    return evolve(
        summary_turn(summary_text(""), job.sources, job.stands_for, resource_id), parts=parts
    )


def _room(job: GistJob, taken: int) -> int:
    """Return the tokens for a gist with its twin: those of its blocks, or more if few."""
    return max(taken, min(TWIN_TOKENS, int(TWIN_SHARE * job.allowance)))


def _part(offer: NativeGist, number: int, counter: TokenCounter) -> Part:
    data = offer.blocks[number]
    block = orjson.loads(data)
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or not kind:
        raise InvalidDataError(
            f"blocks[{number}]", f"{data!r:.60} is not a block", "a JSON object with a type"
        )
    part = Part(offer.provider, data, PartKind.NATIVE)
    told = offer.tokens if number == len(offer.blocks) - 1 else None
    return evolve(part, tokens=count_part(counter, part) if told is None else told)


def _fitting(job: GistJob, offer: NativeGist, bare: Turn, room: int, counter: TokenCounter) -> Turn:
    """Return the gist with as much of its twin as fits, or the shortest text if nothing does."""
    frame = count_turn(counter, evolve(bare, parts=()))
    for spare in _SPARE:
        body = _shortened(job, offer.twin, room - frame - spare, counter)
        made = evolve(bare, content=summary_text(body.strip() or NO_TEXT))
        if count_turn(counter, made) <= max(room, count_turn(counter, bare)):
            break
    else:
        made = evolve(bare, content=summary_text(NO_TEXT))
    return made.with_tokens(count_turn(counter, made))


def _shortened(job: GistJob, twin: str | None, room: int, counter: TokenCounter) -> str:
    """Return the twin in `room` tokens, or an extract of it or of the turns if it does not fit."""
    if room <= 0:
        return ""
    if twin is not None and counter.count(twin) <= room:
        return twin
    ids = [turn.resource_id for turn in job.sources]
    told = [summary_turn(summary_text(twin), job.sources, ids, "twin")] if twin else job.reads
    return default_summariser().summarise(told, room, counter=counter)


# --- applying ---------------------------------------------------------------------------------


def prefix_edit(window: ContextWindow, plan: Plan, gist: Gist) -> Edit:
    """Return the edit of a native gist; it is empty if there is no gist.

    `window` is the plan's window or has grown from it.

    Repeated turns go after the last part that the provider keeps valid, or directly after the gist
    if there is none. If that part is in an open call, they go before the call, and the part is
    removed.
    """
    (job,) = plan.jobs
    if gist.turn is None:
        return Edit()
    start, stop = job.runs[0]
    edit = Edit((Splice(start, stop, (gist.turn,)),), keeps_bound=gist.keeps_bound)
    if not job.again:
        return edit
    place, open_from = _behind_bound(window, stop, gist.keeps_bound), first_open(window)
    unbound_from = None
    if open_from is not None and place > open_from:
        place = unbound_from = open_from
    return evolve(
        edit,
        again=tuple(turn.resource_id for turn in job.again),
        again_at=place,
        unbound_from=unbound_from,
    )


def _behind_bound(window: ContextWindow, stop: int, providers: tuple[str, ...]) -> int:
    """Return the index after the last atom from turn `stop` on with a bound part of `providers`."""
    turns, place = window.all_turns(), stop
    for index in range(stop, len(turns)):
        if any(part.is_bound and part.provider in providers for part in turns[index].parts):
            place = index + 1
    while stop < place < len(turns) and turns[place].role is Role.TOOL:
        place += 1
    return place


def first_open(window: ContextWindow) -> int | None:
    """Return the index of the turn whose calls are open, or None."""
    if not window.open_calls:
        return None
    turns = window.all_turns()
    return next(index for index in range(len(turns) - 1, -1, -1) if turns[index].tool_calls)
