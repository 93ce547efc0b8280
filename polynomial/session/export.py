"""Sessions and logs as lines of JSON, to move them between stores or read them elsewhere.

A whole session is a header and its journal, one event a line. A log is one turn a line. Reading
checks every line: an event must be legal after those before it, as in any journal that is replayed.
See docs/stores.md.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from hashlib import blake2b
from itertools import chain, islice, pairwise
from typing import Any, Generic, Unpack

import orjson
from attrs import evolve, frozen

from polycontext.base import InvalidDataError, InvalidOptionError, guided, require
from polycontext.base.codec import is_cut_off, json_object, structured
from polycontext.base.effects import drive, twin
from polycontext.window import Turn
from polycontext.window.providers.layout import without
from polycontext.window.providers.tool_pairs import mended

from .. import stores
from ..journal.conversation import Conversation, replayed
from ..journal.events import Event
from ..journal.rows import CONVERTER, event_from_json, event_to_json
from ..journal.settings import Settings
from ..journal.snapshots import due, snapshot_of
from ..journal.source_ranges import with_sources
from ..machine.step import ContextPolicy
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import SessionStore, SnapshotStore
from .commands import Add, Together
from .construction import PATIENCE, close_store, open_session, store_with
from .options import Model, NewOptions, OpenOptions, Place
from .writer import S, Session

FORMAT = "polycontext session"
SCHEMA = 1
_DIGEST_BYTES = 16

Lines = Iterable[str | bytes] | str | bytes
"""Lines, such as an open file, or one text of lines."""

_LOG = logging.getLogger("polycontext.session")

_COUNTED = re.compile(r"\$\.events\[(\d+)\]")
_LINES = "what was exported: its text or its lines, such as those of open(path)"
_PATH = re.compile(r"[^\s{]+\.\w+")
_HEADER = "the first line that export wrote"
_TURN = "a line that export_turns wrote"


@frozen
class Header:
    """The first line of an export: the number of events, the settings, and the companions.

    `order` is the digest of the events' kinds, ids and times in their order; older exports have
    none.
    """

    format: str
    schema: int
    session_id: str
    events: int
    companions: dict[str, str]
    settings: Settings | None = None
    order: str | None = None


def session_lines(session: Session) -> Iterator[str]:
    """Return a whole session as lines: the header, then one event a line."""
    conversation, writer = session.conversation, session._writer
    events = writer.store.load(writer.session_id).events[: conversation.revision]
    as_given = conversation.with_room(writer.given).window
    settings = Settings.of(
        as_given, session.policy, taken=session._room.overhead, provider=session._room.provider
    )
    header = Header(
        FORMAT,
        SCHEMA,
        writer.session_id,
        len(events),
        dict(sorted(conversation.companions.items())),
        settings,
        _order(events),
    )
    return chain(
        [_line(CONVERTER.unstructure(header))], (f"{event_to_json(event)}\n" for event in events)
    )


def _order(events: Iterable[Event]) -> str:
    """Return a digest that another order of the events changes."""
    signs = [
        (
            type(each).__name__,
            getattr(getattr(each, "turn", each), "resource_id", ""),
            each.at.timestamp(),
        )
        for each in events
    ]
    return blake2b(repr(signs).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def log_lines(turns: Iterable[Turn]) -> Iterator[str]:
    """Yield turns as lines of JSON, without token counts, which the reader computes again."""
    for turn in turns:
        data = CONVERTER.unstructure(turn)
        data.pop("tokens", None)
        yield _line(data)


def turns_of_lines(lines: Lines) -> list[Turn]:
    """Return the turns that `log_lines` wrote.

    Raises:
        InvalidDataError: a line is not a turn. The message names the line and the place of its
            first error.
    """
    return [
        structured(
            CONVERTER, json_object(text, path=place, legal=_TURN), Turn, path=place, legal=_TURN
        )
        for place, text in _numbered(lines, [])
    ]  # fmt: skip


def with_missing_results(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield a log as one conversation, with marked results for calls left open by a clear.

    Law: a log that was never cleared over open calls is unchanged.
    """
    added = list[Turn]()
    for turn, own in mended((turn, turn) for turn in turns):
        if own is None:
            added.append(turn)
            continue
        for number, result in enumerate(added, 1):
            # A distinct id, so that it does not take the id of a later turn.
            name = f"{turn.resource_id}-no-result-{number}" if turn.resource_id else ""
            yield evolve(result, resource_id=name, timestamp=turn.timestamp)
        added.clear()
        yield turn


