"""What each node reads of what the machine kept, in both directions.

The cells of the three layers are tested in an agent (tests/agents/test_consumption.py).

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
    "what compression took": (["3 earlier messages are summarised"], "xxxx"),
    "the last turn's outcomes": (["Last turn: OUTCOME-9"], ".x.x"),
    # nobody's
    "what other agents share": (["Shared "], "...."),
    "results of closed turns": (["RESULT-9", "RESULT-1"], "...."),
}
LIVED = lived()
TEXTS = {node: str(build(LIVED)) for node, build in BUILDERS.items()}


@pytest.mark.parametrize("node", BUILDERS)
@pytest.mark.parametrize("part", CELLS)
def test_a_node_gets_what_it_consumes(part: str, node: str) -> None:
    """A node's context holds every part that the tables give to it, and nothing else."""
    words, row = CELLS[part]
    found = [word for word in words if word in TEXTS[node]]
    assert found == (words if row[[*BUILDERS].index(node)] == "x" else []), TEXTS[node]


@pytest.mark.parametrize(("node", "word"), [("think", "OUTCOME-9"), ("reply", "OUTCOME-NOW")])
def test_an_outcome_is_told_once(node: str, word: str) -> None:
    """The line that is kept verbatim stands in place of the step's own."""
    assert TEXTS[node].count(word) == 1
