"""An agent behind the server and the chat: cancelled, stopped and begun again."""

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.agents import Agent, AgentAnswering, AgentMachine, Tool
from polycontext.agents.requests import ModelRequest
from polycontext.base import InvalidDataError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.server import create_app
from tests.agents.kitchen import RandomModel, find
from tests.cli.command import Command


class Kitchen:
    """Makes agents whose tool waits."""

    def __init__(self) -> None:
        self.waits = self.summarizes = self.hangs = False
        self.is_summarizing = asyncio.Event()
        draw = random.Random(3)  # noqa: S311 - a test's
        self.model = RandomModel(draw)

    async def find(self, *, idempotency_key: str) -> Any:
        """Return recipes, unless the tool hangs."""
        if self.waits:
            await asyncio.Event().wait()
        return find(idempotency_key=idempotency_key)

    async def acomplete(self, request: ModelRequest) -> str:
        """Return an answer that always plans a step; hang while it summarizes."""
        if request.node == "summarize":
            self.is_summarizing.set()
            if self.hangs:
                await asyncio.Event().wait()
        if request.node == "think":
            step = '{"type": "read", "subdomain": "recipes", "description": "find"}'
            return f'{{"decision": "plan_direct", "goal": "g", "steps": [{step}]}}'
        return self.model.complete(request)

    def complete(self, request: ModelRequest) -> str:
        """Refuse: everything is awaited here."""
        raise NotImplementedError

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the reply."""
        yield self.model.complete(request)

    def __call__(self, session: ContextSession) -> Agent:
        """Return the agent of a session."""
        find = Tool("find", self.find, entities="recipes")
        return Agent(session, self, [find], summarizes=self.summarizes)


async def stored(store: InMemoryStore, name: str, state: str, *, calls: int = 0) -> None:
    """Wait until the stored session of a chat is in that state, with that many open calls."""
    (key,) = [key for key in store.list_sessions() if key.endswith(name)]
    session = await ContextSession.aopen(store, key, machine=AgentMachine)
    async with asyncio.timeout(60):
        while (session.regions["node"], len(session.open_calls)) != (state, calls):
            await asyncio.sleep(0.01)
            await session.history.arefresh()


async def is_answering(browser: httpx.AsyncClient, where: str) -> bool:
    """Return whether the page shows an answer in progress."""
    props: dict[str, Any] = (await browser.get(where)).json()["contextProps"]
    return bool(props["answering"])


def browsing(kitchen: Kitchen, store: InMemoryStore) -> tuple[Any, httpx.AsyncClient]:
    """Return an application with the agent, and its client."""
    app = create_app(store, lambda: AgentAnswering(kitchen), max_tokens=8000, machine=AgentMachine)
    transport = httpx.ASGITransport(app)
    return app, httpx.AsyncClient(transport=transport, base_url="http://localhost/api")


async def run(kitchen: Kitchen, store: InMemoryStore) -> list[dict[str, Any]]:
    """Run the agent by AG-UI, cancel it in a tool, restart the server, and go on there.

    Return the events of the cancelled run.
    """
    app, browser = browsing(kitchen, store)
    async with browser:
        name = (await browser.post("/sessions")).json()["sessionId"]
        where, asked = f"/sessions/{name}", {"id": "m1", "role": "user", "content": "A soup?"}
        body: dict[str, Any] = {"threadId": name, "runId": "r1", "messages": [asked]}
        body |= {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        running = asyncio.create_task(browser.post(f"{where}/agui", json=body))
        async with asyncio.timeout(60):
            while not await is_answering(browser, where):  # noqa: ASYNC110 - it cannot notify
                await asyncio.sleep(0.01)
        await stored(store, name, "ACTING", calls=2)
        assert (await browser.get(where)).json()["contextProps"]["phase"] == "acting"
        assert (await browser.post(f"{where}/cancel")).json()["contextProps"]["actions"]["send"]
        events = [
            json.loads(line.removeprefix("data: "))
            for line in (await running).text.splitlines()
            if line.startswith("data: ")
        ]
        await app.state.chats.close()
    app, browser = browsing(kitchen, store)
    async with browser:
        await stored(store, name, "ACTING")
        kitchen.waits = False
        again = body | {"runId": "r2", "messages": [{**asked, "id": "m2"}]}
        assert "RUN_FINISHED" in (await browser.post(f"{where}/agui", json=again)).text
        await stored(store, name, "READY")
        await app.state.chats.close()
    return events


def test_a_run_says_what_the_agent_does_and_can_be_cancelled() -> None:
    """Its open call is settled, and a restarted server goes on."""
    kitchen, store = Kitchen(), InMemoryStore()
    kitchen.waits = True
    events = asyncio.run(run(kitchen, store))
    snapshots = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    told = [each["phase"] for each in snapshots]
    assert [*dict.fromkeys(told)][-3:] == ["thinking", "acting", "ready"]
    assert events[-1]["outcome"]["type"] == "cancelled"
    (key,) = store.list_sessions()
    log = ContextSession.open(store, key, machine=AgentMachine).log()
    assert "the answer was not completed" in str([*log])


def test_the_class_that_a_session_needs_is_named() -> None:
    """One that is reopened without it cannot be read."""
    store = InMemoryStore()
    ContextSession.open(store, "soup", machine=AgentMachine).add_user_turn("A soup?")
    with pytest.raises(InvalidDataError, match=r"machine=.*polycontext\.agents.*AgentMachine"):
        ContextSession.open(store, "soup")


async def summarize(kitchen: Kitchen, store: InMemoryStore) -> None:
    """Ask, and ask again; close the server while it summarizes."""
    app, browser = browsing(kitchen, store)
    async with browser:
        name = (await browser.post("/sessions")).json()["sessionId"]
        for _ in range(2):
            await browser.post(f"/sessions/{name}/messages", json={"content": "A soup?"})
            async with asyncio.timeout(60):
                await kitchen.is_summarizing.wait()
            assert not await is_answering(browser, f"/sessions/{name}")
            kitchen.is_summarizing.clear()
        async with asyncio.timeout(60):
            await app.state.chats.close()
        assert "polycontext-answer" not in [task.get_name() for task in asyncio.all_tasks()]


def test_a_reply_is_summarized_once_it_is_stored() -> None:
    """Neither the next message nor the end of the server waits for it."""
    kitchen, store = Kitchen(), InMemoryStore()
    kitchen.summarizes = kitchen.hangs = True
    asyncio.run(summarize(kitchen, store))
    (key,) = store.list_sessions()
    agent = kitchen(ContextSession.open(store, key, machine=AgentMachine))
    assert len(agent.memory.conversation.recent_turns) == 2
    kitchen.hangs, said = False, [agent.memory.shared.reasoning.summary]
    asyncio.run(AgentAnswering(kitchen).settle(agent.session))
    assert [*said, agent.memory.shared.reasoning.summary] == ["", "so it is"]


AGENT = """
from polycontext.agents import Agent
from polycontext.testing import ScriptedModel

