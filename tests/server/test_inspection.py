"""The routes for inspection, and the right that they need."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from polycontext.agents import AgentMachine
from polycontext.models.answers import ScriptedAnswering
from polycontext.nodes.inspection import Inspector
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.server.access import LOCAL, Access
from polycontext.server.chats import key_of, other_id
from polycontext.server.openapi import schemas
from polycontext.testing import FAST
from tests.nodes.test_inspection import talk
from tests.server.front import chatting

pytestmark = pytest.mark.anyio

ANN, BEN = "ann's-secret-token", "ben's-secret-token"


@asynccontextmanager
async def browser(
    store: SessionStore, access: Access | None = None
) -> AsyncGenerator[httpx.AsyncClient]:
    """Return a client of an application over a store."""
    options: dict[str, Any] = {"access": access, "max_tokens": 900, "counter": FAST}
    async with chatting(store, "long", ScriptedAnswering(), **options) as front:
        yield front.browser


def talked(session: ContextSession, rounds: int = 30) -> ContextSession:
    """Have a conversation that is compressed."""
    session.add_system("You keep the cellar.")
    talk(session, rounds)
    return session


@pytest.fixture
def store() -> InMemoryStore:
    """Keep a long chat of the local user, and a session of another program."""
    made = InMemoryStore()
    for name in (key_of(LOCAL, "long"), "trip"):
        talked(ContextSession.open(made, name, 900, counter=FAST)).close()
    return made


def valid(name: str, data: Any) -> Any:
    """Return data that the published schema allows."""
    document = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas()}}
    assert [*Draft202012Validator(document).iter_errors(data)] == []
    return data


async def asked(one: httpx.AsyncClient, path: str, schema: str) -> Any:
    """Return a valid answer."""
    answer = await one.get(path)
    assert answer.status_code == 200, answer.text
    return valid(schema, answer.json())


async def test_the_panel_answers_what_became_of_a_fact(store: InMemoryStore) -> None:
    """Search finds a message, its fate names the line, and bringing it back makes it whole."""
    async with browser(store) as one:
        at = "/sessions/long"
        [found, *_] = (await asked(one, f'{at}/inspect/search?q="shelf 3"', "Found"))["found"]
        seen = await asked(one, f"{at}/inspect", "Inspection")
        fates = {each["id"]: each for each in seen["turns"]}
        told = await asked(one, f"{at}/inspect/turns?id={found['id']}&id=nowhere", "Turns")
        [turn] = told["turns"]
        assert "shelf 3" in turn["text"]
        assert (turn["left"], turn["leftBy"]) == ("compress", "extractive")
        gist = fates[found["id"]]["gist"]
        [summary] = [each for each in seen["summaries"] if each["id"] == gist]
        assert found["id"] in summary["sources"]
        assert any(line["sources"] for line in summary["lines"])
        assert sum(seen["window"]["classes"].values()) == seen["window"]["tokens"]
        assert seen["window"]["tokens"] <= seen["window"]["pressuredAbove"]
        back = await one.post(f"{at}/messages/{found['id']}/recall")
        assert back.status_code == 200
        seen = await asked(one, f"{at}/inspect", "Inspection")
        [now] = [each for each in seen["turns"] if each["id"] == found["id"]]
        assert now["fate"] == "word for word"


async def test_the_timeline_and_turns_have_the_published_shape(store: InMemoryStore) -> None:
    """Past summaries are turns, too."""
    async with browser(store) as one:
        told = await asked(one, "/sessions/long/inspect/timeline", "Timeline")
        first = next(each for each in told["entries"] if each["kind"] == "compress")
        [old] = first["came"]
        [gist] = (await asked(one, f"/sessions/long/inspect/turns?id={old}", "Turns"))["turns"]
        assert (gist["kind"], bool(gist["text"])) == ("summarised", True)


@pytest.mark.parametrize("words", [3, 300, 2000])
@pytest.mark.parametrize("rounds", [1, 30])
def test_a_draft_says_what_sending_it_does(words: int, rounds: int) -> None:
    """A draft fits exactly if it is accepted, and what it summarises leaves the view."""
    session = talked(ContextSession(900, counter=FAST), rounds)
    text = "plums " * words
    told = valid("Draft", Inspector(session).draft(text))
    before = {turn.resource_id for turn in session.window.all_turns()}
    try:
        session.add_user_turn(text, oversize="error")
    except ContextOverflowError:
        assert not told["fits"]
        return
    assert told["fits"]
    gone = before - {turn.resource_id for turn in session.window.all_turns()}
    assert gone == {*told["summarised"]} & before
    assert told["tokens"] == session.log()[-1].tokens


async def test_the_right_is_granted_by_token() -> None:
    """Without it every route for inspection answers 403, and settings say so."""
    access = Access((ANN, BEN), inspectors=(ANN,))
    async with browser(InMemoryStore(), access) as one:
        for token, code in ((ANN, 200), (BEN, 403)):
            one.headers["Authorization"] = f"Bearer {token}"
            name = (await one.post("/sessions")).json()["sessionId"]
            for path in ("", "/turns?id=t1", "/timeline", "/search?q=plums"):
                answer = await one.get(f"/sessions/{name}/inspect{path}")
                assert answer.status_code == code
            draft = await one.post(f"/sessions/{name}/inspect/draft", json={"content": "plums"})
            assert draft.status_code == code
            settings = await asked(one, "/settings", "Settings")
            assert settings["inspect"] is (code == 200)


async def test_sessions_of_other_programs_are_read_and_branched(store: InMemoryStore) -> None:
    """They are listed, nothing changes them, and a branch goes on."""
    async with browser(store) as one:
        listed = await asked(one, "/sessions", "Listed")
        assert listed["sessions"] == ["long"]
        [trip] = [each for each in listed["chats"] if each["readOnly"]]
        assert (trip["id"], trip["title"]) == (other_id("trip"), "trip")
        at = f"/sessions/{trip['id']}"
        seen = await asked(one, f"{at}/inspect", "Inspection")
        assert (seen["readOnly"], seen["window"]["maxTokens"]) == (True, 900)
        stored = store.load("trip")
        for method, path, body in (
            ("POST", "/messages", {"content": "plums"}),
            ("POST", "/compress", None),
            ("DELETE", "", None),
            ("PATCH", "", {"title": "x"}),
        ):
            answer = await one.request(method, at + path, json=body)
            assert answer.status_code == 409, path
        assert store.load("trip") == stored
        branch = await one.post(f"{at}/fork")
        assert branch.status_code == 201, branch.text
        name = branch.json()["sessionId"]
        sent = await one.post(f"/sessions/{name}/messages", json={"content": "And now?"})
        assert sent.status_code == 200
        listed = await asked(one, "/sessions", "Listed")
        [own] = [each for each in listed["chats"] if each["id"] == name]
        assert (own["title"], own["readOnly"]) == ("trip (branch)", False)
        assert store.load("trip") == stored


async def test_the_session_of_an_agent_is_read(store: InMemoryStore) -> None:
    """With its states; only a server with an agent continues it."""
    with ContextSession.open(store, "agent", 900, machine=AgentMachine) as session:
        session.add_user_turn("What stands on the shelves?")
    async with browser(store) as one:
        at = f"/sessions/{other_id('agent')}"
        seen = await asked(one, f"{at}/inspect", "Inspection")
        assert (seen["regions"], len(seen["turns"])) == ({"node": "UNDERSTANDING"}, 1)
        assert (await one.post(f"{at}/fork")).status_code == 409


async def test_without_the_right_other_sessions_do_not_exist(store: InMemoryStore) -> None:
    """A token, however it may inspect, reaches only its own chats."""
    async with browser(store, Access((ANN,), inspectors=(ANN,))) as one:
        one.headers["Authorization"] = f"Bearer {ANN}"
        assert (await asked(one, "/sessions", "Listed"))["chats"] == []
        for path in ("", "/inspect", "/history", "/fork"):
            method = "POST" if path == "/fork" else "GET"
            answer = await one.request(method, f"/sessions/{other_id('trip')}{path}")
            assert answer.status_code == 404


async def test_chats_have_a_title_that_stays(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the beginning of the first message, while the answer is written too, until renamed."""
    listed = asyncio.Event()

    class Waits(ScriptedAnswering):
        async def answer(self, session: ContextSession) -> AsyncIterator[str]:
            await listed.wait()
            yield "On the shelf."

    monkeypatch.setattr(f"{__name__}.ScriptedAnswering", Waits)
    async with browser(store) as one:
        name = (await one.post("/sessions")).json()["sessionId"]
        await one.post(f"/sessions/{name}/messages", json={"content": "Where are\n the plums?"})
        chats = (await asked(one, "/sessions", "Listed"))["chats"]
        assert chats[0]["id"] == name
        assert chats[0]["title"] == "Where are the plums?"
        listed.set()
        await one.post(f"/sessions/{name}/cancel")
        await one.patch(f"/sessions/{name}", json={"title": "Plums"})
        refused = await one.patch(f"/sessions/{name}", json={"model": "nobody"})
        assert refused.status_code == 404
    async with browser(store) as one:
        chats = (await asked(one, "/sessions", "Listed"))["chats"]
        assert [each["title"] for each in chats if each["id"] == name] == ["Plums"]
