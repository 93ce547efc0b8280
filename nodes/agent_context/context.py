"""The root of the document: seven namespaces and a version (docs/agent-context.md)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Self

from attrs import field, frozen

from polycontext.linearity import InvalidDataError

from .record_base import Record, checked
from .records import (
    AuditContext,
    DiagnosticsContext,
    EnrichmentContext,
    LLMContext,
    MetadataContext,
    ReasoningContext,
    RetrievalContext,
)

SCHEMA_VERSION = "1.0.0"
"""The version of the schema that this release reads and writes."""


def utc_now() -> datetime:
    """Return the time; the one place where an AgentContext reads a clock of its own."""
    return datetime.now(UTC)


@frozen(field_transformer=checked)
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
            raise InvalidDataError("version", f"{self.version[:40]!a} is not the version of this release", SCHEMA_VERSION)

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
        """Return a context that no change to this one can reach: itself, since it never changes. O(1)."""
        return self
