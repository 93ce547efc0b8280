"""The data model: the root of the document and its namespaces (docs/agent-context.md).

Every class is a record, checked when it is created. Adding a field is one line; its annotation says
what it may hold.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Self

from attrs import field

from polycontext.base import InvalidDataError
from polycontext.base.json_data import EMPTY
from polycontext.linearity import UNIX_EPOCH

from .kinds import Amount, Changes, Confidence, Count
from .record_base import Record, record


@record
class AgentRecord(Record):
    """Something that an agent did or found, and when."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""


@record
class MetadataContext(Record):
    """The identity of a context; only `locale` is meant to change."""

    session_id: str = ""
    trace_id: str = ""
    created_at: datetime = UNIX_EPOCH
    locale: str = ""


@record
class Intent(Record):
    """An intent of the user, its confidence (0..1), and the entities it is about."""

    type: str = ""
    confidence: Confidence = 0.0
    entities: tuple[str, ...] = ()


@record
class Hypothesis(Record):
    """An assumption, and the ids of the hypotheses it depends on."""

    id: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()


@record
class Conclusion(Record):
    """A conclusion, its confidence (0..1), and the ids it is based on.

    These are ids of hypotheses, facts, derived knowledge and other conclusions.
    """

    id: str = ""
    content: str = ""
    confidence: Confidence = 0.0
    based_on: tuple[str, ...] = ()


