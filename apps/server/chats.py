"""The chats of all users: opened once, private to their owner, closed when least recently used."""

import asyncio
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

import orjson

from polycontext.agents import AgentMachine
from polycontext.base import InvalidDataError, PolycontextError, UnknownNameError, require
from polycontext.models.answers import Answering
from polycontext.nodes import ComponentRenderer
from polycontext.polynomial import ContextMachine, ContextSession, SessionWriteError
from polycontext.polynomial.session import utc_now
from polycontext.polynomial.stores import InMemoryStore, SessionStore, SharedStore

from .chat import ABOUT, TIMEOUT, Chat
from .loop_lock import LoopLock
from .sources import Sources

OPEN = 256
"""Chats that are kept open. Chats that are answering, handling a request or followed by a listener
stay open beyond that."""

LOOKS = 0.1
"""Seconds between two looks at whether another process has written to the store."""

TICK = 5.0
"""Seconds between two looks at the timers of open chats."""

UNDO = 8.0
"""Seconds in which a chat that was deleted with ``PATCH`` can be restored."""

_GRACE = 2.0
"""Seconds that a request to restore a chat may take."""

OTHER = "~"
"""Begins the id of a session that another program keeps in the store; its name follows, encoded."""

_NO_EVENTS = 2**31 - 1
"""A revision that no session reaches: loading from it returns only companions."""

_log = logging.getLogger("polycontext.server")
_ONES_OWN = "one of those that GET /api/sessions lists"


async def tick(session: ContextSession) -> None:
    """Fire the timers of a session; a guard of its machine that is broken is logged."""
    try:
        await session.atick()
    except PolycontextError:
        raise
    except Exception:  # noqa: BLE001 - the guard is the user's, and other chats go on
        _log.exception("the timers of a chat failed")


