# ruff: noqa: T201 - a table is what it is for
"""Load a chat server in a process of its own with many listeners.

Print the events they received, the delays, and the server's memory.

Usage: python -m tests.server_load [--seconds N] [--clients N] [--sessions N] [--store
memory|sqlite|both] [--turns N] [--stopped N]
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from attrs import define, field

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.locations import store_at
from polycontext.server.access import Access
from polycontext.server.app import create_app

TURNS = {"memory": 5.0, "sqlite": 1.0}
"""Of each chat in a second: what a user says, with its answer."""

EVENTS = 3
"""Of a turn: how all stands, the words of the answer, how all stands then."""

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_PATIENCE = 60
"""Seconds that the last events may take."""


class Echo:
    """Say back what was said, in one piece."""

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield it."""
        yield str(session.messages("openai")[-1]["content"])

    async def aclose(self) -> None:
        """Let go of nothing."""


def serve(store: str) -> None:
    """Serve chats on a free loopback port, which is printed, until the process ends."""
    import uvicorn  # noqa: PLC0415 - the listeners need none

    with (
        closing(InMemoryStore() if store == "memory" else store_at(store)) as kept,
        socket.create_server(("127.0.0.1", 0), backlog=2048) as place,
    ):
        print(place.getsockname()[1], flush=True)
        # All of the load comes from one address.
        app = create_app(kept, Echo, Access(a_minute=1_000_000), max_tokens=2000)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=3)
        uvicorn.Server(config).run(sockets=[place])


@contextmanager
def serving(store: str) -> Generator[tuple[int, int]]:
    """Serve in a process of its own, and return its port and its process id."""
    command = [sys.executable, "-m", "tests.server_load", "--serve", store]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


