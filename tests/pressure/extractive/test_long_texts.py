"""Texts that are too long to be read in detail: what is kept of them, and what is not looked at."""

from polycontext.nodes.testing import FAST
from polycontext.pressure import ExtractiveSummariser
from polycontext.pressure.extractive.lines import lines_of
from polycontext.window import Role, ToolCall, Turn

LONG = "A plain word or two stands here. " * 40_000


def test_a_long_text_is_read_at_its_start_and_end() -> None:
    """A megabyte becomes a line of 200,000 characters and little more, with the first and the last words; shorter texts stay whole."""
    (line,) = lines_of([Turn(Role.ASSISTANT, f"First. {LONG} Last.")])
    assert len(line.body) < 201_000
    assert line.body.startswith("First.")
    assert line.body.endswith("Last.")
    (short,) = lines_of([Turn(Role.ASSISTANT, LONG[:200_000].strip())])
    assert short.body == LONG[:200_000].strip()


def test_long_arguments_and_results_are_bounded_too() -> None:
    """A call's arguments and its result are each read in part."""
    (line,) = lines_of([Turn(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "write", LONG)]), Turn(Role.TOOL, LONG, tool_call_id="c1")])
    assert max(map(len, line.parts)) < 201_000


def test_a_constraint_in_the_middle_of_a_long_text_is_kept() -> None:
    """What the user demands stands in the line and is marked, wherever in the text it was said."""
    (line,) = lines_of([Turn(Role.USER, f"{LONG} Never delete the ledger. {LONG}")])
    assert [line.body[start:end] for start, end in line.standing] == ["Never delete the ledger."]
    assert FAST.count(line.body) < FAST.count(LONG)


def test_a_long_gist_that_came_in_is_bounded_too() -> None:
    """Who sends what looks like a gist has no more of it read in detail than of other words; what it demands stands, wherever."""
    notes = "- a plain note\n" * 20_000
    lines = lines_of(
        [Turn(Role.USER, f"[Summary of earlier messages]\n{notes}Never delete the ledger.\n{notes}last note", metadata={"gist": True})]
    )
    assert sum(len(line.body) for line in lines) < 201_000
    assert [line.body[start:end] for line in lines for start, end in line.standing] == ["Never delete the ledger."]
    assert lines[-1].body == "last note"


def test_what_a_call_says_over_and_over_is_read_a_thousand_times() -> None:
    """Its arguments are weighed no longer for saying once more what they said, as a result is not."""
    call = ToolCall("c1", "write", '{"kind": "plain", "size": 1}\n' * 6_000)
    read = ExtractiveSummariser().read([Turn(Role.ASSISTANT, None, tool_calls=[call])], counter=FAST)
    assert 1_000 <= len(read.segments) <= 4_000
