"""Chats over HTTP: a real server on loopback, a client that reads its events."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import uvicorn

from polycontext.base import CallerError
from polycontext.models.answers import ScriptedAnswering
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.pressure import FixedThreshold
from polycontext.server.access import Access
from polycontext.server.app import create_app
from tests.server.front import chatting, contents

pytestmark = pytest.mark.anyio

Data = dict[str, Any]

ANN, BEN = "ann's-secret-token", "ben's-secret-token"


class Echo(ScriptedAnswering):
    """Answer with what was said last, word by word; or wait for ever."""

    waits = False

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the words."""
        for word in str(session.messages("openai")[-1]["content"]).split():
            if self.waits:
                await asyncio.Event().wait()
            yield f"{word}-"


@contextmanager
def serving(store: SessionStore, access: Access | None = None, **options: Any) -> Generator[str]:
    """Serve on a free port of loopback, and return the URL."""
    app = create_app(store, Echo, access, **options)
    server = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=3
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/api"
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive(), "the server did not stop"


async def events(
    one: httpx.AsyncClient, name: str, after: str | None = None
) -> AsyncGenerator[tuple[str, str, Data]]:
    """Yield id, kind and data of what a chat tells."""
    headers = {"Last-Event-ID": after} if after else {}
    async with one.stream("GET", f"/sessions/{name}/events", headers=headers) as response:
        assert response.status_code == 200
        found: dict[str, str] = {}
        async for line in response.aiter_lines():
            field, _, value = line.partition(": ")
            if line:
                found[field] = value
            elif "data" in found:
                yield found.get("id", ""), found["event"], orjson.loads(found["data"])
                found = {}


async def until(
    told: AsyncIterator[tuple[str, str, Data]], text: str
) -> list[tuple[str, str, Data]]:
    """Return what is told up to the props in which somebody says `text`."""
    seen = []
    async with asyncio.timeout(60):  # an answer that never comes must fail, not wait
        async for event in told:
            seen.append(event)
            if event[1] == "props" and any(
                message["content"] == text for message in event[2]["messages"]
            ):
                return seen
    raise AssertionError(f"it ended before {text!r}: {seen}")


def client(url: str) -> httpx.AsyncClient:
    """Return a client of one user."""
    return httpx.AsyncClient(base_url=url, timeout=60)


async def test_a_message_is_answered_and_everybody_hears_of_it(tmp_path: Path) -> None:
    """Word by word, in two windows of one user; who was away is told what came since.

    After a restart of the server, how all stands.
    """
    store = SQLiteStore(tmp_path / "chats.db")
    with serving(store) as url:
        async with client(url) as one:
            name = (await one.post("/sessions")).json()["sessionId"]
            two = [events(one, name) for _ in range(2)]
            firsts = [await anext(told) for told in two]
            assert [kind for _, kind, _ in firsts] == ["props", "props"]
            body = {"content": "plums and pears"}
            sent = await one.post(f"/sessions/{name}/messages", json=body)
            assert contents(sent.json()["contextProps"]) == ["plums and pears"]
            for told in two:
                seen = await until(told, "plums-and-pears-")
                words = [data["text"] for _, kind, data in seen if kind == "delta"]
                assert words == ["plums-", "and-", "pears-"]
            await one.post(f"/sessions/{name}/messages", json={"content": "two"})
            await until(two[0], "two-")
            last = firsts[0][0]
            kinds = [kind for _, kind, _ in await until(events(one, name, last), "two-")]
            assert kinds == ["props", *["delta"] * 3, "props", "props", "delta", "props"]
            assert (await one.get("/sessions")).json()["sessions"] == [name]
    with serving(store) as url:
        async with client(url) as one:
            _, kind, props = await anext(events(one, name, last))
            shown = ["plums and pears", "plums-and-pears-", "two", "two-"]
            assert (kind, contents(props)) == ("props", shown)
    store.close()


async def test_one_answer_at_a_time_and_it_can_be_ended() -> None:
    """A second action during an answer is rejected, and a cancelled answer keeps its words."""
    echo = Echo()
    async with chatting(model=echo) as front:
        echo.waits = True
        await front.say("one two")
        for act in ("messages", "compress", "regenerate"):
            busy = await front.ask("POST", f"/{act}", json={"content": "three"})
            assert (busy.status_code, "cancel it" in busy.json()["detail"]) == (409, True)
        ended = await front.ask("POST", "/cancel")
        assert contents(ended.json()["contextProps"]) == ["one two"]
        echo.waits = False
        assert (await front.ask("POST", "/regenerate")).status_code == 200
        await front.answered()
        assert await front.shown() == ["one two", "one-two-"]


async def test_two_users_do_not_see_each_other() -> None:
    """Each has chats of its own; another's is not there."""
    app = create_app(InMemoryStore(), Echo, Access((ANN, BEN)))
    transport = httpx.ASGITransport(app)

    async def code(token: str, path: str = "", method: str = "GET") -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        at = "http://localhost/api/sessions"
        async with httpx.AsyncClient(transport=transport, headers=headers) as one:
            return (await one.request(method, at + path)).status_code

    name, chat = await app.state.chats.create(ANN)
    assert chat.props()["messages"] == []
    for path in ("", "/history", "/completions"):
        assert await code(BEN, f"/{name}{path}") == 404
        assert await code(ANN, f"/{name}{path}") == 200
    assert await code(BEN, f"/{name}/fork", "POST") == await code(BEN, f"/{name}", "DELETE") == 404
    assert await code("eve") == await code("") == 401
    assert await app.state.chats.names(BEN) == ()
    await app.state.chats.close()


