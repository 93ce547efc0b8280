"""An agent with append rights can only add entries, and every entry records its author."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import (
    AgentContext,
    ContextValidator,
    ContextViolationError,
    extend_lists,
)
from polycontext.agent_context.records import ErrorReport, Fact
from polycontext.agent_context.validator import DEFAULT_RIGHTS
from polycontext.base import InvalidDataError, UnknownNameError
from tests.agent_context.changes import GUARD, START

WHEN = datetime(2026, 3, 1, 9, tzinfo=UTC)
ERROR = {"message": "timeout", "severity": "high"}


class Held:
    """A context that agents write one after the other at one time."""

    def __init__(self) -> None:
        self.context, self.guard = START, ContextValidator.default()

    def write(self, agent: str, changes: Any) -> AgentContext:
        """Write keys under the rights of an agent."""
        self.context = self.guard.safe_update(self.context, agent, changes, when=WHEN)
        return self.context

    def append(self, agent: str, entries: Any) -> AgentContext:
        """Add to lists."""
        return self.write(agent, extend_lists(self.context, entries))


def opened() -> Held:
    """Return a context in which inference has reported an error."""
    held = Held()
    held.append("inference", {"diagnostics.errors": [ERROR]})
    return held


@pytest.mark.parametrize("key", ["diagnostics.errors", "diagnostics.warnings"])
@pytest.mark.parametrize("agent", DEFAULT_RIGHTS)
def test_nobody_writes_under_another_name(agent: str, key: str) -> None:
    """The guard sets the author of a new entry, whatever the entry claims."""
    namespace, name = key.split(".")
    for claimed in ("inference", "validation", ""):
        written = GUARD.safe_set(
            START, agent, namespace, name, [{"agent_id": claimed, "message": "m"}]
        )
        assert [entry.agent_id for entry in getattr(written.diagnostics, name)] == [agent]
    report = GUARD.safe_set(
        START, "validation", "diagnostics", "validation_reports", [{"agent_id": "inference"}]
    )
    assert report.diagnostics.validation_reports[0].agent_id == "validation"


def test_who_may_write_a_list_changes_it_under_its_own_name() -> None:
    """The orchestrator may remove or change errors; untouched entries keep their author."""
    held = opened()
    held.append("validation", {"diagnostics.errors": [{"message": "second"}, {"message": "third"}]})
    one, two, three = held.context.diagnostics.errors
    changed = {"message": "first, seen", "agent_id": "inference"}
    after = held.write(
        "orchestrator", {"diagnostics.errors": [three, changed, two]}
    ).diagnostics.errors
    assert [(error.agent_id, error.message) for error in after] == [
        ("validation", "third"),
        ("orchestrator", "first, seen"),
        ("validation", "second"),
    ]
    assert one not in after


def test_facts_carry_who_found_them() -> None:
    """The guard records the writer in a fact's provenance, and the time if the fact has none."""
    held = opened()
    found = datetime(2026, 2, 1, tzinfo=UTC)
    facts = [
        Fact("f1", "x", provenance={"query": "q", "agent_id": "inference"}),
        Fact("f2", "y", timestamp=found),
    ]
    after = held.write("context_synthesizer", {"enrichment.facts": facts}).enrichment.facts
    assert [fact.provenance for fact in after] == [
        {"query": "q", "agent_id": "context_synthesizer"},
        {"agent_id": "context_synthesizer"},
    ]
    assert [fact.timestamp for fact in after] == [WHEN, found]
    again = held.write(
        "inference", {"enrichment.facts": [*after, Fact("f3", "z")]}
    ).enrichment.facts
    assert [fact.provenance["agent_id"] for fact in again] == [
        "context_synthesizer",
        "context_synthesizer",
        "inference",
    ]
    assert again[0] is after[0]


def test_a_right_to_append_is_one_to_a_list() -> None:
    """Such a right names a list that is there; it is no right to anything else."""
    guard = ContextValidator()
    for right in (
        "append:reasoning.summary",
        "append:reasoning",
        "append:*",
        "append:",
        "append:reasoning.entities",
        "append:reasoning.intent",
    ):
        with pytest.raises(UnknownNameError, match="Use "):
            guard.register_agent("x", [right])
    guard.register_agent("x", ["append:enrichment.facts"])
    after = guard.safe_append(START, "x", "enrichment", "facts", [Fact("f1")])
    assert guard.safe_append(
        after, "x", "enrichment", "facts", [{"id": "f2"}]
    ).enrichment.facts == (Fact("f1"), Fact("f2"))
    with pytest.raises(ContextViolationError):
        guard.safe_append(after, "x", "reasoning", "intents", [{}])
    with pytest.raises(InvalidDataError, match="the id 'f1' is there already"):
        guard.safe_append(after, "x", "enrichment", "facts", [Fact("f1", "another")])


ENTRIES = st.builds(
    ErrorReport,
    agent_id=st.sampled_from(["inference", "validation", ""]),
    message=st.sampled_from(["a", "b"]),
    timestamp=st.just(WHEN),
)


@given(st.lists(ENTRIES, max_size=5), st.data())
def test_whatever_an_appender_writes_others_entries_stay(
    held: list[ErrorReport], data: st.DataObject
) -> None:
    """A list written by an appender is refused unless it begins with the existing entries."""
    guard = ContextValidator.default()
    context: AgentContext = START
    for entry in held:
        context = guard.safe_append(
            context, entry.agent_id or "orchestrator", "diagnostics", "errors", [entry]
        )
    before = context.diagnostics.errors
    start = data.draw(st.sampled_from([before, before[1:], before[::-1], (), before[:-1]]))
    value = (*start, *data.draw(st.lists(ENTRIES, max_size=3)))
    try:
        after = guard.safe_set(
            context, "summarization", "diagnostics", "errors", value
        ).diagnostics.errors
    except ContextViolationError:
        assert value[: len(before)] != before
        return
    assert after[: len(before)] == before
    assert {entry.agent_id for entry in after[len(before) :]} <= {"summarization"}


@pytest.mark.parametrize(
    "name",
    [
        "inference, validation",
        "a,b",
        ",",
        "",
        "  ",
        "line\nbreak",
        "zero\u200bwidth",
        "\x00",
        "tab\t",
    ],
)
def test_a_name_is_one_name(name: str) -> None:
    """An agent name with a comma or unprintable characters is refused."""
    validator = ContextValidator.default()
    with pytest.raises(
        InvalidDataError,
        match=r"is not a valid name. Use printable text of at most 200 characters, without commas",
    ):
        validator.register_agent(name, ["llm"])


@pytest.mark.parametrize("changes", [None, 3, "llm.model", ["llm.model"]])
def test_changes_come_by_key(changes: Any) -> None:
    """The guard refuses changes that are not a mapping."""
    held = opened()
    for refused in (held.write, held.append):
        with pytest.raises(InvalidDataError, match=r"is not a mapping. Use values by key"):
            refused("orchestrator", changes)
    with pytest.raises(InvalidDataError, match="is not a mapping"):
        GUARD.safe_update(START, "orchestrator", changes)
