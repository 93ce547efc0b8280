"""An agent behind the server and the chat: cancelled, failed, stopped and begun again."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.agents import Agent, AgentAnswering, AgentMachine, ModelRequest, Tool
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import InMemoryStore
from polycontext.server import create_app
from tests.agents.kitchen import RandomModel, find
from tests.cli.command import Command


class Kitchen:
    """Makes agents whose tool waits, or fails."""

    def __init__(self) -> None:
        self.waits = self.fails = False
        draw = random.Random(3)  # noqa: S311 - a test's
        self.model = RandomModel(draw)

    async def find(self, *, idempotency_key: str) -> Any:
        """Return recipes, unless the tool hangs or fails."""
        if self.waits:
            await asyncio.Event().wait()
        if self.fails:
            raise ConnectionError("no database")
        return find(idempotency_key=idempotency_key)

    async def acomplete(self, request: ModelRequest) -> str:
        """Return an answer that always plans a step."""
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
        return Agent(session, self, [Tool("find", self.find, entities="recipes")])


async def stored(store: InMemoryStore, name: str, state: str, *, calls: int = 0) -> None:
    """Wait until the stored session of a chat is in that state, with that many open calls."""
    (key,) = [key for key in store.list_sessions() if key.endswith(name)]
    session = await ContextSession.aopen(store, key, machine=AgentMachine)
    async with asyncio.timeout(60):
        while (session.state, len(session.open_calls)) != (state, calls):
            await asyncio.sleep(0.01)
            await session.history.arefresh()


async def is_answering(browser: httpx.AsyncClient, where: str) -> bool:
    """Return whether the page shows an answer in progress."""
    props: dict[str, Any] = (await browser.get(where)).json()["contextProps"]
    return bool(props["answering"])


async def drive() -> None:
    """Ask, cancel in the middle of a tool, fail, and ask again: the page is never locked out."""
    kitchen, store = Kitchen(), InMemoryStore()
    app = create_app(store, lambda: AgentAnswering(kitchen), max_tokens=8000, machine=AgentMachine)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api") as browser:
        name = (await browser.post("/sessions")).json()["sessionId"]
        where = f"/sessions/{name}"
        for kitchen.waits, kitchen.fails in ((False, False), (True, False), (False, True)) * 2:
            sent = await browser.post(f"{where}/messages", json={"content": "A soup?"})
            assert sent.status_code == 200, sent.text
            if kitchen.waits:
                await stored(store, name, "ACTING", calls=1)
                assert (await browser.post(f"{where}/cancel")).status_code == 200
            async with asyncio.timeout(60):
                while await is_answering(browser, where):  # noqa: ASYNC110 - it cannot notify
                    await asyncio.sleep(0.01)
            await stored(
                store, name, "ACTING" if kitchen.waits or kitchen.fails else "ACCUMULATING"
            )
        kitchen.waits = kitchen.fails = False
        assert (await browser.post(f"{where}/regenerate")).status_code == 200
        await stored(store, name, "ACCUMULATING")
        await app.state.chats.close()


def test_a_browser_is_never_locked_out() -> None:
    """Whatever happens to the answer."""
    asyncio.run(drive())


AGENT = """
from polycontext.agents import Agent
from polycontext.testing import ScriptedModel

RULES = {
    "Find out what": '{"intent": "x", "confidence": 1}',
    "Plan the next": '{"decision": "clarify", "goal": "which", "questions": []}',
    "Answer the user": "Which soup?",
}


def agent(session):
    return Agent(session, ScriptedModel(rules=RULES))
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


@pytest.mark.usefixtures("kitchen")
@pytest.mark.parametrize("name", ["soup_kitchen:nobody", "nowhere:agent", "soup_kitchen:RULES"])
def test_an_agent_that_cannot_be_found_is_refused(polycontext: Command, name: str) -> None:
    """The message says what to write."""
    said = polycontext("chat", "--agent", name, stdin="Soup!\n")
    assert said.code != 0
    assert name in said.err


@pytest.mark.usefixtures("kitchen")
def test_an_agent_has_its_own_model(polycontext: Command) -> None:
    """Naming another one is a mistake."""
    said = polycontext("chat", "--agent", "soup_kitchen:agent", "--model", "gpt-5", stdin="Soup!\n")
    assert "without --model" in said.err
