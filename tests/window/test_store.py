"""The Store: a focus among its values, and the methods of a sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.window import PositionError, Store


@st.composite
def stores(draw: st.DrawFn) -> Store[int]:
    """Draw a store of up to seven numbers, focused anywhere."""
    values = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=7))
    return Store(values.__getitem__, len(values) - 1, draw(st.integers(0, len(values) - 1)))


# --- a store --------------------------------------------------------------


@pytest.mark.parametrize(("last", "pos"), [(0, 1), (2, -1), (-1, 0)])
def test_a_store_has_its_focus_among_its_positions(last: int, pos: int) -> None:
    """A store without positions, or with a focus outside them, is refused."""
    with pytest.raises(PositionError):
        Store(str, last, pos)


# --- a sequence -----------------------------------------------------------


@given(stores(), st.slices(7), st.integers(-9, 9))
def test_indexing_is_that_of_a_list(s: Store[int], part: slice, index: int) -> None:
    """Indices count from the end when negative, slices give lists, outside is an `IndexError`."""
    values = [s.peek(p) for p in range(s.last + 1)]
    assert (list(s), len(s), s.index(values[-1])) == (values, len(values), values.index(values[-1]))
    assert s[part] == values[part]
    if -len(values) <= index < len(values):
        assert s[index] == values[index]
    else:
        with pytest.raises(IndexError):
            s[index]


def test_equality_is_focus_and_values() -> None:
    """Stores are equal if focus and values are equal; a list is not a store."""
    assert Store(lambda p: p, 2, 1) == Store([0, 1, 2].__getitem__, 2, 1)
    assert Store(lambda p: p, 2, 1) != Store(lambda p: p, 2, 0)
    assert Store(lambda p: p, 2, 1) != Store(lambda p: p, 3, 1)
    assert Store(lambda p: p, 2, 1) != [0, 1, 2]
    with pytest.raises(TypeError):
        hash(Store(lambda p: p, 2, 1))


# --- laziness -------------------------------------------------------------


def test_values_are_computed_when_first_read_and_then_kept() -> None:
    """Each value is computed when first read, once for all focuses."""
    asked: list[int] = []

    def ask(store: Store[int]) -> int:
        asked.append(store.pos)
        return store.extract()

    extended = Store(lambda p: p, last=5, pos=2).extend(ask)
    moved = extended.seek(4)
    assert asked == []
    assert moved.extract() == 4
    assert asked == [4]
    assert (extended.peek(4), moved.extract(), extended[4]) == (4, 4, 4)
    assert asked == [4]
    assert list(extended) == [0, 1, 2, 3, 4, 5]
    assert sorted(asked) == [0, 1, 2, 3, 4, 5]
