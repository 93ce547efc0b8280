"""The journal: every accepted input with its effects, in order, append-only.

The effects stand beside the input (gists included), so replaying the journal gives the same
conversation without asking a model, a clock or a classifier.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, assert_never

from attrs import evolve, frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.pressure import Edit
from polycontext.window import Turn
from polycontext.window.sources import Sources

from ..inputs import KIND_OF_ROLE, Arguments, ContextInput, InputKind, Promotion
from ..machine.step import Step
from ..state import State


# One for every turn there ever was: each slot counts.
@frozen(weakref_slot=False)
class TurnEvent:
    """Record that `turn` came in with its class; `pinned` if the caller gave it."""

    state: State
    turn: Turn
    resource_class: ResourceClass
    pinned: bool = False


@frozen
class CompressEvent:
    """Record a compression by what it changed."""

    state: State
    edit: Edit
    at: datetime

    @property
    def names_ranges(self) -> bool:
        """Tell whether what a gist stands for is still the ranges that were read, see `source_ranges`."""
        return any(names_ranges(turn) for splice in self.edit.splices for turn in splice.turns)


def names_ranges(turn: Turn) -> bool:
    """Tell whether the sources of a gist are still the ranges that were read, see `source_ranges`."""
    return bool(turn.sources) and type(turn.sources) is tuple and type(turn.sources[0]) is tuple


@frozen
class RecallEvent:
    """Record turns that came back from the log."""

    state: State
    edit: Edit
    at: datetime


@frozen
class PromoteEvent:
    """Record that a turn's class was raised."""

    state: State
    resource_id: str
    resource_class: ResourceClass
    rationale: str
    at: datetime


@frozen
class ClearEvent:
    """Record that the view was forgotten."""

    state: State
    at: datetime


@frozen
class RewindEvent:
    """Record that the conversation went back to where it stood after its first `to` events.

    Those behind stay in the journal.
    """

    state: State
    to: int
    at: datetime


@frozen
class PatchEvent:
    """Record what was changed of a document that accompanies the conversation, as a JSON Patch (RFC 6902); the machine stands where it stood."""

    state: State
    name: str
    patch: str
    at: datetime


@frozen
class ResizeEvent:
    """Record that the window has a budget of `max_tokens` from now on, or that its guards were asked again."""

    state: State
    max_tokens: int
    at: datetime


@frozen
class MoveEvent:
    """Record an event that a subclass of the machine adds, with its arguments as JSON text.

    It changes no view.
    """

    state: State
    name: str
    arguments: str
    at: datetime


ErasedWhy = Literal["forgotten", "expired"]

ERASED = "erased"
"""The metadata key of a turn whose words are gone; its value says why."""


def is_erased(turn: Turn) -> bool:
    """Tell whether the words of `turn` are gone."""
    return ERASED in turn.metadata


@frozen
class EraseEvent:
    """Record that the words of turns are gone from all events before.

    Of those that expired no ids are named.
    """

    state: State
    resource_ids: tuple[str, ...]
    why: ErasedWhy
    at: datetime


InputEvent = (
    TurnEvent | CompressEvent | RecallEvent | PromoteEvent | ClearEvent | ResizeEvent | MoveEvent
)
"""An accepted input of the machine."""
Event = InputEvent | RewindEvent | EraseEvent | PatchEvent
"""What stands in a journal; `state` is the state after it."""


def event_of(step: Step, state: State, at: datetime) -> InputEvent:
    """Return the event of a step that has led to `state`."""
    payload, after, kind = step.input.payload, step.after, step.input.kind
    event: InputEvent
    match payload:
        case Turn() | str():
            turn = after.peek(len(after))
            assert turn is not None
            tag = after.linearity.tag_of(turn.resource_id)
            event = TurnEvent(state, turn, tag.resource_class, tag.pinned)
        case Edit():
            event = RecallEvent(state, payload, at)
        case Promotion(resource_id, resource_class, rationale):
            event = PromoteEvent(state, resource_id, resource_class, rationale, at)
        case Arguments():
            event = MoveEvent(state, kind, payload.text, at)
        case _ if kind is InputKind.COMPRESS:
            assert step.compression is not None
            event = CompressEvent(
                state, _list_foreign_sources(step.compression.edit, step.window.linearity), at
            )
        case _ if kind is InputKind.CLEAR:
            event = ClearEvent(state, at)
        case _:
            event = ResizeEvent(state, after.max_tokens, at)
    return event


def _list_foreign_sources(edit: Edit, ledger: LinearityMap) -> Edit:
    """Return `edit` with the ids of gists listed whose places are those of another conversation.

    A projector may bring such.
    """
    strange = [
        s for s in edit.splices if not all(_has_sources_of(turn, ledger) for turn in s.turns)
    ]
    if not strange:
        return edit
    listed = {
        s: evolve(s, turns=tuple(evolve(turn, sources=tuple(turn.sources)) for turn in s.turns))
        for s in strange
    }
    return evolve(edit, splices=tuple(listed.get(splice, splice) for splice in edit.splices))


def _has_sources_of(turn: Turn, ledger: LinearityMap) -> bool:
    return not isinstance(turn.sources, Sources) or ledger.ids.starts_with(turn.sources.ids)


def goes_behind(events: Iterable[Event], revision: int) -> bool:
    """Return whether one of `events`, which follow `revision`, goes back to before it, or has erased what was said before it."""
    return any(
        isinstance(event, EraseEvent) or (isinstance(event, RewindEvent) and event.to < revision)
        for event in events
    )


def input_of(event: InputEvent) -> ContextInput:
    """Return the input that an event records."""
    match event:
        case TurnEvent():
            given = ContextInput(KIND_OF_ROLE[event.turn.role], event.turn, event.resource_class)
        case CompressEvent():
            given = ContextInput.compress()
        case RecallEvent():
            given = ContextInput.recall(event.edit)
        case PromoteEvent():
            given = ContextInput.promote(
                event.resource_id, event.resource_class, event.rationale, event.at
            )
        case ClearEvent():
            given = ContextInput.clear()
        case ResizeEvent():
            given = ContextInput.resize(event.max_tokens)
        case MoveEvent():
            given = ContextInput(event.name, Arguments.of_text(event.arguments))
        case _:
            assert_never(event)
    return given
