"""Pairs of a name and a value in the arguments of a call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window.text.pairs import Pair, pairs_of, shown
from tests.growth import BOUND, growth


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


@pytest.mark.parametrize("text", ['"', '{"', '"a":"', '\\"', '"a": '])
def test_hostile_arguments_are_read_in_linear_time(text: str) -> None:
    """Eight times as many quotation marks cost about eight times as much."""
    assert growth(lambda length: list(pairs_of(text * (length // len(text)))), 30_000) < BOUND


def test_a_pair_is_shown_with_the_brackets_before_it() -> None:
    """They belong to the pair that comes first in them, however many there are."""
    text = '{"edits": [[{"line": 3}]]}'
    assert [text[slice(*shown(text, pair))] for pair in pairs_of(text)] == ['[[{"line": 3}]]}']
    deep = "[" * 100_000 + '"a": 1'
    assert shown(deep, next(pairs_of(deep))) == (0, len(deep))


@pytest.mark.parametrize("arguments", [{"a" * 120: 1}, {"x": {"a" * 120: True}}, {"q": 1, "b" * 500: 2}, {"c" * 200: ""}])
def test_a_long_name_may_have_a_short_value(arguments: dict[str, object]) -> None:
    """Then the pair is shown to its end."""
    text = json.dumps(arguments)
    for pair in pairs_of(text):
        start, end = shown(text, pair)
        assert start <= pair.value <= end <= len(text)


def test_of_a_long_pair_the_first_words_are_shown() -> None:
    """They end at a space where there is one."""
    text = json.dumps({"command": "sort the lists of the shed " * 20})
    (pair,) = pairs_of(text)
    start, end = shown(text, pair)
    assert text[start:end].startswith('{"command": "sort the lists')
    assert text[start:end].endswith(" ")
    assert pair.value < end < pair.end
