"""Private data never reaches a browser, over random sessions and all routes; see `just leaks`."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import httpx
import pytest

from polycontext.models.answers import ScriptedAnswering
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.polynomial.errors import StoreError
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.server.access import Access
from polycontext.server.app import create_app
from polycontext.server.chats import key_of, other_id
from polycontext.testing import FAST
from polycontext.window import ContextItem, Part, ToolCall, Turn
from tests.house import gated

SESSIONS = int(os.environ.get("LEAK_SESSIONS", "24"))
STEPS = 25
TOKEN = "a-token-that-may-not-inspect"  # noqa: S105 - a test's
MARK = "ZQXJ"
"""Stands in everything that is not to be shown, and nowhere else."""

_NUMBERS = count()
_SEEN: Counter[int] = Counter()
"""The codes of all answers."""

_SHOWN: Counter[bool] = Counter()
"""In how many sessions anything of what was said was shown."""


def secretive(seed: int, store: InMemoryStore) -> str:
    """Keep a random session whose private words hold the mark, and return its id."""
    draw, name = random.Random(seed), f"s{seed}"  # noqa: S311 - a test's
    session = ContextSession(
        draw.choice((300, 900, 5000)), store=store, session_id=key_of(TOKEN, name), counter=FAST
    )
    session.add_system(f"Be polite. {MARK}: never name the margin.")
    persona = {"template": f"You are {MARK} {{name}}.", "eigenvectors": {"warmth": 0.7, MARK: 0.1}}
    session.documents.patch("persona", lambda _: [{"op": "add", "path": "", "value": persona}])
    # A small window may be full of what must stay.
    with suppress(ContextOverflowError):
        for _ in range(draw.randrange(3, 40)):
            _say(draw, session)
    return name


def _say(draw: random.Random, session: ContextSession) -> None:
    words = " ".join(
        draw.choice(("plums", "pears", "jars", "shelf")) for _ in range(draw.randrange(1, 30))
    )
    match draw.randrange(6):
        case 0:
            call = f"{MARK}{next(_NUMBERS)}"
            thought = Part(
                "anthropic",
                f'{{"type": "thinking", "thinking": "{MARK} {words}", "signature": "c2ln"}}',
            )
            asked = ToolCall(call, f"look_{MARK}", f'{{"at": "{MARK} {words}"}}')
            session.add(Turn("assistant", None, tool_calls=[asked], parts=[thought]))
            session.add_tool_turn(f"{MARK}: {words}", tool_call_id=call)
        case 1:
            output = session.add_user_turn(words)
            session.pin(output.window.all_turns()[-1].resource_id, f"because of {MARK}")
        case 2:
            session.add_system(f"{MARK} {words}")
        case 3:
            session.attach(
                ContextItem(
                    f"{MARK} {words}",
                    "file",
                    {"filename": f"notes{next(_NUMBERS)}.md", "why": MARK},
                )
            )
        case _:
            session.add_user_turn(words)
            session.add_assistant_turn(words)


class Whispering(ScriptedAnswering):
    """Answer, or fail in words that nobody is to hear."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Yield a few words."""
        assert MARK in str(session.messages("openai"))
        yield "plums "
        await asyncio.sleep(0)
        if self._draw.random() < 0.3:
            raise ConnectionError(f"https://{MARK}.example refused the key {MARK}")
        yield "and pears"


class Failing(InMemoryStore):
    """Refuse now and then, in words that nobody is to hear."""

    draw = random.Random(0)  # noqa: S311 - a test's
    fails = False

    def append(self, *arguments: Any, **options: Any) -> None:
        """Store, or do not."""
        if self.fails and self.draw.random() < 0.05:
            raise (
                StoreError(f"{MARK}.db", f"appending {MARK}", MARK)
                if self.draw.random() < 0.5
                else RuntimeError(MARK)
            )
        super().append(*arguments, **options)