class Imported:
    """A whole session that is being read: the header at once, the events on demand."""

    def __init__(self, lines: Lines) -> None:
        self._torn: list[str] = []
        self._lines = _numbered(lines, self._torn)
        place, text = next(self._lines, ("line 1", ""))
        data = json_object(text, path=place, legal=_HEADER)
        self.header = structured(CONVERTER, data, Header, path=place, legal=_HEADER)
        if (self.header.format, self.header.schema) != (FORMAT, SCHEMA):
            what = f"format {self.header.format!r:.60}, schema {self.header.schema}"
            raise InvalidDataError(place, what, f"format {FORMAT!r}, schema {SCHEMA}")
        if self.header.events < 0:
            raise InvalidDataError(
                f"{place}.events", f"{self.header.events} events", "how many lines follow"
            )
        for name, text in self.header.companions.items():
            try:
                orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise InvalidDataError(
                    f"{place}.companions.{name}", f"not JSON ({error})", "a JSON text"
                ) from None

    def replayed(self, empty: Conversation) -> tuple[list[Event], list[Conversation]]:
        """Return the events, and the conversations at which a snapshot is due.

        The conversations start with `empty` and end with the last one.

        Raises:
            InvalidDataError: a line is not an event, is not legal at that point, or is missing. The
                message names the line.
        """
        places: list[str] = []
        events, stages, conversation = list[Event](), [empty], empty
        try:
            for _, event, conversation in replayed(with_sources(self._events(places)), empty):
                events.append(event)
                if not conversation.has_passed(stages[-1].revision):
                    stages = [empty]
                if due(stages[-1], conversation):
                    stages.append(conversation)
        except InvalidDataError as error:
            # The error counts events: translate its number to a line.
            counted = _COUNTED.match(error.path)
            path = (
                error.path
                if counted is None
                else places[int(counted[1])] + error.path[counted.end() :]
            )
            raise InvalidDataError(path, error.what, error.legal) from None
        if self.header.order not in (None, _order(events)) and not self._torn:
            raise InvalidDataError("events", "not in the order of the export", _LINES)
        return events, stages if conversation is stages[-1] else [*stages, conversation]

    def _events(self, places: list[str]) -> Iterator[Event]:
        for place, text in islice(self._lines, self.header.events):
            places.append(place)
            try:
                event = event_from_json(text)
            except InvalidDataError as error:
                raise InvalidDataError(
                    f"{place}{error.path.removeprefix('$')}", error.what, error.legal
                ) from None
            yield event
        missing = self.header.events - len(places) - len(self._torn)
        legal = f"{self.header.events} events, as the first line says"
        if missing:
            what = f"{missing} events are missing behind it"
            raise InvalidDataError("the last line", what, legal)
        for place, _ in self._lines:
            raise InvalidDataError(place, "behind the last event", legal)


def check_free(store: SessionStore, session_id: str) -> None:
    """Raise `InvalidOptionError` if `store` already has a session with that id."""
    if callable(getattr(store, "list_sessions", None)):
        there = session_id in store.list_sessions()
    else:
        stored = store.load(session_id)
        there = bool(stored.events or stored.companions)
    require("session_id", session_id, not there, "an id of which there is no session yet")


def store_whole(
    store: SessionStore,
    header: Header,
    session_id: str,
    journal: tuple[Sequence[Event], Sequence[Conversation]],
    policy: ContextPolicy,
) -> None:
    """Store a replayed session, all or nothing.

    A snapshot store also gets a snapshot, with the facts that the summariser of `policy` reads.
    """
    events, stages = journal
    options: dict[str, Any] = {}
    if events and isinstance(store, SnapshotStore):
        # The budget may be unknown, but it was never smaller than the view.
        stages[-1].read(policy, max(stage.window.total_tokens for stage in stages))
        options["snapshot"] = snapshot_of(*stages)
    store.append(session_id, 0, events, header.companions, **options)


def _numbered(lines: Lines, torn: list[str]) -> Iterator[tuple[str, str | bytes]]:
    """Yield each line that is not blank, with its place.

    A last line that a crash cut off is left out with a warning, and its place added to `torn`.
    """
    for (place, line), following in pairwise(chain(_given_lines(lines), [("", "")])):
        may_be_torn = not following[0] and place != "line 1" and isinstance(line, str | bytes)
        if may_be_torn and is_cut_off(line):
            torn.append(place)
            _LOG.warning("%s is cut off, and was left out", place)
        else:
            yield place, line


def _given_lines(lines: Lines) -> Iterator[tuple[str, str | bytes]]:
    if isinstance(lines, str | bytes):
        if isinstance(lines, str) and _PATH.fullmatch(lines):
            raise InvalidOptionError("lines", lines, _LINES)
        # Split at newlines only: a JSON text may contain other line separators.
        lines = lines.split("\n") if isinstance(lines, str) else lines.split(b"\n")
    if not isinstance(lines, Iterable):
        raise InvalidOptionError("lines", lines, _LINES)
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str | bytes) or line.strip():
                yield f"line {number}", line
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            yield f"line {number + 1}", "{"  # the last line, cut off inside a character
            return
        raise InvalidDataError(f"line {number + 1}", f"not UTF-8 ({error})", "an export") from None


