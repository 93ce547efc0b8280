"""The chats of all users: each is opened once, belongs to whoever made it, and is let go of when nobody has looked at it for the longest."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from polycontext.linearity import UnknownNameError
from polycontext.models import Answering
from polycontext.polynomial import ContextSession, SessionWriteError
from polycontext.polynomial.stores import SessionStore

from .chat import Chat
from .sources import Sources

OPEN = 256
"""Chats that are held open at once; those in which an answer is being written, or that somebody
asks something of or listens to, stay."""

_ONES_OWN = "one of those that GET /api/sessions lists"


class Chats:
    """Hold the chats of a store.

    Laws: nobody finds, lists or makes a chat of another owner: its id in the store begins with a
    digest of the owner's token; a chat that somebody is at work with is not let go of, and one that
    is deleted is not opened meanwhile.
    """

    def __init__(
        self,
        store: SessionStore,
        answering: Callable[[], Answering],
        sources: Sources | None = None,
        *,
        most: int = OPEN,
        system: str | None = None,
        **options: Any,
    ) -> None:
        self._store, self._answering, self._most, self._system, self._options = (
            store,
            answering(),
            most,
            system,
            options,
        )
        self._sources = sources or Sources()
        self._open: OrderedDict[str, Chat] = OrderedDict()
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closed = False

    async def create(self, token: str) -> tuple[str, Chat]:
        """Return a new chat, and its id."""
        name = uuid4().hex
        return name, await self._open_chat(key_of(token, name), self._create_session)

    async def get(self, token: str, name: str) -> Chat:
        """Return the chat of an id.

        Raises:
            UnknownNameError: this owner has no such chat. SessionWriteError: all are being let go
                of.
        """
        return await self._open_chat(key_of(token, name), self._load_session)

    @asynccontextmanager
    async def held(self, token: str, name: str) -> AsyncGenerator[Chat]:
        """Return the chat of an id, which is not let go of meanwhile; see `get`."""
        chat = await self.get(token, name)
        chat.users += 1
        try:
            await self._evict()
            yield chat
        finally:
            chat.users -= 1

    async def names(self, token: str) -> tuple[str, ...]:
        """Return the ids of an owner's chats, those with a word in them and those that are open."""
        kept = await asyncio.to_thread(self._store.list_sessions)
        mine = key_of(token, "")
        return tuple(
            key.removeprefix(mine) for key in sorted({*kept, *self._open}) if key.startswith(mine)
        )

    async def fork(self, token: str, name: str, moment: Any = None) -> tuple[str, Chat]:
        """Return a new chat that goes on from another one, as it stands or stood, and its id."""
        new = uuid4().hex
        async with self.held(token, name) as source:
            other = await source.session.history.afork(key_of(token, new), moment)
        await other.aclose()
        return new, await self.get(token, new)

    async def delete(self, token: str, name: str) -> None:
        """Forget a chat for ever."""
        key = key_of(token, name)
        await self.get(token, name)
        async with self._lock(key):
            chat = self._open.pop(key, None)
            if chat is not None:
                await chat.close()
            await asyncio.to_thread(self._store.delete, key)

    async def close(self) -> None:
        """Let go of all chats; twice is once."""
        if not self._closed:
            self._closed = True
            await asyncio.gather(*(chat.close() for chat in self._open.values()))
            self._open.clear()
            await self._sources.close()
            await self._answering.aclose()

    async def _open_chat(self, key: str, made: Callable[[str], Awaitable[ContextSession]]) -> Chat:
        if self._closed:
            raise SessionWriteError("the server is being stopped", "Ask again when it is back")
        if key not in self._open:
            async with self._lock(key):
                if key not in self._open:
                    self._open[key] = Chat(await made(key), self._answering, self._sources)
        self._open.move_to_end(key)
        return self._open[key]

    async def _create_session(self, key: str) -> ContextSession:
        session = await ContextSession.aopen(self._store, key, **self._options)
        if self._system:
            await session.aadd_system(self._system)
        return session

    async def _load_session(self, key: str) -> ContextSession:
        session = await ContextSession.aopen(self._store, key, **self._options)
        # To open is to look it up: asking the store for all that it has would take longer the more
        # there is.
        if not session.history.revision:
            raise UnknownNameError("session", key.partition(".")[2], (_ONES_OWN,))
        return session

    async def _evict(self) -> None:
        """Close those that nobody has looked at for the longest, where too many are open."""
        if len(self._open) > self._most:
            idle = [key for key, chat in self._open.items() if not chat.is_busy and not chat.users]
            # All at once: while one is closed, somebody may ask for another.
            for chat in [self._open.pop(key) for key in idle[: len(self._open) - self._most]]:
                await chat.close()

    def _lock(self, key: str) -> asyncio.Lock:
        """Return the lock under which a chat is opened or deleted.

        It lives as long as somebody needs it.
        """
        return self._alone.setdefault(key, asyncio.Lock())


def key_of(token: str, name: str) -> str:
    """Return the id in the store of an owner's chat: the token itself stands nowhere.

    >>> key_of("secret", "a") == key_of("secret", "a"), key_of("secret", "a") == key_of("other", "a")
    (True, False)
    """
    return f"{sha256(token.encode()).hexdigest()[:24]}.{name}"
