"""How answers end: told alike, and still right after a reload and a killed server."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest

from polycontext.models.endings import UnfinishedError
from polycontext.nodes.endings import EndingKind
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.server.access import LOCAL
from polycontext.server.app import create_app
from polycontext.server.chat import DELTA
from polycontext.server.feed import PROPS
from polycontext.testing import FAST
from polycontext.testing.strict import StrictChat, StrictServer

PLACE = re.compile(r"serving (http://\S+)/")


class LimitedError(Exception):
    """A provider's refusal to answer now."""

    status_code = 429
    response = SimpleNamespace(headers={"retry-after": "20"})


class Ends:
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

    async def aclose(self) -> None:
        """Let go of nothing."""


async def ended(app: Any, name: str) -> dict[str, Any]:
    """Return the ending of a chat, once there is one."""
    chat = await app.state.chats.get(LOCAL, name)
    async with asyncio.timeout(60), aclosing(chat.feed.listen()) as told:
        async for event in told:
            if event.kind == PROPS and (found := orjson.loads(event.data)["ending"]):
                return dict(found)
    raise AssertionError("the chat was closed")


@pytest.mark.parametrize("how", [kind.value for kind in EndingKind if kind != "died"])
def test_every_ending_is_told_and_kept(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Props, AG-UI and the props of a server that starts later tell the same.

    The log needs no traceback of a service that cannot be reached.
    """
    store = InMemoryStore()

    async def talk() -> None:
        options: dict[str, Any] = {"timeout": 0.05 if how == "timed_out" else 60, "counter": FAST}
        app = create_app(store, lambda: Ends(how), max_tokens=900, **options)
        url = "http://localhost/api/sessions"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as one:
            name = (await one.post(url)).json()["sessionId"]
            said = {"id": "m", "role": "user", "content": "What is on the shelves?"}
            run = {"threadId": name, "runId": "r", "messages": [said], "state": {}, "tools": []}
            more: dict[str, Any] = {"context": [], "forwardedProps": {}}
            asked = asyncio.create_task(one.post(f"{url}/{name}/agui", json={**run, **more}))
            if how == "stopped":
                chat = await app.state.chats.get(LOCAL, name)
                async with asyncio.timeout(60), aclosing(chat.feed.listen()) as heard:
                    async for event in heard:
                        if event.kind == DELTA:
                            break
                await one.post(f"{url}/{name}/cancel")
            told = (await asked).text
            ending = await ended(app, name)
            assert ending["kind"] == how
            assert f'"ending":{{"kind":"{how}"' in told
            assert ("RUN_ERROR" in told) is (how in {"too_long", "failed", "timed_out", "cut_off"})
            assert bool(ending["text"]) is (how != "done")
            assert "secret" not in str(ending)
            assert (ending["retryAt"] is None) is (how != "failed")
            assert ("no answer" in caplog.text) is ("RUN_ERROR" in told)
            assert how != "cut_off" or "Traceback" not in caplog.text
            assert ("20 seconds" in ending["text"]) is (how == "failed")
            await app.state.chats.close()
        later = create_app(store, lambda: Ends(how), max_tokens=900, counter=FAST)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(later)) as one:
            props = (await one.get(f"{url}/{name}")).json()["contextProps"]
            assert props["ending"] == ending
            shown = [message["id"] for message in props["messages"]]
            assert props["ending"]["messageId"] == shown[-1]
            again = await one.post(f"{url}/{name}/messages", json={"content": "And now?"})
            assert again.json()["contextProps"]["ending"] is None
            await later.state.chats.close()

    asyncio.run(talk())


def test_a_message_over_the_budget_is_refused_with_its_tokens() -> None:
    """Nothing is stored of it, and the next one is taken."""

    async def talk() -> None:
        app = create_app(InMemoryStore(), lambda: Ends("done"), max_tokens=900, counter=FAST)
        url = "http://localhost/api/sessions"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as one:
            name = (await one.post(url)).json()["sessionId"]
            for method, path in (("POST", "messages"), ("PUT", "messages/t1")):
                long = {"content": "plums and pears " * 600}
                refused = await one.request(method, f"{url}/{name}/{path}", json=long)
                assert refused.status_code == 422
                assert refused.json()["tokens"] > refused.json()["most"] == 900
                sent = await one.post(f"{url}/{name}/messages", json={"content": "plums"})
                assert sent.status_code == 200
                await ended(app, name)
            await app.state.chats.close()

    asyncio.run(talk())


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


@pytest.mark.gate
def test_an_answer_that_a_killed_server_was_writing_says_so(tmp_path: Path) -> None:
    """It is not taken for one that is still written, and can be asked for again."""
    over = threading.Event()

    class Halting(StrictChat):
        """Stop in the middle."""

        def stream(self, request: Any, **options: Any) -> Any:
            """Yield some events."""
            for number, event in enumerate(super().stream(request, **options)):
                if number == 6:
                    assert over.wait(120)
                yield event

    strict = StrictServer((Halting(lambda _: "Plums and pears. " * 20),))
    with strict as model, httpx.Client(timeout=None) as browser:  # noqa: S113 - load is no failure
        with process(tmp_path / "chats.db", model.url) as (running, url):
            name = browser.post(url).json()["sessionId"]
            browser.post(f"{url}/{name}/messages", json={"content": "What is on the shelves?"})
            with browser.stream("GET", f"{url}/{name}/events") as told:
                next(text for text in told.iter_text() if "delta" in text)
                running.kill()
                running.wait(60)
        over.set()
        with process(tmp_path / "chats.db", model.url) as (_, url):
            props = browser.get(f"{url}/{name}").json()["contextProps"]
            assert (props["answering"], props["ending"]["kind"]) == (False, "died")
            assert props["ending"]["messageId"] == props["messages"][-1]["id"]
            browser.post(f"{url}/{name}/regenerate")
            with browser.stream("GET", f"{url}/{name}/events") as told:
                next(text for text in told.iter_text() if '"kind":"done"' in text)
