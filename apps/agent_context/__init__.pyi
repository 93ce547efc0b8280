from . import records
from .artifacts import ArtifactExternalizer, HeldArtifacts, externalize_artifacts, retrieve_artifact
from .codec import deserialize, json_schema, serialize
from .consistency import FORGOTTEN
from .context_patch import ContextPatch, DiffTracker, diff
from .errors import ArtifactFault, ContextSizeError, ContextViolationError
from .json_text import to_data
from .limits import ContextLimits, ContextSizeChecker, get_stats, measure
from .migrations import MigrationRegistry
from .object_store import ObjectStoreExternalizer
from .records import AgentContext
from .validator import ContextValidator, extend_lists

__all__ = [
    "FORGOTTEN",
    "AgentContext",
    "ArtifactExternalizer",
    "ArtifactFault",
    "ContextLimits",
    "ContextPatch",
    "ContextSizeChecker",
    "ContextSizeError",
    "ContextValidator",
    "ContextViolationError",
    "DiffTracker",
    "HeldArtifacts",
    "MigrationRegistry",
    "ObjectStoreExternalizer",
    "deserialize",
    "diff",
    "extend_lists",
    "externalize_artifacts",
    "get_stats",
    "json_schema",
    "measure",
    "records",
    "retrieve_artifact",
    "serialize",
    "to_data",
]
