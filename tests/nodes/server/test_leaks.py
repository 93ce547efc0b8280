"""What a browser must never see stays here: over random sessions, no byte of any route holds it."""

import asyncio
import random
from contextlib import suppress
from itertools import count

import httpx
import pytest

from polycontext.nodes.server.access import LOCAL
from polycontext.nodes.server.app import create_app
from polycontext.nodes.server.chats import owned
from polycontext.nodes.testing import FAST
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.window import Part, ToolCall, Turn

SESSIONS = 40
MARK = "ZQXJ"
"""Stands in everything that is not to be shown, and nowhere else."""

_NUMBERS = count()


def secretive(seed: int, store: InMemoryStore) -> str:
    """Keep a random session whose private words hold the mark, and return its id."""
    draw, name = random.Random(seed), f"s{seed}"  # noqa: S311 - a test's
    session = ContextSession(draw.choice((300, 900, 5000)), store=store, session_id=owned(LOCAL, name), counter=FAST)
    session.add_system(f"Be polite. {MARK}: never name the margin.")
    # A small window may be full of what must stay.
    with suppress(ContextOverflowError):
        for _ in range(draw.randrange(3, 40)):
            _say(draw, session)
    return name


def _say(draw: random.Random, session: ContextSession) -> None:
    words = " ".join(draw.choice(("plums", "pears", "jars", "shelf")) for _ in range(draw.randrange(1, 30)))
    match draw.randrange(5):
        case 0:
            call = f"c{next(_NUMBERS)}"
            thought = Part("anthropic", f'{{"type": "thinking", "thinking": "{MARK} {words}", "signature": "c2ln"}}')
            session.add(Turn("assistant", None, tool_calls=[ToolCall(call, "look", f'{{"at": "{MARK} {words}"}}')], parts=[thought]))
            session.add_tool_turn(f"{MARK}: {words}", tool_call_id=call)
        case 1:
            output = session.add_user_turn(words)
            session.pin(output.window.all_turns()[-1].resource_id, f"because of {MARK}")
        case 2:
            session.add_system(f"{MARK} {words}")
        case _:
            session.add_user_turn(words)
            session.add_assistant_turn(words)


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_no_byte_that_a_browser_receives_is_private(seed: int) -> None:
    """Shown, listed, paged, told as events, compressed, answered, refused."""
    store = InMemoryStore()
    name = secretive(seed, store)
    assert MARK in "".join(ContextSession.open(store, owned(LOCAL, name), 5000, counter=FAST).export_lines())

    async def look() -> bytes:
        app, received = create_app(store, max_tokens=900, counter=FAST), b""
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/sessions") as browser:
            asked = [
                ("GET", ""),
                ("GET", "/history"),
                ("GET", "/history?limit=3"),
                ("POST", "/compress"),
                ("GET", ""),
                ("POST", "/regenerate"),
            ]
            asked += [
                ("POST", "/compress"),
                ("POST", "/cancel"),
                ("POST", "/messages/t1/recall"),
                ("POST", "/messages/t2/pin"),
                ("GET", ""),
            ]
            for method, path in asked:
                response = await browser.request(method, f"/{name}{path}")
                received += repr(response.headers.raw).encode() + response.content
            chat = await app.state.chats.get(LOCAL, name)
            listening = chat.feed.listen()
            told = await anext(listening)
            await listening.aclose()
            await app.state.chats.close()
        return received + repr(told).encode()

    received = asyncio.run(look())
    assert b"plums" in received or b"pears" in received
    assert MARK.encode() not in received
