"""A chat of an application, as its browser uses it, with a model whose words are put in."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore, SessionStore
from polycontext.server.access import LOCAL
from polycontext.server.app import create_app
from polycontext.server.chat import Chat

SECRET = "https://secret.example refused the key abc"  # noqa: S105 - a test's


class Request:
    """A request with a token, as `Access` reads it."""

    client = SimpleNamespace(host="127.0.0.1")

    def __init__(self, token: str) -> None:
        self.headers = {"host": "localhost", "authorization": f"Bearer {token}"}


class Model:
    """Say the words that are put in, fail at `fail`; note what was asked, and the ends."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.asked: list[Any] = []
        self.ended = 0

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Yield the words."""
        self.asked.append(session.messages("openai"))
        try:
            while (word := await self.words.get()) is not None:
                if word == "fail":
                    raise ConnectionError(SECRET)
                yield word
        finally:
            self.ended += 1

    async def aclose(self) -> None:
        """Let go of nothing."""

    def will_say(self, *words: str) -> None:
        """Put a whole answer in."""
        for word in (*words, None):
            self.words.put_nowait(word)


class Front:
    """One chat of an application."""

    def __init__(self, browser: httpx.AsyncClient, model: Any, app: Any, name: str) -> None:
        self.browser, self.model, self.app, self.name = browser, model, app, name

    async def ask(self, method: str, path: str = "", **more: Any) -> httpx.Response:
        """Ask a route of the chat."""
        return await self.browser.request(method, f"/sessions/{self.name}{path}", **more)

    async def get(self, path: str = "", **query: Any) -> Any:
        """Return what a route says."""
        return (await self.ask("GET", path, params=query)).json()

    async def say(self, content: str) -> httpx.Response:
        """Send a message."""
        return await self.ask("POST", "/messages", json={"content": content})

    async def shown(self) -> list[str]:
        """Return what is shown."""
        return contents((await self.get())["contextProps"])

    async def chat(self) -> Chat:
        """Return the chat of the application."""
        chat: Chat = await self.app.state.chats.get(LOCAL, self.name)
        return chat

    async def answered(self) -> None:
        """Wait until nothing is being written."""
        if (writing := (await self.chat())._writing) is not None:
            await asyncio.wait({writing}, timeout=60)


def contents(props: dict[str, Any]) -> list[str]:
    """Return what props show."""
    return [message["content"] for message in props["messages"]]


@asynccontextmanager
async def chatting(
    store: SessionStore | None = None, name: str = "", model: Any = None, **options: Any
) -> AsyncGenerator[Front]:
    """Open a chat, a new one or the one with a name, of an application over a store."""
    model = model or Model()
    settings: dict[str, Any] = {"max_tokens": 8_000, **options}
    app = create_app(store or InMemoryStore(), lambda: model, **settings)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost/api", timeout=60
    ) as browser:
        name = name or (await browser.post("/sessions")).json()["sessionId"]
        try:
            yield Front(browser, model, app, name)
        finally:
            await app.state.chats.close()


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, a minute at most."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.001)
