"""Serve chats by several uvicorn workers over one SQLite file, and kill one worker after the other.

Each client sends a message, waits for its answer, and watches the events of its chat. What is
looked for are turns that were acknowledged and are lost, doubled or out of order.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import httpx
import orjson
from attrs import define, field

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SQLiteStore
from polycontext.server.access import Access
from polycontext.server.app import create_app

STORE = "POLYCONTEXT_TEST_STORE"
PATIENCE = 60.0
"""Seconds after which a client that cannot go on gives up."""


class Echo:
    """Say back what was said, in two pieces."""

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield them."""
        yield "You said "
        await asyncio.sleep(0.01)
        yield str(session.messages("openai")[-1]["content"])

    async def aclose(self) -> None:
        """Let go of nothing."""


def app() -> Any:
    """Return the application of one worker, whose number is written beside the store."""
    place = Path(os.environ[STORE])
    made = create_app(
        SQLiteStore(place, timeout=20), Echo, Access(a_minute=1_000_000), max_tokens=4_000
    )
    inner = made.router.lifespan_context

    @asynccontextmanager
    async def lifespan(application: Any) -> AsyncGenerator[None]:
        async with inner(application):
            place.with_name(f"worker-{os.getpid()}").touch()
            yield

    made.router.lifespan_context = lifespan
    return made


@contextmanager
def serving(store: Path, workers: int) -> Generator[str]:
    """Serve in processes of their own, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--factory", "tests.server_workers:app"]
    options = ["--port", str(port), "--workers", str(workers), "--log-level", "critical"]
    environment = {**os.environ, STORE: str(store)}
    root = Path(__file__).parents[1]
    with subprocess.Popen([*command, *options], env=environment, cwd=root) as process:
        try:
            yield f"http://127.0.0.1:{port}/api/sessions"
        finally:
            process.terminate()


def workers_of(store: Path) -> list[Path]:
    """Return the files of the workers that run."""
    return sorted(store.parent.glob("worker-*"))


@define
class Client:
    """What a client has said, and how long it did not see the answer."""

    number: int
    chat: str = ""
    said: list[str] = field(factory=list)
    seen: set[str] = field(factory=set)
    unseen: float = 0.0
    again: int = 0
    refused: list[int] = field(factory=list)


async def talk(client: Client, url: str, until: float, pause: float) -> None:
    """Say something, wait for the answer and for its events, and begin again."""
    async with httpx.AsyncClient(timeout=httpx.Timeout(3.0), trust_env=False) as http:
        reply = await ask(client, http, "POST", url)
        client.chat = reply["sessionId"]
        here = f"{url}/{client.chat}"
        watching = asyncio.create_task(watch(client, f"{here}/events"))
        while monotonic() < until:
            words = f"<{client.number}.{len(client.said)}>"
            await ask(client, http, "POST", f"{here}/messages", words)
            client.said.append(words)
            begun = monotonic()
            while f"You said {words}" not in client.seen and monotonic() - begun < PATIENCE:
                await asyncio.sleep(0.02)
                if monotonic() - begun > 1 + client.unseen:
                    # The worker that answered may be gone.
                    props = (await ask(client, http, "GET", here))["contextProps"]
                    if props["messages"][-1]["role"] == "user":
                        client.again += 1
                        await ask(client, http, "POST", f"{here}/regenerate")
                    await asyncio.sleep(0.3)
            client.unseen = max(client.unseen, monotonic() - begun)
            await asyncio.sleep(pause)
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def ask(
    client: Client, http: httpx.AsyncClient, method: str, url: str, words: str = ""
) -> dict[str, Any]:
    """Send a request until it is answered; a message has a key."""
    begun = monotonic()
    while True:
        if monotonic() - begun > PATIENCE:
            raise TimeoutError(f"client {client.number}: {method} {url} for {PATIENCE} seconds")
        try:
            reply = await http.request(
                method,
                url,
                json={"content": words} if words else None,
                headers={"Idempotency-Key": words} if words else {},
            )
        except httpx.TransportError:
            await asyncio.sleep(0.02)
            continue
        if reply.is_success:
            return dict(reply.json())
        if reply.status_code != 409:
            client.refused.append(reply.status_code)
        await asyncio.sleep(0.02)


async def watch(client: Client, url: str) -> None:
    """Follow the events of a chat, and connect again whenever the connection is lost."""
    async with httpx.AsyncClient(timeout=httpx.Timeout(5.0, read=20), trust_env=False) as http:
        while True:
            with suppress(httpx.TransportError):
                async with http.stream("GET", url) as events:
                    async for line in events.aiter_lines():
                        if line.startswith('data: {"messages"') or '"messages":' in line:
                            props = orjson.loads(line.removeprefix("data: "))
                            client.seen.update(each["content"] for each in props["messages"])
            await asyncio.sleep(0.02)


async def kill(store: Path, until: float, every: float, random: Random) -> int:
    """Kill a worker from time to time, beside another one, and return how many were killed."""
    killed = 0
    while monotonic() + every < until:
        await asyncio.sleep(every)
        while len(running := workers_of(store)) < 2:  # noqa: ASYNC110 - as below
            await asyncio.sleep(0.05)
        worker = random.choice(running)
        worker.unlink()
        os.kill(int(worker.name.removeprefix("worker-")), signal.SIGKILL)
        killed += 1
    return killed


async def run(
    store: Path, *, seconds: float, clients: int, workers: int, every: float, pause: float
) -> tuple[list[Client], int]:
    """Let clients talk for some seconds, and return them and the number of killed workers."""
    with serving(store, workers) as url:
        while len(workers_of(store)) < workers:  # noqa: ASYNC110 - they are other processes
            await asyncio.sleep(0.05)
        until, all_clients = monotonic() + seconds, [Client(number) for number in range(clients)]
        killing = asyncio.create_task(kill(store, until, every, Random(seconds)))  # noqa: S311
        await asyncio.gather(*(talk(each, url, until, pause) for each in all_clients))
        return all_clients, await killing


def judge(store: Path, clients: list[Client]) -> tuple[int, int, int]:
    """Return how many acknowledged turns are lost, doubled, or out of order."""
    lost = doubled = disordered = 0
    keys = {key.partition(".")[2]: key for key in ContextSession.history.list_sessions(store)}
    for client in clients:
        with ContextSession.open(store, keys[client.chat], max_tokens=4_000) as session:
            said = [turn.text for turn in session.log() if turn.text.startswith("<")]
        lost += len(set(client.said) - set(said))
        doubled += len(said) - len(set(said))
        disordered += [text for text in said if text in client.said] != client.said
    return lost, doubled, disordered
