"""Who may write what by default: the seed's table of agents, narrowed to the keys under each "Write Access" (seed 002).

A right is ``*``, a namespace or ``namespace.key``. Decisions where the seed is silent or contradicts itself:

- ``metadata`` as a namespace gives `locale` alone. The ids and the time of creation take ``*`` or the very key.
- Every standard agent may set `metadata.locale`: the seed excepts it from "Orchestrator only".
- `diagnostics.performance` is the orchestrator's: a write replaces the whole key, so that an
  agent writing its own metrics would erase the others'.
- The right to `audit` is the right to be recorded. The trail is written by the audit system alone.
- The "LLM Orchestrator" of the seed's text is the `orchestrator` of its table.
"""

from collections.abc import Mapping

from polycontext.nodes.agent_context._frozen import FrozenMap
from polycontext.nodes.agent_context.errors import UnknownKeyError
from polycontext.nodes.agent_context.schema import SCHEMA, key_schema, namespace_schema

EVERYTHING = "*"

_EVERY_AGENT = ("metadata.locale", "diagnostics.errors", "diagnostics.warnings", "audit")

DEFAULT_RIGHTS: Mapping[str, tuple[str, ...]] = FrozenMap(
    {
        "intent_detection": ("reasoning.intents", "reasoning.entities", *_EVERY_AGENT),
        "reasoning_structure": ("reasoning.hypotheses", "reasoning.dependency_map", *_EVERY_AGENT),
        "retrieval_planner": ("retrieval", *_EVERY_AGENT),
        "context_synthesizer": ("enrichment", *_EVERY_AGENT),
        "inference": ("reasoning.conclusions", "reasoning.confidence_scores", "enrichment", "llm", *_EVERY_AGENT),
        "validation": ("diagnostics.validation_reports", *_EVERY_AGENT),
        "summarization": ("reasoning.summary", *_EVERY_AGENT),
        "orchestrator": (EVERYTHING,),
    }
)
"""The seed's agents and their rights."""

_NOT_COVERED = frozenset({"metadata.session_id", "metadata.trace_id", "metadata.created_at"})
"""What a right to the namespace does not give: it identifies the context."""


def check_right(right: str) -> str:
    """Return `right` if it is one; raise `UnknownKeyError` for a namespace or key that the schema does not have."""
    if not isinstance(right, str):
        raise UnknownKeyError(right, (EVERYTHING, *SCHEMA))
    if right == EVERYTHING:
        return right
    namespace, dot, key = right.partition(".")
    if dot:
        key_schema(namespace, key)
    else:
        namespace_schema(namespace)
    return right


def covers(rights: frozenset[str], namespace: str, key: str) -> bool:
    """Tell whether one of the rights allows to write a key. Names are compared exactly."""
    path = f"{namespace}.{key}"
    return EVERYTHING in rights or path in rights or (namespace in rights and path not in _NOT_COVERED)
