"""Open sessions where they are kept, and let go of them."""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import orjson
from attrs import frozen

from polycontext.polynomial.inputs import ContextOutput
from polycontext.polynomial.machine.step import is_over_budget
from polycontext.polynomial.session.commands import Asked, Change, Command, Companion, Patch, Together
from polycontext.polynomial.session.intake import Messages, all_added
from polycontext.polynomial.session.options import check_arguments, require
from polycontext.polynomial.session.readable import ReadableSession
from polycontext.polynomial.session.twins import awaiting, threaded
from polycontext.polynomial.session.writer import Writer
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.window.providers.recognising import AUTO

if TYPE_CHECKING:
    from polycontext.polynomial.session.exchange import Lines
    from polycontext.polynomial.session.measuring import Measured
    from polycontext.window.model_profiles import ModelProfile

_PATIENCE = 5.0
"""Seconds that another process is waited for."""

_BEHIND_ALL = 2**31 - 1
"""A revision that no session reaches."""

Place = str | Path | SessionStore
"""Where sessions are kept: the path of a SQLite file, the URL of a store, or a store itself."""


BUDGET = "polycontext.budget"
"""The companion that holds the budget a session was opened with."""


@frozen
class _Budget:
    """Say how much room a session has: the name of a model, or a number of tokens, or both."""

    model: str | None
    max_tokens: int | None
    taken: int
    given: int
    """Tokens of the window when the session was opened; resized since, it is opened so again."""
    writer: Writer

    def to_data(self) -> Mapping[str, Any]:
        """Return it as JSON data."""
        now = self.writer.given
        return {"model": self.model, "max_tokens": self.max_tokens if now == self.given else now + self.taken}


class When(TypedDict, total=False):
    """Hold what every write can be given: the revision it was made for, and the key under which it happens once."""

    expected_revision: int | None
    idempotency_key: str | None


