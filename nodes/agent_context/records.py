"""The data model: the root of the document, and what stands in each of its seven namespaces (docs/agent-context.md).

Every class is a record, checked when it is made. Adding a field is one line; what it may hold
follows from its annotation.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Self

from attrs import field

from polycontext.linearity import UNIX_EPOCH, InvalidDataError
from polycontext.linearity.json_data import EMPTY

from .kinds import Amount, Changes, Confidence, Count
from .record_base import Record, record


@record
class MetadataContext(Record):
    """Hold what identifies a context; only `locale` is meant to change."""

    session_id: str = ""
    trace_id: str = ""
    created_at: datetime = UNIX_EPOCH
    locale: str = ""


@record
class Intent(Record):
    """Hold what the user seems to want, how surely (0..1), and the entities it is about."""

    type: str = ""
    confidence: Confidence = 0.0
    entities: tuple[str, ...] = ()


@record
class Hypothesis(Record):
    """Hold an assumption and the ids of the hypotheses it depends on."""

    id: str = ""
    description: str = ""
    dependencies: tuple[str, ...] = ()


@record
class Conclusion(Record):
    """Hold what was concluded, how surely (0..1), and the ids of the hypotheses and facts it rests on."""

    id: str = ""
    content: str = ""
    confidence: Confidence = 0.0
    based_on: tuple[str, ...] = ()


@record
class ReasoningContext(Record):
    """Hold the reasoning; `dependency_map` is any JSON data, `confidence_scores` are 0..1."""

    intents: tuple[Intent, ...] = ()
    entities: Mapping[str, Any] = EMPTY
    hypotheses: tuple[Hypothesis, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    dependency_map: Any = None
    confidence_scores: Mapping[str, Confidence] = EMPTY
    summary: str = ""


@record
class Fact(Record):
    """Hold a fact, where it came from, when, and how sure it is (0..1).

    >>> Fact(id="f1", content="five commits", source="gitlab", confidence=1.2)
    Traceback (most recent call last):
    polycontext.linearity.errors.InvalidDataError: confidence: 1.2 is no confidence. Use 0..1.
    """

    id: str = ""
    content: str = ""
    source: str = ""
    timestamp: datetime = UNIX_EPOCH
    confidence: Confidence = 0.0
    provenance: Mapping[str, Any] = EMPTY


@record
class Knowledge(Record):
    """Hold what was inferred, and the ids of the facts it derives from."""

    id: str = ""
    content: str = ""
    derived_from: tuple[str, ...] = ()


@record
class Relationship(Record):
    """Hold that one entity is related to another; `from_` is ``from`` in JSON."""

    from_: str = ""
    to: str = ""
    type: str = ""


@record
class EnrichmentContext(Record):
    """Hold what is known."""

    facts: tuple[Fact, ...] = ()
    derived_knowledge: tuple[Knowledge, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    context_links: tuple[str, ...] = ()


@record
class RetrievalPlan(Record):
    """Hold what shall be retrieved, from where, and how urgently."""

    id: str = ""
    description: str = ""
    sources: tuple[str, ...] = ()
    filters: Mapping[str, Any] = EMPTY
    priority: int = 0


@record
class Query(Record):
    """Hold a query and what it returned: any JSON data."""

    id: str = ""
    query_string: str = ""
    source: str = ""
    filters: Mapping[str, Any] = EMPTY
    results: Any = None


@record
class ExternalContent(Record):
    """Say where the content of an artifact was moved: its place, its SHA-256 in hex, its size in bytes."""

    uri: str = ""
    sha256: str = ""
    size: Count = 0


@record
class Artifact(Record):
    """Hold something retrieved: its content inline, or in `external` where it was moved."""

    id: str = ""
    type: str = ""
    content: Any = None
    source: str = ""
    external: ExternalContent | None = None

    def __attrs_post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse content that is inline and outside."""
        if self.external is not None and self.content is not None:
            raise InvalidDataError(
                "external", "the content is inline as well", "content or external, not both"
            )


