"""Look at a conversation: who said a line of a gist, and what became of one turn."""

from collections.abc import Sequence
from datetime import datetime

from attrs import frozen

from polycontext.linearity import InvalidOptionError, ResourceClass
from polycontext.linearity.classifying.classifier import default_classifier
from polycontext.linearity.tag import Tag
from polycontext.polynomial.journal.conversation import Conversation, standing
from polycontext.polynomial.journal.events import ClearEvent, CompressEvent, Event, RecallEvent, TurnEvent
from polycontext.polynomial.journal.log import Log
from polycontext.pressure.notes.tracing import traced
from polycontext.window import Role, Turn
from polycontext.window.items.attachment import attachment_of
from polycontext.window.opening import is_opening


def traced_ids(log: Log, line: str) -> tuple[str, ...]:
    """Return the ids of the turns that say what a line of a gist says.

    Raises:
        InvalidOptionError: `line` is no text.
    """
    if not isinstance(line, str):
        raise InvalidOptionError("line", line, "a line of a gist")
    return tuple(turn.resource_id for turn in traced(line, log))


HANDED_BACK = "handed_back"
"""The metadata key of a turn that is the result of a child."""


@frozen
class HandedBack:
    """Say of which session a turn is the result, and of which of its turns: from `first` to `last`, so many of them."""

    session_id: str
    first: str
    last: str
    turns: int

    def __str__(self) -> str:
        return f"handed back by session {self.session_id!r}, {self.turns} turns from {self.first} to {self.last}"


def handed_back_in(turn: Turn) -> HandedBack | None:
    """Return of which session `turn` is the result, None where it is none."""
    match turn.metadata.get(HANDED_BACK):
        case {"session_id": str(session_id), "first": str(first), "last": str(last), "turns": int(turns)}:
            return HandedBack(session_id, first, last, turns)
        case _:
            return None


@frozen
class Explained:
    """Say what became of a turn.

    `by` and `why` tell who gave its class (``"classifier"``, ``"caller"``, ``"promote"``, ``"gist"``; ``"append"`` where it came in with it) and for what reason, `at` when. `place` is its index in the view, None where it is not
    there word for word; then `stands_for_it` is the id of the gist that stands for it, None where nothing does, and `since` the
    revision at which it left the view, `left` by what: ``"compress"`` or ``"clear"``. `handed_back` tells of which session, and of which of its turns, it is
    the result (docs/child-sessions.md).
    """

    resource_id: str
    resource_class: ResourceClass
    by: str
    why: str
    at: datetime
    place: int | None
    stands_for_it: str | None = None
    left: str | None = None
    since: int | None = None
    handed_back: "HandedBack | None" = None

    def __str__(self) -> str:
        return self._stands + (f"; {self.handed_back}" if self.handed_back is not None else "")

    @property
    def _stands(self) -> str:
        given = f"{self.resource_id}: {self.resource_class.name}, by {self.by or 'nobody named'} at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        why = f" ({self.why})" if self.why else ""
        if self.place is not None:
            return f"{given}{why}; in the view, number {self.place + 1}"
        where = f"in the view {self.stands_for_it} stands for it" if self.stands_for_it else "nothing in the view stands for it"
        return f"{given}{why}; {where}" + (f", since {self.left} at revision {self.since}" if self.left else "")


def explained(conversation: Conversation, events: Sequence[Event], resource_id: str) -> Explained:
    """Return what became of a turn or a gist of `conversation`, whose journal is `events`."""
    tag = conversation.window.linearity.tag_of(resource_id)
    turns = conversation.window.all_turns()
    place = next((place for place, turn in enumerate(turns) if turn.resource_id == resource_id), None)
    by, why = _given(conversation, resource_id, tag) if tag.provenance == "append" else (tag.provenance, tag.rationale)
    known = (resource_id, tag.resource_class, by, why, tag.when, place)
    log = conversation.log
    handed_back = handed_back_in(log[log.place(resource_id)]) if log.knows(resource_id) else None
    if place is not None:
        return Explained(*known, handed_back=handed_back)
    gist = next((turn.resource_id for turn in turns if resource_id in turn.sources), None)
    return Explained(*known, gist, *_left(events, resource_id), handed_back)


def _given(conversation: Conversation, resource_id: str, tag: Tag) -> tuple[str, str]:
    """Return who gave the class with which a turn came in, and why, as far as that is known: the journal tells pins and classes alone."""
    if tag.pinned:
        return "caller", tag.rationale
    log = conversation.log
    if (
        tag.resource_class is ResourceClass.REQUIRED
        or conversation.window.classifier is not default_classifier
        or not log.knows(resource_id)
    ):
        return "append", tag.rationale
    turn = log[log.place(resource_id)]
    if tag.resource_class is ResourceClass.DROPPABLE:
        return "classifier", "it acknowledges, or says nothing"
    if turn.role is Role.SYSTEM:
        return "classifier", "the system says it"
    return "classifier", "the task" if _is_task(log, turn) else "a standing demand"


def _is_task(log: Log, turn: Turn) -> bool:
    said = (each for each in log if each.role is Role.USER and not is_opening(each) and attachment_of(each) is None)
    first = next(said, None)
    return first is not None and first.resource_id == turn.resource_id


def _left(events: Sequence[Event], resource_id: str) -> tuple[str | None, int | None]:
    """Return by what, and at which revision, a turn left the view for the last time."""
    there = False
    left: tuple[str | None, int | None] = None, None
    for revision, event in standing(events):
        match event:
            case TurnEvent():
                there = there or event.turn.resource_id == resource_id
            case CompressEvent() if there and _takes(event, resource_id):
                there, left = False, ("compress", revision)
            case ClearEvent() if there:
                there, left = False, ("clear", revision)
            case RecallEvent():
                there = there or any(turn.resource_id == resource_id for splice in event.edit.splices for turn in splice.turns)
            case _:
                pass
    return left


def _takes(event: CompressEvent, resource_id: str) -> bool:
    """Tell whether a compression took the turn out of the view: dropped, or into a gist that no gist before had it in."""
    edit = event.edit
    taken = resource_id in edit.dropped or any(resource_id in turn.sources for splice in edit.splices for turn in splice.turns)
    return taken and resource_id not in edit.again
