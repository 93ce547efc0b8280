from .artifacts import (
    ArtifactExternalizer,
    externalize_artifacts,
    retrieve_artifact,
)
from .codec import deserialize, json_schema, serialize
from .context_patch import ContextPatch, DiffTracker, KeyChange, diff
from .errors import (
    ArtifactError,
    ArtifactFault,
    ContextSizeError,
    ContextSizeWarning,
    ContextViolationError,
    MigrationError,
    UnknownVersionError,
)
from .limits import ContextLimits, ContextSizeChecker, get_stats
from .migrations import MigrationRegistry
from .object_store import ObjectStoreExternalizer
from .records import SCHEMA_VERSION, AgentContext, Artifact, Conclusion, Fact, Hypothesis, Intent
from .validator import DEFAULT_RIGHTS, ContextValidator, extend_lists

__all__ = [
    "DEFAULT_RIGHTS",
    "SCHEMA_VERSION",
    "AgentContext",
    "Artifact",
    "ArtifactError",
    "ArtifactExternalizer",
    "ArtifactFault",
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
    "KeyChange",
    "MigrationError",
    "MigrationRegistry",
    "ObjectStoreExternalizer",
    "UnknownVersionError",
    "deserialize",
    "diff",
    "extend_lists",
    "externalize_artifacts",
    "get_stats",
    "json_schema",
    "retrieve_artifact",
    "serialize",
]
