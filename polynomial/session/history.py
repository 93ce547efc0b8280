"""The history of a session: past states, rewinding, search and erasure (docs/history.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Generic, Unpack

from polycontext.base import InvalidOptionError, guided, is_number, is_whole, require, whole_number
from polycontext.base.effects import Steps, procedure, twin
from polycontext.pressure import ConflictError
from polycontext.pressure.notes import find_sources
from polycontext.window import Store, Turn
from polycontext.window.providers import Provider, get_format

from ..inputs import ContextOutput
from ..journal.conversation import replayed
from ..journal.copies import begin_alike, copies_of
from ..journal.erasure import expiring, forgetting
from ..journal.events import CompressEvent, Event, TurnEvent, goes_behind, lineages
from ..journal.origin import CachedTokens
from ..journal.receipts import (
    CompressionReceipt,
    cached_in,
    compressions,
    number_of,
    receipt_of,
)
from ..journal.remaking import Checked, check_compressions
from ..journal.timeline import TimelineEntry, entries
from ..stores.session_store import ErasingStore, ForkingStore, Found, Rewritten
from .commands import Items, Oversize, Refill, WriteOptions
from .construction import open_beside
from .export import log_lines, session_lines, with_missing_results
from .options import NAME, is_name
from .rules import endings_of
from .search import search
from .time_travel import (
    Moment,
    build_edit,
    build_regenerate,
    build_rewind,
    build_undo,
    committed_at,
    conversation_at,
    revision_at,
)
from .writer import TRIES, S, SessionPart, Writer


@guided
class History(SessionPart, Generic[S]):
    """The history of a session: read past states, rewind, fork, search, export and erase."""

    _session: S

    @property
    def revision(self) -> int:
        """Return the number of events in the journal."""
        return self._session.conversation.revision

    def events(self, after: int = 0) -> tuple[Event, ...]:
        """Return the journal's events after revision `after`: accepted inputs and their effects."""
        whole_number("after", after, 0, "events")
        return self._session._writer.events(after)

    def at(self, moment: Moment) -> S:
        """Return the session as it was at a moment, for reading: writes raise.

        Companions are not available. O(events since the nearest conversation in memory).

        Args:
            moment: a revision; a time with its zone, for the state before the first later event; or
                a turn id, for the state after that turn was added.

        Raises:
            InvalidOptionError: the session has no such moment.
            UnknownResourceError: no turn of the journal has the id.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for text in ("Red or blue?", "And now?"):
        ...     _ = session.add_user_turn(text)
        >>> session.history.at(1).messages()
        [{'role': 'user', 'content': 'Red or blue?'}]
        """
        past, writer = copy(self._session), self._session._writer
        revision = revision_at(self._session, moment)
        past._writer, past._opened = writer.past(conversation_at(self._session, revision)), None
        return past

    aat = twin(at)

    def timeline(self) -> Store[TimelineEntry]:
        """Return what stood after each event: state, pressure, tokens by class, what came and went.

        The entry at index n is that of revision n; the store is focused on the last one. The first
        call folds the journal once, in O(events); later ones fold what is new. `at` then answers
        from memory.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?"), session.clear()
        >>> [(entry.kind.value, entry.came, entry.went) for entry in session.history.timeline()[1:]]
        [('user_turn', ('t1',), ()), ('clear', (), ('t1',))]
        """
        return entries(self._session._writer.frames())

    atimeline = twin(timeline)

    @procedure
    def rewind(self, to: Moment, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Rewind the conversation to a moment (see `at`): log, view, classes and documents.

        A new epoch starts. Rewinding again, to the revision before the rewind, undoes it.

        Raises:
            InvalidOptionError: the session has no such moment.
            UnknownResourceError: no turn of the log has the id.

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
        return self._session._write(partial(build_rewind, self._session, to), **when)

    arewind = twin(rewind)

    @procedure
    def edit(
        self,
        resource_id: str,
        content: str,
        items: Items = (),
        *,
        oversize: Oversize = "truncate",
        **when: Unpack[WriteOptions],
    ) -> Steps[ContextOutput]:
        """Replace a user turn in one commit: rewind, keep attachments, add `items` and `content`.

        `oversize` is as in `ContextSession.add`.

        Raises:
            UnknownResourceError: no current turn has the id.
            InvalidOptionError: it is not a user turn.
            Any error that `add` raises.
        """
        build = partial(build_edit, self._session, resource_id, content, items, oversize)
        return self._session._write(build, **when)

    aedit = twin(edit)

    @procedure
    def regenerate(self, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Rewind to the last user turn, if anything follows it, to request another answer.

        Raises:
            InvalidOptionError: there is no user turn.
        """
        return self._session._write(partial(build_regenerate, self._session), **when)

    aregenerate = twin(regenerate)

    @procedure
    def refill(self, **when: Unpack[WriteOptions]) -> Steps[ContextOutput]:
        """Bring back what gists stand for, the newest first, as far as it fits below the low mark.

        Use it when room appeared: turns were forgotten, or the budget is larger. With `auto`, the
        session refills once the low mark of a larger budget is above the old budget.

        Raises:
            IllegalDirectionError: the session is EMPTY or PRESSURED.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=300)
        >>> for number in range(9):
        ...     _ = session.add_user_turn(f"Wall {number} is painted in {number * 37} layers.")
        >>> _ = session.compress(0.4)
        >>> before, after = len(session.window), len(session.history.refill().window)
        >>> before < after <= len(session.log())
        True
        """
        return self._session._write(Refill(), **when)

    arefill = twin(refill)

    @procedure
    def undo(
        self, receipt_id: str | None = None, **when: Unpack[WriteOptions]
    ) -> Steps[ContextOutput]:
        """Take the last compression back, or that of a receipt with all later ones.

        The view is as it was before, followed by the turns that came since; turns that were
        recalled since are in their gist again. Undoing the same compression again makes it again,
        as it was. A new epoch starts.

        Law: if nothing came since, the view has the same bytes as before.

        Raises:
            ContextOverflowError: the view would be over budget. It names the tokens.
            FloorError: a turn that was pinned or recalled since would be summarised again.
            UnknownNameError: no compression has the id.
            InvalidOptionError: the compression has been rewound, or was never made; the view was
                cleared since, or an event of your machine has edited it.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> for number in range(20):
        ...     _ = session.add_user_turn(f"Which colour does wall {number} get?")
        >>> _ = session.compress(0.01), session.add_assistant_turn("Which one, please?")
        >>> _ = session.history.undo()
        >>> len(session.window), session.window.all_turns() == session.log()
        (21, True)
        """
        return self._session._write(partial(build_undo, self._session, receipt_id), **when)

    aundo = twin(undo)

    def fork(self, new_id: str, moment: Moment | None = None) -> S:
        """Return a new, independent session with the same store, options and content.

        It starts from the current state, or from `moment` (see `at`), and shares the stored texts.

        Raises:
            ConflictError: a session with that id exists.
            InvalidOptionError: the session has no such moment.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> other = session.history.fork("what-if")
        >>> _ = other.add_assistant_turn("Blue.")
        >>> len(session.log()), len(other.log())
        (1, 2)
        """
        require("new_id", new_id, is_name(new_id), NAME)
        writer = self._session._writer
        conversation = (
            self._session.conversation
            if moment is None
            else committed_at(self._session, revision_at(self._session, moment))
        )
        store, revision, companions = writer.store, conversation.revision, conversation.companions
        if isinstance(store, ForkingStore):
            store.fork(writer.session_id, new_id, revision, companions)
        else:
            store.append(new_id, 0, store.load(writer.session_id).events[:revision], companions)
        return open_beside(self._session, new_id)

    afork = twin(fork)

    # --- search ------------------------------------------------------------------------

    def search(self, text: str, limit: int = 10) -> tuple[Found, ...]:
        """Return the turns of the log that match `text` best, best first.

        Of equal matches, the newest comes first. A turn matches if it contains all phrases in
        double quotes or, without phrases, one of the words. Pass the ids to `recall`.

        Raises:
            InvalidOptionError: `text` is not a string, or `limit` is not in 1..1000.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> session.history.search("parcel 4711")[0].snippet
        'Where is my parcel?'
        """
        return search(self._session, text, limit)

    asearch = twin(search)

    def trace(self, line: str) -> tuple[str, ...]:
        """Return the ids of the turns that a line of an extractive gist comes from, in log order.

        It returns the fewest turns that contain all of its pieces between "…", or none if no turn
        contains one of them, as in a model's own words. Pass the ids to `recall`. O(log).

        Raises:
            InvalidOptionError: `line` is not a string.
        """
        require("line", line, isinstance(line, str), "a line of a gist")
        found = find_sources(line, self._session.conversation.log)
        return tuple(turn.resource_id for turn in found)

    def has_taken(self, idempotency_key: str) -> bool:
        """Return whether any writer stored a write with that key; repeating it changes nothing.

        Raises:
            InvalidOptionError: the store keeps no keys.
        """
        return self._session._writer.has_happened(idempotency_key)

    def refresh(self) -> S:
        """Load what other writers stored, as writes do when necessary, and return the session."""
        self._session._writer.catch_up()
        return self._session

    arefresh = twin(refresh)

    # --- receipts ----------------------------------------------------------------------

    def receipts(self, after: int = 0) -> tuple[CompressionReceipt, ...]:
        """Return the receipts of the compressions after revision `after`, oldest first.

        They are derived from the journal, and contain no text. Compressions that did not change the
        view have none. `lines` of atoms are empty; `receipt` finds them. O(events after `after`),
        or O(events) if one of these goes back to before it.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=300)
        >>> for number in range(40):
        ...     _ = session.add_user_turn(f"Which colour does wall {number} get?")
        >>> [first, *_] = session.history.receipts()
        >>> first.before.tokens > first.after.tokens, first.summariser.name
        (True, 'extractive')
        """
        whole_number("after", after, 0, "events")
        writer = self._session._writer
        events = writer.events(after)
        numbers = compressions(events, after)
        if not numbers:
            return ()
        if goes_behind(events, after):
            start, events = writer.empty, writer.events()
        else:
            start = conversation_at(self._session, after)
        cached, stands = self._cached(events), lineages(events, start.revision)[-1].based
        return tuple(
            receipt_of(before, event, now, cached, stands=now.revision in stands)
            for before, event, now in replayed(events, start)
            if now.revision in numbers and isinstance(event, CompressEvent)
        )

    areceipts = twin(receipts)

    def receipt(self, receipt_id: str | None = None) -> CompressionReceipt:
        """Return one receipt by its id, such as ``"c12"``, or the last one.

        It also has the lines of gists that come from each atom, for which it reads their turns.

        Raises:
            UnknownNameError: no compression has the id. The message names the last ones.
        """
        events = self._session._writer.events()
        number = number_of(events, receipt_id)
        event = events[number - 1]
        assert isinstance(event, CompressEvent)
        before, after = (conversation_at(self._session, each) for each in (number - 1, number))
        stands = number in lineages(events)[-1].based
        return receipt_of(before, event, after, self._cached(events), stands=stands, in_lines=True)

    areceipt = twin(receipt)

    def check_receipts(self) -> tuple[Checked, ...]:
        """Make every extractive compression again from the log, and compare byte for byte.

        The views before and after every compression are compared with the digests that were stored.

        Law: every compression of this version that nobody changed is ``"same"`` or ``"signed"``.
        """
        writer = self._session._writer
        return tuple(check_compressions(writer.events(), writer.empty))

    acheck_receipts = twin(check_receipts)

    def _cached(self, events: Sequence[Event]) -> list[CachedTokens]:
        """Return the cached tokens that events have recorded, and that the session remembers."""
        recorded = (each for event in events for each in cached_in(event))
        return [*recorded, *self._session._writer.cached]

    # --- erasure -----------------------------------------------------------------------

    def forget(self, resource_id: str) -> bool:
        """Erase the text of one turn permanently, and return whether there was any.

        The text is removed from the log, the journal, every fork and copy, and every gist of it.
        The turn keeps its place, as ``[forgotten]``. Gists in the view are rewritten, without a
        model. Sessions that are open elsewhere see the change at their next write. Companions are
        not changed: erase the text from them yourself. See docs/history.md.

        Raises:
            UnknownResourceError: no turn of the journal has the id.
            InvalidOptionError: the store cannot erase.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("My number is 555-0199.")
        >>> session.history.forget("t1"), session.log()[0].text
        (True, '[forgotten]')
        """
        require("resource_id", resource_id, isinstance(resource_id, str), "the id of a turn")
        writer, at = self._session._writer, self._session._now()
        log = writer.conversation.log
        undone = (
            event.turn
            for event in (() if log.knows(resource_id) else writer.events())
            if isinstance(event, TurnEvent) and event.turn.resource_id == resource_id
        )
        # For an id that nobody knows, this raises and names similar ones.
        turn = next(undone, None) or log[log.place(resource_id)]

        def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
            found = {}
            for name, (events, copies) in _copies(writer, store, turn).items():
                ids = copies | endings_of(copies, events)
                journal = forgetting(events, ids, writer.empty, writer.policy, at)
                if journal is not None:
                    found[name] = journal
            return found

        return _erase(writer, rewritten)

    aforget = twin(forget)

    def retain(self, *, days: float | None = None, max_bytes: int | None = None) -> int:
        """Erase the text of old turns, and return how many turns expired.

        Turns and gists in the view keep their text, whatever their age. Expired turns keep their
        place, as ``[expired]``, and can no longer be recalled or found.

        Args:
            days: keep turns that are younger than this many days.
            max_bytes: keep the newest turns, up to this many bytes of UTF-8 text.

        Raises:
            InvalidOptionError: no limit is set, one is out of range, or the store cannot erase.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> _ = session.clear()
        >>> session.history.retain(max_bytes=0), session.log()[0].text
        (1, '[expired]')
        """
        if days is not None:
            require("days", days, is_number(days, 0), "a number, at least 0")
        if max_bytes is not None:
            require("max_bytes", max_bytes, is_whole(max_bytes, 0), "a whole number, at least 0")
        if days is None and max_bytes is None:
            raise InvalidOptionError("days", None, "days=, max_bytes= or both: how much is kept")
        writer, at, count = self._session._writer, self._session._now(), 0

        def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
            nonlocal count
            events = store.load(writer.session_id).events
            has_expired = _has_expired(days, max_bytes, at)
            journal, count = expiring(events, has_expired, writer.empty, writer.policy, at)
            return {} if journal is None else {writer.session_id: journal}

        _erase(writer, rewritten)
        return count

    aretain = twin(retain)

    # --- export -------------------------------------------------------------------------

    def export(self) -> Iterator[str]:
        """Return an iterator over the whole session as lines of JSON: a header, then the events.

        It exports the state at the time of the call, one event a line and without idempotency keys.
        `ContextSession.history.load` reads the lines (docs/stores.md).

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> next(session.history.export())[:80]
        '{"format":"polycontext session","schema":1,"session_id":"session","events":1,"co'
        """
        return session_lines(self._session)

    def export_turns(self) -> Iterator[str]:
        """Return an iterator over the log as lines of JSON, one turn a line.

        `ContextSession.history.load_turns` starts a new session from them.

        >>> import json
        >>> from polycontext import ContextSession
        >>> said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        >>> session = ContextSession.from_messages(said)
        >>> turns = map(json.loads, session.history.export_turns())
        >>> [(turn["resource_id"], turn["role"], turn["content"]) for turn in turns]
        [('t1', 'user', 'Hi'), ('t2', 'assistant', 'Hello')]
        """
        return log_lines(self._session.conversation.log)

    def messages(self, provider: Provider | str | None = None) -> list[dict[str, Any]]:
        """Return the whole log as a provider's message list, to store or read.

        It may exceed any budget and end on open calls: to send a request, use `session.messages`.
        The format defaults to the session's own. `from_messages` accepts the list.

        Raises:
            UnknownNameError: there is no such provider.
        """
        wire = get_format(self._session._room.provider if provider is None else provider)
        return wire.render(
            with_missing_results(self._session.conversation.log), readable=True
        ).inline()


def _copies(
    writer: Writer, store: ErasingStore, turn: Turn
) -> dict[str, tuple[Sequence[Event], set[str]]]:
    """Return the journals that hold copies of a turn, and copies of those, with their ids."""
    journal = writer.events()
    own = copies_of(turn, journal, (turn.resource_id,))
    found: dict[str, tuple[Sequence[Event], set[str]]] = {}
    waiting = [(writer.session_id, own)]
    while waiting:
        for name, candidates in store.holders(*waiting.pop()).items():
            events, ids = found.get(name) or (store.load(name).events, set[str]())
            is_fork = begin_alike(journal, events)
            more = copies_of(turn, events, candidates, is_fork=is_fork) - ids
            if more:
                found[name] = events, ids | more
                waiting.append((name, more))
    return found


def _erase(writer: Writer, rewritten: Callable[[ErasingStore], Mapping[str, Rewritten]]) -> bool:
    """Replace journals by those that `rewritten` returns, and return whether there were any."""
    store = writer.store
    if not isinstance(store, ErasingStore):
        legal = "a store with `holders` and `rewrite`, such as SQLiteStore"
        raise InvalidOptionError("store", type(store).__name__, legal)
    with writer.alone():
        for lost in range(TRIES):
            with writer.alone_in_store() if lost else nullcontext(), suppress(ConflictError):
                writer.catch_up()
                journals = rewritten(store)
                try:
                    store.rewrite(journals)
                finally:
                    # A store may fail after the journals are replaced, when it cleans its files.
                    writer.catch_up()
                return bool(journals)
    raise writer.contention_error()


def _has_expired(days: float | None, max_bytes: int | None, at: datetime) -> Callable[[Turn], bool]:
    """Return whether a turn is too old or one too many; to be asked from the newest turn on."""
    oldest = None if days is None else _before(at, days)
    room = max_bytes

    def has_expired(turn: Turn) -> bool:
        nonlocal room
        room = None if room is None else room - _count_bytes(turn)
        return (oldest is not None and turn.timestamp < oldest) or (room is not None and room < 0)

    return has_expired


def _before(at: datetime, days: float) -> datetime:
    """Return the time `days` before `at`, or the earliest possible time."""
    try:
        return at - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _count_bytes(turn: Turn) -> int:
    calls, parts = turn.tool_calls, turn.parts
    words = turn.text, *(call.arguments for call in calls), *(part.data for part in parts)
    return sum(len(each.encode()) for each in words)
