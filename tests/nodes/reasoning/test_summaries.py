"""The records of layer 3: strict about their words, and decisions that add up."""

from typing import Any

import pytest
from hypothesis import given

from polycontext.base import InvalidDataError
from polycontext.nodes.reasoning import (
    ConversationPhase,
    CurationSummary,
    ReasoningTrace,
    StepSummary,
    TurnExecutionSummary,
)
from tests.nodes.memory.records import curations


@pytest.mark.parametrize(
    ("make", "field", "legal"),
    [
        (lambda: StepSummary(1, "look", "recipes", ""), "type", "read, analyze, generate, write"),
        (lambda: StepSummary(0, "read", "recipes", ""), "step_num", "a whole number from 1"),
        (lambda: StepSummary(True, "read", "recipes", ""), "step_num", "a whole number from 1"),
        (lambda: StepSummary(1, "read", "recipes", "", note="\ud800"), "note", "UTF-8"),
        (
            lambda: StepSummary(1, "read", "recipes", "", "", ["a", 3]),  # type: ignore[list-item]
            r"entities_involved\[1\]",
            "str",
        ),
        (lambda: TurnExecutionSummary(-1), "turn_num", "a whole number from 0"),
        (
            lambda: TurnExecutionSummary(1, "guess"),
            "think_decision",
            "plan_direct, propose, clarify",
        ),
        (
            lambda: TurnExecutionSummary(1, conversation_phase="done"),
            "conversation_phase",
            "exploring, narrowing, confirming",
        ),
        (
            lambda: CurationSummary(reasons={"recipe_1": None}),  # type: ignore[dict-item]
            "reasons.recipe_1",
            "str",
        ),
        (lambda: CurationSummary(reasons="none"), "reasons", "a mapping"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_record_is_refused(make: Any, field: str, legal: str) -> None:
    """Each wrong value is refused by its field, with what would be legal."""
    with pytest.raises(InvalidDataError, match=f"^{field}: .*. Use .*{legal}"):
        make()


@given(curations(), curations(), curations())
def test_decisions_add_up(
    first: CurationSummary, second: CurationSummary, third: CurationSummary
) -> None:
    """Joining decisions is associative, and nothing decided changes nothing."""
    assert first.then(second).then(third) == first.then(second.then(third))
    assert CurationSummary().then(first).then(CurationSummary()) == first


def test_a_later_decision_replaces_the_earlier() -> None:
    """A ref that was retained and then demoted is demoted, and only the later reason stands."""
    kept = CurationSummary(
        ["recipe_1", "recipe_2"], reasons={"recipe_1": "liked", "recipe_2": "new"}
    )
    both = kept.then(CurationSummary(demoted=["recipe_1"]))
    assert (both.retained, both.demoted, both.reasons) == (
        ("recipe_2",),
        ("recipe_1",),
        {"recipe_2": "new"},
    )


def test_the_newest_known_phase_and_wish_are_told() -> None:
    """A turn that was blocked before its phase was known does not hide the one before."""
    known = TurnExecutionSummary(
        1, conversation_phase="narrowing", user_expressed="wants quick meals"
    )
    trace = ReasoningTrace([known], current=TurnExecutionSummary(2, blocked_reason="no database"))
    assert (trace.phase, trace.user_expressed) == (ConversationPhase.NARROWING, "wants quick meals")
    assert (ReasoningTrace().phase, ReasoningTrace().user_expressed) == (None, "")
