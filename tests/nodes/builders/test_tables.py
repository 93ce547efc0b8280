"""Every cell of the four tables of what a node consumes, in both directions.

A row names words that occur in one part of a layer and nowhere else. A node that
must get the part has all of them in its context, a node that must not get it has none.
"""

import pytest

from polycontext.nodes import (
    build_act_context,
    build_reply_context,
    build_think_context,
    build_understand_context,
)
from tests.nodes.builders.material import lived

BUILDERS = {
    "understand": build_understand_context,
    "think": build_think_context,
    "act": build_act_context,
    "reply": build_reply_context,
}

# part of a layer: its words, and for understand, think, act, reply whether they must be there
CELLS: dict[str, tuple[list[str], str]] = {
    # layer 1
    "active: full data": (["ACTIVE-DATA", '"ref":"recipe_3"'], "x.x."),
    "active: refs and labels": (['recipe_3: "ACTIVE-LABEL"'], ".x.."),
    "active: labels": (["ACTIVE-LABEL"], "xxxx"),
    "generated: full data": (["GENERATED-DATA", '"ref":"gen_plan_1"'], "x.x."),
    "generated: refs and labels": (['gen_plan_1: "GENERATED-LABEL"'], ".x.."),
    "generated: labels": (["GENERATED-LABEL"], "xxxx"),
    "retained: full data": (["RETAINED-DATA", "RETAINED-LABEL", "RETAINED-REASON"], "x..."),
    "retained: refs": (["recipe_1"], "xx.."),
    "out of mind": (["FORGOTTEN-LABEL", "recipe_2"], "...."),
    "database ids": (["SECRET-ID-1", "SECRET-ID-2", "SECRET-ID-3"], "...."),
    # layer 2
    "recent: the exchange under way": (["SAID-NOW"], "xxxx"),
    "recent: the one before": (["SAID-9", "ANSWERED-9"], "xxxx"),
    "history: before the recent ones": (["SAID-8", "ANSWERED-8", "SAID-5"], "xx.."),
    "summary": (["SAID-1 ", "ANSWERED-2"], "xx.."),
    "engagement": (["Goals: GOAL-7"], "xx.x"),
    "pending": (["PENDING-9", "QUESTION-9"], "xx.x"),
    # layer 3
    "the last turn's steps in full": (["DESCRIBED-9", "NOTE-9", "DOMAIN-9"], ".x.."),
    "the last turn's decision": (["Decided: plan_direct: GOAL-9"], ".x.."),
    "this turn's steps": (["DESCRIBED-NOW", "NOTE-NOW"], ".xx."),
    "the last turn's outcomes": (["OUTCOME-9"], ".x.x"),
    "earlier reasoning": (["OUTCOME-2"], ".x.."),
    "own decisions": (["Turn 3: retained CURATED-3 (REASON-3)"], "x..."),
    "curation, summed up": (
        ["Curation: retained CURATED-9 (REASON-9)", "Curation: retained CURATED-NOW"],
        ".x..",
    ),
    "phase": (["Phase: narrowing"], ".x.x"),
    # what the machine kept
    "the task, and what the user demanded since": (
        ["still holds: TASK-0 please", "From now on, never DEMANDED-3"],
        "xxxx",
    ),
    "what the user demanded where the view has no room for all of it": (
        ["still holds: You must not REQUIRED-4"],
        "xxxx",
    ),
    "what the assistant said and was pinned": (["ANSWERED-6"], "xxxx"),
    "what a tool said and was pinned": (["Pinned: PINNED-RESULT"], "x.x."),
    "rules of the system": (["Rules: SYSTEM-RULE"], "..xx"),
    "what is attached": (["Attached [@a.py:3]: ATTACHED-TEXT"], "xxxx"),
    "gists, and for how many turns": (["In place of 3 earlier messages: ", "GISTED-WORDS"], "xx.."),
    "what a tool said that is in a gist": (["GISTED-RESULT"], "...."),
    # what each node must be told besides
    "what needs no reading": (["DO NOT re-read:"], ".x.."),
    "last turn": (["Last turn: OUTCOME-9"], ".x.."),
    "user expressed": (["User expressed: EXPRESSED-NOW"], ".x.x"),
    "full results of this turn's steps": (['Result of step 1: ["RESULT-NOW"]'], "..x."),
    "note of the previous step": (["Note of the previous step: NOTE-NOW"], "..x."),
    "archive": (["turn_9_step_1"], "..x."),
    "just accomplished": (["Just accomplished: OUTCOME-NOW"], "...x"),
    "the machine's state, and what compression took": (
        ["Context: ACCUMULATING, pressure 0.0", ", 3 earlier messages are summarised"],
        "xxxx",
    ),
    # nobody's
    "what other agents share": (["Shared "], "...."),
    "results of closed turns": (["RESULT-9", "RESULT-1"], "...."),
}
MUST = [
    (part, node)
    for part, (_, row) in CELLS.items()
    for node, mark in zip(BUILDERS, row, strict=True)
    if mark == "x"
]
MUST_NOT = [
    (part, node)
    for part, (_, row) in CELLS.items()
    for node, mark in zip(BUILDERS, row, strict=True)
    if mark == "."
]
LIVED = lived()
TEXTS = {node: str(build(LIVED)) for node, build in BUILDERS.items()}


@pytest.mark.parametrize(("part", "node"), MUST)
def test_a_node_gets_what_it_consumes(part: str, node: str) -> None:
    """A node's context holds every part that the tables give to it."""
    assert not [word for word in CELLS[part][0] if word not in TEXTS[node]], TEXTS[node]


@pytest.mark.parametrize(("part", "node"), MUST_NOT)
def test_a_node_gets_nothing_else(part: str, node: str) -> None:
    """A node's context holds no part that the tables withhold from it."""
    assert not [word for word in CELLS[part][0] if word in TEXTS[node]], TEXTS[node]


def test_the_tables_are_whole() -> None:
    """Every cell says for each node whether or not; both happen."""
    assert all(len(row) == len(BUILDERS) and set(row) <= {"x", "."} for _, row in CELLS.values())
    assert len(MUST) + len(MUST_NOT) == len(CELLS) * len(BUILDERS)
    assert MUST
    assert MUST_NOT
