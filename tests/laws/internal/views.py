"""The laws of views: an order with meets, and a Galois connection."""

from polycontext.base.law import agree, holds, law
from polycontext.pressure.view import View

GALOIS = "Ore, Galois Connexions"
_ORDER = "Davey and Priestley, Introduction to Lattices and Order, chapters 1 and 2"


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
def meet_is_the_greatest_lower_bound(first_view: View, second_view: View, third_view: View) -> None:
    """Greatest lower bound: ``u <= v ∧ w`` exactly when ``u <= v`` and ``u <= w``.

    So the meet itself is below both.
    """
    meet = first_view.meet(second_view)
    holds(meet <= first_view and meet <= second_view, "below both", meet)
    agree(third_view <= meet, third_view <= first_view and third_view <= second_view)


@law(GALOIS)
def expand_and_compress_are_adjoint(first_view: View, second_view: View, ceiling: View) -> None:
    """Adjoint: ``expand(v) <= w`` exactly when ``v <= compress(w)``, for every ``v <= ceiling``.

    A view is compressed by its meet with the ceiling, and expanded as it is.
    """
    if first_view <= ceiling:
        agree(first_view <= second_view, first_view <= second_view.meet(ceiling))
