"""The events of a journal: every accepted input with its effects, in order, append-only.

Effects (gists included) are recorded with the input, so replaying the journal gives the same
conversation without calling a model, a clock or a classifier. All that is known about one kind of
event stands in its class: the input, the effect with its checks, what leaves the view, the row of a
database, and what erasure leaves.
"""

# Each kind of event names its own arguments, and holds as a field what others derive.
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

from attrs import evolve, frozen

from polycontext.base import InvalidDataError
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.pressure import Edit, apply_edit, check_floors
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.sources import Sources

from ..inputs import KIND_OF_ROLE, Arguments, ContextInput, InputKind, Kind, Promotion, kind_of
from ..machine.step import Step
from ..state import State
from . import codec
from .codec import Column, Numbers, Row, Turns
from .edits import check_gists, check_ids, check_own, check_recalled, turns_of
from .log import Log
from .origin import Origin

Left = Callable[[Turn], Turn]
"""What erasure leaves of a turn: the same object if it loses nothing."""
Ids = Collection[str]


class _Record:
    """What holds for an event unless its class says otherwise."""

    __slots__ = ()
    stored: ClassVar[str]
    """The kind of its rows."""
    columns: ClassVar[Mapping[str, Column]] = {}
    """Where its fields stand in a row, besides state and time."""
    edit: Any = None
    """What it does to the view, if that is an edit."""
    payload: ClassVar[Any] = None
    """The payload of its input."""

    @staticmethod
    def facts(_: Step) -> tuple[Any, ...]:
        """Return what it records of a step, besides state and time."""
        return ()

    @classmethod
    def of_step(cls, step: Step, state: State, at: datetime) -> Self:
        """Return the event of a step."""
        return cls(state, *cls.facts(step), at)  # type: ignore[call-arg]  # its classes have fields

    @property
    def given(self) -> ContextInput:
        """Return its input."""
        return ContextInput(self.kind, self.payload)

    @property
    def kind(self) -> Kind:
        """Return the kind of its input."""
        return kind_of(self.stored)

    def taken(self, past: Any, window: ContextWindow) -> Any:
        """Return `past` with what left `window`."""
        return past

    def without(self, left: Left, gone: Ids) -> Self:
        """Return the event with what erasure leaves of each turn; the words of `gone` go."""
        return self

    def row(self, numbers: Numbers) -> Row:
        """Return the event as a row."""
        event: Any = self
        columns = {
            column.name: column.write(getattr(self, name), numbers)
            for name, column in self.columns.items()
        }
        return Row(self.stored, str(event.state), codec.microseconds(event.at), **columns)

    @classmethod
    def of_row(cls, state: State, row: Row, turns: Turns) -> Self:
        """Return the event of a row."""
        made, at = cls, codec.moment(row.at)
        fields: dict[str, Any] = {
            name: column.read(getattr(row, column.name), turns)
            for name, column in cls.columns.items()
        }
        return made(state=state, at=at, **fields)  # type: ignore[call-arg]  # its classes have fields

    @property
    def turns(self) -> list[Turn]:
        """Return the turns that its edit adds to the view."""
        return [] if self.edit is None else turns_of(self.edit)

    @property
    def names_ranges(self) -> bool:
        """Return whether a gist of its edit has unresolved ranges as sources (`source_ranges`)."""
        return self.edit is not None and any(map(names_ranges, self.turns))

    def removes(self, resource_id: str) -> bool:
        """Return whether its edit takes a turn out: drops it, or tells it in a new gist."""
        edit = self.edit
        if edit is None or resource_id in edit.again:
            return False
        return resource_id in edit.dropped or any(resource_id in t.sources for t in self.turns)


def names_ranges(turn: Turn) -> bool:
    """Return whether the sources of a gist are still unresolved ranges (`source_ranges`)."""
    return bool(turn.sources) and type(turn.sources) is tuple and type(turn.sources[0]) is tuple


