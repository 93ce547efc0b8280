"""Lookups in a session: search, the sources of a gist's line, and the history of a turn.

See docs/history.md.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from operator import is_
from threading import Lock

from attrs import frozen

from polycontext.base import is_whole, require
from polycontext.linearity import ResourceClass, default_classifier
from polycontext.linearity.tag import Tag
from polycontext.window import Role, Turn
from polycontext.window.filler import is_opening
from polycontext.window.items import attachment_of

from ..journal.conversation import Conversation
from ..journal.events import ClearEvent, Event, TurnEvent, UndoEvent, standing
from ..journal.log import Log
from ..stores.search_query import AskedWords, found_in
from ..stores.session_store import Found, SearchableStore
from ..stores.word_index import MemoryPostings, WordIndex
from .embedding import fused
from .writer import Session

MOST_FOUND = 1_000
"""The most turns that one search returns."""

# --- search ---------------------------------------------------------------------------


def search(session: Session, text: str, limit: int) -> tuple[Found, ...]:
    """Return the turns of the log that match `text` best; see `History.search`."""
    require("text", text, isinstance(text, str), "the words to look for")
    fits = is_whole(limit, 1, MOST_FOUND)
    require("limit", limit, fits, f"a whole number of turns, 1..{MOST_FOUND}")
    embeddings = session._embeddings
    asked = AskedWords.of(text)
    if embeddings is None or asked.phrases or not asked:
        return _by_words(session, text, limit)
    log = session.conversation.log
    worded = (each.resource_id for each in _by_words(session, text, MOST_FOUND))
    places = [log.place(each) for each in worded if log.knows(each)]
    best = islice(fused(places, embeddings.rank(log, text)).items(), limit)
    return tuple(found_in(log[place], asked, score) for place, score in best)


def _by_words(session: Session, text: str, limit: int) -> tuple[Found, ...]:
    store, conversation = session._writer.store, session.conversation
    if not isinstance(store, SearchableStore):
        session._log_index = session._log_index or LogIndex()
        index: LogIndex = session._log_index
        return index.search(conversation.log, text, limit)
    ask = limit
    while True:
        # The store may also have turns that another writer has just added.
        found = store.search(session._writer.session_id, text, ask)
        known = tuple(each for each in found if each.resource_id in conversation.window.linearity)
        if len(known) >= limit or len(found) < ask:
            return known[:limit]
        ask *= 2


class LogIndex:
    """An in-memory index of a log, built by the first search and updated by later ones.

    It is safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._index: WordIndex | None = None
        self._log = Log()

    def search(self, log: Log, text: str, limit: int) -> tuple[Found, ...]:
        """Return the turns of `log` that match `text`, best first."""
        with self._lock:
            index = self._update(log)
            return index.search(
                AskedWords.of(text),
                limit,
                lambda numbers: {each: log[each - 1] for each in numbers},
            )

    def _update(self, log: Log) -> WordIndex:
        index, known = self._index, len(self._log)
        # Rewinding and forgetting change known turns. Comparing every turn is far cheaper than a
        # search.
        if index is None or known > len(log) or not all(map(is_, self._log, log)):
            index, known = WordIndex(MemoryPostings()), 0
        self._index = None  # never continue an interrupted update
        index.add(enumerate(log[known:], known + 1))
        self._index, self._log = index, log
        return index


# --- the history of a turn ------------------------------------------------------------

HANDED_BACK = "handed_back"
"""The metadata key of a turn that is the result of a child."""


@frozen
class HandedBack:
    """The session that a result comes from, and its turns from `first` to `last`.

    `turns` is their number.
    """

    session_id: str
    first: str
    last: str
    turns: int

    def __str__(self) -> str:
        return (
            f"handed back by session {self.session_id!r}, "
            f"{self.turns} turns from {self.first} to {self.last}"
        )


