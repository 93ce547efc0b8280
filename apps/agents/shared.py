"""A shared context over the journal of a session (docs/agent-context.md)."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from attrs import evolve

from polycontext.agent_context import (
    AgentContext,
    ArtifactExternalizer,
    ContextSizeChecker,
    externalize_artifacts,
    records,
    retrieve_artifact,
    to_data,
)
from polycontext.base import InvalidDataError, UnknownNameError, guided, require
from polycontext.base.effects import Steps, call, in_thread, procedure, twin
from polycontext.cost import Meter
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import SPENT, Spent
from polycontext.pressure import ConflictError
from polycontext.pressure.schedule import Prices

from .answers import Written
from .forms import Ref, data_of
from .machine import SharedMachine, writers_of
from .memory import AgentMemory
from .recollection import Recollection

_log = logging.getLogger("polycontext.agents")
_ARTIFACTS = "retrieval.artifacts"


@guided
class SharedContext:
    """An `AgentContext` that agents share: the journal of a session is its store.

    Args:
        session: a session whose machine is `SharedMachine`, `AgentMachine`, or a subclass.
        artifacts: where the content of large artifacts is stored. Without it, the journal has it.
        prices: the prices of all calls, by default the list prices of the model that answered.

    Raises:
        InvalidOptionError: the machine of the session takes no writes of agents.

    >>> from polycontext.polynomial.stores import InMemoryStore
    >>> shared = SharedContext.open(InMemoryStore(), "trip")
    >>> shared.write("summarization", {"reasoning.summary": "A train to Vienna."})
    >>> shared.context.reasoning.summary, shared.context.audit.agent_runs[0].keys_written
    ('A train to Vienna.', ('reasoning.summary',))
    """

    def __init__(
        self,
        session: ContextSession,
        *,
        artifacts: ArtifactExternalizer | None = None,
        prices: Prices | None = None,
    ) -> None:
        machine = session.conversation.machine
        legal = "a session with machine=SharedMachine or AgentMachine, or a subclass of one"
        takes = Written in writers_of(machine).other_forms
        require("session", machine.__name__, takes, legal)
        self.session, self.artifacts = session, artifacts
        self._recollection, self._meter = Recollection(session), Meter(session, prices)

    @classmethod
    def open(cls, store: Any, id: str, **options: Any) -> Self:
        """Open a shared context with a journal of its own; see `ContextSession.open`.

        The options are those of the class.
        """
        # The window stays empty: it has no conversation.
        session = ContextSession.open(store, id, max_tokens=1000, machine=SharedMachine)
        return cls(session, **options)

    @property
    def memory(self) -> AgentMemory:
        """Return what is remembered at the session's revision."""
        return self._recollection.memory

    @property
    def context(self) -> AgentContext:
        """Return the context at the session's revision, with its audit trail and usage."""
        return self.memory.shared

    @procedure
    def write(
        self,
        agent: str,
        changes: Mapping[str, Any] | None = None,
        *,
        append: Mapping[str, Any] | None = None,
        usage: object = None,
    ) -> Steps[None]:
        """Write keys, or append to lists, as an agent.

        Of several agents that write one key, the last wins; what several append is kept. `usage` is
        the response of the model that the agent asked, or the usage in it.

        Raises:
            ContextSizeError: the context would exceed a limit.
            ArtifactError: content could not be stored.
            Any exception of `ContextValidator.safe_update`.
        """
        written = Written(Ref(agent), to_data(changes or {}), to_data(append or {}))
        spent = {} if usage is None else {SPENT: self.spent(agent, usage).to_data()}
        if self.artifacts is not None:
            written.after(self.memory)  # a refused write stores nothing
            written = yield in_thread(self._moved, written, self.artifacts)
        while True:
            seen = self.session.conversation.revision
            after: AgentMemory = written.after(self.memory)
            try:
                sent = data_of(written)
                yield call(
                    self.session, "send", Written.event, sent, **spent, expected_revision=seen
                )
            except ConflictError:
                yield call(self.session.history, "refresh")
            else:
                # The audit trail is no reason to warn: it yields.
                bare = evolve(after.shared, audit=records.AuditContext())
                ContextSizeChecker(after.rules.limits).warn(bare)
                return

    awrite = twin(write)

    def retrieve(self, id: str) -> Any:
        """Return the content of an artifact.

        Raises:
            UnknownNameError: the context has no artifact of that id.
            ArtifactError: the content cannot be retrieved.
        """
        memory = self.memory
        found = {each.id: each for each in memory.shared.retrieval.artifacts}
        if id not in found:
            raise UnknownNameError("artifact", id, tuple(found))
        held, stub = memory.sharing.artifacts, found[id].external
        is_apart = stub is not None and stub.sha256 not in held
        return retrieve_artifact(found[id], (is_apart and self.artifacts) or held).content

    def spent(self, agent: str, response: object, duration_ms: int = 0) -> Spent:
        """Return one call of an agent, as its response reports it.

        A response with a usage that cannot be read counts as one without.
        """
        with suppress(InvalidDataError):
            cost = self._meter.add(response)
            return Spent(
                agent, 1, cost.tokens.input, cost.tokens.output, cost.money or 0.0, duration_ms
            )
        _log.warning("the usage of a call of %s cannot be read", agent)
        return Spent(agent, 1, duration_ms=duration_ms)

    def _moved(self, written: Written, store: ArtifactExternalizer) -> Written:
        """Return a write with stubs for its large artifacts, whose content is stored."""
        limits = self.memory.rules.limits

        def moved(values: Mapping[str, Any]) -> Mapping[str, Any]:
            if _ARTIFACTS not in values:
                return values
            made = records.RetrievalContext.from_json({"artifacts": values[_ARTIFACTS]})
            stubs = externalize_artifacts(AgentContext(retrieval=made), store, limits)
            return {**values, _ARTIFACTS: to_data(stubs.retrieval.artifacts)}

        return Written(written.agent, moved(written.changes), moved(written.append))
