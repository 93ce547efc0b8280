"""Exchanges that are closed, and moments that nodes read, as an agent's fold has them."""

from polycontext.nodes import ConversationContext, Now
from polycontext.nodes.history import exchange_of
from polycontext.nodes.memory.current_exchange import CurrentTurn, close_exchange
from polycontext.polynomial import ContextSession
from polycontext.window import Role, Turn


def closed(
    conversation: ConversationContext, turn: CurrentTurn, session: ContextSession
) -> ConversationContext:
    """Close `turn`, in which the last exchange of the session's log was said."""
    asked, answer = _last_exchange(session)
    said = exchange_of(asked, answer) if asked else None
    return close_exchange(conversation, turn, said, counter=session.window.counter)


def now_of(
    session: ContextSession,
    conversation: ConversationContext | None = None,
    turn: CurrentTurn | None = None,
) -> Now:
    """Return the present moment of a session."""
    asked, answer = _last_exchange(session)
    conversation, turn = conversation or ConversationContext(), turn or CurrentTurn(1)
    return Now(session.output, conversation, turn, () if answer else tuple(asked))


def _last_exchange(session: ContextSession) -> tuple[list[Turn], str]:
    asked, answer = list[Turn](), ""
    for turn in session.log():
        if turn.role is Role.USER and not turn.is_gist:
            asked, answer = ([] if answer else asked), ""
            asked.append(turn)
        elif turn.role is Role.ASSISTANT and not turn.tool_calls:
            answer = turn.text
    return asked, answer
