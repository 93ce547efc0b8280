"""Array differences skip shared items and are correct for any two arrays."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.agent_context import Fact, array_changes, deserialize, serialize
from polycontext.agent_context.array_changes import (
    Items,
    Run,
    apply_items,
    diff_items,
    invert_items,
    join_items,
)
from polycontext.agent_context.json_text import canonical, is_same
from tests.agent_context.changes import START, write

FACTS = tuple(Fact(f"f{number}", "x") for number in range(1000))
NEW = tuple(Fact(f"new-{number}") for number in range(40))

ITEMS = st.integers(0, 6).map(str) | st.sampled_from([1, 1.0, True, "a long text"])
ARRAYS = st.lists(ITEMS, max_size=40).map(tuple)


def led(source: tuple[Any, ...], target: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what the runs from source to target make of the source."""
    items = diff_items(source, target)
    return source if items is None else apply_items(items, source)


def exactly(array: tuple[Any, ...]) -> list[tuple[type, Any]]:
    """Return the items with their types: 1 is not true."""
    return [(type(item), item) for item in array]


@given(ARRAYS, ARRAYS)
def test_runs_lead_there_and_back(source: tuple[Any, ...], target: tuple[Any, ...]) -> None:
    """Splicing the runs gives the target, the inverted runs the source; equal arrays have none."""
    items = diff_items(source, target)
    assert (items is None) is (exactly(source) == exactly(target))
    if items is not None:
        assert exactly(apply_items(items, source)) == exactly(target)
        assert exactly(apply_items(invert_items(items), target)) == exactly(source)


@given(ARRAYS, ARRAYS, ARRAYS)
def test_runs_join(first: tuple[Any, ...], second: tuple[Any, ...], third: tuple[Any, ...]) -> None:
    """Two joined steps lead from the first array to the third, or are none if those are equal."""
    one, two = diff_items(first, second), diff_items(second, third)
    if one is None or two is None:
        return
    joint = join_items(one, two)
    assert exactly(first if joint is None else apply_items(joint, first)) == exactly(third)
    assert join_items(one, invert_items(one)) is None


SHARED: dict[str, tuple[tuple[Any, ...], list[Run]]] = {
    "append": ((*FACTS, *NEW), [Run(1000, (), NEW)]),
    "prepend": ((*NEW, *FACTS), [Run(0, (), NEW)]),
    "insert many": ((*FACTS[:500], *NEW, *FACTS[500:]), [Run(500, (), NEW)]),
    "remove many": ((*FACTS[:300], *FACTS[500:]), [Run(300, FACTS[300:500], ())]),
    "replace the ends": (
        (NEW[0], *FACTS[1:-1], NEW[1]),
        [Run(0, FACTS[:1], NEW[:1]), Run(999, FACTS[999:], NEW[1:2])],
    ),
    "one in, one out": (
        (NEW[0], *FACTS[:400], *FACTS[401:]),
        [Run(0, (), NEW[:1]), Run(400, FACTS[400:401], ())],
    ),
    "many in, one more at the end": (
        (*FACTS[:5], *NEW, *FACTS[5:], Fact("end")),
        [Run(5, (), NEW), Run(1000, (), (Fact("end"),))],
    ),
    "empty": ((), [Run(0, FACTS, ())]),
}


@pytest.mark.parametrize("name", SHARED)
def test_runs_hold_only_what_changed(name: str) -> None:
    """Items that moved because of others are no change, near or far."""
    target, expected = SHARED[name]
    assert diff_items(FACTS, target) == Items(1000, tuple(expected))


@pytest.mark.parametrize("name", SHARED)
def test_shared_items_are_never_compared_by_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is new, and what it meets, is looked at: not one of a thousand shared items."""
    looked_at = 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal looked_at
            looked_at += 1
            return original(*arguments)

        return call

    monkeypatch.setattr(f"{array_changes.__name__}.is_same", counted(is_same))
    monkeypatch.setattr(f"{array_changes.__name__}.canonical", counted(canonical))
    target, expected = SHARED[name]
    diff_items(FACTS, target)
    assert looked_at <= 2 * sum(len(run.removed) + len(run.added) for run in expected)


def test_arrays_that_share_nothing_are_compared_by_value() -> None:
    """Items that are equal but not identical, as after deserialising, count as unchanged."""
    read = deserialize(serialize(write(START, enrichment__facts=FACTS))).enrichment.facts
    target = (*NEW, *read[:700], *read[720:])
    assert diff_items(FACTS, read) is None
    assert diff_items(FACTS, target) == Items(1000, (Run(0, (), NEW), Run(700, FACTS[700:720], ())))
    assert led(FACTS, tuple(reversed(read))) == tuple(reversed(FACTS))
