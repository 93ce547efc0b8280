"""The history of a session: how it once stood, going back, what is found in it, and what of it is erased (docs/history.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack

from polycontext.linearity import InvalidOptionError
from polycontext.linearity.effects import twin
from polycontext.pressure import ConflictError
from polycontext.window import Turn
from polycontext.window.providers import Provider, get_format

from .. import session as subjects
from ..journal.conversation import Conversation
from ..journal.erasure import expiring, forgetting
from ..journal.events import CompressEvent, Event, TurnEvent, is_erased
from ..journal.source_ranges import with_sources
from ..stores.session_store import ErasingStore, Found, Rewritten, SearchableStore
from .commands import Command, Items, WriteOptions
from .options import check_arguments, is_whole, require
from .time_travel import (
    Moment,
    build_edit,
    build_regenerate,
    build_rewind,
    fork,
    past_session,
    revision_at,
)
from .verbs import SessionPart, reading_verb
from .writer import TRIES, Writer

if TYPE_CHECKING:
    from .context_session import ContextSession


class History(SessionPart):
    """Look back at a conversation, go back in it, branch it off, and say what of it is kept."""

    @property
    def revision(self) -> int:
        """Return how many events the journal holds."""
        return self._session.conversation.revision

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """Return the journal behind revision `after`: every accepted input with its effects, in order."""
        revision, writer = self.revision, self._session._writer
        events = writer.store.load(writer.session_id, after).events
        if any(isinstance(event, CompressEvent) and event.names_ranges for event in events):
            events = tuple(with_sources(writer.store.load(writer.session_id).events))[after:]
        return tuple(events[: max(0, revision - after)])

    def at(self, moment: Moment) -> "ContextSession":
        """Return the session as it stood then, to read: a write is refused.

        `moment` is a revision; a time with its zone: as it stood before the first event that is
        later; or the id of a turn: as it stood once that had come in. What accompanies a session is
        known as it is now alone. O(events since the nearest moment that is remembered).

        Raises:
            InvalidOptionError: no moment of this session. UnknownResourceError: no turn of the
                journal has the id.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for text in ("Red or blue?", "And now?"):
        ...     _ = session.add_user_turn(text)
        >>> session.history.at(1).messages()
        [{'role': 'user', 'content': 'Red or blue?'}]
        """
        return past_session(self._session, revision_at(self._session, moment))

    aat = twin(at)

    @reading_verb
    def rewind(self, to: Moment, **when: Unpack[WriteOptions]) -> Command:
        """Go back to where the conversation stood at a moment (see `at`): log, view, classes and state are what they were.

        The journal keeps what came since, so that going back to before the rewind undoes it. A new
        epoch begins.

        Raises:
            InvalidOptionError: no moment of this session. UnknownResourceError: no turn of the
                journal has the id.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for text in ("Red or blue?", "And now?"):
        ...     _ = session.add_user_turn(text)
        >>> _ = session.history.rewind(1)
        >>> len(session.log()), session.history.revision
        (1, 3)
        >>> _ = session.history.rewind(2)
        >>> len(session.log())
        2
        """
        return build_rewind(self._session, to)

    arewind = twin(rewind)

    @reading_verb
    def edit(
        self, resource_id: str, content: str, items: Items = (), **when: Unpack[WriteOptions]
    ) -> Command:
        """Say something else in the place of a user turn: go back to before it, attach `items`, and add `content` instead, as one commit.

        What was attached before it stays.

        Raises:
            UnknownResourceError: no turn that stands has the id. InvalidOptionError: it is none of
                the user.
            Whatever `add` raises.
        """
        check_arguments(resource_id=resource_id, content=content)
        return build_edit(self._session, resource_id, content, items)

    aedit = twin(edit)

    @reading_verb
    def regenerate(self, **when: Unpack[WriteOptions]) -> Command:
        """Go back to the last thing that the user said, so that the model can be asked for another answer; nothing happens where it is the last turn.

        Raises:
            InvalidOptionError: the user has said nothing.
        """
        return build_regenerate(self._session)

    aregenerate = twin(regenerate)

    def fork(self, new_id: str, moment: Moment | None = None) -> "ContextSession":
        """Return a new session of the same store and options, in which all stands as it does here, or did at a moment (see `at`); texts are shared.

        It goes on by itself: neither session sees what becomes of the other.

        Raises:
            ConflictError: there is a session of that id. InvalidOptionError: no moment of this
                session.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> other = session.history.fork("what-if")
        >>> _ = other.add_assistant_turn("Blue.")
        >>> len(session.log()), len(other.log())
        (1, 2)
        """
        check_arguments(session_id=new_id)
        return fork(self._session, new_id, moment)

    afork = twin(fork)

    # --- what is found in it -----------------------------------------------------------

    def search(self, text: str, limit: int = 10) -> tuple[Found, ...]:
        """Return the turns of the log that speak most of `text`, best first, of equals the newest, at most `limit`; `recall` takes their ids.

        A turn is found that says one of the words, and all phrases that stand in double quotes; any
        text is a search. See docs/history.md.

        Raises:
            InvalidOptionError: `text` is no text, `limit` not 1..1000.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> session.history.search("parcel 4711")[0].snippet
        'Where is my parcel?'
        """
        subjects.lookup.check_search(text, limit)
        writer, conversation = self._session._writer, self._session.conversation
        if isinstance(writer.store, SearchableStore):
            return subjects.lookup.search_store(
                writer.store, writer.session_id, conversation, text, limit
            )
        self._session._log_index = self._session._log_index or subjects.lookup.LogIndex()
        return self._session._log_index.search(conversation.log, text, limit)

    asearch = twin(search)

    def trace(self, line: str) -> tuple[str, ...]:
        """Return the ids of the turns that a line of an extractive gist is from, in the order of the log; `recall` takes them. O(log).

        As few turns as say all of its pieces between "…"; none where nobody said one of them, as in
        a model's own words.

        Raises:
            InvalidOptionError: `line` is no text.
        """
        return subjects.lookup.trace(self._session.conversation.log, line)

    def has_taken(self, idempotency_key: str) -> bool:
        """Tell whether a write of that key is stored, by whichever writer: asking for it again would change nothing.

        Raises:
            InvalidOptionError: the store keeps no keys.
        """
        check_arguments(idempotency_key=idempotency_key)
        return self._session._writer.has_happened(idempotency_key)

    def refresh(self) -> "ContextSession":
        """Take in what other writers of this session have stored meanwhile, and return it.

        A write does so by itself where it has to.
        """
        self._session._writer.catch_up()
        return self._session

    arefresh = twin(refresh)

    # --- what of it is kept ------------------------------------------------------------

    def forget(self, resource_id: str) -> bool:
        """Erase the words of one turn for ever: from log and journal, from every fork and copy, and from every gist that stands for it (docs/history.md).

        The turn keeps its place, as ``[forgotten]``. Gists in the view are written anew, without a
        model, from what is left. Sessions that are open elsewhere see it at their next write.
        Companions are their owners' to change. Tells whether there was anything left to erase.

        Raises:
            UnknownResourceError: no turn of the journal has the id. InvalidOptionError: the store
                erases nothing.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("My number is 555-0199.")
        >>> session.history.forget("t1"), session.log()[0].text
        (True, '[forgotten]')
        """
        check_arguments(resource_id=resource_id)
        return forget(self._session, resource_id, self._session._clock())

    aforget = twin(forget)

    def retain(self, *, days: float | None = None, max_bytes: int | None = None) -> int:
        """Keep of the log what is younger than so many days, or its newest `max_bytes` of words (UTF-8), and return how many turns expired by it.

        Nothing that the view needs expires: turns that stand there keep their words whatever their
        age, and so do its gists. Of expired turns the place is left, as ``[expired]``: they can
        neither be recalled nor found any more.

        Raises:
            InvalidOptionError: neither limit is said, or one is out of its range; or the store
                erases nothing.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> _ = session.clear()
        >>> session.history.retain(max_bytes=0), session.log()[0].text
        (1, '[expired]')
        """
        return retain(self._session._writer, days, max_bytes, self._session._clock())

    aretain = twin(retain)

    # --- where it goes ------------------------------------------------------------------

    def export(self) -> Iterator[str]:
        """Iterate over the whole session as lines of JSON: what it is, then an event a line.

        `ContextSession.history.load` reads them (docs/stores.md).

        It is the session as it is at the call. Idempotency keys stay where they are.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> next(session.history.export())[:80]
        '{"format":"polycontext session","schema":4,"session_id":"session","events":1,"co'
        """
        return subjects.export.session_lines(self._session)

    def export_turns(self) -> Iterator[str]:
        """Iterate over the log as lines of JSON, a turn a line, for whoever reads JSON.

        `ContextSession.history.load_turns` begins anew with them.

        >>> from polycontext import ContextSession
        >>> session = ContextSession.from_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
        >>> import json
        >>> [(turn["resource_id"], turn["role"], turn["content"]) for turn in map(json.loads, session.history.export_turns())]
        [('t1', 'user', 'Hi'), ('t2', 'assistant', 'Hello')]
        """
        return subjects.export.log_lines(self._session.conversation.log)

    def messages(self, provider: Provider | str | None = None) -> list[dict[str, Any]]:
        """Return the whole log, whatever the view has of it, as a provider's message list, to be kept or read; `from_messages` takes it.

        It may be over any budget and end on open calls: what is sent is `session.messages`. Without
        a provider, in the format of the session's own.

        Raises:
            UnknownNameError: no such provider.
        """
        wire = get_format(self._session._provider if provider is None else provider)
        return wire.render(
            subjects.export.with_missing_results(self._session.conversation.log), readable=True
        ).inline()


# --- how long it is kept ---------------------------------------------------------------


def forget(session: "ContextSession", resource_id: str, at: datetime) -> bool:
    """Erase the words of one turn from a store; tell whether there was anything left to erase."""
    writer = session._writer
    log = session.conversation.log
    if not log.knows(resource_id) and not any(
        isinstance(event, TurnEvent) and event.turn.resource_id == resource_id
        for event in session.history.events()
    ):
        log.place(resource_id)  # raises, and says which ids are like it

    def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
        holders = store.holders(writer.session_id, (resource_id,))
        found = {
            name: forgetting(store.load(name).events, set(ids), writer.empty, writer.policy, at)
            for name, ids in holders.items()
        }
        return {name: journal for name, journal in found.items() if journal is not None}

    return _erase(writer, rewritten)


def retain(writer: Writer, days: float | None, max_bytes: int | None, at: datetime) -> int:
    """Erase the words of turns that are too old or too many; return of how many."""
    if days is not None:
        is_number = isinstance(days, int | float) and not isinstance(days, bool)
        require("days", days, is_number and days >= 0, "a number, at least 0")
    if max_bytes is not None:
        fits = is_whole(max_bytes) and max_bytes >= 0
        require("max_bytes", max_bytes, fits, "a whole number, at least 0")
    if days is None and max_bytes is None:
        raise InvalidOptionError("days", None, "days=, max_bytes= or both: how much is kept")
    count = 0

    def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
        nonlocal count
        conversation = writer.catch_up()
        ids = _find_expired(conversation, days, max_bytes, at)
        count = len(ids)
        if not ids:
            return {}
        events = store.load(writer.session_id).events[: conversation.revision]
        return {writer.session_id: expiring(events, set(ids), conversation, writer.policy, at)}

    _erase(writer, rewritten)
    return count


def _erase(writer: Writer, rewritten: Callable[[ErasingStore], Mapping[str, Rewritten]]) -> bool:
    """Have words erased from the store, as `rewritten` says of it, and become what is left.

    Tell whether anything was.

    Raises:
        InvalidOptionError: the store erases nothing. ConflictError: other writers were first too
            often.
    """
    store = writer.store
    if not isinstance(store, ErasingStore):
        legal = "a store with `holders` and `rewrite`, such as SQLiteStore"
        raise InvalidOptionError("store", type(store).__name__, legal)
    with writer.alone():
        for _ in range(TRIES):
            journals = rewritten(store)
            if not journals:
                return False
            with suppress(ConflictError):
                store.rewrite(journals)
                writer.catch_up()
                return True
    raise writer.contention_error()


def _find_expired(
    conversation: Conversation, days: float | None, max_bytes: int | None, at: datetime
) -> Sequence[str]:
    """Return the ids of the turns that have words, stand nowhere in the view, and are too old, or before the newest `max_bytes`."""
    standing = {turn.resource_id for turn in conversation.window.all_turns()}
    oldest = None if days is None else _before(at, days)
    found, room = list[str](), max_bytes
    for turn in reversed(conversation.log):
        if is_erased(turn):
            continue
        room = None if room is None else room - _count_bytes(turn)
        too_old = oldest is not None and turn.timestamp < oldest
        if turn.resource_id not in standing and (too_old or (room is not None and room < 0)):
            found.append(turn.resource_id)
    return found


def _before(at: datetime, days: float) -> datetime:
    """Return the time so many days before; of more days than there are, the first time."""
    try:
        return at - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _count_bytes(turn: Turn) -> int:
    calls, parts = turn.tool_calls, turn.parts
    words = turn.text, *(call.arguments for call in calls), *(part.data for part in parts)
    return sum(len(each.encode()) for each in words)
