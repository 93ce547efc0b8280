"""The guard, which checks who may write what, and that the schema allows it.

A right is ``*``, a namespace, ``namespace.key``, or ``append:namespace.key`` for a list that the
agent may append to. The default is the table of agents and keys in docs/agent-context.md. Note:

- ``metadata`` as a namespace covers only `locale`. The ids and the creation time need ``*`` or the
  exact key.
- Every standard agent may set `metadata.locale`, and append to `diagnostics.errors` and
  `diagnostics.warnings`.
- No right covers `audit`, not even ``*``: the trail is computed, so nobody can forge it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.base.json_data import FrozenDict, check_text
from polycontext.linearity import UNIX_EPOCH

from .consistency import entries_of, refuse_new_faults
from .errors import ContextViolationError, at_path, wrong_type
from .json_text import canonical, shared_start
from .kinds import Shape
from .record_base import Record, with_changes
from .records import AgentContext, AgentRecord, Fact
from .schema import LISTS, SCHEMA, KeySchema, all_keys, key_schema, path_schema

EVERYTHING = "*"
APPEND = "append:"
LONGEST_NAME = 200

_EVERY_AGENT = (
    "metadata.locale",
    "append:diagnostics.errors",
    "append:diagnostics.warnings",
)

DEFAULT_RIGHTS: Mapping[str, tuple[str, ...]] = FrozenDict(
    {
        "intent_detection": ("reasoning.intents", "reasoning.entities", *_EVERY_AGENT),
        "reasoning_structure": ("reasoning.hypotheses", "reasoning.dependency_map", *_EVERY_AGENT),
        "retrieval_planner": ("retrieval", *_EVERY_AGENT),
        "context_synthesizer": ("enrichment", *_EVERY_AGENT),
        "inference": (
            "reasoning.conclusions",
            "reasoning.confidence_scores",
            "enrichment",
            "llm",
            *_EVERY_AGENT,
        ),
        "validation": ("diagnostics.validation_reports", *_EVERY_AGENT),
        "summarization": ("reasoning.summary", *_EVERY_AGENT),
        "orchestrator": (EVERYTHING,),
    }
)
"""The standard agents and their rights."""

_IDENTITY = frozenset({"metadata.session_id", "metadata.trace_id", "metadata.created_at"})
"""Keys that a right to the namespace does not cover: they identify the context."""
_COMPUTED = "audit"
"""The namespace that no right covers."""


_RIGHTS = frozenset(
    (EVERYTHING, *SCHEMA, *(key.path for key in all_keys()), *(f"{APPEND}{path}" for path in LISTS))
)
_ADVICE = (
    f"Use {EVERYTHING}, {', '.join(SCHEMA)}, one of their keys, or {APPEND} and that of a list."
)


def check_right(right: str) -> str:
    """Return `right` if it is valid.

    Raises:
        UnknownNameError: a namespace or key that the schema does not have, or an append right to a
            key that is not a list.
    """
    if not isinstance(right, str) or right not in _RIGHTS:
        raise UnknownNameError("right", right, tuple(_RIGHTS), advice=_ADVICE)
    return right


def agent_name(name: str) -> str:
    """Return the name of an agent if it is valid: printable text without commas.

    Commas separate the names of several agents.

    Raises:
        InvalidDataError: it is not.
    """
    text = check_text(name, "agent")
    if "," in text or not text.strip() or not text.isprintable() or len(text) > LONGEST_NAME:
        legal = f"printable text of at most {LONGEST_NAME} characters, without commas"
        raise InvalidDataError("agent", f"{text[:40]!a} is not a valid name", legal)
    return text


class ContextValidator:
    """The rights of agents, and the writes that they allow.

    >>> validator = ContextValidator()
    >>> validator.register_agent("intent_detection", ["reasoning"])
    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> validator.safe_set(
    ...     ctx, "intent_detection", "reasoning", "intents", [{"type": "query", "confidence": 0.95}]
    ... ).reasoning.intents
    (Intent(type='query', confidence=0.95, entities=()),)
    """

    def __init__(self) -> None:
        self._rights: dict[str, tuple[str, ...]] = {}

    @classmethod
    def default(cls) -> Self:
        """Return a validator with the standard agents and their rights."""
        validator = cls()
        for agent, rights in DEFAULT_RIGHTS.items():
            validator.register_agent(agent, rights)
        return validator

    def register_agent(self, agent: str, rights: Iterable[str]) -> None:
        """Give an agent these rights and no others.

        A right is ``*``, a namespace, ``namespace.key``, or ``append:namespace.key`` for a list.

        Raises:
            InvalidDataError: the name is invalid, or longer than 200 characters.
            UnknownNameError: a namespace or key that the schema does not have, or an append right
                to a key that is not a list.
            InvalidOptionError: a single string instead of a list of rights.
        """
        if isinstance(rights, str):
            raise InvalidOptionError("rights", rights, f"a list, such as [{rights!r}]")
        self._rights[agent_name(agent)] = tuple(sorted({*map(check_right, rights)}))

    def allowed(self, agent: str) -> tuple[str, ...]:
        """Return the rights of an agent, none if it is not registered."""
        return self._rights.get(agent, ()) if isinstance(agent, str) else ()

    def violation(
        self, agent: str, namespace: str, key: str, reason: str = ""
    ) -> ContextViolationError:
        """Return the error for a write that the agent may not do."""
        return ContextViolationError(agent, namespace, key, self.allowed(agent), reason)

    def may_replace(self, agent: str, namespace: str, key: str) -> bool:
        """Return whether the agent may write any legal value to a key.

        The right to append is not enough.
        """
        path, rights = f"{namespace}.{key}", self.allowed(agent)
        covering = {EVERYTHING, path} if path in _IDENTITY else {EVERYTHING, path, namespace}
        return namespace != _COMPUTED and not covering.isdisjoint(rights)

    def validate_write(self, agent: str, namespace: str, key: str) -> None:
        """Check that the agent has the right to write a key, or to append to it.

        The value is checked when it is written.

        Raises:
            UnknownNameError: the schema has no such namespace or key.
            ContextViolationError: the agent has no right to it, or it is part of the audit trail.
        """
        key_schema(namespace, key)
        if namespace == _COMPUTED:
            raise self.violation(agent, namespace, key, "the audit trail is computed")
        may_append = f"{APPEND}{namespace}.{key}" in self.allowed(agent)
        if not (may_append or self.may_replace(agent, namespace, key)):
            raise self.violation(agent, namespace, key)

    def safe_set(
        self, context: AgentContext, agent: str, namespace: str, key: str, value: Any
    ) -> AgentContext:
        """Return the context with one key written.

        `value` may be records, or the dicts and lists of JSON. It raises the errors of
        `safe_update`.
        """
        return self.safe_update(context, agent, {f"{namespace}.{key}": value})

    def safe_append(
        self, context: AgentContext, agent: str, namespace: str, key: str, entries: Sequence[Any]
    ) -> AgentContext:
        """Return the context with entries added to the end of a list.

        It raises the errors of `safe_update`, and `UnknownNameError` for a key that is not a list.
        """
        return self.safe_update(
            context, agent, extend_lists(context, {f"{namespace}.{key}": entries})
        )

    def safe_update(
        self,
        context: AgentContext,
        agent: str,
        changes: Mapping[str, Any],
        *,
        when: datetime | None = None,
    ) -> AgentContext:
        """Return the context with several keys written, named as in ``reasoning.intents``.

        All of them are written, or none.

        New entries of a list have the agent as their author, whatever they say themselves. An agent
        that may only append to a list writes its existing entries unchanged, followed by the new
        ones. `when` is the time of entries without one.

        Raises:
            UnknownNameError: the schema has no such namespace or key.
            ContextViolationError: the agent has no right to it, or only to append to it, or it is
                part of the audit trail.
            InvalidDataError: the schema does not allow the value, an id would occur twice, or a
                reference would have no target; names the path.
        """
        by_namespace: dict[str, dict[str, Any]] = {}
        check_changes(changes)
        for path, value in changes.items():
            schema = path_schema(path)
            self.validate_write(agent, schema.namespace, schema.key)
            entered = (
                self._check_list(context, agent, schema, value, when)
                if schema.shape is Shape.ARRAY
                else value
            )
            by_namespace.setdefault(schema.namespace, {})[schema.key] = entered
        namespaces = {
            name: at_path(f"$.{name}", with_changes, getattr(context, name), **keys)
            for name, keys in by_namespace.items()
        }
        result = with_changes(context, **namespaces)
        refuse_new_faults(context, result)
        return result

    def _check_list(
        self,
        context: AgentContext,
        agent: str,
        schema: KeySchema,
        value: Any,
        when: datetime | None,
    ) -> tuple[Any, ...]:
        held = entries_of(context, schema.path)
        entries = at_path(f"$.{schema.path}", schema.kind.read, value)
        is_appended = shared_start(held, entries) == len(held)
        if not (is_appended or self.may_replace(agent, schema.namespace, schema.key)):
            raise self.violation(agent, schema.namespace, schema.key, "it may only add to the list")
        return sign_entries(held, entries, agent, when)


def check_changes(changes: object) -> None:
    """Raise `InvalidDataError` if `changes` is not a mapping from keys."""
    if not isinstance(changes, Mapping):
        raise wrong_type(
            changes, "a mapping", "values by key, such as reasoning.intents", "changes"
        )


def extend_lists(context: AgentContext, entries: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the values to write so that lists end with these entries.

    Raises:
        UnknownNameError: a key is not a list.
    """
    check_changes(entries)
    for path, new in entries.items():
        if path_schema(path).shape is not Shape.ARRAY:
            raise UnknownNameError("list", path, LISTS)
        if not isinstance(new, (list, tuple)):
            raise wrong_type(new, "an array", "a list of entries", f"$.{path}")
    return {path: (*entries_of(context, path), *new) for path, new in entries.items()}


