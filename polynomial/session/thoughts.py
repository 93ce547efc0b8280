"""Thinking that is bound to the request it was written for: when a compression waits for it, and when it falls."""

from polycontext.pressure import Fulfilment, unbinding_plan
from polycontext.window import ContextWindow, Role

from ..inputs import ContextInput
from ..journal.conversation import Conversation
from .drafts import Draft


def is_answering(conversation: Conversation) -> bool:
    """Tell whether a model that thinks is asked next, or being asked: what it thinks is bound to what it was handed."""
    window = conversation.window
    last = window.peek(len(window))
    asks = last is not None and last.role in (Role.USER, Role.TOOL) and not window.open_calls
    return asks and _thinks(window)


def _thinks(window: ContextWindow) -> bool:
    return bool(window.epoch.unbound) or any(part.is_bound for turn in window.all_turns() for part in turn.parts)


def without_foreign_thoughts(draft: Draft) -> Draft:
    """Let bound parts of the last turn fall, which are bound to what a model was handed before a compression."""
    window = draft.conversation.window
    last = window.peek(len(window))
    if last is None or not any(part.is_bound for part in last.parts):
        return draft
    return draft.take(ContextInput.compress(Fulfilment(unbinding_plan(window, len(window) - 1), ())))
