"""Look things up in a session: which turns say what is asked for (docs/history.md), who said a line of a gist, and what became of one turn."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from operator import is_
from threading import Lock
from typing import Any

from attrs import frozen

from polycontext.linearity import ResourceClass, Tag, default_classifier
from polycontext.pressure.notes import find_sources
from polycontext.window import Role, Turn
from polycontext.window.filler import is_opening
from polycontext.window.items import attachment_of

from ..journal.conversation import Conversation, standing
from ..journal.events import ClearEvent, CompressEvent, Event, RecallEvent, TurnEvent
from ..journal.log import Log
from ..stores.search_query import AskedWords, found_in
from ..stores.session_store import Found, SearchableStore
from ..stores.word_index import WordIndex
from .options import check_arguments, is_whole, require

MOST_FOUND = 1_000
"""Turns that one search returns, at most."""

# --- turns that say something ---------------------------------------------------------


def check_search(text: object, limit: Any) -> None:
    """Raise `InvalidOptionError` for what is no text to look for, or no number of turns to return."""
    require("text", text, isinstance(text, str), "the words to look for")
    fits = is_whole(limit) and 1 <= limit <= MOST_FOUND
    require("limit", limit, fits, f"a whole number of turns, 1..{MOST_FOUND}")


def search_store(
    store: SearchableStore, session_id: str, conversation: Conversation, text: str, limit: int
) -> tuple[Found, ...]:
    """Return the best turns of `conversation`: a store may have turns that are not of it, as another writer's newest are."""
    ask = limit
    while True:
        found = store.search(session_id, text, ask)
        known = tuple(each for each in found if each.resource_id in conversation.window.linearity)
        if len(known) >= limit or len(found) < ask:
            return known[:limit]
        ask *= 2


class LogIndex:
    """Index a log in memory: made when it is first searched, and brought up to date at each further search; safe under threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._index: WordIndex | None = None
        self._log = Log()

    def search(self, log: Log, text: str, limit: int) -> tuple[Found, ...]:
        """Return the turns of `log` that say what `text` asks for, best first."""
        asked = AskedWords.of(text)
        with self._lock:
            hits = self._update(log).find(asked, limit)
        return tuple(found_in(log[number - 1], asked, score) for number, score in hits)

    def _update(self, log: Log) -> WordIndex:
        index, known = self._index, len(self._log)
        # Going back and forgetting change what was known: every turn is looked at, which is far
        # cheaper than what a search costs.
        if index is None or known > len(log) or not all(map(is_, self._log, log)):
            db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            index, known = WordIndex(db, "words"), 0
            index.make()
        self._index = None  # one that stops half-way is not gone on with
        with index.db:
            index.db.execute("BEGIN")
            index.add(enumerate(log[known:], known + 1))
        self._index, self._log = index, log
        return index


def trace(log: Log, line: str) -> tuple[str, ...]:
    """Return the ids of the turns that say what a line of a gist says.

    Raises:
        InvalidOptionError: `line` is no text.
    """
    check_arguments(line=line)
    return tuple(turn.resource_id for turn in find_sources(line, log))


# --- what became of a turn ------------------------------------------------------------

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
        case {
            "session_id": str(session_id),
            "first": str(first),
            "last": str(last),
            "turns": int(turns),
        }:
            return HandedBack(session_id, first, last, turns)
        case _:
            return None


@frozen
class Explained:
    """Say what became of a turn.

    `by` and `why` tell who gave its class (``"classifier"``, ``"caller"``, ``"promote"``,
    ``"gist"``; ``"append"`` where it came in with it) and for what reason, `at` when. `place` is
    its index in the view, None where it is not there word for word; then `stands_for_it` is the id
    of the gist that stands for it, None where nothing does, and `since` the
    revision at which it left the view, `left` by what: ``"compress"`` or ``"clear"``. `handed_back`
    tells of which session, and of which of its turns, it is the result (docs/agents.md).
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
        gist = f"in the view {self.stands_for_it}" if self.stands_for_it else "nothing in the view"
        since = f", since {self.left} at revision {self.since}" if self.left else ""
        return f"{given}{why}; {gist} stands for it{since}"


def explain(conversation: Conversation, events: Sequence[Event], resource_id: str) -> Explained:
    """Return what became of a turn or a gist of `conversation`, whose journal is `events`."""
    tag = conversation.window.linearity.tag_of(resource_id)
    turns = conversation.window.all_turns()
    ids = [turn.resource_id for turn in turns]
    place = ids.index(resource_id) if resource_id in ids else None
    by, why = tag.provenance, tag.rationale
    if by == "append":
        by, why = _find_giver(conversation, resource_id, tag)
    known = (resource_id, tag.resource_class, by, why, tag.when, place)
    log = conversation.log
    handed_back = handed_back_in(log[log.place(resource_id)]) if log.knows(resource_id) else None
    if place is not None:
        return Explained(*known, handed_back=handed_back)
    gist = next((turn.resource_id for turn in turns if resource_id in turn.sources), None)
    return Explained(*known, gist, *_left(events, resource_id), handed_back)


def _find_giver(conversation: Conversation, resource_id: str, tag: Tag) -> tuple[str, str]:
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
    return "classifier", "the task" if _is_task(log, turn) else "a standing instruction"


def _is_task(log: Log, turn: Turn) -> bool:
    said = (each for each in log if each.role is Role.USER and not is_opening(each))
    first = next((each for each in said if attachment_of(each) is None), None)
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
                turns = (turn for splice in event.edit.splices for turn in splice.turns)
                there = there or any(turn.resource_id == resource_id for turn in turns)
            case _:
                pass
    return left


def _takes(event: CompressEvent, resource_id: str) -> bool:
    """Tell whether a compression took the turn out of the view: dropped, or into a gist that no gist before had it in."""
    edit = event.edit
    taken = resource_id in edit.dropped or any(
        resource_id in turn.sources for splice in edit.splices for turn in splice.turns
    )
    return taken and resource_id not in edit.again
