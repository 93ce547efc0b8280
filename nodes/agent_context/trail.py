"""The audit trail: what it keeps, and that it leads from the beginning to the present."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from attrs import evolve, field, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import FrozenDict
from polycontext.nodes.agent_context.array_changes import Items, Run
from polycontext.nodes.agent_context.artifacts import stubbed
from polycontext.nodes.agent_context.change_tree import Fields
from polycontext.nodes.agent_context.context import AgentContext
from polycontext.nodes.agent_context.context_patch import ContextPatch
from polycontext.nodes.agent_context.errors import TrailError
from polycontext.nodes.agent_context.limits import is_size
from polycontext.nodes.agent_context.record_base import changed
from polycontext.nodes.agent_context.records import Artifact, ContextDiff, ExternalContent


@frozen(kw_only=True)
class AuditPolicy:
    """Say how many runs, and how many single diffs, the trail keeps.

    Older runs leave. Older diffs are joined into one, the first of the trail, so nothing that they changed is lost.
    """

    keep_runs: int = field(default=500, validator=is_size)
    keep_diffs: int = field(default=100, validator=is_size)


def replay(base: AgentContext, diffs: Iterable[ContextDiff]) -> AgentContext:
    """Return what the recorded changes make of `base`; its own trail stays as it is.

    Law: ``replay(origin(c), c.audit.diffs)`` is `c`, but for the trail.

    Raises:
        TrailError: a diff cannot be read, or does not start where the one before ends.
    """
    return _stepped(enumerate(_patches(diffs)), base)


def origin(context: AgentContext) -> AgentContext:
    """Return the context as it was before all that its trail records, with no diffs.

    Raises:
        TrailError: the trail does not lead to this context.
    """
    back = [(index, patch.invert()) for index, patch in enumerate(_patches(context.audit.diffs))]
    # Backwards, each diff meets exactly what it left behind, and is checked against it.
    return _stepped(reversed(back), changed(context, audit=changed(context.audit, diffs=())))


def rolled_up(diffs: tuple[ContextDiff, ...], keep: int) -> tuple[ContextDiff, ...]:
    """Return a trail that leads to the same context, in which all but the last `keep` diffs are one."""
    old = diffs[: len(diffs) - keep] if len(diffs) > keep else ()
    if len(old) < 2:  # noqa: PLR2004  one diff needs no other to be one
        return diffs
    return (reduce(ContextPatch.then, _patches(old)).record(), *diffs[len(old) :])


def _patches(diffs: Iterable[ContextDiff]) -> Iterable[ContextPatch]:
    for index, record in enumerate(diffs):
        try:
            yield ContextPatch.of(record)
        except InvalidDataError as error:
            raise TrailError(f"$.audit.diffs[{index}]", f"cannot be read: {error}") from error


def _stepped(patches: Iterable[tuple[int, ContextPatch]], context: AgentContext) -> AgentContext:
    for index, patch in patches:
        try:
            context = patch.apply(context)
        except InvalidDataError as error:
            raise TrailError(f"$.audit.diffs[{index}]", f"does not fit: {error}") from error
    return context


def trail_artifacts(diffs: Iterable[ContextDiff]) -> Iterator[Artifact]:
    """Yield every artifact that the diffs hold, as it was before or after one."""
    for patch in _patches(diffs):
        for run in _artifact_runs(patch):
            yield from (*run.removed, *run.added)


def trail_with_stubs(diffs: Iterable[ContextDiff], stubs: Mapping[str, ExternalContent]) -> tuple[ContextDiff, ...]:
    """Return the diffs with stubs for all content that has one; they lead from a context with these stubs to another."""
    return tuple(_with_stubs(record, patch, stubs) for record, patch in zip(diffs, _patches(diffs), strict=True))


def _artifact_runs(patch: ContextPatch) -> tuple[Run, ...]:
    retrieval = patch.changes.changes.get("retrieval")
    items = retrieval.changes.get("artifacts") if isinstance(retrieval, Fields) else None
    return items.runs if isinstance(items, Items) else ()


def _with_stubs(record: ContextDiff, patch: ContextPatch, stubs: Mapping[str, ExternalContent]) -> ContextDiff:
    runs = tuple(
        Run(run.at, *(tuple(stubbed(artifact, stubs) for artifact in side) for side in (run.removed, run.added)))
        for run in _artifact_runs(patch)
    )
    if not runs:
        return record
    # There are runs, so the patch has the very path.
    changes: Any = patch.changes.changes
    artifacts = evolve(changes["retrieval"].changes["artifacts"], runs=runs)
    retrieval = Fields(FrozenDict({**changes["retrieval"].changes, "artifacts": artifacts}))
    return evolve(patch, changes=Fields(FrozenDict({**changes, "retrieval": retrieval}))).record()