async def test_pages_elsewhere_and_too_many_requests_are_refused() -> None:
    """By the name that the server is asked under, by origin, by number."""
    access = Access(origins=("http://friend.example",), a_minute=10)
    async with chatting(access=access) as front:

        async def asked(**headers: str) -> httpx.Response:
            return await front.browser.get("/sessions", headers=headers)

        assert (await asked(Host="evil.example")).status_code == 400
        assert (await asked(Origin="http://evil.example")).status_code == 403
        friend = await asked(Origin="http://friend.example")
        allowed = friend.headers["access-control-allow-origin"]
        assert (friend.status_code, allowed) == (200, "http://friend.example")
        assert (await front.say("x" * 2_000_000)).status_code == 413
        codes = [(await asked()).status_code for _ in range(12)]
        assert (codes[0], codes[-1]) == (200, 429)


async def test_a_page_does_with_a_chat_what_a_session_can() -> None:
    """Compress, clear, pin, recall, edit, rewind, fork, look back, delete."""
    async with chatting(model=Echo(), max_tokens=800) as front:

        async def done(method: str, path: str, code: int = 200, **body: Any) -> list[str]:
            answer = await front.ask(method, path, json=body)
            assert answer.status_code == code, answer.text
            return contents(answer.json()["contextProps"])

        for number in range(12):
            await front.say(f"shelf {number}: " + "plums " * 30)
            await front.answered()
        props = (await front.get())["contextProps"]
        assert "summary" in {message["role"] for message in props["messages"]}
        page = await front.get("/history", limit=10)
        rest = await front.get("/history", before=page["before"])
        assert [len(page["messages"]), len(rest["messages"]), rest["before"]] == [10, 14, None]
        names = [content.split(":")[0] for content in contents(rest)]
        assert names[:2] == ["shelf 0", "shelf-0"]
        first = rest["messages"][0]["id"]
        for act in ("/compress", f"/messages/{first}/recall", f"/messages/{first}/pin"):
            await done("POST", act)
        forked = await done("POST", "/fork", 201, message_id=first)
        assert forked == [rest["messages"][0]["content"]]
        assert len(await done("POST", "/rewind", to=first)) == 1
        assert await done("PUT", f"/messages/{first}", content="which?") == ["which?"]
        await front.answered()
        assert await done("POST", "/clear") == []
        nowhere = await front.ask("POST", "/rewind", json={"to": "nowhere"})
        assert nowhere.status_code == 404
        assert (await front.ask("DELETE")).status_code == 204
        assert (await front.ask("GET")).status_code == 404
        assert len((await front.browser.get("/sessions")).json()["sessions"]) == 1


async def test_a_page_takes_a_compression_back() -> None:
    """The last one, or that of a receipt; what it does not understand changes nothing."""
    threshold = FixedThreshold(0.9, 0.1)
    async with chatting(model=Echo(), max_tokens=800, threshold=threshold) as front:
        for number in range(6):
            await front.say(f"shelf {number}: plums")
            await front.answered()
        whole = await front.shown()
        short = contents((await front.ask("POST", "/compress")).json()["contextProps"])
        assert len(short) < len(whole)
        [receipt] = (await front.get("/receipts"))["receipts"]
        assert receipt["after"]["tokens"] < receipt["before"]["tokens"]
        for act, wrong, code in (
            ("/undo", "receiptId", 422),
            ("/fork", "messageId", 422),
            ("/undo", "receipt_id", 404),
        ):
            refused = await front.ask("POST", act, json={wrong: "c9"})
            assert refused.status_code == code
        for body, wanted in (({}, whole), ({"receipt_id": receipt["id"]}, short), ({}, whole)):
            done = await front.ask("POST", "/undo", json=body)
            assert contents(done.json()["contextProps"]) == wanted


async def test_a_page_changes_the_rules_of_a_chat() -> None:
    """It lists what the user stated, adds a rule, and ends one."""
    async with chatting(model=Echo(), max_tokens=800) as front:
        await front.say("Never fly. Hi!")
        await front.answered()
        added = await front.ask("POST", "/rules", json={"content": "Be brief.", "scope": "today"})
        assert added.status_code == 200, added.text
        rules = (await front.get("/rules"))["rules"]
        assert [rule["text"] for rule in rules] == ["Never fly.", "today: Be brief."]
        assert set(rules[0]) == {"id", "text", "kind", "scope", "messageId"}
        first, second = (rule["id"] for rule in rules)
        assert (await front.ask("POST", f"/rules/{first}/revoke")).status_code == 200
        assert (await front.ask("DELETE", f"/rules/{second}")).status_code == 200
        assert await front.get("/rules") == {"rules": []}
        assert (await front.ask("DELETE", f"/rules/{second}")).status_code in {404, 422}
        assert (await front.ask("POST", "/rules", json={})).status_code == 422


@pytest.mark.parametrize(
    ("store", "options", "advice"),
    [
        (InMemoryStore(), {"tokens": [ANN]}, "access=Access((token,))"),
        (InMemoryStore(), {"modle": "gpt-5"}, "Did you mean 'model'?"),
        ("chats.db", {}, 'SQLiteStore("chats.db")'),
        (InMemoryStore(), {"answering": object()}, "a function that returns"),
    ],
)
def test_wrong_options_of_an_app_are_refused_when_it_is_created(
    store: Any, options: dict[str, Any], advice: str
) -> None:
    """None is found out only by the first request; no app that was to ask for tokens is open."""
    with pytest.raises((TypeError, CallerError)) as caught:
        create_app(store, **options)
    assert advice in str(caught.value)
