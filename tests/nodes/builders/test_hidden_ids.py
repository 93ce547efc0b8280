"""No node reads a registered id, and a reader that sees only labels reads no ref."""

import pytest

from polycontext.nodes import ConversationContext, Now, PendingState, SessionIdRegistry
from polycontext.nodes.builders import NodeContext, build_context
from polycontext.nodes.builders.standard_nodes import ACT, NODES, REPLY, THINK
from polycontext.nodes.memory.current_exchange import CurrentTurn
from polycontext.polynomial import ContextSession
from tests.nodes.moments import closed, now_of

UUID = "0b5a4c1e-7f1d-4f57-9c64-2f4c6a1d8e01"


def leaky() -> Now:
    """Return a conversation in which every speaker mentions an id, in a closed and an open turn."""
    session, conversation = ContextSession(8000), ConversationContext()
    registry, _ = SessionIdRegistry().read("recipes", UUID, "Tomato soup", turn=1)
    registry, _ = registry.read("recipes", 7, "Leek soup", turn=1)
    conversation = conversation.with_registry(registry)
    session.add_user_turn(f"Open {UUID}")
    session.add_assistant_turn(f"Opened {UUID}")
    conversation = closed(
        conversation,
        _spoken(1).expects(PendingState("propose", f"Save {UUID}?", [f"{UUID}?"])),
        session,
    )
    session.add_user_turn(f"Save {UUID}")
    return now_of(session, conversation, _spoken(2))


def _spoken(number: int) -> CurrentTurn:
    turn = (
        CurrentTurn(number)
        .decide("plan_direct", f"goal {UUID}")
        .observe(user_expressed=f"wants {UUID}")
        .block(f"no {UUID}")
    )
    turn = turn.curate(["recipe_1"], reasons={"recipe_1": f"is {UUID}"}).route({"to": UUID})
    rows = [{"id": UUID, "url": f"/recipes/{UUID}"}, {"id": 7, "servings": 7}]
    return turn.step(
        "read",
        "recipes",
        f"open {UUID}",
        rows,
        outcome=f"{UUID} is good",
        note=f"keep {UUID}",
        entities_involved=["recipe_1"],
    )


def build(name: str) -> NodeContext:
    """Build what one of the four nodes reads of it."""
    return build_context(NODES[name], leaky())


@pytest.mark.parametrize("name", NODES)
def test_no_node_reads_an_id_whoever_said_it(name: str) -> None:
    """No node reads an id from turns, goals, outcomes, notes, reasons, questions or results."""
    assert UUID not in str(build(name))


def test_the_results_of_steps_show_refs_for_ids() -> None:
    """Rows as the database gave them, its short ids too; numbers that are no ids stay."""
    assert '[{"id":"recipe_1","url":"/recipes/recipe_1"},{"id":"recipe_2","servings":7}]' in str(
        build(ACT.name)
    )


def test_who_sees_labels_alone_reads_names_for_refs() -> None:
    """Reply reads what was done by the names of things; Think goes on reading refs."""
    assert "recipe_1" not in str(build(REPLY.name))
    assert "Just accomplished: Tomato soup is good\nBLOCKED: no Tomato soup" in str(
        build(REPLY.name)
    )
    assert "recipe_1 is good" in str(build(THINK.name))