def asked(draw: random.Random, name: str, ids: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
    """Draw a request: its method, its path and what goes with it."""
    one = draw.choice((*ids, *ids, "t1", "nowhere", "%00", "t1%2F..", "é"))
    said = {"content": draw.choice(("plums?", "", "[@notes0.md]", "x" * 3000, "pears\n" * 400))}
    run = {
        "threadId": draw.choice((name, name, "other")),
        "runId": "r",
        "messages": [{"id": str(next(_NUMBERS)), "role": "user", **said}],
    }
    file = (
        draw.choice(("a.txt", "b.md", "../c", "")),
        draw.choice((b"", b"plums", b"\0", f"{MARK} in a file".encode())),
    )
    last = draw.choice(("", "x-1", "0", "9" * 5000))
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "", {}),
        ("GET", f"/history?limit={draw.choice((1, 3, 100, 0, 'x'))}", {}),
        ("GET", f"/history?before={one}", {}),
        ("GET", "/uploads", {}),
        ("GET", "/completions?prefix=n", {}),
        ("GET", f"/source?name={one}", {}),
        ("GET", "/nowhere", {}),
        ("GET", draw.choice(("/inspect", "/inspect/timeline", f"/inspect/turns?id={one}")), {}),
        ("GET", "/inspect/search?q=plums", {}),
        ("POST", "/inspect/draft", {"json": said}),
        ("PATCH", "", {"json": draw.choice(({"title": said["content"]}, {"model": "nobody"}))}),
        ("POST", "/source/open", {"json": {"name": one}}),
        ("PATCH", "", {"json": {"deleted": draw.random() < 0.5}}),
        ("PATCH", "", {}),
        ("POST", "/messages", {"json": said}),
        (
            "POST",
            "/messages",
            {"json": said, "headers": {"Idempotency-Key": draw.choice(("k", "", "k" * 300))}},
        ),
        (
            "POST",
            "/messages",
            {
                "json": draw.choice(
                    (None, [], {"content": 5}, {"content": "x", "pills": [{"name": "x"}]})
                )
            },
        ),
        (
            "POST",
            "/messages",
            {"content": draw.choice((b"{", b'{"content": "\\ud800"}', b"\xff", b"x" * 1_100_000))},
        ),
        ("PUT", f"/messages/{one}", {"json": said}),
        ("POST", f"/messages/{one}/recall", {}),
        ("POST", f"/messages/{one}/pin", {}),
        ("POST", "/compress", {}),
        ("POST", "/clear", {}) if draw.random() < 0.2 else ("GET", "", {}),
        ("POST", "/regenerate", {}),
        ("POST", "/cancel", {}),
        ("POST", "/rewind", {"json": {"to": one}}),
        ("POST", "/fork", {"json": draw.choice(({}, {"message_id": one}))}),
        ("POST", "/agui", {"json": run}),
        ("POST", "/uploads", {"files": {"file": (*file, "text/plain")}}),
        ("DELETE", f"/uploads/{one}", {}),
        ("GET", "/events", {"headers": {"Last-Event-ID": last}}),
    ]
    return draw.choice(requests)


async def received(seed: int, name: str, store: Failing) -> bytes:
    """Return every byte that a browser is sent that asks for one thing after another."""
    draw, found, ids = (
        random.Random(-seed - 1),  # noqa: S311 - a test's
        b"",
        [f"t{number}" for number in range(1, 30)],
    )
    app = create_app(
        store,
        lambda: Whispering(draw),
        Access((TOKEN,), a_minute=10**9),
        system=f"{MARK}: be polite.",
        max_tokens=900,
        counter=FAST,
    )
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            browser.headers["Authorization"] = f"Bearer {TOKEN}"
            chat = await app.state.chats.get(TOKEN, name)
            for _ in range(STEPS):
                chat = await app.state.chats.get(TOKEN, name)
                method, path, more = asked(draw, name, ids)
                if path == "/events":
                    # Such an answer never ends: what goes over the line is taken where it is made.
                    listening = chat.feed.listen(more["headers"]["Last-Event-ID"])
                    found += (await anext(listening)).wire
                    await listening.aclose()
                    continue
                response = await browser.request(method, f"/api/sessions/{name}{path}", **more)
                _SEEN[response.status_code] += 1
                found += repr(response.headers.raw).encode() + response.content
                if path == "/fork" and response.status_code == 201:
                    found += (
                        await browser.get(f"/api/sessions/{response.json()['sessionId']}/history")
                    ).content
                if draw.random() < 0.5:
                    await chat.cancel()
            found += b"".join(event.wire for event in chat.feed._held)
            # The description is the same in all sessions, and costs as much as a whole one.
            for path in (
                *["/openapi.json"] * (seed % 20 == 0),
                "/docs",
                "/api/sessions",
                "/api/settings",
                "/api/sessions/other",
                f"/api/sessions/{other_id(key_of(TOKEN, name))}",
                f"/api/sessions/{other_id(key_of(TOKEN, name))}/inspect",
                "/nowhere",
                f"/api/sessions/{name}",
            ):
                response = await browser.get(path)
                found += repr(response.headers.raw).encode() + response.content
            found += repr((await browser.delete(f"/api/sessions/{name}")).headers.raw).encode()
    finally:
        store.fails = False
        await app.state.chats.close()
    return found


@pytest.mark.parametrize("seed", gated(range(SESSIONS), *range(5)))
def test_no_byte_that_a_browser_receives_is_private(seed: int) -> None:
    """No response of any route holds the marker, over random actions in any order."""
    store = Failing()
    name = secretive(seed, store)
    kept = "".join(
        ContextSession.open(store, key_of(TOKEN, name), 5000, counter=FAST).history.export()
    )
    assert MARK in kept
    store.draw, store.fails = random.Random(seed), True  # noqa: S311 - a test's
    found = asyncio.run(received(seed, name, store))
    _SHOWN[b"plums" in found or b"pears" in found] += 1
    at = found.find(MARK.encode())
    assert at < 0, found[max(0, at - 300) : at + 100]


def test_requests_were_taken_and_refused_in_every_way() -> None:
    """The random requests reached every status code, including errors."""
    if _SEEN.total() < 16 * STEPS:
        pytest.skip("the sessions were looked at elsewhere")
    assert _SHOWN[True] > 9 * _SHOWN[False]
    assert {200, 201, 404, 405, 409, 413, 422, 500, 503} <= {*_SEEN}