class Chats:
    """The chats of a store.

    Laws:

    - Nobody can find, list or create a chat of another owner: its id in the store begins with a
      digest of the owner's token. A user who may inspect on a machine of their own reads them all.
    - A chat in use is not closed, and a chat that is being deleted is not opened meanwhile.
    - What another process writes to a `SharedStore` is seen at the next use of the chat.
    """

    def __init__(
        self,
        store: SessionStore,
        answering: Callable[[], Answering],
        sources: Sources | None = None,
        *,
        most: int = OPEN,
        system: str | None = None,
        models: Mapping[str, Answering] | None = None,
        timeout: float = TIMEOUT,
        **options: Any,
    ) -> None:
        legal = 'a store, such as SQLiteStore("chats.db")'
        require("store", store, callable(getattr(store, "append", None)), legal)
        require("answering", answering, callable(answering), "a function that returns an Answering")
        # Wrong options are refused now, not when the first chat is opened.
        tried = {name: value for name, value in options.items() if name != "listeners"}
        ContextSession.open(InMemoryStore(), **tried)
        self._store, self._most, self._system, self._options = store, most, system, options
        self._machine = options.get("machine", ContextMachine)
        self.models, self._timeout = models or {"": answering()}, timeout
        self._shared = store if isinstance(store, SharedStore) else None
        self.sources = sources or Sources()
        self._open: OrderedDict[str, Chat] = OrderedDict()
        self._alone: WeakValueDictionary[str, LoopLock] = WeakValueDictionary()
        self._closed = False

    async def create(self, token: str) -> tuple[str, Chat]:
        """Return the id of a new chat, and the chat."""
        name = uuid4().hex
        return name, await self._open_chat(key_of(token, name), self._create_session)

    async def get(self, token: str, name: str) -> Chat:
        """Return the chat with that id.

        Raises:
            UnknownNameError: the owner has no such chat.
            SessionWriteError: the server is shutting down.
        """
        if name.startswith(OTHER):
            return await self._open_chat(name, self._load_other)
        return await self._open_chat(key_of(token, name), self._load_session)

    @asynccontextmanager
    async def held(self, token: str, name: str) -> AsyncGenerator[Chat]:
        """Yield the chat with that id, and keep it open meanwhile; see `get`."""
        chat = await self.get(token, name)
        chat.users += 1
        try:
            await self._evict()
            await self._refresh(name if chat.is_read_only else key_of(token, name), chat)
            yield chat
        finally:
            chat.users -= 1

    async def names(self, token: str) -> tuple[str, ...]:
        """Return the ids of an owner's chats that are stored or open."""
        kept = await asyncio.to_thread(self._store.list_sessions)
        mine = key_of(token, "")
        return tuple(
            key.removeprefix(mine) for key in sorted({*kept, *self._open}) if key.startswith(mine)
        )

    async def listed(self, token: str, *, others: bool) -> list[dict[str, Any]]:
        """Return what is shown of an owner's chats, the newest first, and of those of `others`."""
        mine, names = key_of(token, ""), await self.names(token)
        keys = {mine + name: name for name in names}
        if others:
            kept = await asyncio.to_thread(self._store.list_sessions)
            keys |= {key: other_id(key) for key in kept if key not in keys}
        found = await asyncio.to_thread(lambda: [*map(self._listed, keys.items())])
        for chat in found:
            if "undo" in chat:
                # One that cannot be erased now is tried again the next time.
                with suppress(PolycontextError):
                    await self._erase_due(mine + chat["id"])
        return sorted(found, key=lambda chat: chat["at"] or "", reverse=True)

    def _listed(self, chat: tuple[str, str]) -> dict[str, Any]:
        key, name = chat
        is_other = name.startswith(OTHER)
        about = self._about(key)
        title = about.get("title") or (key if is_other else "")
        told = {each: about.get(each) for each in ("at", "pressure", "model")}
        undo = {} if is_other or not about.get("deleted") else {"undo": time_left(about)}
        return {"id": name, "title": title, **told, "readOnly": is_other, **undo}

    def _about(self, key: str) -> dict[str, Any]:
        """Return what is stored of a chat for the list."""
        about: dict[str, Any] = orjson.loads(
            self._store.load(key, _NO_EVENTS).companions.get(ABOUT) or "{}"
        )
        return about

    async def fork(self, token: str, name: str, moment: Any = None) -> tuple[str, Chat]:
        """Return the id of a new chat that forks another one, now or at `moment`, and the chat."""
        new = uuid4().hex
        async with self.held(token, name) as source:
            if source.session.conversation.machine is not self._machine:
                raise SessionWriteError("an agent wrote this session", "Serve it with --agent")
            other = await source.session.history.afork(key_of(token, new), moment)
            name = source.about.name or (source.is_read_only and source.session.session_id) or ""
        await other.aclose()
        chat = await self.get(token, new)
        chat.about.name, chat.about.is_answering, chat.about.is_branch = name, False, True
        chat.about.deleted = None
        await chat.describe(model=source.about.model)
        return new, chat

    async def delete(self, token: str, name: str) -> None:
        """Delete a chat permanently."""
        await self.get(token, name)
        await self._erase(key_of(token, name))

    async def _erase_due(self, key: str) -> None:
        """Erase a chat that was deleted, if nobody has restored it in time."""
        about = await asyncio.to_thread(self._about, key)
        if about.get("deleted") and time_left(about) < -_GRACE:
            await self._erase(key)

    async def _erase(self, key: str) -> None:
        async with self._lock(key):
            chat = self._open.pop(key, None)
            if chat is not None:
                await chat.close()
            await asyncio.to_thread(self._store.delete, key)

    def load(self) -> None:
        """Load the modules that chats load on first use, so that the first requests are answered.

        A worker that replaces another one gets all of its clients at once.
        """
        with closing(ContextSession(max_tokens=1_000)) as session:
            session.add_user_turn("first")
            session.answer().close()
            ComponentRenderer().render_chat(session, answering=False)

    async def watch(self) -> None:
        """Publish what other processes write to the chats in use, until the task is cancelled."""
        if self._shared is None:
            return
        seen: object = None
        while True:
            await asyncio.sleep(LOOKS)
            with suppress(PolycontextError):
                version = await asyncio.to_thread(self._shared.version)
                if version != seen:
                    for key, chat in [*self._open.items()]:
                        with suppress(UnknownNameError):
                            await (self._refresh(key, chat) if chat.users else asyncio.sleep(0))
                seen = version

    async def _refresh(self, key: str, chat: Chat) -> None:
        """Let a chat show what other processes have written.

        Raises:
            UnknownNameError: one of them has deleted it.
        """
        if self._shared is None:
            return
        revision = await asyncio.to_thread(self._shared.revision, chat.session.session_id)
        if revision is not None:
            await chat.refresh(revision)
        elif self._open.get(key) is chat:
            del self._open[key]
            await chat.close()
            raise _unknown(key)

    async def close(self) -> None:
        """Close all chats; calling it again has no effect."""
        if not self._closed:
            self._closed = True
            await asyncio.gather(*(chat.close() for chat in self._open.values()))
            self._open.clear()
            await self.sources.close()
            for model in self.models.values():
                await model.aclose()

    async def keep_ticking(self) -> None:
        """Fire the timers of open chats, and erase what was deleted, until cancelled.

        The timers of other chats fire when they are opened, and `listed` erases those.
        """
        while True:
            await asyncio.sleep(TICK)
            for key, chat in [*self._open.items()]:
                # A chat that is answering or closed is left alone until the next time.
                with suppress(PolycontextError):
                    if chat.about.deleted:
                        await self._erase_due(key)
                        continue
                    await (asyncio.sleep(0) if chat.is_read_only else chat.change(tick))

    async def _open_chat(self, key: str, made: Callable[[str], Awaitable[ContextSession]]) -> Chat:
        if self._closed:
            raise SessionWriteError("the server is being stopped", "Ask again when it is back")
        if key not in self._open:
            async with self._lock(key):
                if key not in self._open:
                    self._open[key] = Chat(
                        await made(key),
                        self.models,
                        self.sources,
                        timeout=self._timeout,
                        is_read_only=key.startswith(OTHER),
                    )
        self._open.move_to_end(key)
        return self._open[key]

    async def _create_session(self, key: str) -> ContextSession:
        session = await ContextSession.aopen(self._store, key, **self._options)
        if self._system:
            await session.aadd_system(self._system)
        elif self._shared is not None:
            # Another process may be asked for it before anything is said.
            await asyncio.to_thread(self._store.append, key, 0, (), {})
        return session

    async def _load_session(self, key: str) -> ContextSession:
        session = await ContextSession.aopen(self._store, key, **self._options)
        # Opening the session is the lookup: listing the whole store would take longer as it grows.
        if not session.history.revision and (
            self._shared is None or await asyncio.to_thread(self._shared.revision, key) is None
        ):
            raise _unknown(key)
        await tick(session)
        return session

    async def _load_other(self, name: str) -> ContextSession:
        """Open a session of another program, as it was written and without changing it."""
        key = key_of_other(name)
        if key is None or key not in await asyncio.to_thread(self._store.list_sessions):
            raise _unknown(name)
        with suppress(InvalidDataError):
            return await ContextSession.aopen(self._store, key, machine=self._machine)
        return await ContextSession.aopen(self._store, key, machine=AgentMachine)

    async def _evict(self) -> None:
        """Close the least recently used idle chats if too many are open."""
        if len(self._open) > self._most:
            idle = [key for key, chat in self._open.items() if not chat.is_busy and not chat.users]
            # Remove all of them first: while one is being closed, a request may open another.
            for chat in [self._open.pop(key) for key in idle[: len(self._open) - self._most]]:
                await chat.close()

    def _lock(self, key: str) -> LoopLock:
        """Return the lock for opening or deleting a chat; it exists only while it is in use."""
        return self._alone.setdefault(key, LoopLock())


def time_left(about: Mapping[str, Any]) -> float:
    """Return the seconds left to restore a deleted chat; they are negative afterwards."""
    return UNDO - (utc_now() - datetime.fromisoformat(about["deleted"])).total_seconds()


def _unknown(key: str) -> UnknownNameError:
    return UnknownNameError("session", key.partition(".")[2], (_ONES_OWN,))


def other_id(key: str) -> str:
    """Return the id of a session that another program keeps under `key`.

    >>> other_id("trip"), key_of_other("~dHJpcA")
    ('~dHJpcA', 'trip')
    """
    return OTHER + urlsafe_b64encode(key.encode()).decode().rstrip("=")


def key_of_other(name: str) -> str | None:
    """Return the store's id of the session with that id, None if it is no such id."""
    with suppress(ValueError):
        return urlsafe_b64decode(f"{name.removeprefix(OTHER)}===").decode()
    return None


def key_of(token: str, name: str) -> str:
    """Return the store's id of an owner's chat, which does not contain the token.

    >>> (
    ...     key_of("secret", "a") == key_of("secret", "a"),
    ...     key_of("secret", "a") == key_of("other", "a"),
    ... )
    (True, False)
    """
    return f"{sha256(token.encode()).hexdigest()[:24]}.{name}"