@define(eq=False)
class Listener(asyncio.Protocol):
    """A listener of one chat's events that records their numbers and delays, or stops reading."""

    request: bytes
    stopped: bool = False
    numbers: list[int] = field(factory=list)
    delays: list[float] = field(factory=list)
    ended: bool = False
    _rest: bytes = b""
    _transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Ask for the events."""
        self._transport = transport
        # Some versions of asyncio begin to read after this call, whatever it paused.
        asyncio.get_running_loop().call_soon(self._ask)

    def _ask(self) -> None:
        if self.stopped:
            self._transport.pause_reading()
        self._transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Note each event that is whole."""
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        now = time.perf_counter()
        for block in blocks:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
            if b"id" in fields:
                self.numbers.append(int(fields[b"id"].rpartition(b"-")[2]))
            if fields.get(b"event") == b"delta":
                self.delays.append(now - float(orjson.loads(fields[b"data"])["text"].split()[1]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it is over."""
        self.ended = True

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    @property
    def missed(self) -> int:
        """Return the number of events missed or out of order between the first and the last."""
        return sum(
            later != before + 1
            for before, later in zip(self.numbers, self.numbers[1:], strict=False)
        )


@define(eq=False)
class Talk:
    """Hold one chat, whoever speaks in it, and whoever listens."""

    number: int
    name: str = ""
    turns: int = 0
    refused: int = 0
    listeners: list[Listener] = field(factory=list)
    stopped: list[Listener] = field(factory=list)

    @property
    def token(self) -> str:
        """Return the token of its user: each has one of its own."""
        return f"user-{self.number}"

    async def listen(self, port: int, clients: int, stopped: int) -> None:
        """Have all of its listeners hear of how it stands."""
        head = (
            f"GET /api/sessions/{self.name}/events HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {self.token}\r\n\r\n"
        )
        self.listeners = [await _connected(Listener(head.encode()), port) for _ in range(clients)]
        self.stopped = [
            await _connected(Listener(head.encode(), stopped=True), port) for _ in range(stopped)
        ]
        await _until(lambda: all(each.numbers for each in self.listeners))

    async def speak(self, port: int, due: float, until: float, a_second: float) -> None:
        """Send messages at a fixed rate from `due` on, each after the previous answer."""
        line = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        while due < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            said = f"{self.turns} {time.perf_counter()} " + "plums and pears " * 5
            code, _ = await _posted(
                line, f"/api/sessions/{self.name}/messages", self.token, {"content": said}
            )
            if code == 200:
                self.turns += 1
                due += 1 / a_second
            else:
                assert code == 409, code
                self.refused += 1
                await asyncio.sleep(0.005)
        line[1].close()

    @property
    def has_all(self) -> bool:
        """Tell whether everybody has heard the last event."""
        return all(
            each.numbers[-1] - each.numbers[0] >= EVENTS * self.turns for each in self.listeners
        )


async def _connected(listener: Listener, port: int) -> Listener:
    place = socket.create_connection(("127.0.0.1", port), 10)
    if listener.stopped:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    place.setblocking(False)
    await asyncio.get_running_loop().create_connection(lambda: listener, sock=place)
    return listener


async def _posted(line: Line, path: str, token: str, body: Any) -> tuple[int, Any]:
    (reader, writer), data = line, orjson.dumps(body)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
    )
    writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    size = next(
        int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:")
    )
    return int(status.split()[1]), orjson.loads(await reader.readexactly(size))


async def _until(holds: Any) -> bool:
    """Wait until something holds, not for ever; tell whether it does."""
    last = time.perf_counter() + _PATIENCE
    while not holds() and time.perf_counter() < last:  # noqa: ASYNC110 - no event
        await asyncio.sleep(0.05)
    return bool(holds())


def resident(process: int) -> float:
    """Return the megabytes that a process has in memory, 0 where the system does not tell."""
    with suppress(OSError):
        return (
            int(Path(f"/proc/{process}/statm").read_text().split()[1])
            * os.sysconf("SC_PAGE_SIZE")
            / 1e6
        )
    return 0.0


@define
class Load:
    """Hold what became of one run."""

    talks: list[Talk]
    memory: list[float]

    @property
    def listeners(self) -> list[Listener]:
        """Return whoever reads."""
        return [listener for talk in self.talks for listener in talk.listeners]

    @property
    def expected(self) -> int:
        """Return the number of expected events, without each listener's first."""
        return sum(EVENTS * talk.turns * len(talk.listeners) for talk in self.talks)

    @property
    def received(self) -> int:
        """Return how many were, each number once."""
        return sum(len({*listener.numbers}) - 1 for listener in self.listeners)

    @property
    def missed(self) -> int:
        """Return how many were not, or came out of order."""
        return max(
            self.expected - self.received, sum(listener.missed for listener in self.listeners)
        )

    def delay(self, share: float, *, beside_stopped: bool | None = None) -> float:
        """Return the quantile `share` of the milliseconds from a message to its answer's words."""
        chosen = [talk for talk in self.talks if beside_stopped in (None, bool(talk.stopped))]
        delays = sorted(
            delay for talk in chosen for listener in talk.listeners for delay in listener.delays
        )
        return 1000 * delays[min(len(delays) - 1, int(share * len(delays)))] if delays else 0.0


async def run(
    port: int,
    process: int,
    *,
    seconds: float,
    clients: int,
    sessions: int,
    a_second: float,
    stopped: int,
) -> Load:
    """Run the chats for a while, with reading and stopped listeners."""
    talks = [Talk(number) for number in range(sessions)]
    line = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    for talk in talks:
        code, made = await _posted(line, "/api/sessions", talk.token, None)
        assert code == 201, made
        talk.name = made["sessionId"]
        # What is loaded for the first turn alone is no growth.
        code, _ = await _posted(
            line, f"/api/sessions/{talk.name}/messages", talk.token, {"content": "0 0"}
        )
        assert code == 200
    line[1].close()
    await asyncio.gather(
        *(
            talk.listen(port, clients // sessions + (n < clients % sessions), int(n < stopped))
            for n, talk in enumerate(talks)
        )
    )
    load = Load(talks, [resident(process)])
    began = time.perf_counter()
    speaking = asyncio.gather(
        *(
            talk.speak(port, began + n / sessions / a_second, began + seconds, a_second)
            for n, talk in enumerate(talks)
        )
    )
    await asyncio.sleep(seconds / 2)
    load.memory.append(resident(process))
    await speaking
    await _until(lambda: all(talk.has_all for talk in talks))
    load.memory.append(resident(process))
    for talk in talks:
        for listener in (*talk.listeners, *talk.stopped):
            listener.close()
    return load


def report(store: str, load: Load, a_second: float, seconds: float) -> None:
    """Print one run."""
    asked, said = int(len(load.talks) * a_second * seconds), sum(talk.turns for talk in load.talks)
    print(
        f"{store}: {len(load.listeners)} listeners, "
        f"{sum(len(talk.stopped) for talk in load.talks)} stopped ones, {len(load.talks)} chats, "
        f"{seconds:g} s"
    )
    rows = {
        "turns asked for / said": f"{asked} / {said}",
        "events expected / received / missed": f"{load.expected} / {load.received} / {load.missed}",
        "delay median / p99 / max": (
            f"{load.delay(0.5):.0f} / {load.delay(0.99):.0f} / {load.delay(1):.0f} ms"
        ),
        "p99 beside a stopped listener / elsewhere": (
            f"{load.delay(0.99, beside_stopped=True):.0f} / "
            f"{load.delay(0.99, beside_stopped=False):.0f} ms"
        ),
        "server's memory at start / middle / end": " / ".join(f"{each:.0f}" for each in load.memory)
        + " MB",
        "load average": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    }
    for name, value in rows.items():
        print(f"  {name:<42} {value}")


def main() -> int:
    """Print the table; return 1 where an event was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--stopped", type=int, default=5)
    parser.add_argument("--turns", type=float, default=None)
    parser.add_argument("--store", choices=["memory", "sqlite", "both"], default="both")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    missed = 0
    for store in ("memory", "sqlite") if options.store == "both" else (options.store,):
        a_second = options.turns or TURNS[store]
        with (
            TemporaryDirectory() as folder,
            serving("memory" if store == "memory" else str(Path(folder) / "chats.db")) as (
                port,
                process,
            ),
        ):
            sizes = {
                "seconds": options.seconds,
                "clients": options.clients,
                "sessions": options.sessions,
                "stopped": options.stopped,
            }
            load = asyncio.run(run(port, process, a_second=a_second, **sizes))
        report(store, load, a_second, options.seconds)
        missed += load.missed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