def _line(data: Mapping[str, Any]) -> str:
    return orjson.dumps(data).decode() + "\n"


# --- all sessions of a store ------------------------------------------------------------


@guided
class Archive(Generic[S]):
    """All sessions of a store, opened as one session class."""

    def __init__(self, kind: Callable[..., S]) -> None:
        self._kind = kind

    def list_sessions(self, url: Place, *, timeout: float = PATIENCE) -> Sequence[str]:
        """Return the ids of all sessions at `url` in alphabetical order.

        No file is created. Raises the store errors of `open`.
        """
        with store_with("list_sessions", url, timeout) as store:
            return store.list_sessions()

    def delete(self, url: Place, session_id: str, *, timeout: float = PATIENCE) -> bool:
        """Delete a session and all its text permanently, and return whether it existed.

        Raises the store errors of `open`.
        """
        with store_with("delete", url, timeout) as store:
            return store.delete(session_id)

    def load(
        self,
        lines: Lines,
        url: Place | None = None,
        session_id: str | None = None,
        model: Model = None,
        *,
        timeout: float = PATIENCE,
        **options: Unpack[OpenOptions],
    ) -> S:
        """Store the session that `export` wrote at `url`, or in memory, and return it.

        Every event is replayed before anything is stored, and the session is stored as a whole or
        not at all. No model is called.

        The session keeps its settings. Pass objects again that cannot be saved (a summariser, a
        classifier, a counter of your own), and `threshold` if it is not the default.

        Args:
            lines: an open file, or one text.
            url: as for `open`; without it, the session is kept in memory.
            session_id: replaces the exported id.
            model: as for the constructor.
            timeout: as for `open`.
            options: as for `open`. They override the exported settings.

        Raises:
            InvalidDataError: a line is damaged, or its event is illegal at that point. The message
                names the line.
            InvalidOptionError: a session with that id exists.
            Any other error that `open` raises.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=4000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> again = ContextSession.history.load(session.history.export())
        >>> again.conversation == session.conversation, again.window.max_tokens
        (True, 4000)
        >>> ContextSession.history.load(["[]"])
        Traceback (most recent call last):
        polycontext.errors.InvalidDataError: line 1: list is not an object. Use \
the first line that export wrote.
        """
        imported = Imported(lines)
        header, settings = imported.header, imported.header.settings
        name = header.session_id if session_id is None else session_id
        given = _given(settings, model, options)
        with nullcontext() if settings is None else settings.checked():
            # Reject invalid input before a file is created for it.
            empty = self._kind(session_id=name, **given)
        journal = imported.replayed(empty.conversation)
        store = InMemoryStore() if url is None else stores.store_at(url, timeout)
        try:
            check_free(store, name)
            store_whole(store, header, name, journal, empty.policy)
            if url is None:
                session = self._kind(store=store, session_id=name, **given)
            else:
                session = open_session(self._kind, store, name, timeout=timeout, options=given)
        except BaseException:
            close_store(url or store, store)
            raise
        if url is not None and store is not url:
            session._opened, session._place = store, (url, timeout)
        if settings is not None:
            session._writer.resize(
                policy=evolve(session.policy, signals=settings.signals), read=journal[0]
            )
        return session

    aload = twin(load)

    def load_turns(self, lines: Lines, model: Model = None, **options: Unpack[NewOptions]) -> S:
        """Return a new session with the turns of `export_turns`.

        The turns keep their ids and are classified and counted again. A user turn that does not fit
        is truncated in the view. Calls that were open when the view was cleared get a marked
        result.

        Raises:
            InvalidDataError: a line is not a turn. The message names the line and the place of its
                first error.
            Any error that the constructor or `add` raises.
        """
        turns = with_missing_results(turns_of_lines(lines))
        session = self._kind(model, **options)
        drive(session._write(Together(tuple(map(Add, turns)))))
        return session


def _given(settings: Settings | None, model: Model, options: OpenOptions) -> dict[str, Any]:
    """Return the options of an imported session: those passed now, then those saved."""
    given: dict[str, Any] = {"model": model, **options}
    if settings is None:
        return given
    saved = settings.options()
    if model is not None or options.get("max_tokens") is not None:
        saved = without(saved, "max_tokens", "reserve", "provider")
    elif given.get("counter") is None:
        given["counter"] = settings.loaded_counter()
    return {**saved, **{name: value for name, value in given.items() if value is not None}}