RULES = {
    "Find out what": '{"intent": "x", "confidence": 1}',
    "Plan the next": '{"decision": "clarify", "goal": "which", "questions": []}',
    "Answer the user": "Which soup?",
    "Say in one": '{"engagement": "soups", "summary": "one soup"}',
}


def agent(session):
    return Agent(session, ScriptedModel(rules=RULES), summarizes=True)
"""


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with a module that has an agent."""
    (tmp_path / "soup_kitchen.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.usefixtures("kitchen")
def test_the_chat_runs_an_agent(polycontext: Command) -> None:
    """With the machine that it needs, also when it goes on with a stored session."""
    for _ in range(2):
        said = polycontext(
            "chat", "c", "--store", "c.db", "--agent", "soup_kitchen:agent", stdin="Soup!\n"
        )
        assert "Which soup?" in said.out
    session = ContextSession.open("c.db", "c", machine=AgentMachine)
    assert str(session.history.events()).count("one soup") == 2


@pytest.mark.usefixtures("kitchen")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        *(
            ([name], name)
            for name in ("soup_kitchen:nobody", "nowhere:agent", "soup_kitchen:RULES")
        ),
        (["soup_kitchen:agent", "--model", "gpt-5"], "without --model"),
    ],
)
def test_an_agent_that_cannot_be_run_is_refused(
    polycontext: Command, options: list[str], told: str
) -> None:
    """The message says what to write; an agent has its own model."""
    said = polycontext("chat", "--agent", *options, stdin="Soup!\n")
    assert said.code != 0
    assert told in said.err