class KeptSession(ReadableSession):
    """Open a session of a store, list and delete those that are there; a session is a context manager that closes itself."""

    _opened: SessionStore | None = None
    _place: tuple[Place, float] | None = None
    _clock: Callable[[], datetime]
    _reports: Mapping[str, Any]
    """What was reported, by the name of the model; replaced as a whole."""

    @classmethod
    def open(
        cls,
        url: Place,
        session_id: str = "session",
        model: "int | str | ModelProfile | None" = None,
        *,
        timeout: float = _PATIENCE,
        **options: Any,
    ) -> Self:
        """Return the session of that id, as its last writer left it, or a new one; options are those of a session.

        `url` is the path of a SQLite file, or ``sqlite:///`` with a path behind it (a fourth slash begins an absolute one), or a store.
        The budget is that of `model` or ``max_tokens=``. It is stored with the next commit, and taken from there when neither is given.
        Close the session, or use it in a `with`; sessions of one file share it within a process. See `open_calls` for what a
        writer that is gone has left in the middle.

        Raises:
            StoreBusyError: another process has the file open for longer than `timeout` seconds; names it.
            StoreError: the store cannot be opened, or is damaged; says what to do.
            InvalidOptionError: no store can be at `url`, or an option is out of its range.

        >>> from tempfile import mkdtemp
        >>> from polycontext import ContextSession
        >>> file = Path(mkdtemp()) / "sessions.db"
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     _ = session.add_user_turn("Where is my parcel?")
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     [turn.text for turn in session.log()]
        ['Where is my parcel?']
        >>> ContextSession.list_sessions(file), ContextSession.delete(file, "customer-17"), ContextSession.list_sessions(file)
        (('customer-17',), True, ())
        """
        store = _store_at(url, timeout)
        budget: dict[str, Any] = {"model": model, "max_tokens": options.pop("max_tokens", None)}
        try:
            if model is None and budget["max_tokens"] is None:
                budget = _stored_budget(store, session_id)
            session = cls(**budget, store=store, session_id=session_id, **options)  # type: ignore[call-arg]  # those of a ContextSession
        except BaseException:
            _let_go(url, store)
            raise
        if store is not url:
            session._opened, session._place = store, (url, timeout)
        if any(value is not None for value in budget.values()):
            name = model if isinstance(model, str) else None
            writer, taken = session._writer, session._taken
            whole = budget["max_tokens"] if name else writer.given + taken
            writer.companions[BUDGET] = _Budget(name, whole, taken, writer.given, writer)
        return session

    @classmethod
    async def aopen(cls, url: Place, session_id: str = "session", model: "int | str | ModelProfile | None" = None, **options: Any) -> Self:
        """Open a session without blocking the event loop; see `open`."""
        return await asyncio.to_thread(cls.open, url, session_id, model, **options)

    @classmethod
    def import_lines(
        cls,
        lines: "Lines",
        url: Place,
        session_id: str | None = None,
        model: "int | str | ModelProfile | None" = None,
        *,
        timeout: float = 5.0,
        **options: Any,
    ) -> Self:
        """Keep the session that `export_lines` wrote at `url`, all or nothing, and return it as `open` does, with whose options it goes on.

        `lines` are those of an open file, or a text. Its id is that of the first line, unless another is said. Every event is replayed
        before anything is stored; no model is asked.

        Raises:
            InvalidDataError: a line is damaged, or an event that cannot have happened there; names the line.
            InvalidOptionError: there is a session of that id. Whatever else `open` raises.

        >>> from polycontext import ContextSession
        >>> from polycontext.polynomial.stores import InMemoryStore
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?")
        >>> again = ContextSession.import_lines(session.export_lines(), InMemoryStore(), "a-copy", max_tokens=8000)
        >>> again.conversation == session.conversation
        True
        >>> ContextSession.import_lines(["[]"], InMemoryStore())
        Traceback (most recent call last):
        polycontext.linearity.errors.InvalidDataError: line 1: list is not an object; legal: the first line that export_lines wrote
        """
        from polycontext.polynomial.session.exchange import Imported, check_free, store_whole  # noqa: PLC0415 - for those who import

        imported = Imported(lines)
        name = imported.header.session_id if session_id is None else session_id
        # What cannot come in is refused before a file is made for it.
        empty = cls(model, session_id=name, **options)  # type: ignore[call-arg]  # those of a ContextSession
        journal = imported.replayed(empty.conversation)
        store = _store_at(url, timeout)
        try:
            check_free(store, name)
            store_whole(store, imported.header, name, journal, empty.policy)
            session = cls.open(store, name, model, **options)
        except BaseException:
            _let_go(url, store)
            raise
        if store is not url:
            session._opened, session._place = store, (url, timeout)  # noqa: SLF001 - it is one of ours
        return session

    @classmethod
    async def aimport_lines(
        cls, lines: "Lines", url: Place, session_id: str | None = None, model: "int | str | ModelProfile | None" = None, **options: Any
    ) -> Self:
        """Import a session without blocking the event loop; see `import_lines`."""
        return await asyncio.to_thread(cls.import_lines, lines, url, session_id, model, **options)

    @classmethod
    def list_sessions(cls, url: Place, *, timeout: float = 5.0) -> Sequence[str]:
        """Return the ids of all sessions at `url`, in alphabetical order; raises what `open` raises of stores, and makes no file."""
        store = _store_with("list_sessions", url, timeout)
        try:
            return store.list_sessions()
        finally:
            _let_go(url, store)

    @classmethod
    def delete(cls, url: Place, session_id: str, *, timeout: float = 5.0) -> bool:
        """Forget a session with all its words, for ever; tell whether there was one. Raises what `open` raises of stores."""
        store = _store_with("delete", url, timeout)
        try:
            return store.delete(session_id)
        finally:
            _let_go(url, store)

    def refresh(self) -> Self:
        """Take in what other writers of this session have stored meanwhile, and return it; a write does so by itself where it has to."""
        self._writer.caught_up()
        return self

    arefresh = threaded(refresh)

    def has_taken(self, idempotency_key: str) -> bool:
        """Tell whether a write of that key is stored, by whichever writer: asking for it again would change nothing.

        Raises:
            InvalidOptionError: the store keeps no keys.
        """
        check_arguments(idempotency_key=idempotency_key)
        return self._writer.has_happened(idempotency_key)

    def forget(self, resource_id: str) -> bool:
        """Erase the words of one turn for ever: from log and journal, from every fork and copy, and from every gist that stands for it (docs/erasing.md).

        The turn keeps its place, as ``[forgotten]``. Gists in the view are written anew, without a model, from what is left. Sessions that are
        open elsewhere see it at their next write. Companions are their owners' to change. Tells whether there was anything left to erase.

        Raises:
            UnknownResourceError: no turn of the journal has the id. InvalidOptionError: the store erases nothing.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("My number is 555-0199.")
        >>> session.forget("t1"), session.log()[0].text
        (True, '[forgotten]')
        """
        from polycontext.polynomial.session.forgetting import forget  # noqa: PLC0415 - for those who forget

        check_arguments(resource_id=resource_id)
        return forget(self, self._writer, resource_id, self._clock())

    aforget = threaded(forget)

    def retain(self, *, days: float | None = None, max_bytes: int | None = None) -> int:
        """Keep of the log what is younger than so many days, or its newest `max_bytes` of words (UTF-8), and return how many turns expired by it.

        Nothing that the view needs expires: turns that stand there keep their words whatever their age, and so do its gists. Of expired turns the
        place is left, as ``[expired]``: they can neither be recalled nor found any more.

        Raises:
            InvalidOptionError: neither limit is said, or one is out of its range; or the store erases nothing.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Red or blue?")
        >>> _ = session.clear()
        >>> session.retain(max_bytes=0), session.log()[0].text
        (1, '[expired]')
        """
        from polycontext.polynomial.session.forgetting import retain  # noqa: PLC0415 - for those who keep little

        return retain(self._writer, days, max_bytes, self._clock())

    aretain = threaded(retain)

    def reported(self, usage: object, *, model: str | None = None) -> "Measured | None":
        """Learn from what a provider reports of the request that was handed out last, and give the window the room that it has by that.

        `usage` is a response, or its `usage`: of OpenAI's chat or Responses, or of Anthropic's messages, JSON data or the SDK's object. The counts of turns
        stay as they are; what changes is how many of them fit (docs/window.md, "Counting that learns"). Returns what is known by now of the model, None where
        the provider has cut the request before reading it, so that nothing can be learned of it. `model` is who answered, where the response does not say.

        Law: where a provider counts k tokens for each of ours, 0.5 to 2.5, and any number besides, no request is over the budget by its count once one of
        1,000 tokens or more was reported.

        Raises:
            InvalidDataError: no usage; names what is missing. InvalidOptionError: nothing was handed out yet.
            ContextOverflowError: what is sent beside the turns leaves them no room. Then nothing has changed.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.add_user_turn("Where is my parcel?"), session.messages()
        >>> session.reported({"prompt_tokens": 2012, "completion_tokens": 20}).besides  # tools that the session was not told of, say
        2000
        """
        from polycontext.polynomial.session.measuring import Sizes, measured  # noqa: PLC0415 - for those who report

        sizes = Sizes(self._writer.given, self._told_tools, self.window.max_tokens)
        told, self._reports = measured(self._reports, self._delivery.delivered, usage, model or self._asking.model or "", sizes)
        if told is not None:
            self._writer.resize(told.room)
        return told

    def accompany(self, name: str, companion: Companion) -> None:
        """Save `companion` with this session from now on: its data are part of every commit, under `name`.

        Raises:
            InvalidOptionError: under that name something is kept by `patch`.
        """
        require("name", name, name not in self.conversation.documents, "a name under which nothing is kept by `patch`")
        self._writer.companions[name] = companion

    def companion(self, name: str) -> Any:
        """Return the JSON data last saved under `name`, for the companion's own reader; None where there are none."""
        conversation = self.conversation
        if name in conversation.documents:
            # Nobody changes what the conversation holds.
            return deepcopy(conversation.documents[name])
        saved = conversation.companions.get(name)
        return None if saved is None else orjson.loads(saved)

    def _make_room(self) -> None:
        """Have a view compressed that is over its budget since a provider counted more, or it was opened with less."""
        if self.auto and is_over_budget(self.window) and not self._writer.is_inside():
            self.save()

    def save(self) -> None:
        """Save the companions as they are now, without an input."""
        self._write(Together(()))

    async def asave(self) -> None:
        """Save the companions as they are now; see `save`."""
        await self._awrite(Together(()))

    def patch(self, name: str, change: Change, *, turns: Messages = (), **when: Unpack[When]) -> ContextOutput:
        """Change the JSON data that are kept under `name` as an event of the journal, in one commit with `turns`; `companion` reads them.

        `change` is called with the data as they are, not to be touched, None where there are none, and returns a JSON Patch (RFC 6902: add, remove, replace, test), or None if there is
        nothing to do. Where another writer was first it is called again, with what that one has left. Rewinding and forking take the data back, too.

        Raises:
            InvalidDataError: what is returned is no patch of the data. InvalidOptionError: a companion has that name.
            Whatever `change` raises, and `extend` of the turns; then nothing has happened.

        >>> from polycontext import ContextSession
        >>> session = ContextSession(max_tokens=8000)
        >>> _ = session.patch("order", lambda data: [{"op": "add", "path": "", "value": {"seats": 1}}])
        >>> _ = session.patch("order", lambda data: [{"op": "replace", "path": "/seats", "value": data["seats"] + 1}])
        >>> session.companion("order")
        {'seats': 2}
        """
        check_arguments(name=name, change=change)
        added = all_added(self.conversation, turns, AUTO).commands
        return self._write(Together((Patch(name, change), *added)), **when)

    apatch = awaiting(patch)

    @contextmanager
    def _opening(self, place: Place | None) -> Generator[SessionStore]:
        """Hand out the store at `place`, in memory for None; let go of what was opened for this session if the block fails."""
        if not isinstance(place, str | Path):
            yield InMemoryStore() if place is None else place
            return
        self._opened, self._place = _store_at(place, _PATIENCE), (place, _PATIENCE)
        try:
            yield self._opened
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the store if this session has opened it; closing it twice is closing it once. What was read stays readable."""
        if self._opened is not None:
            self._opened.close()

    aclose = threaded(close)

    def _beside(self, session_id: str) -> Self:
        """Return the session of that id in the same store, with the options of this one."""
        session: Self = copy(self)
        if self._place is not None:
            session._opened = _store_at(*self._place)
        session._writer = self._writer.beside(session_id, session._opened)
        return session

    def _asked(self, command: Command, key: str | None = None) -> Asked:
        delivered = self._delivery.delivered
        return Asked(command, self._clock(), key, None if delivered is None else delivered.epoch)

    # Both name what a write may be given: whoever passes on a word that is none hears of it here.
    def _write(self, command: Command, *, expected_revision: int | None = None, idempotency_key: str | None = None) -> ContextOutput:
        check_arguments(expected_revision=expected_revision, idempotency_key=idempotency_key)
        return self._writer.write(self._asked(command, idempotency_key), expected_revision)

    async def _awrite(self, command: Command, *, expected_revision: int | None = None, idempotency_key: str | None = None) -> ContextOutput:
        check_arguments(expected_revision=expected_revision, idempotency_key=idempotency_key)
        return await self._writer.awrite(self._asked(command, idempotency_key), expected_revision)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


def _store_at(url: Place, timeout: float, *, create: bool = True) -> SessionStore:
    from polycontext.polynomial.stores.places import store_at  # noqa: PLC0415 - for those who keep sessions somewhere

    return store_at(url, timeout, create=create)


def _store_with(method: str, url: Place, timeout: float) -> SessionStore:
    store = _store_at(url, timeout, create=False)
    require("url", store, callable(getattr(store, method, None)), f"a store with `{method}`")
    return store


def _stored_budget(store: SessionStore, session_id: str) -> dict[str, Any]:
    """Return the budget that was stored with a session, empty where none was."""
    saved = store.load(session_id, _BEHIND_ALL).companions.get(BUDGET)
    data = None if saved is None else orjson.loads(saved)
    return {name: data.get(name) for name in ("model", "max_tokens")} if isinstance(data, dict) else {}


def _let_go(url: Place, store: SessionStore) -> None:
    if store is not url:
        store.close()
