"""Duplicate ids and dangling references are refused."""

from typing import Any

import pytest

from polycontext.agent_context import deserialize, extend_lists
from polycontext.agent_context.consistency import (
    WITH_IDS,
)
from polycontext.agent_context.records import Conclusion, Fact, Hypothesis, Knowledge
from polycontext.base import InvalidDataError
from tests.agent_context.changes import GUARD, START

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


def test_a_damaged_document_is_read_and_hinders_nobody() -> None:
    """A damaged document can be read; writes that add no fault to it succeed."""
    entries: dict[str, list[Any]] = {
        "enrichment.facts": [Fact("f7")],
        "reasoning.conclusions": [Conclusion("c2", based_on=("f7",))],
    }
    context = GUARD.safe_update(DAMAGED, "inference", extend_lists(DAMAGED, entries))
    wrong = Conclusion("c3", based_on=("nothing",))
    with pytest.raises(
        InvalidDataError, match=r"\$\.enrichment\.facts\[7\]: the id 'f1' is there already"
    ):
        GUARD.safe_append(context, "inference", "enrichment", "facts", [Fact("f1")])
    with pytest.raises(InvalidDataError, match="'c3' refers to 'nothing'"):
        GUARD.safe_append(context, "inference", "reasoning", "conclusions", [wrong])