@record
class RetrievalContext(Record):
    """Hold what is retrieved, and what was."""

    plans: tuple[RetrievalPlan, ...] = ()
    queries: tuple[Query, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


@record
class LLMUsage(Record):
    """Hold tokens used and their price in US dollars, in all and by agent."""

    total_tokens: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost_usd: Amount = 0.0
    by_agent: Mapping[str, Amount] = EMPTY


@record
class LLMDecision(Record):
    """Hold which model was selected for an agent's task, and why."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    task_type: str = ""
    selected: str = ""
    reason: str = ""
    complexity: str = ""


@record
class LLMContext(Record):
    """Hold the current provider and model, their usage, the decisions, and the metadata of the response cache."""

    provider: str = ""
    model: str = ""
    usage: LLMUsage | None = None
    decisions: tuple[LLMDecision, ...] = ()
    cache: Mapping[str, Any] = EMPTY


@record
class ErrorReport(Record):
    """Hold what failed, at whom, when, and how badly."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    message: str = ""
    severity: str = ""
    details: Any = None


@record
class WarningReport(Record):
    """Hold what somebody should know of, though nothing failed (not ``Warning``, which is Python's own name)."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    message: str = ""
    details: Any = None


@record
class AgentMetrics(Record):
    """Hold what one agent took: milliseconds, model calls, and where known tokens and US dollars."""

    duration_ms: Count = 0
    llm_calls: Count = 0
    status: str = ""
    tokens: Count | None = None
    cost: Amount | None = None


@record
class PerformanceData(Record):
    """Hold milliseconds in all, and metrics by agent."""

    total_duration_ms: Count = 0
    agent_metrics: Mapping[str, AgentMetrics] = EMPTY


@record
class ValidationReport(Record):
    """Hold whether a validation passed, what it found, and what would mend it."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    passed: bool = False
    issues: tuple[str, ...] = ()
    auto_fixes: tuple[str, ...] = ()


@record
class DiagnosticsContext(Record):
    """Hold how the agents fare."""

    errors: tuple[ErrorReport, ...] = ()
    warnings: tuple[WarningReport, ...] = ()
    performance: PerformanceData | None = None
    validation_reports: tuple[ValidationReport, ...] = ()


@record
class AgentRun(Record):
    """Hold one execution of an agent: start, outcome, milliseconds, the keys it wrote, and the error if it failed."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    status: str = ""
    duration_ms: Count = 0
    keys_written: tuple[str, ...] = ()
    error: str = ""


@record
class ContextDiff(Record):
    """Hold what an agent changed, by namespace; `ContextPatch` writes and reads the changes."""

    timestamp: datetime = UNIX_EPOCH
    agent_id: str = ""
    changes: Changes = EMPTY


@record
class AuditContext(Record):
    """Hold what happened."""

    agent_runs: tuple[AgentRun, ...] = ()
    diffs: tuple[ContextDiff, ...] = ()


SCHEMA_VERSION = "1.0.0"
"""The version of the schema that this release reads and writes."""


def utc_now() -> datetime:
    """Return the time; the one place where an AgentContext reads a clock of its own."""
    return datetime.now(UTC)


@record
class AgentContext(Record):
    """Hold what a group of agents shares, immutable all the way down.

    Two contexts share whatever they have in common, so a changed one costs what changed.
    `ContextValidator` makes changed contexts, and asks who may write what.

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
        self.check()

    def check(self) -> None:
        """Refuse another version than this release's."""
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
        clock: Callable[[], datetime] = utc_now,
    ) -> Self:
        """Return an empty context; `clock` tells when it was made if `created_at` does not.

        Raises:
            InvalidDataError: an id that is no text, a naive time.
        """
        when = clock() if created_at is None else created_at
        return cls(metadata=MetadataContext(session_id, trace_id, when, locale))

    def clone(self) -> Self:
        """Return a context that no change to this one can reach: itself, since it never changes.

        O(1).
        """
        return self
