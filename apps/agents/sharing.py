"""The writes of agents into their shared context: rights, limits, artifacts and the audit trail.

See docs/agent-context.md, "Share it through a session".
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

from attrs import evolve, field, frozen

from polycontext.agent_context import (
    AgentContext,
    ContextLimits,
    ContextSizeChecker,
    ContextValidator,
    HeldArtifacts,
    diff,
    extend_lists,
    externalize_artifacts,
    measure,
)
from polycontext.agent_context.records import AgentRun, AuditContext, ContextDiff, LLMUsage
from polycontext.linearity import UNIX_EPOCH
from polycontext.polynomial.journal import Spent
from polycontext.window import TokenCounter

from .forms import Form

_FRAME = 40
"""The most bytes of an audit trail beside its entries."""

MOST_SHARED = 50
"""How many entries of each list in the shared context are kept at least; twice as many at most."""


@frozen(eq=False)
class Rules:
    """How a journal is read.

    `forms` and `agents` are by event, `counter` counts tokens. `first` is the shared context to
    begin with, `validator` has who may write what, and `limits` how large it may become.
    """

    forms: Mapping[str, type[Form]]
    agents: Mapping[str, str]
    counter: TokenCounter
    first: AgentContext
    validator: ContextValidator
    limits: ContextLimits


@frozen
class Sharing:
    """A shared context after some writes, and the content of its large artifacts.

    `diffs` are of writes whose run is not in the audit trail yet. The trail has at most `weight`
    bytes.

    Law: after a run, `ContextSizeChecker` accepts the context, the audit trail included.
    """

    rules: Rules = field(eq=False, repr=False)
    context: AgentContext
    artifacts: HeldArtifacts = field(factory=HeldArtifacts, repr=False)
    diffs: tuple[ContextDiff, ...] = ()
    weight: int = field(default=_FRAME, eq=False, repr=False)

    def at(self, when: datetime) -> "Sharing":
        """Return it at the time of its first event, or unchanged later."""
        metadata = self.context.metadata
        if metadata.created_at != UNIX_EPOCH:
            return self
        return evolve(
            self, context=evolve(self.context, metadata=evolve(metadata, created_at=when))
        )

    def written(
        self,
        agent: str,
        changes: Mapping[str, Any],
        append: Mapping[str, Any],
        when: datetime,
    ) -> "Sharing":
        """Return it with keys written or appended to, and the change in the audit trail.

        Raises:
            ContextSizeError: it would exceed a limit.
            Any exception of `ContextValidator.safe_update`.
        """
        before, rules = self.context, self.rules
        wanted = {**changes, **extend_lists(before, append)}
        after = _bounded(rules.validator.safe_update(before, agent, wanted, when=when), append)
        held = self.artifacts
        if after.retrieval.artifacts is not before.retrieval.artifacts:
            held = HeldArtifacts(held)
            after = externalize_artifacts(after, held, rules.limits)
            held = held.of(after)
        # The audit trail is no reason to refuse a write: it yields.
        bare = evolve(after, audit=AuditContext())
        ContextSizeChecker(rules.limits).refuse_oversized(bare)
        patch = diff(before, after, agent_id=agent, timestamp=when)
        diffs = (*self.diffs, patch.record()) if patch else self.diffs
        return evolve(self, context=after, artifacts=held, diffs=diffs)

    @property
    def keys_written(self) -> tuple[str, ...]:
        """Return the keys of the writes whose run is not in the audit trail yet."""
        namespaces = (each for record in self.diffs for each in record.changes.items())
        return tuple(f"{namespace}.{key}" for namespace, keys in namespaces for key in keys)

    def ran(self, run: AgentRun) -> "Sharing":
        """Return it with a run in the audit trail, and what it wrote.

        The older half of the trail goes where it would exceed a limit.
        """
        audit, limits = self.context.audit, self.rules.limits
        runs, diffs = (*audit.agent_runs, run), (*audit.diffs, *self.diffs)
        audit = AuditContext(_newest(runs), _newest(diffs))
        weight = self.weight + sum(measure(each).size + 1 for each in (run, *self.diffs))
        bare = measure(evolve(self.context, audit=AuditContext())).size
        most = min(limits.max_namespace_size, limits.max_total_size - bare)
        if weight > most:
            while (weight := measure(audit).size) > most and (audit.agent_runs or audit.diffs):
                audit = _halved(audit)
        return evolve(self, context=evolve(self.context, audit=audit), diffs=(), weight=weight)

    def used(self, agent: str, spent: Spent) -> "Sharing":
        """Return it with calls of an agent in the usage."""
        held = self.context.llm.usage or LLMUsage()
        prompt = held.prompt_tokens + spent.input_tokens
        completion = held.completion_tokens + spent.output_tokens
        usage = LLMUsage(
            prompt + completion,
            prompt,
            completion,
            held.cost_usd + spent.cost_usd,
            {**held.by_agent, agent: held.by_agent.get(agent, 0.0) + spent.cost_usd},
        )
        llm = evolve(self.context.llm, usage=usage)
        return evolve(self, context=evolve(self.context, llm=llm))

    def cleared(self) -> "Sharing":
        """Return it without what agents wrote; the runs and the usage stay."""
        held, first = self.context, self.rules.first
        llm, audit = evolve(first.llm, usage=held.llm.usage), AuditContext(held.audit.agent_runs)
        kept = evolve(first, metadata=held.metadata, llm=llm, audit=audit)
        return Sharing(self.rules, kept)


def _bounded(context: AgentContext, paths: Iterable[str]) -> AgentContext:
    """Return a context without the oldest entries of lists that have become long.

    Other entries may refer to those that leave.
    """
    for path in paths:
        namespace, _, key = path.partition(".")
        held = attrgetter(path)(context)
        if len(held) >= 2 * MOST_SHARED:
            shorter = evolve(getattr(context, namespace), **{key: _newest(held)})
            context = evolve(context, **{namespace: shorter})
    return context


def _newest(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    return entries[-MOST_SHARED:] if len(entries) >= 2 * MOST_SHARED else entries


def _halved(audit: AuditContext) -> AuditContext:
    """Return an audit trail without the older half of its runs and diffs."""
    runs, diffs = audit.agent_runs, audit.diffs
    return AuditContext(runs[(len(runs) + 1) // 2 :], diffs[(len(diffs) + 1) // 2 :])
