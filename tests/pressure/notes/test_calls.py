"""Calls in a gist: by name and main arguments, with pairs kept whole and pieces named."""

import json

import pytest

from polycontext.pressure.notes.provenance import find_sources
from polycontext.pressure.notes.summariser import ExtractiveSummariser
from polycontext.testing import FAST
from polycontext.window import ToolCall, Turn
from tests.growth import BOUND, growth

SCRIPT = " && ".join(f"sort list-{number} > sorted-{number}" for number in range(40))


def told(arguments: object, max_tokens: int, result: str = "done") -> str:
    """Return the gist of one call and its result beside some talk."""
    call = ToolCall("c1", "run", arguments if isinstance(arguments, str) else json.dumps(arguments))
    turns = [
        Turn("user", "Sort them."),
        Turn("assistant", None, tool_calls=[call]),
        Turn("tool", result, tool_call_id="c1"),
    ]
    return ExtractiveSummariser().summarise(turns, max_tokens, counter=FAST)


def test_short_pairs_are_never_cut() -> None:
    """Every pair of up to 120 characters stands whole or not at all."""
    arguments = {f"field_{number}": f"value {number} of quite some length" for number in range(12)}
    for room in range(
        30, 150, 5
    ):  # in less room than one pair takes, its beginning is all there is
        gist = told(arguments, room)
        for number in range(12):
            assert (f'"field_{number}"' in gist) == (
                f'"field_{number}": "value {number} of quite some length"' in gist
            )


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
@pytest.mark.parametrize("room", range(10, 130, 10))
def test_what_is_left_of_a_long_value_is_traced_to_its_call(
    separators: tuple[str, str], room: int
) -> None:
    """Each piece of a long value is traced to its call, but names and marks between are not."""
    call = ToolCall(
        "c1",
        "run",
        json.dumps(
            {"note": "for the shed", "command": SCRIPT, "timeout": 30_000}, separators=separators
        ),
    )
    turns = [
        Turn("user", "Sort them."),
        Turn("assistant", None, tool_calls=[call]),
        Turn("tool", "done", tool_call_id="c1"),
    ]
    gist = ExtractiveSummariser().summarise(turns, room, counter=FAST)
    lines = [line for line in gist.splitlines() if line.startswith("run")]
    assert all(turns[1] in find_sources(line, turns) for line in lines if "(" in line)
    assert lines or room < 40


@pytest.mark.no_cover
def test_a_long_text_without_pairs_to_shorten_is_read_in_linear_time() -> None:
    """Short pairs, brackets and nested lists: what stands before a pair is not copied for it."""
    for begun, again in (
        ("", '{"a":1,'),
        ("", '{"a":'),
        ("", '"a":[[[[{'),
        ("", "}"),
        ('{"a": "', "]}"),
    ):

        def read(length: int, begun: str = begun, again: str = again) -> object:
            return told(begun + again * (length // len(again)), 60)

        assert growth(read, 2_500) < BOUND


def test_a_blank_argument_is_left_out() -> None:
    """However long it is, white space leaves nothing to tell."""
    call = ToolCall("c", "write", json.dumps({"path": "a.txt", "text": "\t" * 50_000}))
    said = ExtractiveSummariser().summarise(
        [Turn("assistant", None, tool_calls=[call])], 60, counter=FAST
    )
    assert "\t" not in said
