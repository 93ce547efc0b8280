"""Golden files of every node, read by eye."""

from pathlib import Path

import pytest

from polycontext.nodes.builders import NodeContext, build_context
from polycontext.nodes.builders.budget import NodeBudgetError
from polycontext.nodes.builders.standard_nodes import NODES
from tests.nodes.builders.material import lived

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", NODES)
def test_a_node_prints_its_golden_file(name: str) -> None:
    """The context of a node is, byte for byte, the file of its name."""
    context = build_context(NODES[name], lived())
    assert f"{context}\n" == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NODES)
def test_a_node_short_of_room_prints_its_golden_file(name: str) -> None:
    """Halfway between the least and the full budget, a node prints its golden file."""
    assert f"{short_of_room(name)}\n" == (GOLDEN / f"{name}-short.md").read_text(encoding="utf-8")


def short_of_room(name: str) -> NodeContext:
    """Build a node's context with a budget halfway between the least and the full one."""
    here = lived()
    whole = build_context(NODES[name], here)
    with pytest.raises(NodeBudgetError) as refusal:
        build_context(NODES[name], here, budget=1)
    return build_context(
        NODES[name],
        here,
        budget=(whole.tokens + refusal.value.needed) // 2,
    )
