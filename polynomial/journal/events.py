"""The events of a journal: every accepted input with its effects, in order, append-only.

Effects (gists included) are recorded with the input, so replaying the journal gives the same
conversation without calling a model, a clock or a classifier.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, assert_never

from attrs import evolve, frozen

from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.pressure import Edit
from polycontext.window import Sources, Turn

from ..inputs import KIND_OF_ROLE, Arguments, ContextInput, InputKind, Promotion
from ..machine.step import Step
from ..state import State


# There is one for every turn ever added, so each slot counts.
@frozen(weakref_slot=False)
class TurnEvent:
    """Record that `turn` was added with its class; `pinned` if the caller chose the class."""

    state: State
    turn: Turn
    resource_class: ResourceClass
    pinned: bool = False


@frozen
class CompressEvent:
    """Record a compression by its edit."""

    state: State
    edit: Edit
    at: datetime

    @property
    def names_ranges(self) -> bool:
        """Return whether any of its gists has unresolved ranges as sources (`source_ranges`)."""
        return any(names_ranges(turn) for splice in self.edit.splices for turn in splice.turns)


def names_ranges(turn: Turn) -> bool:
    """Return whether the sources of a gist are still unresolved ranges (`source_ranges`)."""
    return bool(turn.sources) and type(turn.sources) is tuple and type(turn.sources[0]) is tuple


@frozen
class RecallEvent:
    """Record that turns were brought back from the log."""

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
    """Record that the view was cleared."""

    state: State
    at: datetime


@frozen
class RewindEvent:
    """Record that the conversation was rewound to its state after its first `to` events.

    The events after those stay in the journal.
    """

    state: State
    to: int
    at: datetime


@frozen
class PatchEvent:
    """Record a JSON Patch (RFC 6902) to a document of the conversation.

    The state of the machine stays the same.
    """

    state: State
    name: str
    patch: str
    at: datetime


@frozen
class ResizeEvent:
    """Record that the budget became `max_tokens`, or that the guards were evaluated again."""

    state: State
    max_tokens: int
    at: datetime


@frozen
class MoveEvent:
    """Record an event that a subclass of the machine adds, with its arguments as JSON text.

    It does not change the view.
    """

    state: State
    name: str
    arguments: str
    at: datetime


ErasedWhy = Literal["forgotten", "expired"]

ERASED = "erased"
"""The metadata key that marks a turn whose words are erased; its value is the reason."""


def is_erased(turn: Turn) -> bool:
    """Return whether the words of `turn` are erased."""
    return ERASED in turn.metadata


@frozen
class EraseEvent:
    """Record that the words of turns were erased from all earlier events.

    For expired turns, `resource_ids` is empty.
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
"""An entry of a journal; `state` is the state after it."""


def time_of(event: Event) -> datetime:
    """Return when an event happened."""
    return event.turn.timestamp if isinstance(event, TurnEvent) else event.at


def event_of(step: Step, state: State, at: datetime) -> InputEvent:
    """Return the event of a step that led to `state`."""
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
    """Return `edit` with the sources of foreign gists as plain ids.

    A projector may bring gists whose sources refer to the ledger of another conversation.
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
    """Return whether one of `events` rewinds to before `revision`, or erases words.

    The events follow `revision`.
    """
    return any(
        isinstance(event, EraseEvent) or (isinstance(event, RewindEvent) and event.to < revision)
        for event in events
    )


def standing(events: Iterable[Event]) -> list[tuple[int, InputEvent]]:
    """Return the inputs of a whole journal that no rewind has undone, each with its number from 1.

    >>> from polycontext.linearity import UNIX_EPOCH
    >>> from polycontext.polynomial import ContextState
    >>> turn = TurnEvent(ContextState.ACCUMULATING, Turn("user", "hi"), ResourceClass.REQUIRED)
    >>> standing([turn, RewindEvent(ContextState.EMPTY, 0, UNIX_EPOCH)])
    []
    """
    events = tuple(events)
    targets = {event.to for event in events if isinstance(event, RewindEvent)}
    passed, found = dict[int, list[tuple[int, InputEvent]]](), list[tuple[int, InputEvent]]()
    for number, event in enumerate(events, 1):
        if number - 1 in targets:
            passed[number - 1] = [*found]
        if isinstance(event, RewindEvent):
            found = [*passed.get(event.to, ())]
        elif isinstance(event, InputEvent):
            found.append((number, event))
    return found


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
