"""The rights of every agent to every key, and no way around them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import AgentContext, ContextValidator, ContextViolationError
from polycontext.agent_context.consistency import WITH_IDS
from polycontext.agent_context.kinds import Shape
from polycontext.agent_context.record_base import with_changes
from polycontext.agent_context.records import AgentRecord, Intent
from polycontext.agent_context.schema import SCHEMA, all_keys
from polycontext.agent_context.validator import DEFAULT_RIGHTS
from polycontext.base import InvalidDataError, UnknownNameError
from tests.agent_context.changes import GUARD, START
from tests.agent_context.strategies import CONTEXTS, of_kind

EVERYBODY = {
    "metadata.locale",
    "diagnostics.errors",
    "diagnostics.warnings",
}
KEYS = [key.path for key in all_keys()]
AUDIT, LLM, ENRICHMENT, RETRIEVAL, REASONING = (
    {path for path in KEYS if path.startswith(f"{namespace}.")}
    for namespace in ("audit", "llm", "enrichment", "retrieval", "reasoning")
)
IDENTITY = {"metadata.session_id", "metadata.trace_id", "metadata.created_at"}
MATRIX = {
    "intent_detection": {"reasoning.intents", "reasoning.entities"} | EVERYBODY,
    "reasoning_structure": {"reasoning.hypotheses", "reasoning.dependency_map"} | EVERYBODY,
    "retrieval_planner": RETRIEVAL | EVERYBODY,
    "context_synthesizer": ENRICHMENT | EVERYBODY,
    "inference": {"reasoning.conclusions", "reasoning.confidence_scores"}
    | ENRICHMENT
    | LLM
    | EVERYBODY,
    "validation": {"diagnostics.validation_reports"} | EVERYBODY,
    "summarization": {"reasoning.summary"} | EVERYBODY,
    "orchestrator": IDENTITY
    | REASONING
    | ENRICHMENT
    | RETRIEVAL
    | LLM
    | {"diagnostics.performance", "diagnostics.validation_reports"}
    | EVERYBODY,
    "somebody": set(),
}
"""The keys that each agent may write; ``somebody`` is not registered."""


def test_the_matrix_is_of_the_standard_agents_and_of_every_key() -> None:
    """The table below knows every agent of the default rights, and every key of the schema."""
    assert set(MATRIX) - {"somebody"} == set(DEFAULT_RIGHTS)
    assert MATRIX["orchestrator"] | AUDIT == set(KEYS)


@pytest.mark.parametrize("agent", MATRIX)
def test_the_guard_writes_what_the_matrix_allows(agent: str) -> None:
    """A guarded write succeeds exactly where the matrix allows it, and never on the trail."""
    for namespace, key in (path.split(".") for path in KEYS):
        held, is_allowed = (
            getattr(getattr(START, namespace), key),
            f"{namespace}.{key}" in MATRIX[agent],
        )
        if is_allowed:
            assert GUARD.safe_set(START, agent, namespace, key, held) == START
            continue
        why = r"\(the audit trail is computed\)" if namespace == "audit" else "may not write"
        with pytest.raises(ContextViolationError, match=why):
            GUARD.safe_set(START, agent, namespace, key, held)


@pytest.mark.parametrize(
    ("rights", "expected"),
    [
        (["reasoning"], REASONING),
        (["reasoning.intents"], {"reasoning.intents"}),
        (["reasoning.intents", "llm"], {"reasoning.intents"} | LLM),
        (["metadata"], {"metadata.locale"}),
        (["metadata.session_id"], {"metadata.session_id"}),
        (["*"], set(KEYS) - AUDIT),
        (["*", "llm"], set(KEYS) - AUDIT),
        (["audit", "audit.diffs"], set()),
        ([], set()),
    ],
)
def test_rights_are_namespaces_keys_or_everything(rights: list[str], expected: set[str]) -> None:
    """A right to a namespace covers its keys except identifying ones; a star covers everything."""
    validator = ContextValidator()
    validator.register_agent("x", rights)
    assert {path for path in KEYS if allows(validator, "x", path)} == expected


def allows(validator: ContextValidator, agent: str, path: str) -> bool:
    """Tell whether an agent may write a key."""
    namespace, key = path.split(".")
    try:
        validator.validate_write(agent, namespace, key)
    except ContextViolationError:
        return False
    return True


@pytest.mark.parametrize(
    "right",
    [
        "reasonin",
        "reasoning.",
        "reasoning.intents.type",
        "**",
        "",
    ],
)
def test_a_right_to_what_does_not_exist_is_refused(right: str) -> None:
    """A misspelt right is refused on registration, and nothing is registered."""
    validator = ContextValidator()
    with pytest.raises(UnknownNameError, match="Use "):
        validator.register_agent("x", ["llm", right])
    assert validator.allowed("x") == ()


@pytest.mark.parametrize(
    "path", ["reasoning.intent", "reasonin.intents", "intents", "", "reasoning.intents.0", 3]
)
def test_a_write_to_what_does_not_exist_is_refused(path: Any) -> None:
    """Even the orchestrator writes only what the schema has."""
    with pytest.raises(UnknownNameError, match="Use "):
        GUARD.safe_update(START, "orchestrator", {path: ()})


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("reasoning.intents", [{"confidence": 2}], "$.reasoning.intents[0].confidence"),
        ("reasoning.intents", Intent(), "$.reasoning.intents"),
        ("reasoning.entities", {"a": {1, 2}}, "$.reasoning.entities.a"),
        ("metadata.created_at", "yesterday", "$.metadata.created_at"),
    ],
)
def test_a_value_outside_the_schema_is_refused_by_path(key: str, value: object, path: str) -> None:
    """The guard checks the value as the decoder would."""
    namespace, name = key.split(".")
    with pytest.raises(InvalidDataError) as caught:
        GUARD.safe_set(START, "orchestrator", namespace, name, value)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "bad", [{"llm.usage": 3}, {"retrieval.plans": []}, {"llm.modle": "m"}, {"audit.diffs": []}]
)
def test_one_fault_refuses_the_whole_update(bad: dict[str, Any]) -> None:
    """One illegal change refuses the whole update, whatever the order."""
    for changes in ({"llm.model": "m", **bad}, {**bad, "llm.model": "m"}):
        with pytest.raises((InvalidDataError, ContextViolationError, UnknownNameError)):
            GUARD.safe_update(START, "inference", changes)
    assert START.llm.model == ""


@given(st.data(), CONTEXTS)
def test_a_write_changes_its_key_and_shares_the_rest(
    data: st.DataObject, ctx: AgentContext
) -> None:
    """A write changes its key and leaves every other key and namespace the same object."""
    key = data.draw(st.sampled_from([key for key in all_keys() if key.namespace != "audit"]))
    value = data.draw(of_kind(key.kind))
    try:
        written = GUARD.safe_set(ctx, "orchestrator", key.namespace, key.key, value)
    except InvalidDataError as error:
        assert key.path in WITH_IDS and (  # noqa: PT018  one condition
            "is there already" in error.what or "refers to" in error.what
        )
        return
    held, read = getattr(getattr(written, key.namespace), key.key), key.kind.read(value)
    is_signed = key.shape is Shape.ARRAY and issubclass(key.item or str, AgentRecord)
    unsigned = {"agent_id": ""} if is_signed else {}
    assert (
        held == read
        if not unsigned
        else [with_changes(entry, **unsigned) for entry in held]
        == [with_changes(e, **unsigned) for e in read]
    )
    for namespace, keys in SCHEMA.items():
        before, after = getattr(ctx, namespace), getattr(written, namespace)
        assert (before is after) == (namespace != key.namespace)
        assert all(
            getattr(before, name) is getattr(after, name)
            for name in keys
            if (namespace, name) != (key.namespace, key.key)
        )
