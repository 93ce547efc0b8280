"""What is handed in becomes immutable and shared, and what JSON cannot hold is refused where it stands."""

import copy
import pickle
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import InvalidDataError
from polycontext.nodes.agent_context.frozen import EMPTY, MAX_DEPTH, FrozenMap, frozen_json, step_of
from tests.nodes.agent_context.strategies import JSON


def thawed(value: Any) -> Any:
    """Return frozen JSON data as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple) else value


def is_frozen(value: object) -> bool:
    """Tell whether nothing in JSON data can be changed."""
    if isinstance(value, FrozenMap):
        return all(map(is_frozen, value.values()))
    return all(map(is_frozen, value)) if isinstance(value, tuple) else value is None or isinstance(value, str | int | float)


@given(JSON)
def test_freezing_keeps_the_value_and_makes_all_of_it_immutable(value: Any) -> None:
    """Lists become tuples and dicts frozen maps, at every depth; the value they show is the one that was given."""
    frozen = frozen_json(value)
    assert is_frozen(frozen)
    assert thawed(frozen) == value


@given(JSON)
def test_what_is_frozen_is_shared(value: Any) -> None:
    """Freezing twice returns the very same object."""
    frozen = frozen_json(value)
    assert frozen_json(frozen) is frozen


def test_a_changed_branch_shares_the_others() -> None:
    """A map made of a frozen one with one key replaced holds the other values themselves."""
    first = frozen_json({"a": {"deep": [1, 2]}, "b": 1})
    second = frozen_json({**first, "b": 2})
    assert second["a"] is first["a"]
    assert second != first


def test_the_giver_keeps_no_handle() -> None:
    """Changing what was handed in, even behind a read-only view, changes nothing that was made of it."""
    inner = {"x": [1]}
    given_map = {"a": inner}
    frozen = frozen_json(MappingProxyType(given_map))
    inner["x"].append(2)
    given_map["b"] = {}
    assert frozen == {"a": {"x": (1,)}}


def test_a_frozen_map_cannot_be_changed() -> None:
    """No item and no attribute can be set, deleted or added."""
    frozen: Any = FrozenMap({"a": 1})
    for change in (
        lambda: frozen.__setitem__("a", 2),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.update(a=2),
        lambda: setattr(frozen, "_view", {}),
        lambda: delattr(frozen, "_view"),
        lambda: setattr(frozen, "other", 1),
        lambda: frozen._view.__setitem__("a", 2),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert frozen == {"a": 1}


def test_a_frozen_map_is_a_mapping() -> None:
    """It reads, compares, copies and pickles like any mapping, and thaws into a dict of its own."""
    frozen = FrozenMap({"a": 1, "b": 2})
    assert (list(frozen), len(frozen), frozen["b"], "a" in frozen, list(frozen.items())) == (["a", "b"], 2, 2, True, [("a", 1), ("b", 2)])
    assert (list(frozen.keys()), list(frozen.values()), repr(frozen)) == (["a", "b"], [1, 2], "{'a': 1, 'b': 2}")
    assert frozen == FrozenMap({"b": 2, "a": 1}) == MappingProxyType({"a": 1, "b": 2})
    assert frozen != {"a": 1}
    assert frozen != [("a", 1)]
    assert copy.copy(frozen) is copy.deepcopy(frozen) is frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen  # noqa: S301  our own bytes
    frozen.thawed()["a"] = 3
    assert frozen["a"] == 1
    assert FrozenMap() == EMPTY
    with pytest.raises(TypeError):
        hash(frozen)


FAULTS: dict[str, tuple[object, str, str]] = {
    "another type": ({"a": [1, {2}]}, "a[1]", "set is not JSON data"),
    "bytes": (b"a", "", "bytes is not JSON data"),
    "a key that is no text": ({"a": {1: 2}}, "a['int key']", "int is not text"),
    "a lone surrogate": ({"a": "x\ud800"}, "a", "lone surrogate U+D800 at character 1"),
    "a lone surrogate in a key": ({"\udfff": 1}, "['\\udfff']", "lone surrogate U+DFFF at character 0"),
    "infinity": ([float("inf")], "[0]", "inf is not JSON"),
    "not a number": ({"a b": float("nan")}, "['a b']", "nan is not JSON"),
    "an integer over 64 bits": ([0, 2**63], "[1]", "more than 64 bits"),
    "an integer under 64 bits": (-(2**63) - 1, "", "more than 64 bits"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_json_cannot_hold_is_refused(name: str) -> None:
    """A value that JSON cannot hold is refused, with its path."""
    value, path, problem = FAULTS[name]
    with pytest.raises(InvalidDataError) as caught:
        frozen_json(value)
    assert caught.value.path == path
    assert problem in caught.value.what


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}])
def test_depth_is_bounded(wrap: Any) -> None:
    """The deepest legal nesting is taken, one level more is refused, and a loop is no endless recursion."""
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert is_frozen(frozen_json(value))
    with pytest.raises(InvalidDataError, match="nested too deep"):
        frozen_json(wrap(value))
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidDataError, match="nested too deep"):
        frozen_json(loop)


def test_a_frozen_value_cannot_be_nested_past_the_bound() -> None:
    """What is frozen already counts with its own depth."""
    value = frozen_json({"a": 1})
    for _ in range(MAX_DEPTH - 1):
        value = frozen_json({"a": value})
    with pytest.raises(InvalidDataError, match="nested too deep"):
        frozen_json({"a": value})


class Loud(str):
    """Be a text with a type of its own."""

    __slots__ = ()


def test_subclasses_of_text_and_numbers_become_plain() -> None:
    """A value of a subclass, which might carry state of its own, is stored as the plain value."""

    class Count(int):
        pass

    class Share(float):
        pass

    frozen = frozen_json([Loud("ä"), Loud("a"), Count(3), Share(0.5)])
    assert [type(item) for item in frozen] == [str, str, int, float]
    assert frozen == ("ä", "a", 3, 0.5)


@given(st.text())
def test_a_step_of_a_path_is_short_and_printable(key: str) -> None:
    """Whatever a key holds, its step in a path is ASCII or a word, and bounded."""
    step = step_of(key)
    assert len(step) <= 700
    step.encode()
