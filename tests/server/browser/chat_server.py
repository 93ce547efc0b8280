"""A chat server in a process of its own, with scripted answers, for tests of the page.

Usage: python -m tests.server.browser.chat_server STORE PORT [--max-tokens N] [--by-hand] [--system
TEXT] [--token TOKEN]
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import uvicorn

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.locations import store_at
from polycontext.pressure import AdaptiveThreshold
from polycontext.server.access import Access
from polycontext.server.app import create_app
from tests.house import ROOT, free_port

SHOWN = """The cellar has **three shelves**.

| shelf | holds |
|---|---|
| top | plums |
| lowest | cider, 12 bottles |

```python
def bottles(shelves):
    return sum(len(shelf) for shelf in shelves)
```

- Nothing is missing.
- The [list](https://example.org/list) is up to date.
"""
AT_LENGTH = "and then another shelf, with another bottle, " * 22
HOSTILE = (
    'A <b id="bold">bold</b> word <img src="https://example.org/x.png"><script>window.hurt = '
    "1</script> ![a plum](https://example.org/plum.png) [click](javascript:window.hurt=2)"
)
STARTS_IN: Final = 30
"""Seconds at most."""


class WrittenAnswering:
    """Scripted answers: endless for `for ever`, an error for `badly`, and otherwise an echo."""

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the answer, word by word."""
        asked = str(session.messages("openai")[-1]["content"])
        if "badly" in asked:
            raise ConnectionError("no model at sk-secret")
        while "for ever" in asked:
            yield "plum "
            await asyncio.sleep(0.02)
        written = {"cellar": SHOWN, "hostile": HOSTILE, "at length": AT_LENGTH}
        said = next(
            (text for word, text in written.items() if word in asked),
            f"So you say: {' '.join(asked.split()[:12])}",
        )
        for word in said.split(" "):
            yield f"{word} "
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Let go of nothing."""


class Served:
    """Hold a server that runs: where it is, and how to end it."""

    def __init__(self, store: Path, *options: str, port: int | None = None) -> None:
        self.store, self.options = store, options
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-m",
            "tests.server.browser.chat_server",
            str(self.store),
            str(self.port),
            *self.options,
        ]
        process = subprocess.Popen(command, cwd=ROOT)
        for _ in range(STARTS_IN * 20):
            try:
                httpx.get(self.url, timeout=5)
            except httpx.TransportError:
                assert process.poll() is None, "the server ended by itself"
                # A child that ends wakes this; until it does, it is asked 20 times a second.
                _waited(process, 0.05)
            else:
                return process
        raise TimeoutError(f"no server at {self.url} within {STARTS_IN} s")

    def kill(self) -> None:
        """End it as a crash does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def restart(self) -> None:
        """Start it anew where it was, on its store."""
        self.process = self._started()

    def stop(self) -> None:
        """End it in good order."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)


def _waited(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


@contextmanager
def served(store: Path, *options: str) -> Generator[Served]:
    """Run a server while a block runs."""
    server = Served(store, *options)
    try:
        yield server
    finally:
        server.stop()


def main() -> None:
    """Serve until the process is told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("port", type=int)
    parser.add_argument("--max-tokens", type=int, default=8000)
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--system")
    parser.add_argument("--token", action="append", default=[])
    said = parser.parse_args()
    with closing(store_at(said.store)) as store:
        access = Access(tuple(said.token), a_minute=100_000)
        # The marks of the machine alone: a window is pressured long before a message no longer
        # fits.
        options: dict[str, Any] = {
            "max_tokens": said.max_tokens,
            "system": said.system,
            "auto": not said.by_hand,
            "threshold": AdaptiveThreshold(),
        }
        app = create_app(store, WrittenAnswering, access, **options)
        uvicorn.run(
            app, host="127.0.0.1", port=said.port, log_level="critical", timeout_graceful_shutdown=2
        )


if __name__ == "__main__":
    main()
