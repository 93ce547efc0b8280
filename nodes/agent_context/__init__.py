"""AgentContext: the agents' shared, guarded store (seed 002)."""

from polycontext.nodes.agent_context._kinds import Confidence, Kind, Shape
from polycontext.nodes.agent_context.artifact_errors import ArtifactDamagedError, ArtifactMissingError, ArtifactStorageError
from polycontext.nodes.agent_context.artifacts import (
    ArtifactExternalizer,
    GarbageReport,
    StoredContent,
    collect_garbage,
    decode_content,
    encode_content,
    externalize_artifacts,
    retrieve_artifact,
)
from polycontext.nodes.agent_context.audit import AgentRun, AuditContext, ContextDiff
from polycontext.nodes.agent_context.change_errors import MergeConflictError, PatchOriginError, TrailError
from polycontext.nodes.agent_context.codec import deserialize, serialize
from polycontext.nodes.agent_context.context import SCHEMA_VERSION, AgentContext
from polycontext.nodes.agent_context.context_patch import ContextPatch, diff
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
from polycontext.nodes.agent_context.merging import merge
from polycontext.nodes.agent_context.metadata import MetadataContext
from polycontext.nodes.agent_context.migrations import MIGRATIONS, MigrationRegistry, migration
from polycontext.nodes.agent_context.object_store import ObjectStoreExternalizer
from polycontext.nodes.agent_context.reasoning import Conclusion, Hypothesis, Intent, ReasoningContext
from polycontext.nodes.agent_context.retrieval import Artifact, ExternalContent, Query, RetrievalContext, RetrievalPlan
from polycontext.nodes.agent_context.rights import DEFAULT_RIGHTS
from polycontext.nodes.agent_context.schema import SCHEMA, KeySchema, key_schema
from polycontext.nodes.agent_context.stats import ContextStats, get_stats
from polycontext.nodes.agent_context.store import AgentContextRun, AgentContextStore
from polycontext.nodes.agent_context.tracker import DiffTracker
from polycontext.nodes.agent_context.trail import AuditPolicy, origin, replay
from polycontext.nodes.agent_context.validator import ContextValidator

__all__ = [
    "DEFAULT_RIGHTS",
    "MIGRATIONS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "AgentContext",
    "AgentContextRun",
    "AgentContextStore",
    "AgentMetrics",
    "AgentRun",
    "Artifact",
    "ArtifactDamagedError",
    "ArtifactExternalizer",
    "ArtifactMissingError",
    "ArtifactStorageError",
    "AuditContext",
    "AuditPolicy",
    "Conclusion",
    "Confidence",
    "ContextDiff",
    "ContextFormatError",
    "ContextLimits",
    "ContextPatch",
    "ContextSizeChecker",
    "ContextSizeError",
    "ContextSizeWarning",
    "ContextStats",
    "ContextValidator",
    "ContextViolationError",
    "DiagnosticsContext",
    "DiffTracker",
    "DuplicateMigrationError",
    "EnrichmentContext",
    "ErrorReport",
    "ExternalContent",
    "Fact",
    "GarbageReport",
    "Hypothesis",
    "Intent",
    "KeySchema",
    "Kind",
    "Knowledge",
    "LLMContext",
    "LLMDecision",
    "LLMUsage",
    "MergeConflictError",
    "MetadataContext",
    "MigrationError",
    "MigrationRegistry",
    "ObjectStoreExternalizer",
    "PatchOriginError",
    "PerformanceData",
    "Query",
    "ReasoningContext",
    "Relationship",
    "RetrievalContext",
    "RetrievalPlan",
    "Shape",
    "StoredContent",
    "TrailError",
    "UnknownKeyError",
    "UnknownVersionError",
    "ValidationReport",
    "WarningReport",
    "collect_garbage",
    "decode_content",
    "deserialize",
    "diff",
    "encode_content",
    "externalize_artifacts",
    "get_stats",
    "json_schema",
    "key_schema",
    "merge",
    "migration",
    "origin",
    "replay",
    "retrieve_artifact",
    "serialize",
]