# There is one for every turn ever added, so each slot counts.
@frozen(weakref_slot=False)
class TurnEvent(_Record):
    """Record that `turn` was added with its class; `pinned` if the caller chose the class."""

    state: State
    turn: Turn
    resource_class: ResourceClass
    pinned: bool = False

    @classmethod
    def of_step(cls, step: Step, state: State, _: datetime) -> Self:
        """Return the event of a step."""
        after = step.after
        turn: Any = after.peek(len(after))
        kind = after.linearity.kind_of(turn.resource_id)
        return cls(state, turn, kind.resource_class, kind.pinned)

    @property
    def at(self) -> datetime:
        """Return the time of the turn."""
        return self.turn.timestamp

    @property
    def kind(self) -> Kind:
        """Return the kind of its input."""
        return KIND_OF_ROLE[self.turn.role]

    @property
    def given(self) -> ContextInput:
        """Return its input."""
        return ContextInput.of_turn(self.turn, self.resource_class)

    def happen(self, window: ContextWindow, _: Log) -> ContextWindow:
        """Return the window with the turn."""
        after = window.append(self.turn, self.resource_class, pinned=self.pinned)
        if after.extract() != self.turn:
            raise InvalidDataError(
                ".turn", "a turn without its id or token count", "the turn as it was accepted"
            )
        return after

    def without(self, left: Left, _: Ids) -> Self:
        """Return the event with what is left of the turn."""
        turn = left(self.turn)
        return self if turn is self.turn else evolve(self, turn=turn)

    def row(self, _: Numbers) -> Row:
        """Return the event as a row."""
        turn, at = self.turn, codec.microseconds(self.at)
        known = (turn.resource_id, int(self.resource_class), int(self.pinned), turn.tokens)
        words = turn.content, codec.rest_of(turn)
        return Row(turn.role.value, str(self.state), at, *known, *words)

    @classmethod
    def of_row(cls, state: State, row: Row, _: Turns) -> Self:
        """Return the event of a row."""
        turn = codec.turn_of_row(row)
        return cls(state, turn, codec.as_class(row.resource_class), bool(row.pinned))


class _Editing(_Record):
    """An event whose effect is an edit of the view."""

    __slots__ = ()

    def taken(self, past: Any, window: ContextWindow) -> Any:
        """Return `past` with what left `window`."""
        return past if self.edit is None else past.after(window, self.edit)

    def without(self, left: Left, _: Ids) -> Self:
        """Return the event with what is left of the turns of its edit."""
        if all(left(turn) is turn for turn in self.turns):
            return self
        splices = tuple(
            evolve(splice, turns=tuple(map(left, splice.turns))) for splice in self.edit.splices
        )
        edit = evolve(self.edit, splices=splices)
        # A provider accepts bound parts only after its own summary, which may have been erased.
        kept = {provider for turn in turns_of(edit) for provider in turn.native_providers}
        keeps_bound = tuple(each for each in edit.keeps_bound if each in kept)
        return evolve(self, edit=evolve(edit, keeps_bound=keeps_bound))  # type: ignore[misc]


@frozen
class CompressEvent(_Editing):
    """Record a compression by its edit.

    `origin` is how it was made; None in journals of before 2026-11-29, or if nothing changed.
    """

    stored: ClassVar = "compress"
    columns: ClassVar = {"edit": codec.EDIT, "origin": codec.ORIGIN}
    payload: ClassVar = 0.7

    state: State
    edit: Edit
    at: datetime
    origin: Origin | None = None

    @staticmethod
    def facts(step: Step) -> tuple[Any, ...]:
        """Return what it records of a step."""
        assert step.compression is not None
        return (_list_foreign_sources(step, step.compression.edit),)

    @classmethod
    def of_step(cls, step: Step, state: State, at: datetime) -> Self:
        """Return the event of a step."""
        return evolve(super().of_step(step, state, at), origin=Origin.of(step))

    def happen(self, window: ContextWindow, _: Log) -> ContextWindow:
        """Return the compressed window."""
        check_gists(window, self.edit, self.turns)
        check_ids(window, self.edit)
        check_floors(window, self.edit, recorded=True)
        return apply_edit(window, self.edit, compressed=True)