def handed_back_in(turn: Turn) -> HandedBack | None:
    """Return the session that `turn` is the result of, or None."""
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
    """The history of a turn.

    Attributes:
        by: who set its class: ``"classifier"``, ``"caller"``, ``"promote"``, ``"gist"``, or
            ``"append"`` if it had the class when it was added.
        why: the reason for the class.
        at: when the class was set.
        place: its index in the view, or None if it is not there verbatim.
        stands_for_it: the id of the gist that stands for it, or None.
        left: what removed it from the view: ``"compress"`` or ``"clear"``.
        since: the revision at which it left the view.
        handed_back: the session, and its turns, that it is the result of (docs/agents.md).
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
        given = (
            f"{self.resource_id}: {self.resource_class.name}, "
            f"by {self.by or 'nobody named'} at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        )
        why = f" ({self.why})" if self.why else ""
        if self.place is not None:
            return f"{given}{why}; number {self.place + 1} of the view"
        now = f"replaced by {self.stands_for_it}" if self.stands_for_it else "not in the view"
        since = f" since {self.left} at revision {self.since}" if self.left else ""
        return f"{given}{why}; {now}{since}"


def explain(conversation: Conversation, events: Sequence[Event], resource_id: str) -> Explained:
    """Return the history of a turn or gist of `conversation`, whose journal is `events`."""
    tag = conversation.window.linearity.tag_of(resource_id)
    turns = conversation.window.all_turns()
    ids = [turn.resource_id for turn in turns]
    place = ids.index(resource_id) if resource_id in ids else None
    by, why = tag.provenance, tag.rationale
    if by == "append":
        by, why = _find_giver(conversation, resource_id, tag)
    known = (resource_id, tag.resource_class, by, why, tag.when, place)
    turn = conversation.log.get(resource_id)
    handed_back = None if turn is None else handed_back_in(turn)
    if place is not None:
        return Explained(*known, handed_back=handed_back)
    gist = next((turn.resource_id for turn in turns if resource_id in turn.sources), None)
    return Explained(*known, gist, *_left(events, resource_id), handed_back)


def _find_giver(conversation: Conversation, resource_id: str, tag: Tag) -> tuple[str, str]:
    """Return who set the class that a turn was added with, and why, as far as it is known.

    The journal records only pins and classes.
    """
    if tag.pinned:
        return "caller", tag.rationale
    turn = conversation.log.get(resource_id)
    if (
        tag.resource_class is ResourceClass.REQUIRED
        or conversation.window.classifier is not default_classifier
        or turn is None
    ):
        return "append", tag.rationale
    if tag.resource_class is ResourceClass.DROPPABLE:
        return "classifier", "it acknowledges, or says nothing"
    if turn.role is Role.SYSTEM:
        return "classifier", "the system says it"
    own = (each for each in conversation.log if each.role is Role.USER and not is_opening(each))
    task = next((each.resource_id for each in own if attachment_of(each) is None), None)
    return "classifier", "the task" if task == resource_id else "a standing instruction"


def _left(events: Sequence[Event], resource_id: str) -> tuple[str | None, int | None]:
    """Return what last removed a turn from the view, and at which revision."""
    there, came = False, 0
    left: tuple[str | None, int | None] = None, None
    stood = dict[int, tuple[bool, tuple[str | None, int | None]]]()
    stood[0] = there, left
    for revision, event in standing(events):
        if isinstance(event, UndoEvent):
            # What came after the revision that it goes back to stays.
            before = max(known for known in stood if known <= event.to)
            there, left = (True, left) if came > event.to else stood[before]
        elif isinstance(event, TurnEvent):
            if event.turn.resource_id == resource_id:
                there, came = True, revision
        elif there and (isinstance(event, ClearEvent) or event.removes(resource_id)):
            there, left = False, (str(event.kind), revision)
        else:
            there = there or any(turn.resource_id == resource_id for turn in event.turns)
        stood[revision] = there, left
    return left
