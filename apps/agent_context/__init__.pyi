from .artifacts import (
    ArtifactExternalizer,
    collect_garbage,
    externalize_artifacts,
    retrieve_artifact,
)
from .codec import deserialize, json_schema, serialize
from .context_patch import ContextPatch, DiffTracker, diff
from .errors import (
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
from .limits import ContextLimits, ContextSizeChecker, get_stats
from .merges import merge
from .migrations import MigrationRegistry
from .object_store import ObjectStoreExternalizer
from .records import SCHEMA_VERSION, AgentContext, Artifact, Conclusion, Fact, Hypothesis, Intent
from .store import AgentContextStore
from .trail import AuditPolicy, origin, replay
from .validator import DEFAULT_RIGHTS, ContextValidator, extend_lists

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
    "extend_lists",
    "externalize_artifacts",
    "get_stats",
    "json_schema",
    "merge",
    "origin",
    "replay",
    "retrieve_artifact",
    "serialize",
]
