"""The laws of a store: the comonad, the functor, and the store operations.

The names and statements follow Haskell's ``Control.Comonad`` and ``Control.Comonad.Store``. A law
takes a store or a window with any focus. Two stores are equal if they have the same focus and show
the same values at every position, at any depth. A `position` is one of the store's (``0..last``), a
`place` any number at all.
"""

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

from polycontext.base.law import agree, law
from polycontext.window.errors import PositionError
from polycontext.window.store import StoreComonad
from tests.laws.outcomes import refusal_of

_COMONAD = "Uustalu and Vene, Comonadic Notions of Computation"
_STORE = "Control.Comonad.Store"
AnyStore = StoreComonad[Any]
View = Callable[[AnyStore], Any]
_extract = methodcaller("extract")


def _shown(value: Any) -> Any:
    """Return the focus and the values of a store, recursively; return any other value unchanged."""
    if not isinstance(value, StoreComonad):
        return value
    return value.pos, [_shown(value.peek(position)) for position in range(value.last + 1)]


@law(_COMONAD)
def extend_extract_is_identity(store: AnyStore) -> None:
    """Left identity of extend: ``store.extend(extract)`` is `store`."""
    agree(_shown(store.extend(_extract)), _shown(store))


@law(_COMONAD)
def extract_of_extend_is_the_function(store: AnyStore, view: View) -> None:
    """Right identity of extend: ``store.extend(f).extract()`` is ``f(store)``."""
    agree(store.extend(view).extract(), view(store))


@law(_COMONAD)
def extend_is_associative(store: AnyStore, view: View, other_view: View) -> None:
    """Associativity of extend: extending twice is extending by the composed function.

    ``store.extend(f).extend(g)`` is ``store.extend(lambda s: g(s.extend(f)))``.
    """
    agree(
        _shown(store.extend(view).extend(other_view)),
        _shown(store.extend(lambda s: other_view(s.extend(view)))),
    )


@law(_COMONAD)
def duplicate_is_extend_by_identity(store: AnyStore) -> None:
    """Both presentations agree: ``store.duplicate()`` is ``store.extend(identity)``."""
    agree(_shown(store.duplicate()), _shown(store.extend(lambda s: s)))


@law(_COMONAD)
def map_is_extend_after_extract(store: AnyStore) -> None:
    """The functor is the one of the comonad, shown for f = repr.

    ``store.map(f)`` is ``store.extend(lambda s: f(s.extract()))``.
    """
    agree(_shown(store.map(repr)), _shown(store.extend(lambda s: repr(s.extract()))))


@law(_STORE)
def extract_is_peek_at_the_focus(store: AnyStore) -> None:
    """Store law: ``store.extract()`` is ``store.peek(store.pos)``."""
    agree(store.extract(), store.peek(store.pos))


@law(_STORE)
def seek_reaches_every_position(store: AnyStore, position: int) -> None:
    """Store law: ``store.seek(p)`` is focused on p and shows ``store.peek(p)``."""
    moved = store.seek(position)
    agree((moved.pos, moved.extract()), (position, store.peek(position)))


@law(_STORE)
def the_last_seek_wins(store: AnyStore, position: int, other_position: int) -> None:
    """Store law: ``store.seek(p).seek(q)`` is ``store.seek(q)``."""
    agree(_shown(store.seek(position).seek(other_position)), _shown(store.seek(other_position)))


@law(_STORE)
def seek_moves_the_focus_alone(store: AnyStore, position: int) -> None:
    """Seeking changes no value and does not modify the original store."""
    before = _shown(store)
    agree(_shown(store.seek(position))[1], before[1])
    agree(_shown(store), before)


@law(_STORE)
def relative_moves_start_at_the_focus(store: AnyStore, position: int) -> None:
    """Store laws: ``seeks(f)`` is ``seek(f(pos))`` and ``peeks(f)`` is ``peek(f(pos))``.

    Here f moves p positions forward and wraps around at the end.
    """

    def step(focus: int) -> int:
        return (focus + position) % (store.last + 1)

    focus = step(store.pos)
    agree(
        (_shown(store.seeks(step)), store.peeks(step)),
        (_shown(store.seek(focus)), store.peek(focus)),
    )


@law(_STORE)
def experiment_peeks_at_each_position(store: AnyStore, positions: Sequence[int]) -> None:
    """Store law: ``store.experiment(f)`` is `peek` at each position of ``f(store.pos)``, in order.

    Here the first of the positions is the focus.
    """
    found = store.experiment(lambda focus: [focus, *positions])
    agree(found, [store.extract(), *(store.peek(position) for position in positions)])


@law(_STORE)
def positions_outside_are_refused(store: AnyStore, place: int) -> None:
    """`seek` and `peek` raise `PositionError` for any position outside ``0..last``.

    Negative positions do not count from the end.
    """
    expected = None if 0 <= place <= store.last else PositionError
    found = refusal_of(store.seek, place), refusal_of(store.peek, place)
    agree(found, (expected, expected))


@law('docs/window.md, "A comonad with a focus"')
def what_extend_returns_is_a_sequence(store: AnyStore) -> None:
    """`map`, `extend` and `duplicate` return sequences of the values, in the order of positions."""
    values = [store.peek(position) for position in range(store.last + 1)]
    for kind, found in (
        ("map", store.map(lambda value: value)),
        ("extend", store.extend(_extract)),
    ):
        indexed = [found[index] for index in range(-len(values), 0)]
        agree((len(found), list(found), indexed), (len(values), values, values), kind=kind)
    agree([each.pos for each in store.duplicate()], list(range(len(values))), kind="duplicate")
