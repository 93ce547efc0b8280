"""Calls in a gist: by name, with what says what they touch, no pair cut, no piece of a value without its name."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.testing import FAST
from polycontext.pressure.extractive.summariser import ExtractiveSummariser
from polycontext.window import ToolCall, Turn
from polycontext.window.text.pairs import Pair, pairs_of

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


@given(st.text(alphabet='{}[]":,\\ ab1', max_size=60))
def test_pairs_stand_in_the_text_in_order(text: str) -> None:
    """Whatever the text, pairs ascend, do not overlap, and begin with their name."""
    at = 0
    for pair in pairs_of(text):
        assert at <= pair.start < pair.value <= pair.end <= len(text)
        assert text.startswith(f'"{pair.name}"', pair.start)
        at = pair.end


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers() | st.booleans(), max_size=6))
def test_the_pairs_of_a_flat_object_are_its_items(held: dict[str, object]) -> None:
    """Names and values read back are those that were written."""
    text = json.dumps(held)
    assert [json.loads(f'"{pair.name}"') for pair in pairs_of(text)] == list(held)


def test_what_is_named_as_a_path_touches_a_file() -> None:
    """A path, an id and a command touch something; a line number does not; only a path is a file."""
    pairs = [Pair(0, 1, 2, name) for name in ("file_path", "reservation_id", "cmd", "line")]
    assert [(pair.touches, pair.of_file) for pair in pairs] == [(True, True), (True, False), (True, False), (False, False)]


@pytest.mark.parametrize("text", ['"' * 200_000, '{"' * 100_000, '"a":"' * 50_000, '\\"' * 100_000, '"a": ' * 50_000])
def test_hostile_arguments_are_read_in_linear_time(text: str) -> None:
    """A megabyte of quotation marks takes no more than a few passes; a quadratic reading would not end within a minute."""
    began = time.process_time()
    list(pairs_of(text))
    assert time.process_time() - began < 20


@pytest.mark.parametrize("room", range(54, 62))
def test_a_result_brings_along_what_its_call_touches(room: int) -> None:
    """The reason stands first among the arguments, but the path tells which call was answered: the room is the result's."""
    arguments = {"reason": "because nobody has looked into it for so long a time, and somebody should have", "path": "shed/list-7.txt"}
    gist = told(arguments | {"timeout": 30_000}, room, "Nails: 4711 of steel, 12 of brass. Boxes: B7, B9. The lid is open.")
    assert '"path": "shed/list-7.txt"' in gist
    assert "-> Nails: 4711 of steel, 12 of brass. Boxes: B7, B9." in gist
