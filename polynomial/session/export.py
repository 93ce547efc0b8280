"""Sessions and logs as lines of JSON, so that they go from store to store, and to whoever reads JSON (docs/stores.md).

A whole session is a header and its journal, an event a line; a log is a turn a line. What is read
is checked line by line: an event must be one that may follow those before it, as in every journal
that is replayed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

import orjson
from attrs import evolve, frozen

from polycontext.linearity import InvalidDataError, InvalidOptionError
from polycontext.linearity.codec import json_object, structured
from polycontext.linearity.effects import twin
from polycontext.window import Role, Turn
from polycontext.window.providers import NO_RESULT

from .. import stores
from ..journal.conversation import Conversation, replayed
from ..journal.events import Event
from ..journal.rows import CONVERTER, event_from_json, event_to_json
from ..journal.settings import SCHEMA, Settings, read_document
from ..journal.snapshots import due, snapshot_of_all
from ..journal.source_ranges import with_sources
from ..machine.step import ContextPolicy
from ..stores.in_memory import InMemoryStore
from ..stores.session_store import SessionStore, SnapshotStore
from .commands import Together, build_add, missing_result
from .construction import PATIENCE, close_store, store_with
from .options import Model, NewOptions, OpenOptions, Place

if TYPE_CHECKING:
    from .context_session import ContextSession

S = TypeVar("S", bound="ContextSession")

FORMAT = "polycontext session"

Lines = Iterable[str | bytes] | str | bytes
"""Lines, as an open file has them, or one text of lines."""

_COUNTED = re.compile(r"\$\.events\[(\d+)\]")
_HEADER = "the first line that export wrote"
_TURN = "a line that export_turns wrote"


@frozen
class Header:
    """Say what the lines behind it are: so many events of a session, and the JSON texts that belong to it."""

    format: str
    schema: int
    session_id: str
    events: int
    companions: dict[str, str]
    settings: Settings | None = None


def session_lines(session: "ContextSession") -> Iterator[str]:
    """Return a whole session as lines: the header, then an event a line."""
    conversation, writer = session.conversation, session._writer
    events = writer.store.load(writer.session_id).events[: conversation.revision]
    as_given = conversation.with_room(writer.given).window
    settings = Settings.of(
        as_given, session.policy, taken=session._asking.overhead, provider=session._provider
    )
    header = Header(
        FORMAT,
        SCHEMA,
        writer.session_id,
        len(events),
        dict(sorted(conversation.companions.items())),
        settings,
    )
    return chain(
        [_line(CONVERTER.unstructure(header))], (f"{event_to_json(event)}\n" for event in events)
    )


def log_lines(turns: Iterable[Turn]) -> Iterator[str]:
    """Return turns as lines of JSON; how many tokens each takes is for the next reader to count."""
    for turn in turns:
        data = CONVERTER.unstructure(turn)
        data.pop("tokens", None)
        yield _line(data)


def turns_of_lines(lines: Lines) -> list[Turn]:
    """Read what `log_lines` wrote.

    Raises:
        InvalidDataError: a line is no turn; names it, and the place of its first fault.
    """
    return [
        structured(CONVERTER, json_object(text, path=place, legal=_TURN), Turn, path=place, legal=_TURN)
        for place, text in _numbered(lines)
    ]  # fmt: skip


def with_missing_results(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Iterate over a log as one conversation: calls that were open when the view was cleared get a marked result, which says that there is none.

    Law: a log that was never cleared over open calls is as it was.
    """
    waiting: dict[str, None] = {}
    for turn in turns:
        if turn.role is Role.TOOL:
            waiting.pop(turn.tool_call_id or "", None)
        else:
            for number, call in enumerate(waiting, 1):
                # An id of its own, so that it takes none of those that follow.
                name = f"{turn.resource_id}-no-result-{number}" if turn.resource_id else ""
                yield missing_result(call, NO_RESULT, resource_id=name, timestamp=turn.timestamp)
            waiting = dict.fromkeys(call.id for call in turn.tool_calls)
        yield turn


class Imported:
    """Read a whole session: the header at once, the events when they are asked for."""

    def __init__(self, lines: Lines) -> None:
        self._lines = _numbered(lines)
        place, text = next(self._lines, ("line 1", ""))
        data = json_object(text, path=place, legal=_HEADER)
        self._saved: list[Event] | None = None
        if "format" not in data and "max_tokens" in data:
            settings, self._saved, companions = read_document(data)
            self.header = Header(FORMAT, SCHEMA, "session", len(self._saved), companions, settings)
            return
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
        """Return the events, and the conversations to which they lead: from `empty` on, as often as a snapshot is due, to the last.

        Raises:
            InvalidDataError: names the first line that is no event, or one that cannot have
                happened there; or the first that is missing.
        """
        places: list[str] = []
        events, stages, conversation = list[Event](), [empty], empty
        try:
            for _, event, conversation in replayed(
                with_sources(self._events(places)) if self._saved is None else self._saved, empty
            ):
                events.append(event)
                if not conversation.has_passed(stages[-1].revision):
                    stages = [empty]
                if due(stages[-1], conversation):
                    stages.append(conversation)
        except InvalidDataError as error:
            # What refuses an event counts events.
            counted = _COUNTED.match(error.path) if places else None
            path = (
                error.path
                if counted is None
                else places[int(counted[1])] + error.path[counted.end() :]
            )
            raise InvalidDataError(path, error.what, error.legal) from None
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
        missing = self.header.events - len(places)
        if missing:
            raise InvalidDataError(
                "the last line",
                f"{missing} events are missing behind it",
                f"{self.header.events}, as the first line says",
            )
        for place, _ in self._lines:
            raise InvalidDataError(
                place,
                "behind the last event",
                f"{self.header.events} events, as the first line says",
            )


