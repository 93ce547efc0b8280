"""The chats of all users: each is opened once, belongs to whoever made it, and is let go of when nobody has looked at it for the longest."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Any
from uuid import uuid4

from polycontext.linearity import UnknownNameError
from polycontext.nodes.models.answering import Answering
from polycontext.nodes.server.chat import Chat
from polycontext.nodes.server.sources import Sources
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore

OPEN = 256
"""Chats that are held open at once; those in which an answer is being written, or that somebody listens to, stay."""


class Chats:
    """Hold the chats of a store.

    Law: nobody finds, lists or makes a chat of another owner: its id in the store begins with a digest of the owner's token.
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
        self._store, self._answering, self._most, self._system, self._options = store, answering(), most, system, options
        self._sources = sources or Sources()
        self._open: OrderedDict[str, Chat] = OrderedDict()
        self._lock = asyncio.Lock()

    async def create(self, token: str) -> tuple[str, Chat]:
        """Return a new chat, and its id."""
        name = uuid4().hex
        return name, await self._opened(owned(token, name))

    async def get(self, token: str, name: str) -> Chat:
        """Return the chat of an id.

        Raises:
            UnknownNameError: this owner has no such chat.
        """
        key = owned(token, name)
        if key not in self._open and not await self._is_kept(key):
            raise UnknownNameError("session", name, await self.names(token))
        return await self._opened(key)

    async def names(self, token: str) -> tuple[str, ...]:
        """Return the ids of an owner's chats, those with a word in them and those that are open."""
        kept = await asyncio.to_thread(self._store.list_sessions)
        mine = owned(token, "")
        return tuple(key.removeprefix(mine) for key in sorted({*kept, *self._open}) if key.startswith(mine))

    async def fork(self, token: str, name: str, moment: Any = None) -> tuple[str, Chat]:
        """Return a new chat that goes on from another one, as it stands or stood, and its id."""
        source, new = await self.get(token, name), uuid4().hex
        other = await source.session.afork(owned(token, new), moment)
        await other.aclose()
        return new, await self._opened(owned(token, new))

    async def delete(self, token: str, name: str) -> None:
        """Forget a chat for ever."""
        await (await self.get(token, name)).close()
        async with self._lock:
            self._open.pop(owned(token, name), None)
            await asyncio.to_thread(self._store.delete, owned(token, name))

    async def close(self) -> None:
        """Let go of all chats."""
        for chat in self._open.values():
            await chat.close()
        self._open.clear()
        await self._sources.close()
        await self._answering.aclose()

    async def _is_kept(self, key: str) -> bool:
        return key in await asyncio.to_thread(self._store.list_sessions)

    async def _opened(self, key: str) -> Chat:
        async with self._lock:
            if key not in self._open:
                session = await ContextSession.aopen(self._store, key, **self._options)
                if self._system and not session.revision:
                    await session.aadd_system(self._system)
                self._open[key] = Chat(session, self._answering, self._sources)
            self._open.move_to_end(key)
            idle = [name for name, chat in self._open.items() if not chat.is_busy and not chat.feed.listeners and name != key]
            for name in idle[: max(0, len(self._open) - self._most)]:
                await self._open.pop(name).close()
            return self._open[key]


def owned(token: str, name: str) -> str:
    """Return the id in the store of an owner's chat: the token itself stands nowhere.

    >>> owned("secret", "a") == owned("secret", "a"), owned("secret", "a") == owned("other", "a")
    (True, False)
    """
    return f"{sha256(token.encode()).hexdigest()[:24]}.{name}"
