"""Layer 2 is built from the output and the memory, as deep as asked."""

import pytest

from polycontext.base import InvalidOptionError
from polycontext.nodes import get_conversation_history
from polycontext.nodes.history import (
    ConversationHistory,
    Depth,
)
from tests.nodes.memory.records import Kitchen, kitchen


@pytest.fixture(scope="module")
def lived() -> Kitchen:
    """Return eight closed turns and a ninth under way."""
    return kitchen()


def _read(lived: Kitchen, depth: Depth, recent: int | None = None) -> ConversationHistory:
    return get_conversation_history(lived.now, depth, recent=recent)


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
    history = _read(lived, depth)
    assert len(history.recent_turns) == recent
    assert [
        name
        for name in ("history_summary", "engagement_summary", "pending")
        if getattr(history, name)
    ] == others


@pytest.mark.parametrize("recent", [0, 1, 2, 9])
def test_no_exchange_falls_between_recent_and_summary(lived: Kitchen, recent: int) -> None:
    """However few exchanges are asked for, every one is either among them or in the summary."""
    history = _read(lived, "full", recent)
    assert len(history.recent_turns) == min(recent, 6)
    together = history.history_summary + "".join(turn.lines for turn in history.recent_turns)
    assert [number for number in range(1, 9) if f"I found recipe_{number}," not in together] == []


@pytest.mark.parametrize("depth", [0, 3, "all", True, 2.0, None])
def test_another_depth_is_refused(lived: Kitchen, depth: object) -> None:
    """The legal depths are named."""
    with pytest.raises(InvalidOptionError, match=r"Use 2, 5, 'full'"):
        _read(lived, depth)  # type: ignore[arg-type]