def check_free(store: SessionStore, session_id: str) -> None:
    """Raise `InvalidOptionError` where `store` has a session of that id."""
    if callable(getattr(store, "list_sessions", None)):
        there = session_id in store.list_sessions()
    else:
        stored = store.load(session_id)
        there = bool(stored.events or stored.companions)
    if there:
        raise InvalidOptionError("session_id", session_id, "an id of which there is no session yet")


def store_whole(
    store: SessionStore,
    header: Header,
    session_id: str,
    journal: tuple[Sequence[Event], Sequence[Conversation]],
    policy: ContextPolicy,
) -> None:
    """Store a session that was replayed, all or nothing.

    A store of snapshots also what the summariser of `policy` reads of it.
    """
    events, stages = journal
    options: dict[str, Any] = {}
    if events and isinstance(store, SnapshotStore):
        # Who imports may not know the budget: it was no smaller than what stood in the view.
        stages[-1].read(policy, max(stage.window.total_tokens for stage in stages))
        options["snapshot"] = snapshot_of_all(stages)
    store.append(session_id, 0, events, header.companions, **options)


def _numbered(lines: Lines) -> Iterator[tuple[str, str | bytes]]:
    """Iterate over the lines that hold something, each with its place."""
    if isinstance(lines, str | bytes):
        # Only what ends a line of JSON: a text within one may hold other separators.
        lines = lines.split("\n") if isinstance(lines, str) else lines.split(b"\n")
    if not isinstance(lines, Iterable):
        raise InvalidOptionError("lines", lines, "lines, such as those of an open file")
    return (
        (f"line {number}", line)
        for number, line in enumerate(lines, 1)
        if not isinstance(line, str | bytes) or line.strip()
    )


def _line(data: Mapping[str, Any]) -> str:
    return orjson.dumps(data).decode() + "\n"


# --- all sessions of a store ------------------------------------------------------------


class Archive(Generic[S]):
    """Answer for all sessions of a store, and make sessions of one class."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind

    def list_sessions(self, url: Place, *, timeout: float = PATIENCE) -> Sequence[str]:
        """Return the ids of all sessions at `url`, in alphabetical order.

        Raises what `open` raises of stores, and makes no file.
        """
        with store_with("list_sessions", url, timeout) as store:
            return store.list_sessions()

    def delete(self, url: Place, session_id: str, *, timeout: float = PATIENCE) -> bool:
        """Forget a session with all its words, for ever; tell whether there was one.

        Raises what `open` raises of stores.
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
        """Keep the session that `export` wrote at `url`, or in memory, all or nothing, and return it as it was.

        `lines` are those of an open file, or a text. Its id is that of the first line, unless
        another is said, and so are its settings. What is no data (a summariser, a classifier, a
        counter of your own) is passed again, and `threshold` where it is not to be a session's own.
        Every event is replayed before anything is stored; no model is asked. Sessions that were
        saved as one document are read, too.

        Raises:
            InvalidDataError: a line is damaged, or an event that cannot have happened there; names
                the line.
            InvalidOptionError: there is a session of that id. Whatever else `open` raises.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=4000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> again = ContextSession.history.load(session.history.export())
        >>> again.conversation == session.conversation, again.window.max_tokens
        (True, 4000)
        >>> ContextSession.history.load(["[]"])
        Traceback (most recent call last):
        polycontext.linearity.errors.InvalidDataError: line 1: list is not an object. Use the first
        line that export wrote.
        """
        imported = Imported(lines)
        header, settings = imported.header, imported.header.settings
        name = header.session_id if session_id is None else session_id
        given = _given(settings, model, options)
        with nullcontext() if settings is None else settings.checked():
            # What cannot come in is refused before a file is made for it.
            empty = self._kind(session_id=name, **given)
        journal = imported.replayed(empty.conversation)
        store = InMemoryStore() if url is None else stores.store_at(url, timeout)
        try:
            check_free(store, name)
            store_whole(store, header, name, journal, empty.policy)
            session = (
                self._kind(store=store, session_id=name, **given)
                if url is None
                else self._kind.open(store, name, **given)
            )
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
        """Return a new session that has taken the turns of `export_turns` in, under their ids, classified and counted anew.

        What the user says and does not fit is truncated in the view. Calls that were open when the
        view was cleared get a marked result.

        Raises:
            InvalidDataError: a line is no turn; names it, and the place of its first fault.
            Whatever a session or `add` raises.
        """
        turns = with_missing_results(turns_of_lines(lines))
        session = self._kind(model, **options)
        session._write(Together(tuple(build_add(turn) for turn in turns)))
        return session


def _given(settings: Settings | None, model: Model, options: OpenOptions) -> dict[str, Any]:
    """Return what a session is made with: what was saved of it, but for what is said now."""
    given: dict[str, Any] = {"model": model, **options}
    if settings is None:
        return given
    saved = settings.options()
    if model is not None or options.get("max_tokens") is not None:
        saved = {
            name: value
            for name, value in saved.items()
            if name not in ("max_tokens", "reserve", "provider")
        }
    elif given.get("counter") is None:
        given["counter"] = settings.loaded_counter()
    return {**saved, **{name: value for name, value in given.items() if value is not None}}
