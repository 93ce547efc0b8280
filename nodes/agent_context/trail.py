"""The audit trail: what it keeps, and that it leads from the beginning to the present."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, assert_never

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import FrozenDict

from .array_changes import Items, Run
from .artifacts import Swap, stub_finder, swap_values
from .change_tree import Entries, Fields, Patch, Replacement, entry_kind, field_kind, map_changes
from .context_patch import ContextPatch
from .errors import TrailError
from .json_text import ABSENT
from .kinds import Kind, kind_of
from .limits import KIB, is_size, measure
from .record_base import with_changes
from .records import AgentContext, AgentRun, AuditContext, ContextDiff, ExternalContent

_SHARE_OF_RUNS = 8
FAILED = "failed"


@frozen(kw_only=True)
class AuditPolicy:
    """Say how much the trail keeps: runs that ended well, runs that failed, single diffs, and bytes of JSON in all.

    Older runs leave, each kind from a ring of its own: refusals, however many, put out no other
    run. Older diffs are joined into one, the first of the trail, so that nothing that they changed
    is lost; if that one is too large as well, the trail begins later.
    """

    keep_runs: int = field(default=500, validator=is_size)
    keep_failed: int = field(default=100, validator=is_size)
    keep_diffs: int = field(default=100, validator=is_size)
    max_bytes: int = field(default=1024 * KIB, validator=is_size)

    @property
    def bytes_of_runs(self) -> int:
        """Return the share of each ring of runs."""
        return self.max_bytes // _SHARE_OF_RUNS

    @property
    def bytes_of_diffs(self) -> int:
        """Return what is left for the diffs."""
        return self.max_bytes - 2 * self.bytes_of_runs


def trails(
    audit: AuditContext, run: AgentRun, policy: AuditPolicy, most: int
) -> Iterator[AuditContext]:
    """Yield trails with a run on record, from the fullest that the policy allows to the leanest.

    No array is longer than `most`.

    Where there is no room refusals yield first, then diffs are joined or leave, then runs. A run
    that failed puts out failed ones alone.
    """
    runs = (*audit.agent_runs, run)
    size, _ = measure(audit).parts.get("agent_runs", (0, 0))
    # Within the bounds of either ring all together are within those of both.
    if (
        len(runs) > min(policy.keep_runs, policy.keep_failed, most // 2)
        or size + measure(run).size >= policy.bytes_of_runs
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
    """Return the identities of the first of `runs`, the newest first, that are within both bounds."""
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
    """Yield trails of diffs, each with more of them joined; the last has but the newest."""
    keep = min(policy.keep_diffs, most - 1, len(diffs))
    while True:
        # Joined diffs are smaller only where they undo or repeat each other; so ever more are
        # joined until they fit.
        found = roll_up(diffs, keep)
        if sum(measure(record).size for record in found) <= policy.bytes_of_diffs:
            yield found
        if keep == 0:
            break
        keep //= 2
    yield diffs[-1:]


def replay(base: AgentContext, diffs: Iterable[ContextDiff]) -> AgentContext:
    """Return what the recorded changes make of `base`.

    Its own trail stays as it is, and its performance, which is measured and not written.

    Law: ``replay(origin(c), c.audit.diffs)`` is `c`, but for the trail and the performance.

    Raises:
        TrailError: a diff cannot be read, or does not start where the one before ends.
    """
    return _apply_patches(enumerate(_patches(diffs)), base)


def origin(context: AgentContext) -> AgentContext:
    """Return the context as it was before all that its trail records, with no diffs.

    Raises:
        TrailError: the trail does not lead to this context.
    """
    back = [(index, patch.invert()) for index, patch in enumerate(_patches(context.audit.diffs))]
    # Backwards, each diff meets exactly what it left behind, and is checked against it.
    return _apply_patches(
        reversed(back), with_changes(context, audit=with_changes(context.audit, diffs=()))
    )


def roll_up(diffs: tuple[ContextDiff, ...], keep: int) -> tuple[ContextDiff, ...]:
    """Return a trail that leads to the same context, in which all but the last `keep` diffs are one."""
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
    """Return the patch without what a store measures: a trail that was written elsewhere may have it."""
    changes = dict(patch.changes.changes)
    diagnostics = changes.pop("diagnostics", None)
    if not isinstance(diagnostics, Fields) or "performance" not in diagnostics.changes:
        return patch
    written = {key: change for key, change in diagnostics.changes.items() if key != "performance"}
    if written:
        changes["diagnostics"] = Fields(FrozenDict(written))
    return evolve(patch, changes=Fields(FrozenDict(changes)))


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
    """Show `swap` every JSON value that the diffs hold, as it was before or after one."""
    for patch in _patches(diffs):
        _swap_patch(_CONTEXT, patch.changes, swap)


def trail_with_stubs(
    diffs: tuple[ContextDiff, ...], stubs: Mapping[str, ExternalContent]
) -> tuple[ContextDiff, ...]:
    """Return the diffs with stubs for all values that have one.

    They lead from a context with these stubs to another.
    """
    if not stubs:
        return diffs
    least, find = min(stub.size for stub in stubs.values()), stub_finder(stubs)
    return tuple(
        record if measure(record).size < least else _place_stubs(record, find) for record in diffs
    )


def _place_stubs(record: ContextDiff, find: Swap) -> ContextDiff:
    patch = ContextPatch.of(record)
    changes = _swap_patch(_CONTEXT, patch.changes, find)
    assert isinstance(changes, Fields)
    return evolve(patch, changes=changes).record()


_CONTEXT = kind_of(AgentContext)


def _swap_patch(kind: Kind, patch: Patch, swap: Swap) -> Patch:
    def swap_side(value: Any) -> Any:
        return value if value is ABSENT else swap_values(kind, value, swap)

    match patch:
        case Replacement(old, new):
            return Replacement(swap_side(old), swap_side(new))
        case Items(length, runs):
            swapped = (Run(run.at, swap_side(run.removed), swap_side(run.added)) for run in runs)
            return Items(length, tuple(swapped))
        case Entries(size, changes):
            item = entry_kind(kind)
            return Entries(
                size, map_changes(lambda _, change: _swap_patch(item, change, swap), changes)
            )
        case Fields(changes):
            record = kind.record
            assert record is not None
            return Fields(
                map_changes(
                    lambda key, change: _swap_patch(field_kind(record, key), change, swap), changes
                )
            )
        case _:
            assert_never(patch)