@frozen
class RecallEvent(_Editing):
    """Record that turns were brought back from the log."""

    stored: ClassVar = "recall"
    columns: ClassVar = {"edit": codec.RECALL}

    state: State
    edit: Edit
    at: datetime

    @staticmethod
    def facts(step: Step) -> tuple[Any, ...]:
        """Return what it records of a step."""
        return (step.input.payload,)

    @property
    def payload(self) -> Edit:
        """Return the payload of its input."""
        return self.edit

    def happen(self, window: ContextWindow, log: Log) -> ContextWindow:
        """Return the window with the turns."""
        check_recalled(window, log, self.edit)
        return apply_edit(window, self.edit, compressed=False)

    def taken(self, past: Any, _: ContextWindow) -> Any:
        """Return `past`: what comes back has left the view before."""
        return past


@frozen
class RefillEvent(RecallEvent):
    """Record that turns were brought back because there was room."""

    stored: ClassVar = "refill"


@frozen
class PromoteEvent(_Record):
    """Record that a turn's class was raised."""

    stored: ClassVar = "promote"
    columns: ClassVar = {
        "resource_id": codec.NAME,
        "resource_class": codec.CLASS,
        "rationale": codec.RATIONALE,
    }

    state: State
    resource_id: str
    resource_class: ResourceClass
    rationale: str
    at: datetime

    @staticmethod
    def facts(step: Step) -> tuple[Any, ...]:
        """Return what it records of a step."""
        wanted: Any = step.input.payload
        return wanted.resource_id, wanted.resource_class, wanted.rationale

    @property
    def payload(self) -> Promotion:
        """Return the payload of its input."""
        return Promotion(self.resource_id, self.resource_class, self.rationale, self.at)

    def happen(self, window: ContextWindow, _: Log) -> ContextWindow:
        """Return the window in which the turn has a higher class."""
        return window.promote(
            self.resource_id, self.resource_class, rationale=self.rationale, when=self.at
        )

    def without(self, _: Left, gone: Ids) -> Self:
        """Return the event without the reason, which may quote the turn."""
        is_gone = self.resource_id in gone and self.rationale
        return evolve(self, rationale="") if is_gone else self


@frozen
class ClearEvent(_Record):
    """Record that the view was cleared."""

    stored: ClassVar = "clear"

    state: State
    at: datetime

    def happen(self, window: ContextWindow, _: Log) -> ContextWindow:
        """Return the window without turns."""
        return window.cleared()

    def taken(self, past: Any, _: ContextWindow) -> Any:
        """Return an empty past: nothing is told of what was cleared."""
        return type(past)()


@frozen
class RewindEvent(_Record):
    """Record that the conversation was rewound to its state after its first `to` events.

    The events after those stay in the journal.
    """

    stored: ClassVar = "rewind"
    columns: ClassVar = {"to": codec.NUMBER}

    state: State
    to: int
    at: datetime


@frozen
class UndoEvent(_Record):
    """Record that a compression was taken back, or made again.

    The view is that after the first `to` events, followed by the turns that came since.
    """

    stored: ClassVar = "undo"
    columns: ClassVar = {"to": codec.NUMBER}

    state: State
    to: int
    at: datetime


@frozen
class PatchEvent(_Record):
    """Record a JSON Patch (RFC 6902) to a document of the conversation.

    The state of the machine stays the same.
    """

    stored: ClassVar = "patch"
    columns: ClassVar = {"name": codec.NAME, "patch": codec.DOCUMENT}

    state: State
    name: str
    patch: str
    at: datetime


