"""Agents, lenses and operations as Hypothesis strategies: small enough to be compared everywhere, and told apart by what they do."""

from collections.abc import Callable, Mapping
from itertools import product as pairs
from typing import Any, Final

from attrs import frozen
from hypothesis import strategies as st

from polycontext.nodes import _strategies as drawn
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    CONTEXT_POLYNOMIAL,
    Lens,
    Operation,
    PolyAgent,
    coproduct,
    parallel,
    product,
    sequential,
    through,
)

SIGNS = "abc"
"""What generated agents take and give, so that any of them can follow another, and any lens fits."""

AnyAgent = PolyAgent[Any, Any, Any]


@frozen
class Table:
    """Be the transition of an agent: a finite table, which refuses what is not in it."""

    rows: Mapping[tuple[int, str], tuple[int, str]]

    def __call__(self, position: int, input: str) -> tuple[int, str]:
        """Return the next position and the output, or raise `KeyError`."""
        return self.rows[position, input]

    def directions(self, position: int) -> frozenset[str]:
        """Return what is legal at `position`."""
        return frozenset(input for at, input in self.rows if at == position)


@frozen
class Rename:
    """Be one half of a lens: a finite function, which anything else passes through."""

    signs: Mapping[str, str]

    def __call__(self, sign: str) -> str:
        """Return what `sign` is called on the other side."""
        return self.signs.get(sign, sign)


@st.composite
def agents(draw: st.DrawFn) -> AnyAgent:
    """Draw an agent of one to three positions, some perhaps without a direction."""
    positions = range(draw(st.integers(1, 3)))
    places = list(pairs(positions, SIGNS))
    moves = st.tuples(st.sampled_from(positions), st.sampled_from(SIGNS))
    table = Table(draw(st.dictionaries(st.sampled_from(places), moves, max_size=len(places))))
    return PolyAgent(frozenset(positions), table.directions, table)


RENAMES = st.fixed_dictionaries(dict.fromkeys(SIGNS, st.sampled_from(SIGNS))).map(Rename)
LENSES: st.SearchStrategy[Lens[Any, Any, Any, Any]] = st.builds(Lens, RENAMES, RENAMES, st.frozensets(st.sampled_from(SIGNS)))


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    """Draw an operation of the operad, perhaps a composite one."""
    kind = draw(st.sampled_from(["id", "merge", "append", "compress", "empty"]))
    match kind:
        case "id":
            return CONTEXT_OPERAD.identity()
        case "append":
            return CONTEXT_OPERAD.operation(kind, draw(drawn.plain_turns()))
        case "compress":
            return CONTEXT_OPERAD.operation(kind, draw(drawn.TARGETS))
        case "empty":
            return CONTEXT_OPERAD.operation(kind, 200)
        case _:
            return CONTEXT_OPERAD.operation(kind)


Drawing = Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]


def _always(strategy: st.SearchStrategy[Any]) -> Drawing:
    return lambda known: strategy


AGENT_PARAMETERS: Final[Mapping[str, Drawing]] = {
    "agent": _always(agents()),
    "other_agent": _always(agents()),
    "third_agent": _always(agents()),
    "combine": _always(st.sampled_from([parallel, coproduct, product, sequential])),
    "parallel": _always(st.just(parallel)),
    "coproduct": _always(st.just(coproduct)),
    "product": _always(st.just(product)),
    "sequential": _always(st.just(sequential)),
    "choices": _always(st.lists(st.integers(0, 5), max_size=6)),
    "through": _always(st.just(through)),
    "lens": _always(LENSES),
    "other_lens": _always(LENSES),
    "third_lens": _always(LENSES),
    "polynomial": _always(st.just(CONTEXT_POLYNOMIAL)),
    "identity": _always(st.just(CONTEXT_OPERAD.identity())),
    "operation": _always(operations()),
    "operations": _always(st.lists(operations(), min_size=1, max_size=3)),
    "merge": _always(st.just(CONTEXT_OPERAD.operation("merge"))),
}
"""How to draw what laws of agents and of the operad take."""
