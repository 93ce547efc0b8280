"""The journal: every accepted input with its effects, in order, append-only.

The effects stand beside the input (gists included), so replaying the journal
gives the same session without asking a model, a clock or a classifier.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.polynomial.state import ContextState
from polycontext.pressure import Edit, apply_edit
from polycontext.window import ContextWindow, Turn


@frozen
class TurnEvent:
    """Record that `turn` came in with its class."""

    state: ContextState
    turn: Turn
    resource_class: ResourceClass


@frozen
class CompressEvent:
    """Record a compression by what it changed."""

    state: ContextState
    edit: Edit
    at: datetime


@frozen
class RecallEvent:
    """Record turns that came back from the log."""

    state: ContextState
    edit: Edit
    at: datetime


@frozen
class PromoteEvent:
    """Record that a turn's class was raised."""

    state: ContextState
    resource_id: str
    resource_class: ResourceClass
    rationale: str
    at: datetime


@frozen
class ClearEvent:
    """Record that the view was forgotten."""

    state: ContextState
    at: datetime


Event = TurnEvent | CompressEvent | RecallEvent | PromoteEvent | ClearEvent
"""What stands in a journal; `state` is the state after it."""


def apply_event(window: ContextWindow, event: Event) -> ContextWindow:
    """Return `window` after `event`."""
    match event:
        case TurnEvent():
            return window.append(event.turn, event.resource_class)
        case CompressEvent():
            return apply_edit(window, event.edit, compressed=True)
        case RecallEvent():
            return apply_edit(window, event.edit, compressed=False)
        case PromoteEvent():
            return window.promote(event.resource_id, event.resource_class, rationale=event.rationale)
        case ClearEvent():
            return window.cleared()


def replay(events: Iterable[Event], window: ContextWindow) -> tuple[ContextState, ContextWindow]:
    """Return the state and window that `events` lead to from an empty `window`.

    Law: replaying a session's journal gives the session's state and window.
    """
    state = ContextState.EMPTY
    for event in events:
        window, state = apply_event(window, event), event.state
    return state, window


def logged_turns(events: Sequence[Event]) -> list[Turn]:
    """Return every turn ever accepted, in order."""
    return [event.turn for event in events if isinstance(event, TurnEvent)]
