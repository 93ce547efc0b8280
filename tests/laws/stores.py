"""Stores, views of them and turns that may come next, as Hypothesis strategies; small stores also all at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from hypothesis import strategies as st

from polycontext.window import ContextWindow, Role, Store, StoreComonad, Turn
from tests.strategies import CALL_IDS, TEXTS, calling_turns, plain_turns, windows

AnyStore = StoreComonad[Any]
View = Callable[[AnyStore], Any]
Shown = tuple[int, tuple[Any, ...]]


def store_of(values: Sequence[Any], pos: int) -> Store[Any]:
    """Return the store that has `values` and is focused on `pos`."""
    return Store(values.__getitem__, len(values) - 1, pos)


def shown(store: AnyStore) -> Shown:
    """Return the focus and the values of a store."""
    return store.pos, tuple(store.peek(position) for position in range(store.last + 1))


def small_stores(last: int) -> Iterator[Store[str]]:
    """Return every function from ``0..last`` to two letters, at every focus."""
    for values in product("ab", repeat=last + 1):
        for pos in range(last + 1):
            yield store_of(values, pos)


def small_views(last: int) -> Iterator[View]:
    """Return every function from the small stores to two letters: 4 for one position, 256 for two."""
    keys = [shown(store) for store in small_stores(last)]
    for letters in product("ab", repeat=len(keys)):
        table = dict(zip(keys, letters, strict=True))
        yield partial(_looked_up, table)


def small_tests(last: int) -> Iterator[View]:
    """Return for every small store the view that tells it from all others; what these cannot tell apart is the same to all views."""
    for key in map(shown, small_stores(last)):
        yield partial(_is, key)


def _looked_up(table: Mapping[Shown, str], store: AnyStore) -> str:
    return table[shown(store)]


def _is(key: Shown, store: AnyStore) -> bool:
    return shown(store) == key


def at_the_focus(store: AnyStore) -> Any:
    """Return what is at the focus."""
    return store.extract()


def where(store: AnyStore) -> Any:
    """Return the focus."""
    return store.pos


def at_the_mirror(store: AnyStore) -> Any:
    """Return what is as far from the end as the focus is from the start."""
    return store.peeks(lambda pos: store.last - pos)


def so_far(store: AnyStore) -> Any:
    """Return all that is up to the focus."""
    return store.experiment(lambda pos: range(pos + 1))


def everything(store: AnyStore) -> Any:
    """Return all that the store shows."""
    return shown(store)


VIEWS: st.SearchStrategy[View] = st.sampled_from([at_the_focus, where, at_the_mirror, so_far, everything])


@st.composite
def small_number_stores(draw: st.DrawFn) -> Store[int]:
    """Draw a store of up to six numbers, focused anywhere."""
    values = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
    return store_of(values, draw(st.integers(0, len(values) - 1)))


def stores() -> st.SearchStrategy[AnyStore]:
    """Draw a store of numbers, a store of what another shows, or a small window: whatever offers the comonad's operations."""
    numbers = small_number_stores()
    return st.one_of(numbers, windows(max_atoms=3), numbers.map(lambda store: store.extend(everything)))


@st.composite
def placed(draw: st.DrawFn) -> tuple[AnyStore, int, int]:
    """Draw a store and two of its positions, often the first or the last."""
    store = draw(stores())
    positions = st.sampled_from([0, store.last]) | st.integers(0, store.last)
    return store, draw(positions), draw(positions)


@st.composite
def fitting_turns(draw: st.DrawFn, window: ContextWindow) -> Turn:
    """Draw a turn that may come next: the result of an open call, or else a turn of anybody; some bring their id or their count."""
    if window.open_calls:
        turn = Turn(Role.TOOL, draw(TEXTS), tool_call_id=draw(st.sampled_from(window.open_calls)))
    else:
        turn = draw(plain_turns() | calling_turns())
    return turn.admitted(draw(st.sampled_from(["", "an id of its own"])), 7) if draw(st.booleans()) else turn


ANY_TURN = st.one_of(plain_turns(), calling_turns(), st.builds(Turn, st.just("tool"), TEXTS, tool_call_id=st.sampled_from(CALL_IDS)))


@st.composite
def continued(draw: st.DrawFn) -> tuple[ContextWindow, Turn, Turn]:
    """Draw a window and two turns either of which may come next."""
    window = draw(windows(max_atoms=6))
    return window, draw(fitting_turns(window)), draw(fitting_turns(window))
