"""A persistent column holds the same items as a plain list, whichever version was extended."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import Column

# Around every place where an append does something else than lengthen the tail.
SIZES = [0, 1, 31, 32, 33, 1_023, 1_024, 1_025, 1_056, 2_047, 2_048, 2_500]


def grown(size: int) -> Column[int]:
    """Return a column of 0, 1, 2 ... made by appending."""
    column = Column[int]()
    for number in range(size):
        column = column.appended(number)
    return column


@pytest.mark.parametrize("size", SIZES)
def test_a_column_reads_as_a_list(size: int) -> None:
    """However it was made, it has its items in order, and its length; one of them is replaced."""
    expected = list(range(size))
    for column in (
        grown(size),
        Column.of(expected),
        pickle.loads(pickle.dumps(grown(size))),  # noqa: S301 - our own
    ):
        assert (list(column), len(column), column.length) == (expected, size, size)
        assert [column[place] for place in expected] == expected
        assert column.last == (size - 1 if size else None)
        for place in (0, 1, size // 2, max(size - 1, 0), size, size + 5):
            assert column.since(place) == expected[place:]
            for stop in (0, place, place + 1, place + 40, size - 1, size, size + 5):
                assert column.between(place, stop) == expected[place : max(stop, 0)]
        with pytest.raises(IndexError):
            column[size]
        for place in {0, size // 2, size - 1} if size else ():
            replaced = [*expected[:place], -1, *expected[place + 1 :]]
            assert list(column.replaced(place, -1).appended(7)) == [*replaced, 7]


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([1, 5, 40, 1_100])), max_size=6))
def test_versions_know_nothing_of_each_other(steps: list[tuple[int, int]]) -> None:
    """Whichever version is gone on from, every version stays what a list in its place would be."""
    versions: list[tuple[Column[int], list[int]]] = [(Column(), [])]
    for number, (chosen, times) in enumerate(steps):
        column, items = versions[chosen % len(versions)]
        for _ in range(times):
            column, items = column.appended(number), [*items, number]
        versions.append((column, items))
        if items:
            place = chosen % len(items)
            versions.append((column.replaced(place, -1), [*items[:place], -1, *items[place + 1 :]]))
    for column, items in versions:
        assert list(column) == items
        for other, others in versions:
            assert column.starts_with(other) == (items[: len(others)] == others)


def test_columns_of_equal_items_start_with_each_other() -> None:
    """Columns with equal items start with each other, even if they were built separately."""
    assert Column.of(range(3_000)).starts_with(grown(2_100))
    assert not Column.of([*range(2_000), -1, *range(999)]).starts_with(grown(2_100))
    assert not grown(5).starts_with(grown(6))
