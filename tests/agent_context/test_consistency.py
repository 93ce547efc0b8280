"""Duplicate ids and dangling references are refused, reported and repaired."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    Conclusion,
    ContextValidator,
    ContextViolationError,
    Fact,
    Hypothesis,
    deserialize,
    serialize,
)
from polycontext.agent_context.consistency import (
    MAKERS,
    WITH_IDS,
    apply_fixes,
    entries_of,
    examine,
    faults,
)
from polycontext.agent_context.json_text import is_same
from polycontext.agent_context.record_base import with_changes
from polycontext.agent_context.records import Knowledge, ReasoningContext, ValidationReport
from polycontext.base import InvalidDataError
from tests.agent_context.changes import START, write
from tests.agent_context.strategies import CONTEXTS

GUARD = ContextValidator.default()
DAMAGED = deserialize(
    """{
    "reasoning": {
        "hypotheses": [{"id": "h1", "dependencies": ["h9"]},
   {"id": "h1", "description": "another"}],
        "conclusions": [{"id": "c1", "based_on": ["f1", "nothing", "h1"]}]
    },
    "enrichment": {
        "facts": [{"id": "f1"}, {"id": "f1"}, {"id": "f1", "content": "x"}, {"id": "f1-2"}, {}, {}],
        "derived_knowledge": [{"id": "k1", "derived_from": ["f1", ""]}]
    }
}"""
)


@pytest.mark.parametrize("path", WITH_IDS)
def test_an_id_stands_once(path: str) -> None:
    """A second entry with the same id is refused by its path; entries without an id may repeat."""
    namespace, key = path.split(".")
    twice = [{"id": "x"}, {"id": "y"}, {"id": "x"}]
    with pytest.raises(
        InvalidDataError, match=r"\[2\]: the id 'x' is there already. Use an id of its own"
    ):
        GUARD.safe_set(START, "orchestrator", namespace, key, twice)
    once = GUARD.safe_set(START, "orchestrator", namespace, key, [{"id": "x"}, {}, {}])
    with pytest.raises(InvalidDataError, match=r"\[3\]: the id 'x' is there already"):
        GUARD.safe_append(once, "orchestrator", namespace, key, [{"id": "x"}])


REFERRING: list[dict[str, Any]] = [
    {"reasoning.hypotheses": [Hypothesis("h", dependencies=("nothing",))]},
    {"reasoning.conclusions": [Conclusion("c", based_on=("nothing",))]},
    {"reasoning.conclusions": [Conclusion("c", based_on=("p",))], "retrieval.plans": [{"id": "p"}]},
    {
        "enrichment.derived_knowledge": [Knowledge("k", derived_from=("h",))],
        "reasoning.hypotheses": [Hypothesis("h")],
    },
    {
        "enrichment.derived_knowledge": [Knowledge("k", derived_from=("",))],
        "enrichment.facts": [Fact()],
    },
]


@pytest.mark.parametrize("changes", REFERRING)
def test_a_reference_leads_somewhere(changes: dict[str, Any]) -> None:
    """A dangling or ambiguous reference is refused with the missing id."""
    with pytest.raises(
        InvalidDataError, match=r"refers to '(nothing|p|h|)', which is not there. Use ids of "
    ):
        GUARD.safe_update(START, "orchestrator", changes)


def test_references_may_come_with_what_they_mean() -> None:
    """One write may add an entry and references to it; afterwards the entry cannot be removed."""
    facts, conclusions = [Fact("f1")], [Conclusion("c1", based_on=("f1", "h1"))]
    written = GUARD.safe_update(
        START,
        "orchestrator",
        {
            "reasoning.conclusions": conclusions,
            "enrichment.facts": facts,
            "reasoning.hypotheses": [Hypothesis("h1", dependencies=("h1",))],
        },
    )
    with pytest.raises(
        InvalidDataError,
        match=r"\$\.reasoning\.conclusions\[0\]: 'c1' refers to 'f1', which is not there",
    ):
        GUARD.safe_set(written, "context_synthesizer", "enrichment", "facts", [])
    emptied = GUARD.safe_update(
        written, "orchestrator", {"reasoning.conclusions": [], "enrichment.facts": []}
    )
    assert emptied.enrichment.facts == ()


def test_runs_that_fit_apart_and_not_together_are_refused() -> None:
    """A run that uses a fact that another run removed fails, and the context stays consistent."""
    store = AgentContextStore(write(START, enrichment__facts=[Fact("f1")]))
    with (  # noqa: PT012  its end is what fails
        pytest.raises(InvalidDataError, match="refers to 'f1'"),
        store.run("inference") as run,
    ):
        run.write({"reasoning.conclusions": [Conclusion("c1", based_on=("f1",))]})
        store.write("context_synthesizer", {"enrichment.facts": []})
    assert store.context.reasoning.conclusions == ()
    assert [run.status for run in store.context.audit.agent_runs] == ["success", "failed"]
    assert list(faults(store.context)) == []


def test_a_damaged_document_is_read_and_hinders_nobody() -> None:
    """A damaged document can be read; writes that add no fault to it succeed."""
    store = AgentContextStore(DAMAGED)
    store.append(
        "inference",
        {
            "enrichment.facts": [Fact("f7")],
            "reasoning.conclusions": [Conclusion("c2", based_on=("f7",))],
        },
    )
    with pytest.raises(
        InvalidDataError, match=r"\$\.enrichment\.facts\[7\]: the id 'f1' is there already"
    ):
        store.append("inference", {"enrichment.facts": [Fact("f1")]})
    with pytest.raises(InvalidDataError, match="'c3' refers to 'nothing'"):
        store.append(
            "inference", {"reasoning.conclusions": [Conclusion("c3", based_on=("nothing",))]}
        )


def test_an_examination_tells_every_fault() -> None:
    """The report has each fault with its place, and does not pass; a sound context has none."""
    report = examine(DAMAGED, agent_id="validation")
    assert (report.passed, report.agent_id, len(report.auto_fixes)) == (False, "validation", 2)
    assert report.issues == (
        "$.reasoning.hypotheses[1]: the id 'h1' is there already",
        "$.enrichment.facts[1]: the id 'f1' is there already",
        "$.enrichment.facts[2]: the id 'f1' is there already",
        "$.reasoning.hypotheses[0]: 'h1' refers to 'h9', which is not there",
        "$.reasoning.conclusions[0]: 'c1' refers to 'nothing', which is not there",
        "$.enrichment.derived_knowledge[0]: 'k1' refers to '', which is not there",
    )
    assert examine(START) == ValidationReport(passed=True)


def test_fixes_mend_and_lose_nothing() -> None:
    """Fixes remove duplicates and dangling references and rename clashing ids, nothing else."""
    mended = apply_fixes(DAMAGED, examine(DAMAGED))
    assert [fact.id for fact in mended.enrichment.facts] == ["f1", "f1-3", "f1-2", "", ""]
    assert mended.enrichment.facts[1].content == "x"
    assert [
        (hypothesis.id, hypothesis.dependencies) for hypothesis in mended.reasoning.hypotheses
    ] == [("h1", ()), ("h1-2", ())]
    assert mended.reasoning.conclusions[0].based_on == ("f1", "h1")
    assert mended.enrichment.derived_knowledge[0].derived_from == ("f1",)
    assert examine(mended).passed


def test_a_store_applies_fixes_under_the_rights_of_an_agent() -> None:
    """Fixes need the right to write what they change, so validation reports cannot apply them."""
    store = AgentContextStore(DAMAGED)
    store.append("validation", {"diagnostics.validation_reports": [examine(store.context)]})
    (report,) = store.context.diagnostics.validation_reports
    assert report.agent_id == "validation"
    with pytest.raises(ContextViolationError):
        store.apply_fixes("validation", report)
    store.apply_fixes("orchestrator", report)
    assert examine(store.context).passed
    assert store.context.audit.agent_runs[-1].keys_written == (
        "reasoning.hypotheses",
        "reasoning.conclusions",
        "enrichment.facts",
        "enrichment.derived_knowledge",
    )
    with pytest.raises(InvalidDataError, match=r"auto_fixes\[0\]"):
        store.apply_fixes("orchestrator", report)
    assert store.replay() == store.context


@pytest.mark.parametrize(
    "text",
    ["", "drop it", "[]", '{"changes": 1}', '{"timestamp": 1, "agent_id": "", "changes": {}}'],
)
def test_what_is_no_fix_is_refused(text: str) -> None:
    """An unknown suggestion is refused by name, and none of the fixes is applied."""
    report = examine(DAMAGED)
    with pytest.raises(InvalidDataError, match=r"auto_fixes\[2\]"):
        apply_fixes(DAMAGED, evolve(report, auto_fixes=(*report.auto_fixes, text)))


@pytest.mark.parametrize("report", [None, "fixes", {"auto_fixes": "x"}])
def test_what_is_no_report_mends_nothing(report: Any) -> None:
    """It is refused in words."""
    with pytest.raises(InvalidDataError):
        AgentContextStore(DAMAGED).apply_fixes("orchestrator", report)


def test_a_maker_of_ones_own() -> None:
    """Any function from context to context makes a fix: here one that fills in the summary."""

    def summary(context: AgentContext) -> AgentContext:
        return with_changes(context, reasoning=with_changes(context.reasoning, summary="none"))

    report = examine(DAMAGED, (*MAKERS, summary))
    store = AgentContextStore(DAMAGED)
    assert store.apply_fixes("orchestrator", report).reasoning.summary == "none"


def test_a_report_stays_short() -> None:
    """A thousand faults make a report of a hundred, which says how many more there are."""
    many = evolve(
        START,
        reasoning=ReasoningContext(
            hypotheses=tuple(Hypothesis(f"h{n}", "", ("gone",)) for n in range(1_000))
        ),
    )
    report = examine(many)
    assert (len(report.issues), report.issues[-1]) == (101, "and 900 more")
    assert examine(apply_fixes(many, report)).passed


def test_unknown_fields_survive_mending() -> None:
    """A repaired entry keeps the unknown fields that the lenient decoder read."""
    damaged = deserialize(
        '{"enrichment": {"facts": [{"id": "a", "x": 1}, {"id": "a", "y": 2}]}}', lenient=True
    )
    mended = apply_fixes(damaged, examine(damaged))
    assert [dict(fact.extras) for fact in mended.enrichment.facts] == [{"x": 1}, {"y": 2}]


@given(CONTEXTS)
def test_whatever_is_damaged_can_be_mended(context: AgentContext) -> None:
    """The report of any context, read back from JSON, repairs it; sound parts stay shared."""
    report = deserialize(
        serialize(write(START, diagnostics__validation_reports=[examine(context)]))
    ).diagnostics.validation_reports[0]
    mended = apply_fixes(context, report)
    assert list(faults(mended)) == []
    assert examine(mended).auto_fixes == ()
    assert report.passed == is_same(mended, context)
    for path in WITH_IDS:
        assert {entry.id for entry in entries_of(context, path)} <= {
            entry.id for entry in entries_of(mended, path)
        }
