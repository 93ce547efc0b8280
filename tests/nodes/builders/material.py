"""A conversation in which every part of every layer holds a word of its own, so that a context tells what is in it."""

from datetime import UTC, datetime, timedelta
from itertools import count

from attrs import frozen

from polycontext.nodes import ConversationContext, CurrentTurn, SessionIdRegistry, close_turn
from polycontext.nodes.history import PendingState
from polycontext.polynomial import ContextOutput, ContextSession

START = datetime(2026, 3, 1, 18, tzinfo=UTC)


@frozen
class Lived:
    """Hold what a builder takes."""

    output: ContextOutput
    conversation: ConversationContext
    turn: CurrentTurn


def _registry() -> SessionIdRegistry:
    registry = SessionIdRegistry()
    registry, _ = registry.read("recipes", "SECRET-ID-1", "RETAINED-LABEL", turn=1, data={"note": "RETAINED-DATA"})
    registry, _ = registry.read("recipes", "SECRET-ID-2", "FORGOTTEN-LABEL", turn=1)
    registry = registry.retain("recipe_1", "RETAINED-REASON", turn=2)
    registry, _ = registry.generate("plans", "GENERATED-LABEL", turn=2, data={"note": "GENERATED-DATA"})
    registry, _ = registry.read("recipes", "SECRET-ID-3", "ACTIVE-LABEL", turn=9, data={"note": "ACTIVE-DATA"})
    return registry


def lived() -> Lived:
    """Live nine turns and begin the tenth; the seventh's exchange is older than the recent ones, the first's is digested."""
    ticks = count()
    session = ContextSession(8000, clock=lambda: START + timedelta(minutes=next(ticks)))
    conversation = ConversationContext()
    for number in range(1, 10):
        session.add_user_turn(f"SAID-{number} please")
        session.add_assistant_turn(f"ANSWERED-{number}, gladly.")
        conversation = close_turn(conversation, _closed(number), session.output)
    session.add_user_turn("SAID-NOW please")
    return Lived(session.output, conversation.with_registry(_registry()), _begun())


def _closed(number: int) -> CurrentTurn:
    turn = CurrentTurn(number).decide("plan_direct", f"GOAL-{number}")
    turn = turn.curate([f"CURATED-{number}"], reasons={f"CURATED-{number}": f"REASON-{number}"})
    turn = turn.observe(phase="exploring", user_expressed=f"EXPRESSED-{number}")
    turn = turn.step(
        "read", f"DOMAIN-{number}", f"DESCRIBED-{number}", [f"RESULT-{number}"], outcome=f"OUTCOME-{number}", note=f"NOTE-{number}"
    )
    return turn.expects(PendingState("propose", f"PENDING-{number}", [f"QUESTION-{number}"]))


def _begun() -> CurrentTurn:
    turn = CurrentTurn(10).decide("plan_direct", "GOAL-NOW").curate(["CURATED-NOW"], reasons={"CURATED-NOW": "REASON-NOW"})
    turn = turn.observe(phase="narrowing", user_expressed="EXPRESSED-NOW")
    return turn.step(
        "read", "DOMAIN-NOW", "DESCRIBED-NOW", ["RESULT-NOW"], outcome="OUTCOME-NOW", entities_involved=["recipe_3"], note="NOTE-NOW"
    )
