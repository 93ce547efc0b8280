"""Thinking that is bound to its request: when a compression waits for it, and when it is dropped."""

from polycontext.pressure import Fulfilment, unbinding_plan
from polycontext.window import ContextWindow, Role

from ..inputs import ContextInput
from ..journal.conversation import Conversation
from .drafts import Draft


def is_answering(conversation: Conversation) -> bool:
    """Return whether a thinking model is asked next, or is being asked: its thinking is bound to the request."""
    window = conversation.window
    last = window.peek(len(window))
    asks = last is not None and last.role in (Role.USER, Role.TOOL) and not window.open_calls
    return asks and _thinks(window)


def _thinks(window: ContextWindow) -> bool:
    return bool(window.epoch.unbound) or any(part.is_bound for turn in window.all_turns() for part in turn.parts)


def without_foreign_thoughts(draft: Draft) -> Draft:
    """Drop the bound parts of the last turn: they are bound to a request from before a compression."""
    window = draft.conversation.window
    last = window.peek(len(window))
    if last is None or not any(part.is_bound for part in last.parts):
        return draft
    return draft.take(ContextInput.compress(Fulfilment(unbinding_plan(window, len(window) - 1), ())))
