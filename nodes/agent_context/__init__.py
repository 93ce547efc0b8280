"""AgentContext: the agents' shared, guarded store (docs/agent-context.md).

What most users need is here. Every class of the data model is in `records`; the table of all keys in `schema`, what
a place for artifacts of one's own is written with in `artifacts`, what looks for faults and mends them in `examining`, what counts
model calls in `metering`, the migrations of this package in `migrations`.
"""

from polycontext.nodes.agent_context.artifacts import ArtifactExternalizer, collect_garbage, externalize_artifacts, retrieve_artifact
from polycontext.nodes.agent_context.codec import deserialize, json_schema, serialize
from polycontext.nodes.agent_context.context import SCHEMA_VERSION, AgentContext
from polycontext.nodes.agent_context.context_patch import ContextPatch, DiffTracker, diff
from polycontext.nodes.agent_context.errors import (
    ArtifactError,
    ArtifactFault,
    ContextSizeError,
    ContextSizeWarning,
    ContextViolationError,
    MergeConflictError,
    MigrationError,
    TrailError,
    UnknownVersionError,
)
from polycontext.nodes.agent_context.limits import ContextLimits, ContextSizeChecker
from polycontext.nodes.agent_context.merging import merge
from polycontext.nodes.agent_context.migrations import MigrationRegistry
from polycontext.nodes.agent_context.object_store import ObjectStoreExternalizer
from polycontext.nodes.agent_context.records import Artifact, Conclusion, Fact, Hypothesis, Intent
from polycontext.nodes.agent_context.sizes import get_stats
from polycontext.nodes.agent_context.store import AgentContextStore
from polycontext.nodes.agent_context.trail import AuditPolicy, origin, replay
from polycontext.nodes.agent_context.validator import DEFAULT_RIGHTS, ContextValidator

__all__ = [
    "DEFAULT_RIGHTS",
    "SCHEMA_VERSION",
    "AgentContext",
    "AgentContextStore",
    "Artifact",
    "ArtifactError",
    "ArtifactExternalizer",
    "ArtifactFault",
    "AuditPolicy",
    "Conclusion",
    "ContextLimits",
    "ContextPatch",
    "ContextSizeChecker",
    "ContextSizeError",
    "ContextSizeWarning",
    "ContextValidator",
    "ContextViolationError",
    "DiffTracker",
    "Fact",
    "Hypothesis",
    "Intent",
    "MergeConflictError",
    "MigrationError",
    "MigrationRegistry",
    "ObjectStoreExternalizer",
    "TrailError",
    "UnknownVersionError",
    "collect_garbage",
    "deserialize",
    "diff",
    "externalize_artifacts",
    "get_stats",
    "json_schema",
    "merge",
    "origin",
    "replay",
    "retrieve_artifact",
    "serialize",
]