@frozen
class ResizeEvent(_Record):
    """Record that the budget became `max_tokens`, or that the guards were evaluated again."""

    stored: ClassVar = "resize"
    columns: ClassVar = {"max_tokens": codec.NUMBER}

    state: State
    max_tokens: int
    at: datetime

    @staticmethod
    def facts(step: Step) -> tuple[Any, ...]:
        """Return what it records of a step."""
        return (step.after.max_tokens,)

    @property
    def payload(self) -> int:
        """Return the payload of its input."""
        return self.max_tokens

    def happen(self, window: ContextWindow, _: Log) -> ContextWindow:
        """Return the window with another budget."""
        return window.with_room(self.max_tokens)


@frozen
class MoveEvent(_Editing):
    """Record an event that a subclass of the machine adds, with its arguments as JSON text.

    `edit` is what its action does to the view, if it does anything.
    """

    stored: ClassVar = "move"
    columns: ClassVar = {
        "name": codec.NAME,
        "arguments": codec.DOCUMENT,
        "edit": codec.OWN_EDIT,
    }

    state: State
    name: str
    arguments: str
    at: datetime
    edit: Edit | None = None

    @classmethod
    def of_step(cls, step: Step, state: State, at: datetime) -> Self:
        """Return the event of a step."""
        given: Any = step.input.payload
        is_edited = step.after is not step.window  # which runs the action, if nothing else has
        edit = _list_foreign_sources(step, step.edit) if is_edited and step.edit else None
        return cls(state, step.input.kind, given.text, at, edit)

    @property
    def kind(self) -> Kind:
        """Return the kind of its input."""
        return self.name

    @property
    def payload(self) -> Arguments:
        """Return the payload of its input."""
        return Arguments.of_text(self.arguments)

    def happen(self, window: ContextWindow, log: Log) -> ContextWindow:
        """Return the edited window."""
        if self.edit is None:
            return window
        check_own(window, log, self.edit)
        check_floors(window, self.edit, recorded=True)
        return apply_edit(window, self.edit, compressed=False)


ErasedWhy = Literal["forgotten", "expired"]
_WHY: Mapping[str, ErasedWhy] = {"forgotten": "forgotten", "expired": "expired"}

ERASED = "erased"
"""The metadata key that marks a turn whose words are erased; its value is the reason."""


def is_erased(turn: Turn) -> bool:
    """Return whether the words of `turn` are erased."""
    return ERASED in turn.metadata


@frozen
class EraseEvent(_Record):
    """Record that the words of turns were erased from all earlier events.

    For expired turns, `resource_ids` is empty.
    """

    stored: ClassVar = "erase"

    state: State
    resource_ids: tuple[str, ...]
    why: ErasedWhy
    at: datetime

    @property
    def kind(self) -> Kind:
        """Return the kind of its input."""
        return InputKind.FORGET

    def row(self, numbers: Numbers) -> Row:
        """Return the event as a row."""
        return super().row(numbers)._replace(more=codec.to_json([self.why, *self.resource_ids]))

    @classmethod
    def of_row(cls, state: State, row: Row, _: Turns) -> Self:
        """Return the event of a row."""
        why, *resource_ids = codec.read(row.more, list[str]) or ("",)
        if why not in _WHY:
            raise InvalidDataError("more", f"{why!r:.60} is not a reason to erase", ", ".join(_WHY))
        return cls(state, tuple(resource_ids), _WHY[why], codec.moment(row.at))


InputEvent = (
    TurnEvent
    | CompressEvent
    | RecallEvent
    | RefillEvent
    | PromoteEvent
    | ClearEvent
    | ResizeEvent
    | MoveEvent
)
"""An accepted input of the machine."""
Event = InputEvent | RewindEvent | UndoEvent | EraseEvent | PatchEvent
"""An entry of a journal; `state` is the place of the machine after it."""

