"""How answers end: told alike, and still right after a reload and a killed server."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from polycontext.models.answers import ScriptedAnswering
from polycontext.models.endings import UnfinishedError
from polycontext.nodes.endings import EndingKind
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.testing import FAST
from polycontext.testing.strict import StrictServer
from tests.cli.slow_endpoint import LONG, Halting
from tests.server.front import chatting, until

PLACE = re.compile(r"serving (http://\S+)/")


class LimitedError(Exception):
    """A provider's refusal to answer now."""

    status_code = 429
    response = SimpleNamespace(headers={"retry-after": "20"})


class Ends(ScriptedAnswering):
    """Answer, and end in one way."""

    def __init__(self, how: str) -> None:
        self.how = how

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield what there is before the end."""
        match self.how:
            case "empty":
                yield " "
            case "too_long":
                raise ContextOverflowError(9, 5)
            case "failed":
                raise LimitedError
            case "timed_out":
                await asyncio.Event().wait()
            case _:
                yield "plums"
        match self.how:
            case "stopped":
                await asyncio.Event().wait()
            case "cut_off":
                raise ConnectionError("https://secret.example")
            case "refused":
                raise UnfinishedError(EndingKind.REFUSED)
            case _:
                pass


@pytest.mark.anyio
@pytest.mark.parametrize("how", [kind.value for kind in EndingKind if kind != "died"])
async def test_every_ending_is_told_and_kept(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Props, AG-UI and the props of a server that starts later tell the same.

    The log needs no traceback of a service that cannot be reached.
    """
    store = InMemoryStore()
    options: dict[str, Any] = {"model": Ends(how), "max_tokens": 900, "counter": FAST}
    timeout = 0.05 if how == "timed_out" else 60
    async with chatting(store, timeout=timeout, **options) as front:
        said = {"id": "m", "role": "user", "content": "What is on the shelves?"}
        run = {"threadId": front.name, "runId": "r", "messages": [said], "state": {}, "tools": []}
        body = {**run, "context": [], "forwardedProps": {}}
        asked = asyncio.create_task(front.ask("POST", "/agui", json=body))
        if how == "stopped":
            chat = await front.chat()
            await until(lambda: chat.session.output.answering)
            await front.ask("POST", "/cancel")
        told = (await asked).text
        await front.answered()
        ending = (await front.get())["contextProps"]["ending"]
        assert ending["kind"] == how
        assert f'"ending":{{"kind":"{how}"' in told
        assert ("RUN_ERROR" in told) is (how in {"too_long", "failed", "timed_out", "cut_off"})
        assert bool(ending["text"]) is (how != "done")
        assert "secret" not in str(ending)
        assert (ending["retryAt"] is None) is (how != "failed")
        assert ("no answer" in caplog.text) is ("RUN_ERROR" in told)
        assert how != "cut_off" or "Traceback" not in caplog.text
        assert ("20 seconds" in ending["text"]) is (how == "failed")
    async with chatting(store, front.name, **options) as front:
        props = (await front.get())["contextProps"]
        assert props["ending"] == ending
        assert ending["messageId"] == props["messages"][-1]["id"]
        again = await front.say("And now?")
        assert again.json()["contextProps"]["ending"] is None


@contextmanager
def process(store: Path, model: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Run the command in a process of its own, and return it with its URL."""
    command = [sys.executable, "-m", "polycontext", "serve", "--port", "0", "--store", str(store)]
    command += ["--base-url", f"{model}/v1", "--model", "gpt-5"]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stderr is not None
            found = PLACE.search(running.stderr.readline())
            assert found
            yield running, f"{found[1]}/api/sessions"
        finally:
            running.kill()


@pytest.mark.parametrize(
    "sign", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.gate)]
)
def test_an_answer_that_a_server_was_writing_when_it_ended(
    tmp_path: Path, sign: signal.Signals
) -> None:
    """SIGTERM ends the event streams at once, and the partial answer is stored.

    An answer that a killed server was writing is not taken for one that is still written.
    """
    path, halting = tmp_path / "chats.db", Halting(LONG, LONG)
    with StrictServer((halting,)) as model, httpx.Client(timeout=None) as browser:  # noqa: S113
        with process(path, model.url) as (running, url):
            name = browser.post(url).json()["sessionId"]
            browser.post(f"{url}/{name}/messages", json={"content": "What is on the shelves?"})
            with (
                browser.stream("GET", f"{url}/{name}/events") as told,
                suppress(httpx.ReadError, httpx.RemoteProtocolError),
            ):
                heard = ""
                for text in told.iter_text():
                    if "delta" in text and "delta" not in heard:
                        running.send_signal(sign)
                    heard += text
            assert running.wait(60) in {0, -sign}
            # Nobody had to be cut off.
            assert running.stderr is not None
            assert running.stderr.read() == ""
        halting.over.set()
        if sign is signal.SIGTERM:
            # It was closed: what was written stands in the file itself.
            assert not path.with_name(f"{path.name}-wal").exists()
            [key] = ContextSession.history.list_sessions(path)
            with ContextSession.open(path, key) as session:
                asked, answer = (turn.text for turn in session.log())
            assert asked == "What is on the shelves?"
            assert answer != LONG
            assert LONG.startswith(answer)
            return
        with process(path, model.url) as (_, url):
            props = browser.get(f"{url}/{name}").json()["contextProps"]
            assert (props["answering"], props["ending"]["kind"]) == (False, "died")
            assert props["ending"]["messageId"] == props["messages"][-1]["id"]
            browser.post(f"{url}/{name}/regenerate")
            with browser.stream("GET", f"{url}/{name}/events") as told:
                next(text for text in told.iter_text() if '"kind":"done"' in text)
