"""Every rule of the default classifier, by name."""

import pytest

from polycontext.linearity import ResourceClass, default_classifier

DROPPABLE, REQUIRED, PRESERVED = ResourceClass
RULE = "From now on, answer in French."


@pytest.mark.parametrize("content", ["You are a helpful agent.", "ok", ""])
def test_a_system_turn_is_preserved(content: str) -> None:
    """Whatever it says."""
    assert default_classifier("system", content, {}) is PRESERVED


def test_a_user_turn_is_required() -> None:
    """Were every user turn PRESERVED, the pressure could never fall."""
    assert default_classifier("user", "And the return flight on Monday?", {}) is REQUIRED
    assert (
        default_classifier("user", "And the return flight on Monday?", {"first_user": False})
        is REQUIRED
    )


@pytest.mark.parametrize("content", ["Book a flight to Oslo.", "ok", ""])
def test_the_first_user_turn_is_preserved(content: str) -> None:
    """It is the task, however short."""
    assert default_classifier("user", content, {"first_user": True}) is PRESERVED


@pytest.mark.parametrize(
    "content",
    [
        RULE,
        "Ab jetzt bitte auf Deutsch.",
        "Ne réponds jamais.",
        "Nunca borres nada.",
        "必须用中文。",
        "必ず敬語で。",
    ],
)
def test_a_standing_constraint_is_preserved(content: str) -> None:
    """In every language that has markers; without a known share there is no limit."""
    assert default_classifier("user", content, {}) is PRESERVED


@pytest.mark.parametrize(
    ("spent", "expected"), [(0, PRESERVED), (90, PRESERVED), (91, REQUIRED), (100, REQUIRED)]
)
def test_constraints_are_preserved_while_their_share_lasts(
    spent: int, expected: ResourceClass
) -> None:
    """A turn with constraints is PRESERVED until their share is spent, and then REQUIRED."""
    facts = {"constraint_tokens": spent, "tokens": 10, "preserved_share_tokens": 100}
    assert default_classifier("user", RULE, facts) is expected


LETTER = "The weather was fine and the train was late. "


@pytest.mark.parametrize(("filler", "expected"), [(0, PRESERVED), (1, REQUIRED), (100, REQUIRED)])
def test_a_turn_that_is_mostly_something_else_is_required(
    filler: int, expected: ResourceClass
) -> None:
    """A turn is preserved only if at least half of its characters state an instruction."""
    assert default_classifier("user", LETTER * filler + RULE, {}) is expected


@pytest.mark.parametrize(("rules", "expected"), [(6, PRESERVED), (7, REQUIRED)])
def test_a_long_turn_of_constraints_is_required(rules: int, expected: ResourceClass) -> None:
    """Only up to 280 characters are preserved as a whole turn, whatever they state."""
    stated = " ".join(f"Never open gate {number} of the old north yard." for number in range(rules))
    assert default_classifier("user", stated, {}) is expected


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_constraints_are_stated_by_users_only(role: str) -> None:
    """Obligations stated by an assistant or a tool are not constraints of the user."""
    assert default_classifier(role, RULE, {}) is REQUIRED


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
@pytest.mark.parametrize("content", [RULE, "ok", ""])
def test_a_gist_is_required(role: str, content: str) -> None:
    """Always: PRESERVED it would pile up, DROPPABLE it would lose its sources."""
    assert (
        default_classifier(role, content, {"gist": True, "first_user": True, "has_parts": True})
        is REQUIRED
    )


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_turn_with_parts_is_required(role: str) -> None:
    """A picture without words is not nothing, and yet it yields."""
    assert default_classifier(role, "", {"has_parts": True}) is REQUIRED


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize(
    "content", ["ok", "Great, thank you!", "got it", "👍", "谢谢！", "Merci beaucoup"]
)
def test_an_acknowledgement_is_droppable(role: str, content: str) -> None:
    """An acknowledgement is droppable, whatever its role."""
    assert default_classifier(role, content, {}) is DROPPABLE


def test_an_acknowledgement_that_answers_a_question_is_required() -> None:
    """After "Shall I delete it?" an ok is a decision; a blank answer is still nothing."""
    assert default_classifier("user", "ok", {"answers_question": True}) is REQUIRED
    assert default_classifier("user", " ", {"answers_question": True}) is DROPPABLE


@pytest.mark.parametrize("content", ["", "ok", "Thanks!"])
def test_an_assistant_turn_with_calls_is_never_droppable(content: str) -> None:
    """Its calls are what it says."""
    assert default_classifier("assistant", content, {"has_calls": True}) is REQUIRED
