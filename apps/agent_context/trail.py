"""The audit trail: what it keeps, and how it leads from the beginning to the present."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import FrozenDict

from .artifacts import Swap, stub_finder, swap_values
from .change_codec import CONTEXT
from .change_tree import Parts, map_values
from .context_patch import ContextPatch
from .errors import TrailError
from .limits import KIB, is_size, measure
from .record_base import with_changes
from .records import AgentContext, AgentRun, AuditContext, ContextDiff, ExternalContent

_SHARE_OF_RUNS = 8
FAILED = "failed"


@frozen(kw_only=True)
class AuditPolicy:
    """Limits of the trail: successful runs, failed runs, single diffs, and bytes of JSON in total.

    The oldest runs are dropped first. Successful and failed runs have separate limits, so failures,
    however many, displace no other runs. Older diffs are joined into one, the first of the trail,
    so that none of their changes are lost. If that one is too large as well, the trail begins
    later.
    """

    keep_runs: int = field(default=500, validator=is_size)
    keep_failed: int = field(default=100, validator=is_size)
    keep_diffs: int = field(default=100, validator=is_size)
    max_bytes: int = field(default=1024 * KIB, validator=is_size)

    @property
    def bytes_of_runs(self) -> int:
        """Return the bytes for successful runs, which are also those for failed runs."""
        return self.max_bytes // _SHARE_OF_RUNS

    @property
    def bytes_of_diffs(self) -> int:
        """Return the bytes that remain for diffs."""
        return self.max_bytes - 2 * self.bytes_of_runs


def trails(
    audit: AuditContext, run: AgentRun, policy: AuditPolicy, most: int
) -> Iterator[AuditContext]:
    """Yield trails with `run` recorded, from the fullest that the policy allows to the leanest.

    No array is longer than `most`. If there is no room, failed runs are dropped first, then diffs
    are joined or dropped, then other runs. A failed run that wrote nothing displaces only failed
    runs.
    """
    runs = (*audit.agent_runs, run)
    # If all runs fit within the limits of one kind, they fit within those of both.
    if (
        len(runs) > min(policy.keep_runs, policy.keep_failed, most // 2)
        or sum(measure(each).size for each in runs) >= policy.bytes_of_runs
    ):
        runs = _rings(runs, policy, most)
    others = tuple(old for old in runs if old.status != FAILED or old is run)
    if run.status == FAILED and not run.keys_written:
        yield from (with_changes(audit, agent_runs=retained) for retained in (runs, others))
        return
    for number, shorter in enumerate(_shorten(audit.diffs, policy, most)):
        if number == 0:
            yield with_changes(audit, agent_runs=runs, diffs=shorter)
        yield with_changes(audit, agent_runs=others, diffs=shorter)
    yield with_changes(audit, agent_runs=runs[-1:], diffs=audit.diffs[-1:])


def _rings(runs: tuple[AgentRun, ...], policy: AuditPolicy, most: int) -> tuple[AgentRun, ...]:
    share = policy.bytes_of_runs
    failed = _newest(
        (run for run in reversed(runs) if run.status == FAILED),
        min(policy.keep_failed, most // 2),
        share,
    )
    others = _newest(
        (run for run in reversed(runs) if run.status != FAILED),
        min(policy.keep_runs, most - len(failed)),
        share,
    )
    return tuple(run for run in runs if id(run) in failed | others)


def _newest(runs: Iterable[AgentRun], most: int, share: int) -> set[int]:
    """Return the `id()` of each of the first `runs`, newest first, that fit both limits."""
    retained, total = set[int](), 0
    for run in runs:
        total += measure(run).size
        if len(retained) == most or (retained and total > share):
            break
        retained.add(id(run))
    return retained


def _shorten(
    diffs: tuple[ContextDiff, ...], policy: AuditPolicy, most: int
) -> Iterator[tuple[ContextDiff, ...]]:
    """Yield trails of diffs, joining more of them each time; the last has the newest only."""
    keep = min(policy.keep_diffs, most - 1, len(diffs))
    while True:
        # Joining saves space only where diffs undo or repeat each other, so more are joined until
        # they fit.
        found = roll_up(diffs, keep)
        if sum(measure(record).size for record in found) <= policy.bytes_of_diffs:
            yield found
        if keep == 0:
            break
        keep //= 2
    yield diffs[-1:]


def replay(base: AgentContext, diffs: Iterable[ContextDiff]) -> AgentContext:
    """Return `base` after the recorded changes.

    Its own trail stays unchanged, and so does its performance, which is measured and not written.

    Law: ``replay(origin(c), c.audit.diffs)`` is `c`, except for the trail and the performance.

    Raises:
        TrailError: a diff cannot be read, or does not start where the one before ends.
    """
    return _apply_patches(enumerate(_patches(diffs)), base)


def origin(context: AgentContext) -> AgentContext:
    """Return the context before everything that its trail records, without diffs.

    Raises:
        TrailError: the trail does not lead to this context.
    """
    back = [(index, patch.invert()) for index, patch in enumerate(_patches(context.audit.diffs))]
    # Applied backwards, each diff is checked against exactly the state that it led to.
    return _apply_patches(
        reversed(back), with_changes(context, audit=with_changes(context.audit, diffs=()))
    )


def roll_up(diffs: tuple[ContextDiff, ...], keep: int) -> tuple[ContextDiff, ...]:
    """Return diffs that lead to the same context, with all but the last `keep` joined."""
    old = diffs[: len(diffs) - keep] if len(diffs) > keep else ()
    if len(old) <= 1:
        return diffs
    return (reduce(ContextPatch.then, _patches(old)).record(), *diffs[len(old) :])


def _patches(diffs: Iterable[ContextDiff]) -> Iterable[ContextPatch]:
    for index, record in enumerate(diffs):
        try:
            yield _drop_measures(ContextPatch.of(record))
        except InvalidDataError as error:
            raise TrailError(f"$.audit.diffs[{index}]", f"cannot be read: {error}") from error


def _drop_measures(patch: ContextPatch) -> ContextPatch:
    """Return the patch without measures of the store, which a foreign trail may contain."""
    changes = dict(patch.changes.changes)
    diagnostics = changes.pop("diagnostics", None)
    if not isinstance(diagnostics, Parts) or "performance" not in diagnostics.changes:
        return patch
    written = {key: change for key, change in diagnostics.changes.items() if key != "performance"}
    if written:
        changes["diagnostics"] = Parts(FrozenDict(written))
    return evolve(patch, changes=Parts(FrozenDict(changes)))


def _apply_patches(
    patches: Iterable[tuple[int, ContextPatch]], context: AgentContext
) -> AgentContext:
    for index, patch in patches:
        try:
            context = patch.apply(context)
        except InvalidDataError as error:
            raise TrailError(f"$.audit.diffs[{index}]", f"does not fit: {error}") from error
    return context


def trail_values(diffs: Iterable[ContextDiff], swap: Swap) -> None:
    """Call `swap` with every JSON value in the diffs, before and after each change."""
    for patch in _patches(diffs):
        map_values(partial(swap_values, swap), CONTEXT, patch.changes)


def trail_with_stubs(
    diffs: tuple[ContextDiff, ...], stubs: Mapping[str, ExternalContent]
) -> tuple[ContextDiff, ...]:
    """Return the diffs with stubs in place of all values that have one.

    They lead from one context with these stubs to another.
    """
    if not stubs:
        return diffs
    least, find = min(stub.size for stub in stubs.values()), stub_finder(stubs)
    return tuple(
        record if measure(record).size < least else _place_stubs(record, find) for record in diffs
    )


def _place_stubs(record: ContextDiff, find: Swap) -> ContextDiff:
    patch = ContextPatch.of(record)
    changes = map_values(partial(swap_values, find), CONTEXT, patch.changes)
    assert isinstance(changes, Parts)
    return evolve(patch, changes=changes).record()
