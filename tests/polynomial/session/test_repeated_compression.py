"""Repeated compressions lose no source of a gist."""

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.window import Turn
from tests.polynomial.conversations import (
    WORDS,
    add_all,
    chat,
    tool_atom,
    words,
)

TASK = [
    Turn("system", "You are a travel agent. <|endoftext|>"),
    Turn("user", "Book a night train to Vienna.\n\tWindow seat, 日本語 please."),
    Turn("assistant", "Which day?"),
    Turn("user", "From now on always answer in French."),
]
ROUND = [
    Turn("user", words(40, "q")),
    *tool_atom("search", 60, 30),
    Turn("assistant", words(50, "a")),
]


def test_gists_never_lose_their_sources() -> None:
    """Every turn of the log is in the view, is a source of a gist, or was DROPPABLE."""
    session = add_all(ContextSession(1500, counter=WORDS), TASK)
    for _ in range(12):
        add_all(session, [*ROUND, *chat(4, 20)])
    view = session.window.all_turns()
    accounted = {turn.resource_id for turn in view} | {
        source for turn in view for source in turn.sources
    }
    lost = [turn.resource_id for turn in session.log() if turn.resource_id not in accounted]
    assert [i for i in lost if session.window.linearity.get(i) is not ResourceClass.DROPPABLE] == []
    assert len(view) < 40
