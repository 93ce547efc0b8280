"""The store of a context that agents share: every write is guarded, limited and recorded."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import RLock
from typing import Any

from polycontext.base import InvalidOptionError, PolycontextError

from .artifacts import (
    ArtifactExternalizer,
    large_values,
    retrieve_artifact,
    retrieve_value,
    store_contents,
    swap_values,
    with_stubs,
)
from .consistency import diff_fixes, refuse_new_faults
from .context_patch import ContextPatch, diff
from .errors import ContextSizeError
from .kinds import kind_of
from .limits import ContextSizeChecker, large_artifacts, measure
from .merges import merge
from .metrics import ModelCall, with_calls, with_run
from .record_base import with_changes
from .records import (
    AgentContext,
    AgentRun,
    Artifact,
    AuditContext,
    ContextDiff,
    ExternalContent,
    ValidationReport,
    utc_now,
)
from .trail import FAILED, AuditPolicy, origin, replay, trail_values, trail_with_stubs, trails
from .validator import LONGEST_NAME, ContextValidator, agent_name, extend_lists

_LONGEST_ERROR = 500
_MILLISECOND = timedelta(milliseconds=1)
_MEASURED = "diagnostics.performance"
_PLACE = "a place for artifacts, such as ObjectStoreExternalizer.open(folder)"


class AgentContextRun:
    """A run of one agent; its writes reach the store if it ends without an error."""

    def __init__(
        self, agent: str, context: AgentContext, validator: ContextValidator, started: datetime
    ) -> None:
        self.agent = agent
        self.started = started
        self.snapshot = context
        self.calls: list[ModelCall] = []
        self._context = context
        self._validator = validator
        self._ended = False

    @property
    def context(self) -> AgentContext:
        """Return the context at the start of the run, with the agent's own writes."""
        return self._context

    def write(self, changes: Mapping[str, Any]) -> AgentContext:
        """Write keys such as ``reasoning.intents``, all or none; return what the agent now sees.

        Raises:
            UnknownNameError, InvalidDataError: as `ContextValidator.safe_update`.
            ContextViolationError: as there, after the run's end, or for `diagnostics.performance`.
        """
        self._refuse_after_end()
        if isinstance(changes, Mapping) and _MEASURED in changes:
            raise self._validator.violation(
                self.agent, "diagnostics", "performance", "the store measures it"
            )
        self._context = self._validator.safe_update(
            self._context, self.agent, changes, when=self.started
        )
        return self._context

    def append(self, entries: Mapping[str, Sequence[Any]]) -> AgentContext:
        """Append entries to lists and return what the agent now sees; raise as `write` does."""
        return self.write(extend_lists(self._context, entries))

    def record_call(self, call: ModelCall) -> None:
        """Count a model call, even if the run fails later.

        Raise `ContextViolationError` if the run has ended or the agent is not registered, and
        `InvalidDataError` if `call` is not a call.
        """
        self._refuse_after_end()
        if not self._validator.allowed(self.agent):
            raise self._validator.violation(self.agent, "llm", "usage")
        self.calls.append(ModelCall.from_json(call))

    def end(self) -> None:
        """Refuse further writes, which would be lost."""
        self._ended = True

    def _refuse_after_end(self) -> None:
        if self._ended:
            raise self._validator.violation(self.agent, "*", "*", "its run has ended")


