"""Calls in a gist: by name, with what says what they touch, no pair cut, no piece of a value without its name."""

import json

import pytest

from polycontext.nodes.testing import FAST
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.pressure.extractive.tracing import traced
from polycontext.window import ToolCall, Turn
from tests.growth import BOUND, growth

SCRIPT = " && ".join(f"sort list-{number} > sorted-{number}" for number in range(40))


def told(arguments: object, max_tokens: int, result: str = "done") -> str:
    """Return the gist of one call and its result beside some talk."""
    call = ToolCall("c1", "run", arguments if isinstance(arguments, str) else json.dumps(arguments))
    turns = [Turn("user", "Sort them."), Turn("assistant", None, tool_calls=[call]), Turn("tool", result, tool_call_id="c1")]
    return ExtractiveSummariser().summarise(turns, max_tokens, counter=FAST)


def test_a_call_is_shown_with_what_it_touches() -> None:
    """Where not all arguments have room, the pair that names a path or a command comes first."""
    arguments = {"reason": "because nobody has looked into it for so long a time", "timeout": 30_000, "path": "shed/list-7.txt", "depth": 2}
    gist = told(arguments, 34)
    assert '"path": "shed/list-7.txt"' in gist
    assert "reason" not in gist


@pytest.mark.parametrize("room", range(8, 120, 4))
def test_no_piece_of_a_long_value_stands_without_its_name(room: int) -> None:
    """Whatever is left of a command, its name stands before it, and no bracket or quotation mark closes what was not opened."""
    gist = told({"command": SCRIPT, "timeout": 30_000}, room)
    call = next((line for line in gist.splitlines() if line.startswith("run(")), "")
    shown = call.removeprefix("run(").partition(") -> ")[0].rstrip(")")
    assert shown.startswith(('"command": "', '{"command": "', '"timeout": ', ""))
    assert "list-" not in shown or '"command": "' in shown
    assert not shown.endswith(",")
    assert shown.count("}") <= shown.count("{")


def test_short_pairs_are_never_cut() -> None:
    """Every pair of up to 120 characters stands whole or not at all."""
    arguments = {f"field_{number}": f"value {number} of quite some length" for number in range(12)}
    for room in range(30, 150, 5):  # in less room than one pair takes, its beginning is all there is
        gist = told(arguments, room)
        for number in range(12):
            assert (f'"field_{number}"' in gist) == (f'"field_{number}": "value {number} of quite some length"' in gist)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
@pytest.mark.parametrize("room", range(10, 130, 10))
def test_what_is_left_of_a_long_value_is_traced_to_its_call(separators: tuple[str, str], room: int) -> None:
    """The name put before a piece and the mark where a value is cut were said by nobody: the rest was, however the arguments are written."""
    call = ToolCall("c1", "run", json.dumps({"note": "for the shed", "command": SCRIPT, "timeout": 30_000}, separators=separators))
    turns = [Turn("user", "Sort them."), Turn("assistant", None, tool_calls=[call]), Turn("tool", "done", tool_call_id="c1")]
    gist = ExtractiveSummariser().summarise(turns, room, counter=FAST)
    lines = [line for line in gist.splitlines() if line.startswith("run")]
    assert all(turns[1] in traced(line, turns) for line in lines if "(" in line)
    assert lines or room < 40


@pytest.mark.no_cover
def test_a_long_text_without_pairs_to_shorten_is_read_in_linear_time() -> None:
    """Short pairs, brackets and nested lists: what stands before a pair is not copied for it."""
    for begun, again in (("", '{"a":1,'), ("", '{"a":'), ("", '"a":[[[[{'), ("", "}"), ('{"a": "', "]}")):

        def read(length: int, begun: str = begun, again: str = again) -> object:
            return told(begun + again * (length // len(again)), 60)

        assert growth(read, 2_500) < BOUND


@pytest.mark.parametrize("room", range(54, 62))
def test_a_result_brings_along_what_its_call_touches(room: int) -> None:
    """The reason stands first among the arguments, but the path tells which call was answered: the room is the result's."""
    arguments = {"reason": "because nobody has looked into it for so long a time, and somebody should have", "path": "shed/list-7.txt"}
    gist = told(arguments | {"timeout": 30_000}, room, "Nails: 4711 of steel, 12 of brass. Boxes: B7, B9. The lid is open.")
    assert '"path": "shed/list-7.txt"' in gist
    assert "-> Nails: 4711 of steel, 12 of brass. Boxes: B7, B9." in gist
