"""Every rule of the default classifier, by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from polycontext.linearity import ResourceClass, default_classifier

DROPPABLE, REQUIRED, PRESERVED = ResourceClass
RULE = "From now on, answer in French."
RULES = [
    RULE,
    "Ab jetzt bitte auf Deutsch.",
    "Ne réponds jamais.",
    "Nunca borres nada.",
    "必须用中文。",
    "必ず敬語で。",
]
LETTER = "The weather was fine and the train was late. "
NORTH_YARD = [f"Never open gate {number} of the old north yard." for number in range(7)]
ALL = ["system", "user", "assistant", "tool"]
SHARE = {"tokens": 10, "preserved_share_tokens": 100}

Row = tuple[Sequence[str], Sequence[str], Mapping[str, Any], ResourceClass]

ROWS: dict[str, Row] = {
    "a system turn": (["system"], ["You are a helpful agent.", "ok", ""], {}, PRESERVED),
    "a user turn": (["user"], ["And the return flight on Monday?"], {}, REQUIRED),
    "a later user turn": (["user"], ["And the return flight?"], {"first_user": False}, REQUIRED),
    "the task, however short": (
        ["user"],
        ["Book a flight to Oslo.", "ok", ""],
        {"first_user": True},
        PRESERVED,
    ),
    "a constraint, without a known share": (["user"], RULES, {}, PRESERVED),
    "the share lasts": (["user"], [RULE], SHARE | {"constraint_tokens": 90}, PRESERVED),
    "the share is spent": (["user"], [RULE], SHARE | {"constraint_tokens": 91}, REQUIRED),
    "mostly something else": (["user"], [LETTER + RULE, LETTER * 100 + RULE], {}, REQUIRED),
    "at most 280 characters": (["user"], [" ".join(NORTH_YARD[:6])], {}, PRESERVED),
    "more characters": (["user"], [" ".join(NORTH_YARD)], {}, REQUIRED),
    "only users state constraints": (["assistant", "tool"], [RULE], {}, REQUIRED),
    "a gist": (
        ALL,
        [RULE, "ok", ""],
        {"gist": True, "first_user": True, "has_parts": True},
        REQUIRED,
    ),
    "parts without words": (ALL[1:], [""], {"has_parts": True}, REQUIRED),
    "an acknowledgement": (
        ["user", "assistant"],
        ["ok", "Great, thank you!", "got it", "👍", "谢谢！", "Merci beaucoup"],
        {},
        DROPPABLE,
    ),
    "an answer to a question": (["user"], ["ok"], {"answers_question": True}, REQUIRED),
    "no answer to a question": (["user"], [" "], {"answers_question": True}, DROPPABLE),
    "calls": (["assistant"], ["", "ok", "Thanks!"], {"has_calls": True}, REQUIRED),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_turn_has_the_class_of_its_rule(name: str) -> None:
    """Were all user turns PRESERVED, the pressure could never fall; nothing said is DROPPABLE."""
    roles, contents, facts, expected = ROWS[name]
    found = [default_classifier(role, each, facts) for role in roles for each in contents]
    assert set(found) == {expected}
