"""What laws of agents, the operad, machines, sessions, projections and readers take."""

from typing import Final

from hypothesis import strategies as st

from polycontext.nodes.props.component_renderer import ComponentRenderer
from polycontext.nodes.testing import machines as drawn
from polycontext.nodes.testing.drawing import Drawings, always, one_of
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    CONTEXT_POLYNOMIAL,
    ContextMachine,
    TableMachine,
    coproduct,
    parallel,
    product,
    project,
    sequential,
    through,
)

MACHINE_PARAMETERS: Final[Drawings] = {
    "agent": always(drawn.agents()),
    "other_agent": always(drawn.agents()),
    "third_agent": always(drawn.agents()),
    "combine": always(drawn.COMBINATORS),
    "parallel": one_of(parallel),
    "coproduct": one_of(coproduct),
    "product": one_of(product),
    "sequential": one_of(sequential),
    "choices": always(drawn.CHOICES),
    "through": one_of(through),
    "lens": always(drawn.lenses()),
    "other_lens": always(drawn.lenses()),
    "third_lens": always(drawn.lenses()),
    "polynomial": one_of(CONTEXT_POLYNOMIAL),
    "identity": one_of(CONTEXT_OPERAD.identity()),
    "operation": always(drawn.OPERATIONS),
    "operations": always(st.lists(drawn.OPERATIONS, min_size=1, max_size=5)),
    "merge": one_of(CONTEXT_OPERAD.operation("merge")),
    "machine": one_of(ContextMachine, TableMachine),
    "other_machine": one_of(TableMachine, ContextMachine),
    "policy": always(drawn.POLICIES),
    "inputs": always(drawn.machine_inputs()),
    "session": always(drawn.sessions()),
    "max_tokens": one_of(60, 150, 300, 1_000, 100_000),
    "project": one_of(project),
    "renderer": one_of(ComponentRenderer()),
}
"""How to draw what laws of polynomial and nodes take."""
