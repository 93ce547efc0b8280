"""A conversation whose every part holds a distinct word, so that a test can look for it."""

from datetime import UTC, datetime, timedelta
from itertools import count

from polycontext.linearity import ResourceClass
from polycontext.nodes import ConversationContext, Now, SessionIdRegistry
from polycontext.nodes.history import PendingState
from polycontext.nodes.memory.current_exchange import CurrentTurn
from polycontext.polynomial import ContextSession
from polycontext.pressure import ContextProjector
from polycontext.window import ContextItem, ToolCall
from tests.nodes.moments import closed, now_of

GIST = "assistant: GISTED-WORDS\nfind({}) -> GISTED-RESULT"
DEMANDED = {
    3: (". From now on, never DEMANDED-3.", None),
    4: (". You must not REQUIRED-4.", ResourceClass.REQUIRED),
}
ATTACHING, PINNING = 5, 6
START = datetime(2026, 3, 1, 18, tzinfo=UTC)


def _registry() -> SessionIdRegistry:
    registry = SessionIdRegistry()
    registry, _ = registry.read(
        "recipes", "SECRET-ID-1", "RETAINED-LABEL", turn=1, data={"note": "RETAINED-DATA"}
    )
    registry, _ = registry.read("recipes", "SECRET-ID-2", "FORGOTTEN-LABEL", turn=1)
    registry = registry.retain("recipe_1", "RETAINED-REASON")
    registry, _ = registry.generate(
        "plans", "GENERATED-LABEL", turn=2, data={"note": "GENERATED-DATA"}
    )
    registry, _ = registry.read(
        "recipes", "SECRET-ID-3", "ACTIVE-LABEL", turn=9, data={"note": "ACTIVE-DATA"}
    )
    return registry


def lived() -> Now:
    """Live nine turns and begin the tenth.

    The seventh exchange is older than the recent ones, and the first is in the summary. Rules, a
    task and a gist come before them; demands, attachments and a pinned turn come in between.
    """
    ticks = count()
    session = ContextSession(
        8000,
        clock=lambda: START + timedelta(minutes=next(ticks)),
        projector=ContextProjector(lambda *_, **__: GIST),
    )
    _begin(session)
    conversation = ConversationContext()
    for number in range(1, 10):
        _say(session, number)
        conversation = closed(conversation, _closed(number), session)
    session.add_user_turn("SAID-NOW please")
    return now_of(session, conversation.with_registry(_registry()), _begun())


def _begin(session: ContextSession) -> None:
    """Compress three messages behind the task, of which the second holds a result."""
    session.add_system("SYSTEM-RULE")
    session.add_user_turn("TASK-0 please")
    session.add_assistant_turn(None, [ToolCall("c0", "find")])
    session.add_tool_turn("It is there. " * 200, tool_call_id="c0")
    session.add_assistant_turn("It is there, as you thought. " * 50)
    session.compress(0.05)


def _say(session: ContextSession, number: int) -> None:
    if number == ATTACHING:
        session.attach(
            ContextItem(
                "ATTACHED-TEXT",
                "code",
                {"filename": "a.py", "start_line": 3},
                id="ctx-1",
                timestamp=0,
            )
        )
    said, resource_class = DEMANDED.get(number, ("", None))
    session.add_user_turn(f"SAID-{number} please{said}", resource_class=resource_class)
    if number == PINNING:
        session.add_assistant_turn(None, [ToolCall("c1", "find")])
        session.pin(
            session.add_tool_turn("PINNED-RESULT", tool_call_id="c1")
            .window.all_turns()[-1]
            .resource_id
        )
    output = session.add_assistant_turn(f"ANSWERED-{number}, gladly.")
    if number == PINNING:
        session.pin(output.window.all_turns()[-1].resource_id)


def _closed(number: int) -> CurrentTurn:
    turn = CurrentTurn(number).decide("plan_direct", f"GOAL-{number}")
    turn = turn.curate([f"CURATED-{number}"], reasons={f"CURATED-{number}": f"REASON-{number}"})
    turn = turn.observe(phase="exploring", user_expressed=f"EXPRESSED-{number}")
    turn = turn.step(
        "read",
        f"DOMAIN-{number}",
        f"DESCRIBED-{number}",
        [f"RESULT-{number}"],
        outcome=f"OUTCOME-{number}",
        note=f"NOTE-{number}",
    )
    return turn.expects(PendingState("propose", f"PENDING-{number}", [f"QUESTION-{number}"]))


def _begun() -> CurrentTurn:
    turn = (
        CurrentTurn(10)
        .decide("plan_direct", "GOAL-NOW")
        .curate(["CURATED-NOW"], reasons={"CURATED-NOW": "REASON-NOW"})
    )
    turn = turn.observe(phase="narrowing", user_expressed="EXPRESSED-NOW")
    return turn.step(
        "read",
        "DOMAIN-NOW",
        "DESCRIBED-NOW",
        ["RESULT-NOW"],
        outcome="OUTCOME-NOW",
        entities_involved=["recipe_3"],
        note="NOTE-NOW",
    )
