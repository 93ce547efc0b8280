"""Enumerate all small inputs of a law exhaustively, leaving nothing to chance.

The inputs are ledgers of up to two ids, stores of up to three positions over two letters with all
their views, and views of three atoms. If all parameters of a law are listed here, the law holds for
every combination, or the test fails.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from polycontext.base import Law
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.pressure import Fidelity, View
from polycontext.window import Store
from polycontext.window.store import StoreComonad

Known = Mapping[str, Any]
Reading = Callable[[StoreComonad[Any]], Any]
Shown = tuple[int, tuple[Any, ...]]


def small_ledgers() -> Iterator[LinearityMap]:
    """Yield the ledgers of "a" and "b", each untagged or in any class."""
    for classes in product([None, *ResourceClass], repeat=2):
        ledger = LinearityMap()
        for resource_id, resource_class in zip("ab", classes, strict=True):
            ledger = ledger if resource_class is None else ledger.tag(resource_id, resource_class)
        yield ledger


def store_of(values: Sequence[Any], pos: int) -> Store[Any]:
    """Return the store that has `values` and is focused on `pos`."""
    return Store(values.__getitem__, len(values) - 1, pos)


def small_stores(last: int) -> Iterator[Store[str]]:
    """Yield every function from ``0..last`` to two letters, at every focus."""
    for values in product("ab", repeat=last + 1):
        for pos in range(last + 1):
            yield store_of(values, pos)


def _shown(store: StoreComonad[Any]) -> Shown:
    return store.pos, tuple(store.peek(position) for position in range(store.last + 1))


def _all_readings(last: int) -> Iterator[Reading]:
    """Yield every function from small stores to two letters: 4 for one position, 256 for two."""
    keys = [_shown(store) for store in small_stores(last)]
    for letters in product("ab", repeat=len(keys)):
        yield partial(_looked_up, dict(zip(keys, letters, strict=True)))


def _telling_readings(last: int) -> Iterator[Reading]:
    """Yield, for every small store, the view that distinguishes it from all others.

    Two stores that these views cannot distinguish look the same to every view.
    """
    return (partial(_is, _shown(store)) for store in small_stores(last))


def _looked_up(table: Mapping[Shown, str], store: StoreComonad[Any]) -> str:
    return table[_shown(store)]


def _is(key: Shown, store: StoreComonad[Any]) -> bool:
    return _shown(store) == key


def _stores(law: Law) -> Iterator[Store[str]]:
    # A store of three positions has 2 ** 24 views, so laws with a view get along with two.
    largest = 1 if "view" in law.parameters else 2
    return (store for last in range(largest + 1) for store in small_stores(last))


def _positions(known: Known) -> range:
    return range(known["store"].last + 1)


_VIEWS = [
    View(dict(zip(("t1", "t2", "t3"), fidelities, strict=True)))
    for fidelities in product(Fidelity, repeat=3)
]

_SMALL: Mapping[str, Callable[[Law, Known], Iterable[Any]]] = {
    "ledger": lambda law, known: small_ledgers(),
    "resource_id": lambda law, known: "a",
    "resource_class": lambda law, known: ResourceClass,
    "other_id": lambda law, known: "ab",
    "other_class": lambda law, known: ResourceClass,
    "store": lambda law, known: _stores(law),
    "position": lambda law, known: _positions(known),
    "other_position": lambda law, known: _positions(known),
    "positions": lambda law, known: [*map(list, product(_positions(known), repeat=2))],
    "view": lambda law, known: _all_readings(known["store"].last),
    "other_view": lambda law, known: _telling_readings(known["store"].last),
    "first_view": lambda law, known: _VIEWS,
    "second_view": lambda law, known: _VIEWS,
    "third_view": lambda law, known: _VIEWS,
    "ceiling": lambda law, known: _VIEWS,
}


def is_small(law: Law) -> bool:
    """Tell whether all that `law` takes can be counted out."""
    return set(law.parameters) <= _SMALL.keys()


def small_inputs(law: Law, known: Known | None = None) -> Iterator[Known]:
    """Yield every small input of `law`."""
    known = known or {}
    due = [name for name in _SMALL if name in law.parameters and name not in known]
    if not due:
        yield known
        return
    for value in _SMALL[due[0]](law, known):
        yield from small_inputs(law, {**known, due[0]: value})