class AgentContextStore:
    """The current context of a group of agents, safe under threads.

    Each run is validated, checked against the limits, and recorded with its changes or error.
    Concurrent runs are merged. With `artifacts`, values too large to be accepted are moved there.

    >>> store = AgentContextStore(AgentContext.new("session-1", "trace-1"))
    >>> changes = {"reasoning.intents": [{"type": "query", "confidence": 0.95}]}
    >>> store.write("intent_detection", changes).reasoning.intents
    (Intent(type='query', confidence=0.95, entities=()),)
    >>> store.context.audit.agent_runs[0].keys_written
    ('reasoning.intents',)
    """

    def __init__(
        self,
        context: AgentContext,
        *,
        validator: ContextValidator | None = None,
        checker: ContextSizeChecker | None = None,
        policy: AuditPolicy | None = None,
        artifacts: ArtifactExternalizer | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take over a context.

        Raise `TrailError` if its trail does not lead to it, `ContextSizeError` if it is too large.
        """
        self._validator = ContextValidator.default() if validator is None else validator
        self._checker = ContextSizeChecker() if checker is None else checker
        self._policy = AuditPolicy() if policy is None else policy
        if artifacts is not None and not callable(getattr(artifacts, "externalize", None)):
            raise InvalidOptionError("artifacts", artifacts, _PLACE)
        self._artifacts = artifacts
        self._clock = clock
        self._lock = RLock()
        self._base = origin(context)
        self._checker.check(context)
        self._context = context

    @property
    def context(self) -> AgentContext:
        """Return the current context, which no later write changes."""
        return self._context

    def write(self, agent: str, changes: Mapping[str, Any]) -> AgentContext:
        """Write several keys, all or none, as one run of an agent; return the current context.

        Raises:
            UnknownNameError, ContextViolationError, InvalidDataError: as `AgentContextRun.write`.
            ContextSizeError: the result would exceed a limit.
            MergeConflictError: another run wrote the same at the same time.
        """
        with self.run(agent) as run:
            run.write(changes)
        return self.context

    def append(self, agent: str, entries: Mapping[str, Sequence[Any]]) -> AgentContext:
        """Append entries to lists as one run of an agent, and return or raise as `write` does."""
        with self.run(agent) as run:
            run.append(entries)
        return self.context

    def record_call(self, agent: str, call: ModelCall) -> AgentContext:
        """Count a model call as its own run; raise the errors of `AgentContextRun.record_call`."""
        with self.run(agent) as run:
            run.record_call(call)
        return self.context

    def apply_fixes(self, agent: str, report: ValidationReport) -> AgentContext:
        """Apply a report's fixes as one run; raise as `write` and `consistency.diff_fixes` do."""
        with self.run(agent) as run:
            run.write(diff_fixes(run.context, report))
        return self.context

    @contextmanager
    def run(self, agent: str) -> Generator[AgentContextRun]:
        """Run an agent, and merge its writes with those of other runs at the end of the block.

        An exception in the block is recorded and raised again, and only model calls are kept. A
        `ContextSizeWarning` means that the context is larger than `warn_total_size`.

        Raises:
            InvalidDataError: `agent` is not a name, or the merged context has new faults.
            ContextSizeError, MergeConflictError: as `write`.
        """
        with self._record_run(agent) as run:
            yield run
            stubs: dict[str, ExternalContent] = {}
            while leaving := self._commit(run, stubs):
                assert self._artifacts is not None
                # Outside the lock, so that a slow store blocks no writer.
                stubs |= store_contents(leaving, self._artifacts)
        self._checker.warn(self.context)

    def _commit(self, run: AgentContextRun, stubs: Mapping[str, ExternalContent]) -> list[Any]:
        """Make a run's writes current, or return the values to move out."""
        with self._lock:
            merged = (
                run.context
                if self._context is run.snapshot
                else merge(run.snapshot, self._context, run.context)
            )
            refuse_new_faults(self._context, merged)
            before, base = with_stubs(self._context, stubs), with_stubs(self._base, stubs)
            after = with_calls(with_stubs(merged, stubs), run.agent, run.calls, run.started)
            patch = diff(
                before,
                with_changes(after, audit=before.audit),
                agent_id=run.agent,
                timestamp=run.started,
            )
            after = _with_diffs(after, trail_with_stubs(before.audit.diffs, stubs), patch)
            leaving = self._oversized_values(after)
            if not leaving:
                self._conclude(run, after, base, patch.keys)
            return leaving

    def _oversized_values(self, context: AgentContext) -> list[Any]:
        """Return values to move out: large artifacts, or all large values if room is short."""
        if self._artifacts is None:
            return []
        limits = self._checker.limits
        large = [artifact.content for artifact in large_artifacts(context, limits)]
        if large or self._has_room(context):
            return large
        found, look = large_values(limits)
        swap_values(look, kind_of(AgentContext), context)
        trail_values(context.audit.diffs, look)
        return found

    def _has_room(self, context: AgentContext) -> bool:
        try:
            self._checker.refuse_oversized(context)
        except ContextSizeError as error:
            return error.unit != "bytes"
        return (
            sum(measure(record).size for record in context.audit.diffs)
            <= self._policy.bytes_of_diffs
        )

    @contextmanager
    def _record_run(self, agent: str) -> Generator[AgentContextRun]:
        run = AgentContextRun(agent_name(agent), self.context, self._validator, self._clock())
        try:
            yield run
        except BaseException as error:
            try:
                with self._lock:
                    self._conclude_failed(run, error)
            except PolycontextError as full:
                error.add_note(f"the failed run is not on record: {full}")
            raise

    def _conclude_failed(self, run: AgentContextRun, error: BaseException) -> None:
        spent = with_calls(self._context, run.agent, run.calls, run.started)
        patch = diff(self._context, spent, agent_id=run.agent, timestamp=run.started)
        self._conclude(
            run, _with_diffs(spent, spent.audit.diffs, patch), self._base, patch.keys, error
        )

    def replay(self) -> AgentContext:
        """Return the context that replaying the trail from its beginning leads to.

        Law: ``store.replay() == store.context``.
        """
        with self._lock:
            current = self.context
            replayed = replay(self._base, current.audit.diffs)
            diagnostics = with_changes(
                replayed.diagnostics, performance=current.diagnostics.performance
            )
            return with_changes(replayed, audit=current.audit, diagnostics=diagnostics)

    def retrieve(self, value: Any) -> Any:
        """Return an artifact with its content, or the value that any other stub replaces.

        Raise `ArtifactError` if this fails, `InvalidOptionError` without a place for artifacts.
        """
        if self._artifacts is None:
            raise InvalidOptionError("artifacts", None, _PLACE)
        return (
            retrieve_artifact(value, self._artifacts)
            if isinstance(value, Artifact)
            else retrieve_value(value, self._artifacts)
        )

    def externalize_artifacts(self, agent: str, externalizer: ArtifactExternalizer) -> AgentContext:
        """Replace the content of large artifacts by stubs, also in the trail.

        Raises:
            ContextViolationError: the agent has no right to ``retrieval.artifacts``.
            ArtifactError: content could not be stored; nothing changes.
        """
        with self._record_run(agent) as run:
            if not self._validator.may_replace(agent, "retrieval", "artifacts"):
                raise self._validator.violation(agent, "retrieval", "artifacts")
            past, look = large_values(self._checker.limits)
            trail_values(run.snapshot.audit.diffs, look)
            # Outside the lock, for slow stores: a stub only ever replaces its own content.
            large = (
                artifact.content for artifact in large_artifacts(run.snapshot, self._checker.limits)
            )
            stubs = store_contents((*large, *past), externalizer)
            with self._lock:
                self._move_out(run, stubs)
        return self.context

    def _move_out(self, run: AgentContextRun, stubs: Mapping[str, ExternalContent]) -> None:
        moved = with_stubs(self._context, stubs)
        keys = diff(self._context, moved).keys
        moved = _with_diffs(moved, trail_with_stubs(moved.audit.diffs, stubs))
        # Otherwise a replay would begin with content that the diffs no longer have.
        self._conclude(run, moved, with_stubs(self._base, stubs), keys)

    def _conclude(
        self,
        run: AgentContextRun,
        context: AgentContext,
        base: AgentContext,
        keys: tuple[str, ...],
        error: BaseException | None = None,
    ) -> None:
        """Make a context current, with the run recorded and measured, if there is room."""
        run.end()
        elapsed = max(self._clock() - run.started, timedelta()) // _MILLISECOND
        record, diffs = _run_record(run, elapsed, keys, error), context.audit.diffs
        # Not measured: failed runs without model calls, and agents without rights.
        if run.calls or (error is None and self._validator.allowed(run.agent)):
            context = with_run(context, record.agent_id, record.status, elapsed, run.calls)
        recorded = self._fit_trail(
            context,
            trails(context.audit, record, self._policy, self._checker.limits.max_array_items),
        )
        # Joined diffs are new records, so if the first is the old newest, others were dropped.
        begins_later = len(diffs) > 1 and recorded.audit.diffs[:1] == diffs[-1:]
        self._base, self._context = origin(recorded) if begins_later else base, recorded

    def _fit_trail(self, context: AgentContext, audits: Iterable[AuditContext]) -> AgentContext:
        """Return the context with the first of the trails that fits."""
        full: ContextSizeError | None = None
        for audit in audits:
            recorded = with_changes(context, audit=audit)
            try:
                self._checker.refuse_oversized(recorded)
            except ContextSizeError as error:
                if not (error.where == "$" or error.where.startswith("$.audit")):
                    raise
                full = error
            else:
                return recorded
        assert full is not None
        raise full


def _with_diffs(
    context: AgentContext, past: tuple[ContextDiff, ...], patch: ContextPatch | None = None
) -> AgentContext:
    diffs = (*past, patch.record()) if patch else past
    return (
        context
        if diffs is context.audit.diffs
        else with_changes(context, audit=with_changes(context.audit, diffs=diffs))
    )


def _run_record(
    run: AgentContextRun, elapsed: int, keys: tuple[str, ...], error: BaseException | None
) -> AgentRun:
    name = run.agent[:LONGEST_NAME]
    if error is None:
        return AgentRun(run.started, name, "success", elapsed, keys)
    # An error's message may contain text that cannot be stored.
    why = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR].encode("utf-8", "replace").decode()
    return AgentRun(run.started, name, FAILED, elapsed, keys, why)