def sign_entries(
    held: tuple[Any, ...], entries: tuple[Any, ...], agent: str, when: datetime | None
) -> tuple[Any, ...]:
    """Return the entries, with their author in those that were not `held`.

    `when` is the time of new entries without one.

    Errors, warnings, reports and decisions have the author in `agent_id`. A fact has it in its
    provenance, if `when` is given. Each held entry may occur once more among the entries, so that
    entries can move; a further copy is the agent's own.
    """
    start = shared_start(held, entries)
    left = Counter(map(canonical, held[start:]))
    result = list(entries)
    for index, entry in enumerate(entries[start:], start):
        text = canonical(entry) if left else b""
        if left[text] > 0:
            left[text] -= 1
        elif isinstance(entry, Record):
            result[index] = _sign_entry(entry, agent, when)
    return tuple(result) if len(entries) > start else entries


def _sign_entry(entry: Record, agent: str, when: datetime | None) -> Record:
    found: dict[str, Any] = {"agent_id": agent} if isinstance(entry, AgentRecord) else {}
    if when is not None and isinstance(entry, (AgentRecord, Fact)):
        found["timestamp"] = when if entry.timestamp == UNIX_EPOCH else entry.timestamp
    if when is not None and isinstance(entry, Fact):
        found["provenance"] = {**entry.provenance, "agent_id": agent}
    return with_changes(entry, **found) if found else entry
