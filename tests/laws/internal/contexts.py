"""The laws of AgentContext: rights, diffs, and JSON."""

from collections.abc import Callable
from typing import Any

from polycontext.agent_context.context_patch import ContextPatch, diff
from polycontext.agent_context.errors import ContextViolationError
from polycontext.agent_context.records import AgentContext
from polycontext.agent_context.validator import ContextValidator
from polycontext.base.law import agree, holds, law
from tests.laws.outcomes import outcome

_RIGHTS = 'docs/agent-context.md, "Rights"'
_DIFFS = 'docs/agent-context.md, "Diffs"'
_JSON = "docs/agent-context.md"

Compare = Callable[[AgentContext, AgentContext], ContextPatch]


@law(_DIFFS)
def a_diff_leads_there_and_back(
    context: AgentContext, other_context: AgentContext, compare: Compare
) -> None:
    """A diff makes the other context of the first, and its inverse the first of the other."""
    patch = compare(context, other_context)
    agree(outcome(patch.apply, context), other_context)
    agree(outcome(patch.invert().apply, other_context), context)
    agree(bool(patch), context != other_context)
    agree(ContextPatch.of(patch.record()), patch)


@law(_JSON)
def a_context_survives_json(
    context: AgentContext, reload: Callable[[AgentContext], AgentContext]
) -> None:
    """A context that was serialised and read again is the same context."""
    agree(reload(context), context)


@law(_RIGHTS)
def a_write_needs_its_right_and_changes_its_key_alone(
    validator: ContextValidator, context: AgentContext, writer: str, write: tuple[str, str, Any]
) -> None:
    """A right to a key is ``*``, its namespace, or the key itself; a right to append only adds.

    Ids and times of the metadata are no part of a right to the namespace. Nobody writes `audit`.
    """
    namespace, key, _ = write
    rights, path = validator.allowed(writer), f"{namespace}.{key}"
    given = {"*", path} | ({namespace} if namespace != "metadata" or key == "locale" else set())
    is_owner = namespace != "audit" and not given.isdisjoint(rights)
    may_append = namespace != "audit" and f"append:{path}" in rights
    refusals = (ContextViolationError,)
    found = outcome(validator.safe_set, context, writer, *write, refusals=refusals)
    checked = outcome(validator.validate_write, writer, namespace, key, refusals=refusals)
    agree(checked is None, is_owner or may_append)
    if isinstance(found, type):
        holds(not is_owner, "a write with its right is made", rights)
        return
    holds(is_owner or may_append, "a write without its right is refused", rights)
    agree({*diff(context, found).keys} - {path}, set[str]())
    if not is_owner:
        before, after = (getattr(getattr(each, namespace), key) for each in (context, found))
        agree(after[: len(before)], before)
