"""AgentContext: the agents' shared, guarded store (seed 002)."""

from polycontext.nodes.agent_context._kinds import Confidence, Kind, Shape
from polycontext.nodes.agent_context.audit import AgentRun, AuditContext, ContextDiff
from polycontext.nodes.agent_context.codec import deserialize, serialize
from polycontext.nodes.agent_context.context import SCHEMA_VERSION, AgentContext
from polycontext.nodes.agent_context.diagnostics import (
    AgentMetrics,
    DiagnosticsContext,
    ErrorReport,
    PerformanceData,
    ValidationReport,
    WarningReport,
)
from polycontext.nodes.agent_context.enrichment import EnrichmentContext, Fact, Knowledge, Relationship
from polycontext.nodes.agent_context.errors import (
    ContextFormatError,
    ContextSizeError,
    ContextSizeWarning,
    ContextViolationError,
    DuplicateMigrationError,
    MigrationError,
    UnknownKeyError,
    UnknownVersionError,
)
from polycontext.nodes.agent_context.json_schema import json_schema
from polycontext.nodes.agent_context.limits import ContextLimits, ContextSizeChecker
from polycontext.nodes.agent_context.llm import LLMContext, LLMDecision, LLMUsage
from polycontext.nodes.agent_context.metadata import MetadataContext
from polycontext.nodes.agent_context.migrations import MIGRATIONS, MigrationRegistry, migration
from polycontext.nodes.agent_context.reasoning import Conclusion, Hypothesis, Intent, ReasoningContext
from polycontext.nodes.agent_context.retrieval import Artifact, ExternalContent, Query, RetrievalContext, RetrievalPlan
from polycontext.nodes.agent_context.rights import DEFAULT_RIGHTS
from polycontext.nodes.agent_context.schema import SCHEMA, KeySchema, key_schema
from polycontext.nodes.agent_context.stats import ContextStats, get_stats
from polycontext.nodes.agent_context.validator import ContextValidator

__all__ = [
    "DEFAULT_RIGHTS",
    "MIGRATIONS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "AgentContext",
    "AgentMetrics",
    "AgentRun",
    "Artifact",
    "AuditContext",
    "Conclusion",
    "Confidence",
    "ContextDiff",
    "ContextFormatError",
    "ContextLimits",
    "ContextSizeChecker",
    "ContextSizeError",
    "ContextSizeWarning",
    "ContextStats",
    "ContextValidator",
    "ContextViolationError",
    "DiagnosticsContext",
    "DuplicateMigrationError",
    "EnrichmentContext",
    "ErrorReport",
    "ExternalContent",
    "Fact",
    "Hypothesis",
    "Intent",
    "KeySchema",
    "Kind",
    "Knowledge",
    "LLMContext",
    "LLMDecision",
    "LLMUsage",
    "MetadataContext",
    "MigrationError",
    "MigrationRegistry",
    "PerformanceData",
    "Query",
    "ReasoningContext",
    "Relationship",
    "RetrievalContext",
    "RetrievalPlan",
    "Shape",
    "UnknownKeyError",
    "UnknownVersionError",
    "ValidationReport",
    "WarningReport",
    "deserialize",
    "get_stats",
    "json_schema",
    "key_schema",
    "migration",
    "serialize",
]
