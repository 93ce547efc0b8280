"""The laws of views: an order with meets, and a Galois connection."""

from operator import le

from polycontext.base.law import agree, holds, law
from polycontext.pressure.view import View

GALOIS = "Ore, Galois Connexions"
_ORDER = "Davey and Priestley, Introduction to Lattices and Order, chapters 1 and 2"


@law(_ORDER)
def view_order_is_reflexive(first_view: View) -> None:
    """Reflexive: ``v <= v``."""
    holds(le(first_view, first_view), "below itself", first_view)


@law(_ORDER)
def view_order_is_antisymmetric(first_view: View, second_view: View) -> None:
    """Antisymmetric: ``v <= w`` and ``w <= v`` only if ``v == w``."""
    if first_view <= second_view <= first_view:
        agree(first_view, second_view)


@law(_ORDER)
def view_order_is_transitive(first_view: View, second_view: View, third_view: View) -> None:
    """Transitive: ``u <= v`` and ``v <= w`` give ``u <= w``."""
    if first_view <= second_view <= third_view:
        holds(first_view <= third_view, "the first below the third", first_view)


@law(_ORDER)
def meet_is_associative(first_view: View, second_view: View, third_view: View) -> None:
    """Associative: ``(u ∧ v) ∧ w == u ∧ (v ∧ w)``."""
    agree(
        first_view.meet(second_view).meet(third_view), first_view.meet(second_view.meet(third_view))
    )


@law(_ORDER)
def meet_is_commutative(first_view: View, second_view: View) -> None:
    """Commutative: ``v ∧ w == w ∧ v``."""
    agree(first_view.meet(second_view), second_view.meet(first_view))


@law(_ORDER)
def meet_is_idempotent(first_view: View) -> None:
    """Idempotent: ``v ∧ v == v``."""
    agree(first_view.meet(first_view), first_view)


@law(_ORDER)
def meet_is_the_greatest_lower_bound(first_view: View, second_view: View, third_view: View) -> None:
    """Greatest lower bound: ``u <= v ∧ w`` exactly when ``u <= v`` and ``u <= w``.

    So the meet itself is below both.
    """
    meet = first_view.meet(second_view)
    holds(meet <= first_view and meet <= second_view, "below both", meet)
    agree(third_view <= meet, third_view <= first_view and third_view <= second_view)


def compress_view(ceiling: View, view: View) -> View:
    """Return `view` compressed under `ceiling`: the meet of both."""
    return view.meet(ceiling)


def expand_view(view: View) -> View:
    """Return a compressed view as one of all views; it holds no more than before."""
    return view


@law(GALOIS)
def compressing_is_monotone(first_view: View, second_view: View, ceiling: View) -> None:
    """Monotone: ``v <= w`` gives ``compress(v) <= compress(w)``."""
    if first_view <= second_view:
        less, more = compress_view(ceiling, first_view), compress_view(ceiling, second_view)
        holds(less <= more, f"at most {more!r}", less)


@law(GALOIS)
def compressing_is_deflationary(first_view: View, ceiling: View) -> None:
    """Deflationary: ``expand(compress(v)) <= v``."""
    again = expand_view(compress_view(ceiling, first_view))
    holds(again <= first_view, f"at most {first_view!r}", again)


@law(GALOIS)
def compressing_is_idempotent(first_view: View, ceiling: View) -> None:
    """Idempotent: ``compress(compress(v)) == compress(v)``."""
    once = compress_view(ceiling, first_view)
    agree(compress_view(ceiling, once), once)


@law(GALOIS)
def compress_undoes_expand(first_view: View, ceiling: View) -> None:
    """Nothing is lost twice: ``compress(expand(v)) == v`` for every compressed ``v <= ceiling``."""
    if first_view <= ceiling:
        agree(compress_view(ceiling, expand_view(first_view)), first_view)


@law(GALOIS)
def expand_and_compress_are_adjoint(first_view: View, second_view: View, ceiling: View) -> None:
    """Adjoint: ``expand(v) <= w`` exactly when ``v <= compress(w)``, for every ``v <= ceiling``."""
    if first_view <= ceiling:
        agree(
            expand_view(first_view) <= second_view,
            first_view <= compress_view(ceiling, second_view),
        )
