"""Repeated compression keeps the ledger and every PRESERVED turn.

A published original lost both at the second compression.
"""

import pytest

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.window import ContextWindow, Turn
from tests.polynomial.conversations import (
    WORDS,
    Engine,
    add_all,
    chat,
    preserved,
    recount,
    tool_atom,
    with_engine,
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

times = pytest.mark.parametrize("times", [2, 10])


def ledger_items(window: ContextWindow) -> dict[str, ResourceClass]:
    """Return the class of every id in the ledger."""
    return {resource_id: tag.resource_class for resource_id, tag in window.linearity.items()}


@times
@pytest.mark.parametrize("engine", ["machine", "table"])
def test_compressing_a_session_again_keeps_ledger_and_preserved_turns(
    times: int, engine: Engine
) -> None:
    """With turns between compressions, the ledger stays complete and PRESERVED turns unchanged."""
    session = add_all(with_engine(engine, ContextSession(1500, counter=WORDS, auto=False)), TASK)
    session.promote("t3", ResourceClass.PRESERVED)
    for number in range(times):
        add_all(session, ROUND)
        session.add_user_turn(
            f"You must never book seat {number}.", resource_class=ResourceClass.PRESERVED
        )
        known = ledger_items(session.window)
        session.compress(0.2)
        assert known.items() <= ledger_items(session.window).items()
        kept = preserved(session)
        assert len(kept) == 4 + number + 1
        assert [turn for turn in session.window.all_turns() if turn in kept] == kept
        texts = [message["content"] for message in session.messages()]
        assert [text for text in texts if text in {turn.content for turn in kept}] == [
            turn.content for turn in kept
        ]
        assert recount(session.messages(), WORDS) <= 1500
    assert {turn.resource_id for turn in session.log()} <= ledger_items(session.window).keys()


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