OF_ROW: dict[str, Any] = {
    **dict.fromkeys(map(str, Role), TurnEvent),
    **{each.stored: each for each in Event.__args__ if each is not TurnEvent},
}
"""The class of the events in each kind of row."""
_TURNS = dict.fromkeys(KIND_OF_ROLE.values(), TurnEvent)


def event_of(step: Step, state: State, at: datetime) -> InputEvent:
    """Return the event of a step that led to `state`."""
    kind = step.input.kind
    known = _TURNS if kind in _TURNS else OF_ROW
    event = known[kind] if isinstance(kind, InputKind) else MoveEvent
    made: InputEvent = event.of_step(step, state, at)
    return made


def _list_foreign_sources(step: Step, edit: Edit) -> Edit:
    """Return `edit` with the sources of foreign gists as plain ids.

    A projector may bring gists whose sources refer to the ledger of another conversation.
    """
    ledger = step.window.linearity
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
    """Return whether one of `events` goes back to before `revision`, or erases words.

    The events follow `revision`.
    """
    return any(
        isinstance(event, EraseEvent)
        or (isinstance(event, RewindEvent | UndoEvent) and event.to < revision)
        for event in events
    )


def targets_of(events: Iterable[Event]) -> set[int]:
    """Return the revisions to which events of a journal go back."""
    return {event.to for event in events if isinstance(event, RewindEvent | UndoEvent)}


class Lineage(NamedTuple):
    """The compressions of a view: those that it is based on, and those that can be taken back.

    Compressions are the numbers of their events; those that changed nothing are left out.
    `undoable` has the revision that undoing each goes back to: that before it, or if it was taken
    back, that before the undo.
    """

    based: tuple[int, ...] = ()
    undoable: Mapping[int, int] = MappingProxyType({})


def lineages(events: Iterable[Event], after: int = 0) -> list[Lineage]:
    """Return the lineage of each revision from `after` on; no event goes back to before it.

    A compression can be taken back while turns, recalls and other compressions alone have changed
    the view since.
    """
    found = [Lineage()]
    for number, event in enumerate(events, after + 1):
        now = found[-1]
        match event:
            case RewindEvent(to=to):
                now = found[to - after]
            case ClearEvent():
                now = Lineage()
            case MoveEvent() if event.edit:
                now = Lineage(now.based)
            case UndoEvent(to=to):
                based, before = found[to - after].based, now.based
                undone = {each: number - 1 for each in before if each not in based}
                made = {**now.undoable, **undone, **{each: each - 1 for each in based}}
                now = Lineage(based, {each: made[each] for each in now.undoable})
            case CompressEvent(edit=edit) if not edit.is_empty:
                fresh = {number: number - 1} if edit.splices or edit.bared else {}
                now = Lineage((*now.based, number), {**now.undoable, **fresh})
            case _:
                pass
        found.append(now)
    return found


def standing(events: Iterable[Event]) -> list[tuple[int, InputEvent | UndoEvent]]:
    """Return the inputs of a whole journal that no rewind has undone, each with its number from 1.

    Compressions that were taken back are among them, and the events that did so.

    >>> from polycontext.linearity import UNIX_EPOCH
    >>> from polycontext.polynomial import ContextState
    >>> turn = TurnEvent(ContextState.ACCUMULATING, Turn("user", "hi"), ResourceClass.REQUIRED)
    >>> standing([turn, RewindEvent(ContextState.EMPTY, 0, UNIX_EPOCH)])
    []
    """
    events = tuple(events)
    targets = targets_of(events)
    found = list[tuple[int, InputEvent | UndoEvent]]()
    passed = dict[int, list[tuple[int, InputEvent | UndoEvent]]]()
    for number, event in enumerate(events, 1):
        if number - 1 in targets:
            passed[number - 1] = [*found]
        if isinstance(event, RewindEvent):
            found = [*passed.get(event.to, ())]
        elif isinstance(event, InputEvent | UndoEvent):
            found.append((number, event))
    return found
