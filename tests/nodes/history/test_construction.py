"""Layer 2 is built from the output and the memory, as deep as asked."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.nodes import get_conversation_history
from polycontext.nodes.history import (
    Depth,
)
from tests.nodes.builders.material import lived

LIVED = lived()


@pytest.mark.parametrize(
    ("depth", "recent", "others"),
    [
        (2, 2, []),
        (5, 5, ["history_summary"]),
        ("full", 6, ["history_summary", "engagement_summary", "pending"]),
    ],
)
def test_each_depth_holds_its_parts(depth: Depth, recent: int, others: list[str]) -> None:
    """Every cell of the table of depths: how many exchanges, and which other parts."""
    history = get_conversation_history(LIVED, depth)
    assert len(history.recent_turns) == recent
    assert [
        name
        for name in ("history_summary", "engagement_summary", "pending")
        if getattr(history, name)
    ] == others


@pytest.mark.parametrize("depth", [0, 3, "all", True, 2.0, None])
def test_another_depth_is_refused(depth: object) -> None:
    """The legal depths are named."""
    with pytest.raises(InvalidOptionError, match=r"Use 2, 5, 'full'"):
        get_conversation_history(LIVED, depth)  # type: ignore[arg-type]