@record
class ReasoningContext(Record):
    """The reasoning; `dependency_map` is any JSON data, `confidence_scores` are 0..1."""

    intents: tuple[Intent, ...] = ()
    entities: Mapping[str, Any] = EMPTY
    hypotheses: tuple[Hypothesis, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    dependency_map: Any = None
    confidence_scores: Mapping[str, Confidence] = EMPTY
    summary: str = ""


@record
class Fact(Record):
    """A fact, its source, its time, and its confidence (0..1).

    >>> Fact(id="f1", content="five commits", source="gitlab", confidence=1.2)
    Traceback (most recent call last):
    polycontext.errors.InvalidDataError: confidence: 1.2 is out of range. Use 0..1.
    """

    id: str = ""
    content: str = ""
    source: str = ""
    timestamp: datetime = UNIX_EPOCH
    confidence: Confidence = 0.0
    provenance: Mapping[str, Any] = EMPTY


@record
class Knowledge(Record):
    """Inferred knowledge, and the ids of the facts and knowledge it derives from."""

    id: str = ""
    content: str = ""
    derived_from: tuple[str, ...] = ()


@record
class Relationship(Record):
    """A relation of one entity to another; `from_` is ``from`` in JSON."""

    from_: str = ""
    to: str = ""
    type: str = ""


@record
class EnrichmentContext(Record):
    """Facts, derived knowledge, and their relationships and links."""

    facts: tuple[Fact, ...] = ()
    derived_knowledge: tuple[Knowledge, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    context_links: tuple[str, ...] = ()


@record
class RetrievalPlan(Record):
    """A planned retrieval: its sources, filters and priority."""

    id: str = ""
    description: str = ""
    sources: tuple[str, ...] = ()
    filters: Mapping[str, Any] = EMPTY
    priority: int = 0


@record
class Query(Record):
    """A query and its results, which are any JSON data."""

    id: str = ""
    query_string: str = ""
    source: str = ""
    filters: Mapping[str, Any] = EMPTY
    results: Any = None


@record
class ExternalContent(Record):
    """The stub of content that was moved out: its URI, SHA-256 in hex, and size in bytes."""

    uri: str = ""
    sha256: str = ""
    size: Count = 0


@record
class Artifact(Record):
    """A retrieved artifact: its content is inline, or moved out to `external`."""

    id: str = ""
    type: str = ""
    content: Any = None
    source: str = ""
    external: ExternalContent | None = None

    def __attrs_post_init__(self) -> None:
        if self.external is not None and self.content is not None:
            raise InvalidDataError(
                "external", "the content is inline as well", "content or external, not both"
            )


@record
class RetrievalContext(Record):
    """Plans, queries, and the artifacts that were retrieved."""

    plans: tuple[RetrievalPlan, ...] = ()
    queries: tuple[Query, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


@record
class LLMUsage(Record):
    """Tokens used and their price in US dollars, in total; `by_agent` is the price by agent."""

    total_tokens: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost_usd: Amount = 0.0
    by_agent: Mapping[str, Amount] = EMPTY


@record
class LLMDecision(AgentRecord):
    """The model that was selected for an agent's task, and why."""

    task_type: str = ""
    selected: str = ""
    reason: str = ""
    complexity: str = ""


@record
class LLMContext(Record):
    """The current provider and model, usage, decisions, and metadata of the response cache."""

    provider: str = ""
    model: str = ""
    usage: LLMUsage | None = None
    decisions: tuple[LLMDecision, ...] = ()
    cache: Mapping[str, Any] = EMPTY


@record
class ErrorReport(AgentRecord):
    """A failure of an agent, its time and its severity."""

    message: str = ""
    severity: str = ""
    details: Any = None


@record
class WarningReport(AgentRecord):
    """A warning of an agent (not ``Warning``, which is Python's own name)."""

    message: str = ""
    details: Any = None


@record
class AgentMetrics(Record):
    """Milliseconds and model calls of an agent and, if known, its tokens and US dollars."""

    duration_ms: Count = 0
    llm_calls: Count = 0
    status: str = ""
    tokens: Count | None = None
    cost: Amount | None = None


@record
class PerformanceData(Record):
    """Total milliseconds, and metrics by agent."""

    total_duration_ms: Count = 0
    agent_metrics: Mapping[str, AgentMetrics] = EMPTY


@record
class ValidationReport(AgentRecord):
    """The result of a validation: whether it passed, its issues, and fixes for them."""

    passed: bool = False
    issues: tuple[str, ...] = ()
    auto_fixes: tuple[str, ...] = ()


@record
class DiagnosticsContext(Record):
    """Errors, warnings, performance, and validation reports."""

    errors: tuple[ErrorReport, ...] = ()
    warnings: tuple[WarningReport, ...] = ()
    performance: PerformanceData | None = None
    validation_reports: tuple[ValidationReport, ...] = ()


@record
class AgentRun(AgentRecord):
    """A run of an agent: start, outcome, milliseconds, keys written, and the error if it failed."""

    status: str = ""
    duration_ms: Count = 0
    keys_written: tuple[str, ...] = ()
    error: str = ""


@record
class ContextDiff(AgentRecord):
    """An agent's changes, by namespace; `ContextPatch` writes and reads them."""

    changes: Changes = EMPTY


@record
class AuditContext(Record):
    """The audit trail: the runs of agents, and the diffs they made."""

    agent_runs: tuple[AgentRun, ...] = ()
    diffs: tuple[ContextDiff, ...] = ()


SCHEMA_VERSION = "1.0.0"
"""The version of the schema that this release reads and writes."""


def utc_now() -> datetime:
    """Return the current time in UTC, the only clock that an AgentContext reads by default."""
    return datetime.now(UTC)


@record
class AgentContext(Record):
    """The state that a group of agents shares, deeply immutable.

    Contexts share their unchanged parts, so a change costs only what changed. `ContextValidator`
    makes changed contexts, and checks who may write what.

    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> ctx.reasoning.intents, ctx.clone() == ctx
    ((), True)
    """

    version: str = SCHEMA_VERSION
    metadata: MetadataContext = field(default=MetadataContext())
    reasoning: ReasoningContext = field(default=ReasoningContext())
    enrichment: EnrichmentContext = field(default=EnrichmentContext())
    retrieval: RetrievalContext = field(default=RetrievalContext())
    llm: LLMContext = field(default=LLMContext())
    diagnostics: DiagnosticsContext = field(default=DiagnosticsContext())
    audit: AuditContext = field(default=AuditContext())

    def __attrs_post_init__(self) -> None:
        if self.version != SCHEMA_VERSION:
            raise InvalidDataError(
                "version",
                f"{self.version[:40]!a} is not the version of this release",
                SCHEMA_VERSION,
            )

    @classmethod
    def new(
        cls,
        session_id: str,
        trace_id: str,
        *,
        created_at: datetime | None = None,
        locale: str = "",
    ) -> Self:
        """Return an empty context, by default created now.

        Raises:
            InvalidDataError: an id is not text, or the time is naive.
        """
        when = utc_now() if created_at is None else created_at
        return cls(metadata=MetadataContext(session_id, trace_id, when, locale))

    def clone(self) -> Self:
        """Return a context that no change to this one affects: itself, since it never changes.

        O(1).
        """
        return self
