"""Chats over HTTP: a real server on loopback, a client that reads its events."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import uvicorn

from polycontext.base import CallerError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.pressure import FixedThreshold
from polycontext.server.access import Access
from polycontext.server.app import create_app

Data = dict[str, Any]

ANN, BEN = "ann's-secret-token", "ben's-secret-token"


class Echo:
    """Answer with what was said last, word by word; or wait for ever."""

    def __init__(self) -> None:
        self.waits = False

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the words."""
        for word in str(session.messages("openai")[-1]["content"]).split():
            if self.waits:
                await asyncio.Event().wait()
            if word == "fail":
                raise ConnectionError("https://secret.example refused the key abc")
            yield f"{word}-"

    async def aclose(self) -> None:
        """Let go of nothing."""


@contextmanager
def serving(
    store: SessionStore, echo: Echo | None = None, access: Access | None = None, **options: Any
) -> Generator[str]:
    """Serve on a free port of loopback, and return the URL."""
    app = create_app(store, lambda: echo or Echo(), access, **options)
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


@asynccontextmanager
async def client(url: str, token: str | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    """Return a client of one user."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as made:
        yield made


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


def said(props: Data) -> list[str]:
    """Return what is shown."""
    return [message["content"] for message in props["messages"]]


async def new(one: httpx.AsyncClient) -> str:
    """Begin a chat."""
    made = await one.post("/sessions")
    assert made.status_code == 201
    return str(made.json()["sessionId"])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    """Keep chats in a file."""
    made = SQLiteStore(tmp_path / "chats.db")
    yield made
    made.close()


def test_a_message_is_answered_and_everybody_hears_of_it(store: SessionStore) -> None:
    """Word by word, in two windows of one user; then how all stands."""

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            two = [events(one, name) for _ in range(2)]
            assert [(await anext(told))[1] for told in two] == ["props", "props"]
            sent = await one.post(f"/sessions/{name}/messages", json={"content": "plums and pears"})
            assert said(sent.json()["contextProps"]) == ["plums and pears"]
            for told in two:
                seen = await until(told, "plums-and-pears-")
                assert [data["text"] for _, kind, data in seen if kind == "delta"] == [
                    "plums-",
                    "and-",
                    "pears-",
                ]
            assert said((await one.get(f"/sessions/{name}")).json()["contextProps"]) == [
                "plums and pears",
                "plums-and-pears-",
            ]
            assert (await one.get("/sessions")).json()["sessions"] == [name]

    with serving(store) as url:
        asyncio.run(talk(url))


def test_who_was_away_is_told_what_came_since(store: SessionStore) -> None:
    """Behind the event that was seen last; after a restart of the server, how all stands."""
    left: list[tuple[str, str]] = []

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            told = events(one, name)
            first = await anext(told)
            await told.aclose()
            for text in ("one", "two"):
                await one.post(f"/sessions/{name}/messages", json={"content": text})
                await until(events(one, name), f"{text}-")
            seen = await until(events(one, name, first[0]), "two-")
            assert [kind for _, kind, _ in seen] == [
                "props",
                "delta",
                "props",
                "props",
                "delta",
                "props",
            ]
            left.append((name, first[0]))

    async def again(url: str) -> None:
        async with client(url) as one:
            [(name, after)] = left
            _, kind, props = await anext(events(one, name, after))
            assert (kind, said(props)) == ("props", ["one", "one-", "two", "two-"])

    with serving(store) as url:
        asyncio.run(talk(url))
    with serving(store) as url:
        asyncio.run(again(url))


def test_one_answer_at_a_time_and_it_can_be_ended(store: SessionStore) -> None:
    """A second action during an answer is rejected, and a cancelled answer keeps its words."""
    echo = Echo()

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            told = events(one, name)
            await anext(told)
            echo.waits = True
            await one.post(f"/sessions/{name}/messages", json={"content": "one two"})
            for act in ("messages", "compress", "regenerate"):
                busy = await one.post(f"/sessions/{name}/{act}", json={"content": "three"})
                assert (busy.status_code, "cancel it" in busy.json()["detail"]) == (409, True)
            ended = await one.post(f"/sessions/{name}/cancel")
            assert said(ended.json()["contextProps"]) == ["one two"]
            echo.waits = False
            again = await one.post(f"/sessions/{name}/regenerate")
            assert again.status_code == 200
            await until(told, "one-two-")

    with serving(store, echo) as url:
        asyncio.run(talk(url))


def test_two_users_do_not_see_each_other(store: SessionStore) -> None:
    """Each has chats of its own; another's is not there."""

    async def talk(url: str) -> None:
        async with client(url, ANN) as ann, client(url, BEN) as ben, client(url, "eve") as eve:
            name = await new(ann)
            assert (await ben.get("/sessions")).json()["sessions"] == []
            for act in ("", "/events", "/history"):
                assert (await ben.get(f"/sessions/{name}{act}")).status_code == 404
            assert (await ben.post(f"/sessions/{name}/fork", json={})).status_code == 404
            assert (await ben.delete(f"/sessions/{name}")).status_code == 404
            assert (await ann.get(f"/sessions/{name}")).status_code == 200
            assert (await eve.get("/sessions")).status_code == 401
        async with client(url) as nobody:
            assert (await nobody.get("/sessions")).status_code == 401

    with serving(store, access=Access((ANN, BEN))) as url:
        asyncio.run(talk(url))


def test_pages_elsewhere_and_too_many_requests_are_refused(store: SessionStore) -> None:
    """By the name that the server is asked under, by origin, by number."""

    async def talk(url: str) -> None:
        async with client(url) as one:
            assert (await one.get("/sessions", headers={"Host": "evil.example"})).status_code == 400
            assert (
                await one.get("/sessions", headers={"Origin": "http://evil.example"})
            ).status_code == 403
            friend = await one.get("/sessions", headers={"Origin": "http://friend.example"})
            allowed = friend.headers["access-control-allow-origin"]
            assert (friend.status_code, allowed) == (200, "http://friend.example")
            assert (
                await one.post("/sessions/x/messages", content=b"x" * 2_000_000)
            ).status_code in {404, 413}
            codes = [(await one.get("/sessions")).status_code for _ in range(12)]
            assert (codes[0], codes[-1]) == (200, 429)

    with serving(store, access=Access(origins=("http://friend.example",), a_minute=10)) as url:
        asyncio.run(talk(url))


def test_a_page_does_with_a_chat_what_a_session_can(store: SessionStore) -> None:
    """Compress, clear, pin, recall, edit, rewind, fork, look back, delete."""

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            told = events(one, name)
            for number in range(12):
                await one.post(
                    f"/sessions/{name}/messages",
                    json={"content": f"shelf {number}: " + "plums " * 30},
                )
                await until(told, f"shelf-{number}:-" + "plums-" * 30)
            props = (await one.get(f"/sessions/{name}")).json()["contextProps"]
            gist = [message for message in props["messages"] if message["role"] == "summary"]
            assert len(gist) > 0
            page = (await one.get(f"/sessions/{name}/history", params={"limit": 10})).json()
            rest = (
                await one.get(f"/sessions/{name}/history", params={"before": page["before"]})
            ).json()
            assert [len(page["messages"]), len(rest["messages"]), rest["before"]] == [10, 14, None]
            assert [each["content"].split(":")[0] for each in rest["messages"]][:2] == [
                "shelf 0",
                "shelf-0",
            ]
            first = rest["messages"][0]["id"]
            for act in ("compress", f"messages/{first}/recall", f"messages/{first}/pin"):
                done = await one.post(f"/sessions/{name}/{act}")
                assert done.status_code == 200, done.text
            forked = await one.post(f"/sessions/{name}/fork", json={"message_id": first})
            assert said(forked.json()["contextProps"]) == [rest["messages"][0]["content"]]
            back = await one.post(f"/sessions/{name}/rewind", json={"to": first})
            assert len(said(back.json()["contextProps"])) == 1
            edited = await one.put(f"/sessions/{name}/messages/{first}", json={"content": "which?"})
            assert said(edited.json()["contextProps"]) == ["which?"]
            await until(told, "which?-")
            assert said((await one.post(f"/sessions/{name}/clear")).json()["contextProps"]) == []
            assert (
                await one.post(f"/sessions/{name}/rewind", json={"to": "nowhere"})
            ).status_code == 404
            assert (await one.delete(f"/sessions/{name}")).status_code == 204
            assert (await one.get(f"/sessions/{name}")).status_code == 404
            assert (await one.get("/sessions")).json()["sessions"] == [forked.json()["sessionId"]]

    with serving(store, max_tokens=800) as url:
        asyncio.run(talk(url))


def test_a_page_takes_a_compression_back(store: SessionStore) -> None:
    """The last one, or that of a receipt; what it does not understand changes nothing."""

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            told = events(one, name)
            for number in range(6):
                text = f"shelf {number}: plums"
                await one.post(f"/sessions/{name}/messages", json={"content": text})
                await until(told, f"shelf-{number}:-plums-")
            whole = said((await one.get(f"/sessions/{name}")).json()["contextProps"])
            short = said((await one.post(f"/sessions/{name}/compress")).json()["contextProps"])
            assert len(short) < len(whole)
            [receipt] = (await one.get(f"/sessions/{name}/receipts")).json()["receipts"]
            assert receipt["after"]["tokens"] < receipt["before"]["tokens"]
            refused = [
                await one.post(f"/sessions/{name}/{act}", json={wrong: "c9"})
                for act, wrong in (("undo", "receiptId"), ("fork", "messageId"))
            ]
            refused.append(await one.post(f"/sessions/{name}/undo", json={"receipt_id": "c9"}))
            assert [each.status_code for each in refused] == [422, 422, 404]
            for body, wanted in (({}, whole), ({"receipt_id": receipt["id"]}, short)):
                done = await one.post(f"/sessions/{name}/undo", json=body)
                assert said(done.json()["contextProps"]) == wanted
            assert said((await one.post(f"/sessions/{name}/undo")).json()["contextProps"]) == whole

    with serving(store, max_tokens=800, threshold=FixedThreshold(0.9, 0.1)) as url:
        asyncio.run(talk(url))


def test_a_page_changes_the_rules_of_a_chat(store: SessionStore) -> None:
    """It lists what the user stated, adds a rule, and ends one."""

    async def talk(url: str) -> None:
        async with client(url) as one:
            name = await new(one)
            told = events(one, name)
            await one.post(f"/sessions/{name}/messages", json={"content": "Never fly. Hi!"})
            await until(told, "Never-fly.-Hi!-")
            added = await one.post(
                f"/sessions/{name}/rules", json={"content": "Be brief.", "scope": "today"}
            )
            assert added.status_code == 200, added.text
            rules = (await one.get(f"/sessions/{name}/rules")).json()["rules"]
            assert [rule["text"] for rule in rules] == ["Never fly.", "today: Be brief."]
            assert set(rules[0]) == {"id", "text", "kind", "scope", "messageId"}
            first, second = (rule["id"] for rule in rules)
            assert (await one.post(f"/sessions/{name}/rules/{first}/revoke")).status_code == 200
            assert (await one.delete(f"/sessions/{name}/rules/{second}")).status_code == 200
            assert (await one.get(f"/sessions/{name}/rules")).json() == {"rules": []}
            assert (await one.delete(f"/sessions/{name}/rules/{second}")).status_code in {404, 422}
            assert (await one.post(f"/sessions/{name}/rules", json={})).status_code == 422

    with serving(store, max_tokens=800) as url:
        asyncio.run(talk(url))


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
