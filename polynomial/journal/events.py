"""The journal: every accepted input with its effects, in order, append-only.

The effects stand beside the input (gists included), so replaying the journal gives the same
conversation without asking a model, a clock or a classifier.
"""

from datetime import datetime
from typing import Literal, assert_never

from attrs import evolve, frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.polynomial.inputs import KIND_OF_ROLE, ContextInput, Promotion
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.pressure import Edit
from polycontext.window import Turn
from polycontext.window.sources import Sources


# One for every turn there ever was: each slot counts.
@frozen(weakref_slot=False)
class TurnEvent:
    """Record that `turn` came in with its class; `pinned` if the caller gave it."""

    state: ContextState
    turn: Turn
    resource_class: ResourceClass
    pinned: bool = False


@frozen
class CompressEvent:
    """Record a compression by what it changed."""

    state: ContextState
    edit: Edit
    at: datetime

    @property
    def names_ranges(self) -> bool:
        """Tell whether what a gist stands for is still the ranges that were read, see `named_sources`."""
        return any(names_ranges(turn) for splice in self.edit.splices for turn in splice.turns)


def names_ranges(turn: Turn) -> bool:
    """Tell whether the sources of a gist are still the ranges that were read, see `named_sources`."""
    return bool(turn.sources) and type(turn.sources) is tuple and type(turn.sources[0]) is tuple


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


@frozen
class RewindEvent:
    """Record that the conversation went back to where it stood after its first `to` events; those behind stay in the journal."""

    state: ContextState
    to: int
    at: datetime


@frozen
class PatchEvent:
    """Record what was changed of a document that accompanies the conversation, as a JSON Patch (RFC 6902); the machine stands where it stood."""

    state: ContextState
    name: str
    patch: str
    at: datetime


ErasedWhy = Literal["forgotten", "expired"]

ERASED = "erased"
"""The metadata key of a turn whose words are gone; its value says why."""


def is_erased(turn: Turn) -> bool:
    """Tell whether the words of `turn` are gone."""
    return ERASED in turn.metadata


@frozen
class EraseEvent:
    """Record that the words of turns are gone from all events before; of those that expired no ids are named."""

    state: ContextState
    resource_ids: tuple[str, ...]
    why: ErasedWhy
    at: datetime


InputEvent = TurnEvent | CompressEvent | RecallEvent | PromoteEvent | ClearEvent
"""An accepted input of the machine."""
Event = InputEvent | RewindEvent | EraseEvent | PatchEvent
"""What stands in a journal; `state` is the state after it."""


def event_of(step: Step, state: ContextState, at: datetime) -> InputEvent:
    """Return the event of a step that has led to `state`."""
    payload, after = step.input.payload, step.result
    assert after is not None
    match step.input.kind:
        case InputKind.USER_TURN | InputKind.ASSISTANT_TURN | InputKind.TOOL_TURN | InputKind.SYSTEM:
            turn = after.peek(len(after))
            assert turn is not None
            tag = after.linearity.tag_of(turn.resource_id)
            return TurnEvent(state, turn, tag.resource_class, tag.pinned)
        case InputKind.COMPRESS:
            assert step.compression is not None
            return CompressEvent(state, _told_by(step.compression.edit, step.window.linearity), at)
        case InputKind.RECALL:
            assert isinstance(payload, Edit)
            return RecallEvent(state, payload, at)
        case InputKind.PROMOTE:
            assert isinstance(payload, Promotion)
            return PromoteEvent(state, payload.resource_id, payload.resource_class, payload.rationale, at)
        case InputKind.CLEAR:
            return ClearEvent(state, at)
        case _:
            assert_never(step.input.kind)


def _told_by(edit: Edit, ledger: LinearityMap) -> Edit:
    """Return `edit` with the ids of gists listed whose places are those of another conversation; a projector may bring such."""
    strange = [s for s in edit.splices if not all(_is_told_by(turn, ledger) for turn in s.turns)]
    if not strange:
        return edit
    listed = {s: evolve(s, turns=tuple(evolve(turn, sources=tuple(turn.sources)) for turn in s.turns)) for s in strange}
    return evolve(edit, splices=tuple(listed.get(splice, splice) for splice in edit.splices))


def _is_told_by(turn: Turn, ledger: LinearityMap) -> bool:
    return not isinstance(turn.sources, Sources) or ledger.ids.starts_with(turn.sources.ids)


def input_of(event: InputEvent) -> ContextInput:
    """Return the input that an event records."""
    match event:
        case TurnEvent():
            return ContextInput(KIND_OF_ROLE[event.turn.role], event.turn, event.resource_class)
        case CompressEvent():
            return ContextInput.compress()
        case RecallEvent():
            return ContextInput.recall(event.edit)
        case PromoteEvent():
            return ContextInput.promote(event.resource_id, event.resource_class, event.rationale, event.at)
        case ClearEvent():
            return ContextInput.clear()
        case _:
            assert_never(event)
