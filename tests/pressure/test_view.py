"""Views over one log: order, meets and the Galois connection, for all views of three atoms."""

import copy
import pickle
from itertools import product
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.pressure import Fidelity, View, view_of
from polycontext.window import Role, Turn
from tests.pressure.samples import HEAD, assistant, calls, extended, opened, result, user

LOG = ("t1", "t2", "t3")
VIEWS = [
    View(dict(zip(LOG, fidelities, strict=True))) for fidelities in product(Fidelity, repeat=3)
]
PAIRS = list(product(VIEWS, VIEWS))


def test_the_order_is_pointwise() -> None:
    """A view is below another exactly if no atom has a higher fidelity; `>=` is the converse."""
    for v, w in PAIRS:
        assert (v <= w) == all(v.fidelities[atom] <= w.fidelities[atom] for atom in LOG)
        assert (v >= w) == (w <= v)


def test_a_meet_is_the_greatest_lower_bound() -> None:
    """So expanding is adjoint to compressing, which is a meet with a ceiling."""
    for v, w in PAIRS:
        meet = v.meet(w)
        assert [u <= meet for u in VIEWS] == [u <= v and u <= w for u in VIEWS]


OPERATIONS: list[Any] = [lambda v, w: v <= w, lambda v, w: v >= w, lambda v, w: v.meet(w)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=["le", "ge", "meet"])
def test_views_of_different_logs_are_not_compared(operation: Any) -> None:
    """Comparing what is not comparable is refused, naming the atoms on either side."""
    with pytest.raises(
        InvalidOptionError,
        match=r"Use a view over the same log; atoms of only one of the two: \['t1', 't3'\]\.$",
    ) as caught:
        operation(
            View({"t1": Fidelity.GIST, "t2": Fidelity.GIST}),
            View({"t2": Fidelity.GIST, "t3": Fidelity.GIST}),
        )
    assert caught.value.option == "other"


def test_a_view_does_not_change_with_what_it_was_made_from() -> None:
    """A view copies what it is given and cannot be written to."""
    given = {"t1": Fidelity.GIST}
    view = View(given)
    given["t1"] = Fidelity.VERBATIM
    assert view.fidelities["t1"] is Fidelity.GIST
    with pytest.raises(TypeError):
        view.fidelities["t1"] = Fidelity.DROPPED  # type: ignore[index]


# --- the view of a window --------------------------------------------------


def test_a_fresh_window_holds_every_word() -> None:
    """Before any compression the view is the full one."""
    window = extended(
        opened(), [calls("a", "b"), result(1, "x"), result(0, "y"), assistant("done")]
    )
    assert set(view_of(window, window.atoms()).fidelities.values()) == {Fidelity.VERBATIM}


def test_a_view_names_what_a_gist_stands_for_and_what_is_gone() -> None:
    """A source of a gist is GIST, a whole atom VERBATIM, a missing one DROPPED.

    A cut result makes its whole atom GIST.
    """
    full = extended(opened(), [user("a"), assistant("b"), calls("s"), result(0, "long"), user("d")])
    gist = Turn(Role.USER, "summary", resource_id="g1", sources=("t3",))
    digest = Turn(Role.TOOL, "cut", tool_call_id="c0", resource_id="g2", sources=("t6",))
    cut = extended(
        opened(), [gist, evolve_id(calls("s"), "t5"), digest, evolve_id(user("d"), "t7")]
    )
    view = view_of(cut, full.atoms())
    assert [view.fidelities[atom.id].name for atom in full.atoms()] == [
        "VERBATIM",
        "VERBATIM",
        "GIST",
        "DROPPED",
        "GIST",
        "VERBATIM",
    ]


def evolve_id(turn: Turn, resource_id: str) -> Turn:
    """Return the turn under an id."""
    return Turn(turn.role, turn.content, tool_calls=turn.tool_calls, resource_id=resource_id)


def test_a_view_can_be_pickled_and_copied() -> None:
    """Views cross processes like everything that is handed out."""
    view = View({"t1": Fidelity.GIST})
    assert copy.deepcopy(view) == pickle.loads(pickle.dumps(view)) == view  # noqa: S301 - our own


def test_expanding_needs_the_log() -> None:
    """Expanding adds nothing to a compressed view (the Lens Fallacy)."""
    view = View({"t1": Fidelity.GIST, "t2": Fidelity.DROPPED})
    assert HEAD.expand(view) == view
