"""Layer 2 is built from the output and the memory, as deep as asked."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.nodes import get_conversation_history
from polycontext.nodes.history import (
    Depth,
)
from tests.nodes.memory.records import Kitchen, kitchen


@pytest.fixture(scope="module")
def lived() -> Kitchen:
    """Return eight closed turns and a ninth under way."""
    return kitchen()


@pytest.mark.parametrize(
    ("depth", "recent", "others"),
    [
        (2, 2, []),
        (5, 5, ["history_summary"]),
        ("full", 6, ["history_summary", "engagement_summary", "pending"]),
    ],
)
def test_each_depth_holds_its_parts(
    lived: Kitchen, depth: Depth, recent: int, others: list[str]
) -> None:
    """Every cell of the table of depths: how many exchanges, and which other parts."""
    history = get_conversation_history(lived.now, depth)
    assert len(history.recent_turns) == recent
    assert [
        name
        for name in ("history_summary", "engagement_summary", "pending")
        if getattr(history, name)
    ] == others


@pytest.mark.parametrize("depth", [0, 3, "all", True, 2.0, None])
def test_another_depth_is_refused(lived: Kitchen, depth: object) -> None:
    """The legal depths are named."""
    with pytest.raises(InvalidOptionError, match=r"Use 2, 5, 'full'"):
        get_conversation_history(lived.now, depth)  # type: ignore[arg-type]
