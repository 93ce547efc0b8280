"""The shell around a context that agents share: every write is guarded, limited and on record."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import RLock
from typing import Any

from polycontext.nodes.agent_context.artifacts import ArtifactExternalizer, large_artifacts, stored_stubs, with_stubs
from polycontext.nodes.agent_context.context import AgentContext, utc_now
from polycontext.nodes.agent_context.context_patch import diff
from polycontext.nodes.agent_context.errors import ContextSizeError, ContextViolationError
from polycontext.nodes.agent_context.limits import ContextSizeChecker, is_oversized
from polycontext.nodes.agent_context.merging import merge
from polycontext.nodes.agent_context.record_base import changed
from polycontext.nodes.agent_context.records import AgentRun, ContextDiff
from polycontext.nodes.agent_context.trail import AuditPolicy, origin, replay, rolled_up, trail_artifacts, trail_with_stubs
from polycontext.nodes.agent_context.validator import ContextValidator, agent_name

_LONGEST_ERROR = 500
_MILLISECOND = timedelta(milliseconds=1)


class AgentContextRun:
    """Let one agent write; what it wrote becomes the store's when the run ends well."""

    def __init__(self, agent: str, context: AgentContext, validator: ContextValidator, started: datetime) -> None:
        self.agent = agent
        self.started = started
        self.snapshot = context
        self._context = context
        self._validator = validator
        self._ended = False

    @property
    def context(self) -> AgentContext:
        """Return what the agent sees: the context at the start of the run, with its own writes."""
        return self._context

    def write(self, changes: Mapping[str, Any]) -> AgentContext:
        """Write several keys, named as in ``reasoning.intents``, all of them or none, and return what the agent now sees.

        Raises:
            UnknownNameError, ContextViolationError, InvalidDataError: as `ContextValidator.safe_update`.
            ContextViolationError: the run has ended.
        """
        if self._ended:
            raise ContextViolationError(self.agent, "*", "*", self._validator.allowed(self.agent), reason="its run has ended")
        self._context = self._validator.safe_update(self._context, self.agent, changes)
        return self._context

    def end(self) -> None:
        """Refuse further writes: they would reach nobody."""
        self._ended = True


class AgentContextStore:
    """Hold the current context of a group of agents, safe under threads.

    There is no way to write past it: each run is guarded by the validator, checked against the limits, and
    recorded with what it changed, or with why it failed. Runs at the same time are merged.

    >>> store = AgentContextStore(AgentContext.new("session-1", "trace-1"))
    >>> store.write("intent_detection", {"reasoning.intents": [{"type": "query", "confidence": 0.95}]}).reasoning.intents
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
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take a context over.

        Raises:
            TrailError: its trail does not lead to it.
            ContextSizeError: it exceeds a limit already.
        """
        self._validator = ContextValidator.default() if validator is None else validator
        self._checker = ContextSizeChecker() if checker is None else checker
        self._policy = AuditPolicy() if policy is None else policy
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
        """Write several keys as one run of an agent, and return the current context; all of them or none.

        Raises:
            UnknownNameError, ContextViolationError, InvalidDataError: as `ContextValidator.safe_update`.
            ContextSizeError: the result would exceed a limit.
            MergeConflictError: another run wrote the same at the same time.
        """
        with self.run(agent) as run:
            run.write(changes)
        return self.context

    @contextmanager
    def run(self, agent: str) -> Generator[AgentContextRun]:
        """Run an agent: what it writes in the block is committed at its end, merged with what others committed meanwhile.

        Whatever the block raises is recorded with the run, changes nothing else, and is raised on.

        Raises:
            InvalidDataError: `agent` is no text.
            ContextSizeError, MergeConflictError: as `write`.
        """
        with self._recording(agent) as run:
            yield run
            with self._lock:
                current = self._context
                # Under the lock: what is merged with must still be current when the result takes its place.
                merged = run.context if current is run.snapshot else merge(run.snapshot, current, run.context)
                patch = diff(current, merged, agent_id=run.agent, timestamp=run.started)
                trail = (*current.audit.diffs, patch.record()) if patch else current.audit.diffs
                self._context = self._recorded(merged, self._outcome(run, patch.keys), trail)

    @contextmanager
    def _recording(self, agent: str) -> Generator[AgentContextRun]:
        run = AgentContextRun(agent_name(agent), self._context, self._validator, self._clock())
        try:
            yield run
        except BaseException as error:
            with self._lock:
                try:
                    self._context = self._recorded(self._context, self._outcome(run, (), error), self._context.audit.diffs)
                except ContextSizeError as full:
                    error.add_note(f"the failed run is not on record: {full}")
            raise

    def replay(self) -> AgentContext:
        """Return the context as the trail tells it, from the beginning on.

        Law: ``store.replay() == store.context``.
        """
        with self._lock:
            return changed(replay(self._base, self._context.audit.diffs), audit=self._context.audit)

    def externalize_artifacts(self, agent: str, externalizer: ArtifactExternalizer) -> AgentContext:
        """Move the content of large artifacts out, as the limits ask for, wherever it stands: the trail tells of the stub as well.

        Raises:
            ContextViolationError: the agent has no right to ``retrieval.artifacts``.
            ArtifactError: content could not be stored; nothing changes.
        """
        limits = self._checker.limits
        with self._recording(agent) as run:
            self._validator.validate_write(agent, "retrieval", "artifacts")
            past = (artifact for artifact in trail_artifacts(run.snapshot.audit.diffs) if is_oversized(artifact, limits))
            # Not under the lock: a slow store keeps no writer waiting, and a stub takes the place of its content only.
            stubs = stored_stubs((*large_artifacts(run.snapshot, limits), *past), externalizer)
            with self._lock:
                current = self._context
                moved = with_stubs(current, stubs)
                keys = () if moved is current else ("retrieval.artifacts",)
                self._context = self._recorded(moved, self._outcome(run, keys), trail_with_stubs(current.audit.diffs, stubs))
                # Else replaying would begin with content that the diffs hold no longer.
                self._base = with_stubs(self._base, stubs)
        return self.context

    def _outcome(self, run: AgentContextRun, keys: tuple[str, ...], error: BaseException | None = None) -> AgentRun:
        run.end()
        elapsed = max(self._clock() - run.started, timedelta()) // _MILLISECOND
        if error is None:
            return AgentRun(run.started, run.agent, "success", elapsed, keys)
        # Text that can be stored: an error may hold anything.
        told = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR].encode("utf-8", "replace").decode()
        return AgentRun(run.started, run.agent, "failed", elapsed, keys, told)

    def _recorded(self, context: AgentContext, run: AgentRun, diffs: tuple[ContextDiff, ...]) -> AgentContext:
        """Return the context with a run and diffs on record; more diffs than the policy asks for become one if the trail is too large."""
        most = self._checker.limits.max_array_items
        runs = (*context.audit.agent_runs, run)
        runs = runs[max(len(runs) - min(self._policy.keep_runs, most), 0) :]
        keep = min(self._policy.keep_diffs, most - 1, len(diffs))
        while True:
            recorded = changed(context, audit=changed(context.audit, agent_runs=runs, diffs=rolled_up(diffs, keep)))
            try:
                self._checker.check(recorded)
            except ContextSizeError as error:
                if keep == 0 or not (error.where == "$" or error.where.startswith("$.audit")):
                    raise
                # Joined diffs are smaller only where they undo or repeat each other; so ever more are joined until they fit.
                keep //= 2
            else:
                return recorded
