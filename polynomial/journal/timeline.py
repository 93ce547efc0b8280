"""The timeline of a journal: the conversation after each event, folded once (docs/history.md).

Conversations share their parts, so that all of them take little more memory than the last one.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import pressure_of
from polycontext.window import ContextWindow, Store

from ..inputs import Kind
from ..state import State
from . import source_ranges
from .conversation import Conversation, replayed
from .events import Event, TurnEvent

Tokens = Mapping[ResourceClass, int]


class Frame(NamedTuple):
    """The conversation after an event, None before the first, and the view's tokens by class."""

    conversation: Conversation
    event: Event | None
    tokens: Tokens


@frozen
class TimelineEntry:
    """What stood after one event of the journal, and what the event changed.

    Attributes:
        revision: the number of events so far.
        kind: the event, None for the beginning.
        at: its time, None for the beginning.
        state: the machine's state after it.
        pressure: tokens / max tokens after it.
        max_tokens: the budget after it.
        tokens: the view's tokens after it by class; all three classes are there.
        came, went: the ids of the turns, gists among them, that entered and left the view.
        places: the index in the view of each turn that came.
    """

    revision: int
    kind: Kind | None
    at: datetime | None
    state: State
    pressure: float
    max_tokens: int
    tokens: Tokens
    came: tuple[str, ...]
    went: tuple[str, ...]
    places: tuple[int, ...]


def fold(frames: Sequence[Frame], events: Iterable[Event]) -> list[Frame]:
    """Return `frames`, one for each revision so far, with those of the `events` that follow.

    O(events), plus O(view) for each event that is not a turn.

    Raises:
        InvalidDataError: an event cannot occur there.
    """
    found = [*frames]
    known = {place: frame.conversation for place, frame in enumerate(found)}
    for before, event, after in replayed(events, found[-1].conversation, known):
        if event.names_ranges:
            event = source_ranges.edit_with_sources(event, before.window)  # noqa: PLW2901
        found.append(Frame(after, event, _tokens_after(found[-1], event, after.window)))
    return found


def first_frame(conversation: Conversation) -> Frame:
    """Return the frame of a conversation before its first event."""
    return Frame(conversation, None, count_by_class(conversation.window))


def entries(frames: Sequence[Frame]) -> Store[TimelineEntry]:
    """Return the entry of each frame, focused on the last one; computed on first access.

    Law: an entry depends on its frame and on the one before it alone, so it is what `extend` of
    the Store comonad computes at each position.
    """
    last = len(frames) - 1
    return Store(frames.__getitem__, last, last).extend(_entry)


def _entry(frames: Store[Frame]) -> TimelineEntry:
    here, event, tokens = frames.extract()
    before = frames.peeks(lambda position: max(0, position - 1)).conversation.window
    window = here.window
    came: dict[str, int] = {}
    went: dict[str, int] = {}
    if isinstance(event, TurnEvent):
        came = {event.turn.resource_id: len(window) - 1}
    elif window is not before:
        came, went = _new_places(before, window), _new_places(window, before)
    return TimelineEntry(
        here.revision,
        None if event is None else event.kind,
        None if event is None else event.at,
        here.state,
        pressure_of(window),
        window.max_tokens,
        tokens,
        tuple(came),
        tuple(went),
        tuple(came.values()),
    )


def _new_places(before: ContextWindow, after: ContextWindow) -> dict[str, int]:
    known = {turn.resource_id for turn in before.all_turns()}
    places = enumerate(turn.resource_id for turn in after.all_turns())
    return {each: place for place, each in places if each not in known}


def _tokens_after(before: Frame, event: Event, window: ContextWindow) -> Tokens:
    """Return the tokens by class; O(1) after a turn."""
    if window is before.conversation.window:
        return before.tokens
    if not isinstance(event, TurnEvent):
        return count_by_class(window)
    of = event.resource_class
    return {**before.tokens, of: before.tokens[of] + (event.turn.tokens or 0)}


def count_by_class(window: ContextWindow) -> Tokens:
    """Return the tokens of the view by class; all three are there."""
    tokens = dict.fromkeys(ResourceClass, 0)
    for turn in window.all_turns():
        tokens[window.class_of(turn)] += turn.tokens or 0
    return tokens
