"""Remember an existing session: its answered exchanges, read from the journal, as if each had been closed when it ended."""

from collections.abc import Iterable

from attrs import evolve

from polycontext.nodes.history.reading import exchanges
from polycontext.nodes.memory.closing import with_exchange
from polycontext.nodes.memory.conversation import ConversationContext
from polycontext.nodes.reasoning import TurnExecutionSummary
from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal.events import ClearEvent, Event, TurnEvent
from polycontext.pressure import ContextProjector
from polycontext.window import Turn


def remembered(session: ContextSession, projector: ContextProjector | None = None) -> ConversationContext:
    """Return what is remembered of `session`; see `ConversationContext.from_session`."""
    conversation = ConversationContext()
    answered = [found for found in exchanges(_since_clear(session.events())) if found.answer]
    for found in answered:
        conversation = with_exchange(conversation, found, session.window.counter, projector)
    return evolve(conversation, turn_summaries=(TurnExecutionSummary(len(answered)),)) if answered else conversation


def _since_clear(events: Iterable[Event]) -> Iterable[Turn]:
    turns: list[Turn] = []
    for event in events:
        if isinstance(event, ClearEvent):
            turns.clear()
        elif isinstance(event, TurnEvent):
            turns.append(event.turn)
    return turns
