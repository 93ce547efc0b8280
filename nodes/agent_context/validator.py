"""The guard: who may write what, and that only what the schema allows is written.

The default is the seed's table of agents, narrowed to the keys under each "Write Access" (seed 002).
A right is ``*``, a namespace or ``namespace.key``. Decisions where the seed is silent or contradicts itself:

- ``metadata`` as a namespace gives `locale` alone. The ids and the time of creation take ``*`` or the very key.
- Every standard agent may set `metadata.locale`: the seed excepts it from "Orchestrator only".
- `diagnostics.performance` is the orchestrator's: a write replaces the whole key, so that an
  agent writing its own metrics would erase the others'.
- The right to `audit` is the right to be recorded. The trail is written by the audit system alone.
- The "LLM Orchestrator" of the seed's text is the `orchestrator` of its table.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from polycontext.linearity import InvalidOptionError, UnknownNameError
from polycontext.linearity.json_data import FrozenDict
from polycontext.nodes.agent_context.context import AgentContext
from polycontext.nodes.agent_context.errors import ContextViolationError, located
from polycontext.nodes.agent_context.kinds import kind_of
from polycontext.nodes.agent_context.record_base import changed, field_reader
from polycontext.nodes.agent_context.schema import SCHEMA, key_schema, namespace_schema

EVERYTHING = "*"

_EVERY_AGENT = ("metadata.locale", "diagnostics.errors", "diagnostics.warnings", "audit")

DEFAULT_RIGHTS: Mapping[str, tuple[str, ...]] = FrozenDict(
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
    """Return `right` if it is one; raise `UnknownNameError` for a namespace or key that the schema does not have."""
    if not isinstance(right, str):
        raise UnknownNameError("right", right, (EVERYTHING, *SCHEMA))
    namespace, dot, key = right.partition(".")
    if dot:
        key_schema(namespace, key)
    elif right != EVERYTHING:
        namespace_schema(namespace)
    return right


agent_name = field_reader(kind_of(str), "agent")
"""Return the name of an agent if it is text; raise `InvalidDataError` otherwise."""


class ContextValidator:
    """Remember the rights of agents and make the writes that they allow.

    >>> validator = ContextValidator()
    >>> validator.register_agent("intent_detection", ["reasoning"])
    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> validator.safe_set(ctx, "intent_detection", "reasoning", "intents", [{"type": "query", "confidence": 0.95}]).reasoning.intents
    (Intent(type='query', confidence=0.95, entities=()),)
    """

    def __init__(self) -> None:
        self._rights: dict[str, tuple[str, ...]] = {}

    @classmethod
    def default(cls) -> Self:
        """Return a validator that knows the agents of the seed's table, each with the keys it is named for."""
        validator = cls()
        for agent, rights in DEFAULT_RIGHTS.items():
            validator.register_agent(agent, rights)
        return validator

    def register_agent(self, agent: str, rights: Iterable[str]) -> None:
        """Give an agent these rights, and no others: ``*``, a namespace, or ``namespace.key``.

        Raises:
            InvalidDataError: the name is no text.
            UnknownNameError: a namespace or key that the schema does not have.
            InvalidOptionError: a single string for the list of rights.
        """
        if isinstance(rights, str):
            raise InvalidOptionError("rights", rights, f"a list, such as [{rights!r}]")
        self._rights[agent_name(agent)] = tuple(sorted(frozenset(map(check_right, rights))))

    def allowed(self, agent: str) -> tuple[str, ...]:
        """Return the rights of an agent, none if it is not registered."""
        return self._rights.get(agent, ()) if isinstance(agent, str) else ()

    def validate_write(self, agent: str, namespace: str, key: str) -> None:
        """Return if the agent has the right to a key.

        Raises:
            UnknownNameError: the schema has no such namespace or key.
            ContextViolationError: the agent has no right to it.
        """
        key_schema(namespace, key)
        path, rights = f"{namespace}.{key}", self.allowed(agent)
        if not (EVERYTHING in rights or path in rights or (namespace in rights and path not in _NOT_COVERED)):
            raise ContextViolationError(agent, namespace, key, rights)

    def safe_set(self, context: AgentContext, agent: str, namespace: str, key: str, value: Any) -> AgentContext:
        """Return the context with one key written; `value` may be records, or the dicts and lists of JSON.

        Raises:
            UnknownNameError: the schema has no such namespace or key.
            ContextViolationError: the agent has no right to it, or it is part of the audit trail.
            InvalidDataError: the schema does not allow the value; names the path.
        """
        return self.safe_update(context, agent, {f"{namespace}.{key}": value})

    def safe_update(self, context: AgentContext, agent: str, changes: Mapping[str, Any]) -> AgentContext:
        """Return the context with several keys written, named as in ``reasoning.intents``; all of them or none.

        Raises:
            UnknownNameError, ContextViolationError, InvalidDataError: as `safe_set`, for the first change at fault.
        """
        by_namespace: dict[str, dict[str, Any]] = {}
        for path, value in changes.items():
            if not isinstance(path, str) or "." not in path:
                raise UnknownNameError("key", str(path), tuple(f"{namespace}.<key>" for namespace in SCHEMA))
            namespace, _, key = path.partition(".")
            self.validate_write(agent, namespace, key)
            # Not even ``*`` covers the trail: it could otherwise be made to tell anything.
            if namespace == "audit":
                raise ContextViolationError(agent, namespace, key, self.allowed(agent), "the audit system alone writes the trail")
            by_namespace.setdefault(namespace, {})[key] = value
        namespaces = {name: located(f"$.{name}", changed, getattr(context, name), **keys) for name, keys in by_namespace.items()}
        return changed(context, **namespaces)
