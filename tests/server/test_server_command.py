"""`polycontext serve`."""

import asyncio
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import HTTPException

from polycontext.base import InvalidOptionError
from polycontext.cli.app import main
from polycontext.polynomial import ContextSession
from polycontext.server import Server
from polycontext.server.access import Access, Gate, Turns
from polycontext.server.connection import configuration
from tests.server.front import Request

PLACE = re.compile(r"serving (http://\S+)/")


Serve = Callable[..., AbstractContextManager[tuple[httpx.Client, str]]]


@pytest.fixture
def serve(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return a function that runs the command in a thread; it yields a client, and what is told."""
    servers: list[uvicorn.Server] = []

    class Kept(Server):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            servers.append(self)

    @contextmanager
    def served(*arguments: str) -> Generator[tuple[httpx.Client, str]]:
        monkeypatch.setattr("polycontext.cli.serve.Server", Kept)
        monkeypatch.setenv("XDG_DATA_HOME", mkdtemp())
        servers.clear()
        codes: list[int] = []
        options = ["serve", "--port", "0", *arguments]
        thread = threading.Thread(target=lambda: codes.append(main(options)))
        thread.start()
        while thread.is_alive() and not (servers and servers[0].started):
            time.sleep(0.01)
        told = capsys.readouterr().err
        found = PLACE.search(told)
        assert found, told
        try:
            with httpx.Client(base_url=found[1], timeout=60) as browser:
                yield browser, told
        finally:
            servers[0].should_exit = True
            thread.join(60)
            assert codes == [0]

    return served


def bearer(token: str) -> dict[str, str]:
    """Return the header with a token."""
    return {"Authorization": f"Bearer {token}"}


def test_the_command_serves_until_it_is_stopped(serve: Serve, tmp_path: Path) -> None:
    """With a store, a system prompt and a folder; what was said is there when it starts anew."""
    path = tmp_path / "chats.db"
    (tmp_path / "plums.py").write_text("JARS = 3\n")
    options = ("--store", str(path), "--system", "Never name the margin.", "--max-tokens", "900")
    names: list[str] = []
    for more, offered in ((("--root", str(tmp_path)), ["plums.py", "plums.JARS"]), ((), [])):
        with serve(*options, *more) as (browser, told):
            assert "token" not in told
            names = names or [browser.post("/api/sessions").json()["sessionId"]]
            at = f"/api/sessions/{names[0]}"
            said = browser.post(f"{at}/messages", json={"content": "plums"}).json()
            assert said["contextProps"]["messages"][-1]["content"] == "plums"
            assert "margin" not in browser.get(at).text
            assert browser.get("/api/sessions").json()["sessions"] == names
            schemas = browser.get("/openapi.json").json()["components"]["schemas"]
            assert schemas["ChatProps"]["title"] == "ChatProps"
            found = browser.get(f"{at}/completions?prefix=plums").json()["completions"]
            assert [each["name"] for each in found] == offered
    [key] = ContextSession.history.list_sessions(path)
    with ContextSession.open(path, key) as session:
        assert session.log()[0].text == "Never name the margin."


def test_the_command_compresses_rows_for_gateways(serve: Serve, tmp_path: Path) -> None:
    """Beside chats or alone; originals in a file are found after a restart."""
    rows = [{"role": "tool", "tool_call_id": "c", "content": "waiting\n" * 900}]
    originals, name = ("--originals", str(tmp_path / "originals.db")), ""
    for options in (originals, ("--compress-only", *originals), ("--compress-only", "--strict")):
        with serve(*options) as (gateway, told):
            alone = "--compress-only" in options
            assert ("originals are kept" in told) == alone
            assert gateway.get("/").status_code == (404 if alone else 200)
            answer = gateway.post("/v1/compress", json={"messages": rows}).json()
            [name] = answer["ccr_hashes"]
            others = bearer("of-somebody-else")
            assert gateway.get(f"/v1/retrieve/{name}", headers=others).status_code == 404
    with serve(*originals) as (gateway, _):
        found = gateway.get(f"/v1/retrieve/{name}").json()["original_content"]
        assert found == rows[0]["content"]


TOKEN = "a-token-of-ann-s-own"  # noqa: S105 - of a test


def test_a_token_is_asked_for(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command or a file, one a line; it is shown nowhere, and an empty file is refused."""
    place = tmp_path / "tokens.txt"
    place.write_text(f"{TOKEN}\n\n  another-token-of-ben  \n")
    for options in (("--token", TOKEN), ("--token-file", str(place))):
        with serve(*options) as (browser, told):
            assert browser.get("/api/sessions").status_code == 401
            assert browser.get("/api/sessions", headers=bearer(TOKEN)).status_code == 200
            odd = [(b"Authorization", "Bearer é".encode())]
            assert browser.get("/api/sessions", headers=odd).status_code == 401
            assert TOKEN not in repr(Access((TOKEN,))) + told
            ben = browser.get("/api/sessions", headers=bearer("another-token-of-ben"))
            assert ben.status_code == (200 if "--token-file" in options else 401)
    place.write_text("\n")
    assert main(["serve", "--port", "0", "--token-file", str(place)]) == 2
    assert "at least 16 characters" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["", "x" * 15])
def test_a_short_token_is_refused(token: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As that of a variable that is not set would be; what it is stays untold."""
    assert main(["serve", "--port", "0", "--token", token, "--token", TOKEN]) == 2
    assert "at least 16 characters" in (err := capsys.readouterr().err)
    assert TOKEN not in err
    with pytest.raises(InvalidOptionError, match="at least 16 characters"):
        Access((token,))


@pytest.mark.parametrize("host", ["::", "chats.example"])
def test_a_host_that_others_reach_needs_a_token(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is served there without one, by the command or by an application of one's own."""
    assert main(["serve", "--port", "0", "--host", host]) == 2
    assert "other machines can reach this host" in capsys.readouterr().err
    for hosts in ((host,), ("*",), ("localhost", host)):
        with pytest.raises(InvalidOptionError, match="other machines can reach this host"):
            Access(hosts=hosts)
    assert Access((TOKEN,), hosts=(host,)).tokens


@pytest.mark.gate
def test_no_header_gets_around_the_limits(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client is identified by its address, not its headers; failed tokens are limited too.

    The right token is never refused.
    """
    monkeypatch.setattr("polycontext.server.access.FAILURES_A_MINUTE", 5)
    names = [
        {
            "X-Forwarded-For": f"10.0.0.{n}",
            "Forwarded": f"for=10.0.0.{n}",
            "X-Real-IP": f"10.0.0.{n}",
        }
        for n in range(15)
    ]
    with serve("--a-minute", "10") as (browser, _):
        codes = Counter(browser.get("/api/sessions", headers=each).status_code for each in names)
        assert codes == {200: 10, 429: 5}
    with serve("--token", TOKEN) as (browser, _):
        codes = Counter(
            browser.get("/api/sessions", headers=bearer(f"wrong-{n}") | each).status_code
            for n, each in enumerate(names)
        )
        assert codes == {401: 5, 429: 10}
        assert browser.get("/api/sessions", headers=bearer(TOKEN)).status_code == 200


@pytest.mark.gate
def test_a_request_that_does_not_arrive_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete request is closed; an idle or a listening connection is not."""
    monkeypatch.setattr("polycontext.server.connection.MOST_SECONDS", 1.0)
    halves = [
        b"",
        b"GET /api/sessions HTTP/1.1\r\nHost: local",
        b"POST /api/sessions/x/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ]
    with serve() as (browser, _):
        name = browser.post("/api/sessions").json()["sessionId"]
        with browser.stream("GET", f"/api/sessions/{name}/events") as events:
            told = events.iter_text()
            next(told)
            for half in halves:
                with socket.create_connection(place_of(browser), timeout=60) as client:
                    client.sendall(half)
                    with suppress(ConnectionResetError):
                        assert client.recv(1_000) == b""
            assert browser.get("/api/sessions").status_code == 200
            browser.post(f"/api/sessions/{name}/messages", json={"content": "Still there?"})
            assert next(text for text in told if "Still there?" in text)


def place_of(browser: httpx.Client) -> tuple[str, int]:
    """Return the address of a client's server."""
    return "127.0.0.1", browser.base_url.port or 0


@pytest.mark.parametrize("token", ["\udcff" * 16, "ünïcödé-" * 2])
def test_a_token_that_is_not_ascii_is_compared(token: str) -> None:
    """A token with non-ASCII characters or surrogates is compared without an error."""
    access: Any = Access((token,))
    with pytest.raises(HTTPException) as refused:
        access.user(Request("another-token-é"))
    assert refused.value.status_code == 401
    assert access.user(Request("ünïcödé-" * 2)) if token.isprintable() else True


async def client_of(config: uvicorn.Config) -> str:
    """Return the client address that an application sees behind an `X-Forwarded-For` header."""
    config.load()
    app: Any = config.loaded_app
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost"
    ) as browser:
        return (await browser.get("/", headers={"X-Forwarded-For": "10.0.0.9"})).text


@pytest.mark.parametrize(
    ("proxies", "seen"),
    [((), "127.0.0.1"), (("10.0.0.1",), "127.0.0.1"), (("127.0.0.0/8",), "10.0.0.9")],
)
def test_a_proxy_is_believed_where_it_is_named(proxies: tuple[str, ...], seen: str) -> None:
    """Any other client is known by the address of its connection."""

    async def told(scope: Any, _: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["client"][0].encode()})

    assert asyncio.run(client_of(configuration(told, proxies))) == seen


def talk_to(
    app: Any, steps: Callable[[uvicorn.Server, tuple[str, int]], Coroutine[Any, Any, None]]
) -> None:
    """Serve an application on loopback while `steps` run, without the server's timed main loop."""

    async def run() -> None:
        config = configuration(app, ())
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        with socket.create_server(("127.0.0.1", 0)) as place:
            await server.startup([place])
            try:
                await steps(server, place.getsockname())
            finally:
                for each in [*server.server_state.connections]:
                    each.transport.abort()
                await server.shutdown([place])

    asyncio.run(run())


async def gone(writer: asyncio.StreamWriter) -> None:
    """Close a client's connection."""
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def whole(scope: Any, receive: Any, send: Any) -> None:
    """Answer when the body is there, and never to the end at one path."""
    if scope["type"] == "http":
        if scope["path"] == "/wait":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await asyncio.Event().wait()
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.request":
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-length", b"0")],
                }
            )
            await send({"type": "http.response.body"})


def test_half_a_request_behind_a_whole_one_is_not_waited_for() -> None:
    """A half request behind a whole one times out after the first was answered."""
    second = b"POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 9\r\n\r\n{"

    async def steps(server: uvicorn.Server, place: tuple[str, int]) -> None:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(b"GET / HTTP/1.1\r\nHost: l\r\n\r\n" + second)
        await reader.readuntil(b"\r\n\r\n")
        connection: Any
        [connection] = server.server_state.connections
        assert connection._reading is not None
        await gone(writer)

    talk_to(whole, steps)


Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def three_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server keep three connections open."""
    monkeypatch.setattr("polycontext.server.connection.MOST_OPEN", 3)


def talk_at_once(app: Any, steps: Callable[[Callable[[], Any]], Coroutine[Any, Any, None]]) -> None:
    """Serve an application while `steps` run, which get a function that opens a connection."""

    async def run(_: uvicorn.Server, place: tuple[str, int]) -> None:
        async with AsyncExitStack() as clients:

            async def come() -> Client:
                reader, writer = await asyncio.open_connection(*place)
                clients.push_async_callback(gone, writer)
                return reader, writer

            await steps(come)

    talk_to(app, run)


async def answered(client: Client, *lines: str, first: str = "GET / HTTP/1.1") -> bytes:
    """Return the status code that a connection is answered with, nothing if it was closed."""
    reader, writer = client
    writer.write("".join(f"{line}\r\n" for line in (first, "Host: localhost", *lines, "")).encode())
    with suppress(ConnectionError):
        return (await reader.read(1_000))[9:12]
    return b""


@pytest.mark.usefixtures("three_connections")
def test_a_new_connection_replaces_the_one_that_waits_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is locked out by connections that send nothing or half a request."""
    monkeypatch.setattr("polycontext.server.connection.NEW_SECONDS", 0.0)

    async def steps(come: Callable[[], Any]) -> None:
        busy, idle = await come(), await come()
        assert [await answered(each) for each in (busy, idle)] == [b"200"] * 2
        half = await come()
        half[1].write(b"GET / HTTP/1.1\r\nHost: l")
        busy[1].write(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await busy[0].readuntil(b"\r\n\r\n")
        assert await answered(await come()) == b"200"
        assert await answered(idle) == b"", "it was the oldest that waited for a request"
        assert await answered(await come()) == b"200"
        with suppress(ConnectionError):
            assert await half[0].read() == b""
        assert await answered(await come(), first="nonsense") == b"400"

    talk_at_once(whole, steps)


@pytest.mark.usefixtures("three_connections")
def test_a_new_connection_is_not_replaced_before_its_first_request() -> None:
    """It may be a user's; strangers who are being answered go first."""

    async def steps(come: Callable[[], Any]) -> None:
        for _ in range(3):
            reader, writer = await come()
            writer.write(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
        new = [await come() for _ in range(3)]
        assert [await answered(each) for each in new] == [b"200"] * 3

    talk_at_once(whole, steps)


@pytest.mark.usefixtures("three_connections")
def test_a_user_is_not_replaced_by_strangers() -> None:
    """Connections without a token go first; then those of the user with the most."""
    ann, ben = ("Authorization: Bearer " + f"{name}-own-secret-token" for name in ("ann", "ben"))
    access = Access(("ann-own-secret-token", "ben-own-secret-token"))

    async def steps(come: Callable[[], Any]) -> None:
        path = "GET /api/x HTTP/1.1"
        first = await come()
        assert await answered(first, ann, first=path) == b"200"
        for _ in range(5):
            await come()
        assert await answered(first, ann, first=path) == b"200", "strangers replace each other"
        others = [await come() for _ in range(2)]
        assert [await answered(each, ben, first=path) for each in others] == [b"200"] * 2
        late = await come()
        assert await answered(late, first=path) == b"401", "and was closed behind the answer"
        assert await answered(first, ann, first=path) == b"200", "ben has more connections"

    talk_at_once(Gate(whole, access, Turns()), steps)


def test_a_client_that_does_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full buffer that nobody empties ends the connection; one that is read does not."""
    monkeypatch.setattr("polycontext.server.connection.MOST_SECONDS", 0.5)
    left = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(400):
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async def steps(server: uvicorn.Server, place: tuple[str, int]) -> None:
        _, writer = await asyncio.open_connection(*place)
        writer.write(b"GET / HTTP/1.1\r\nHost: l\r\n\r\n")
        async with asyncio.timeout(30):
            await left.wait()
        assert not server.server_state.connections
        await gone(writer)

    talk_to(app, steps)


def test_a_body_is_not_read_before_the_token_is_checked(serve: Serve) -> None:
    """A half-sent upload without a token is refused at once, and its connection closed."""
    head = "POST /api/sessions/x/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n"
    with (
        serve("--token", TOKEN) as (browser, _),
        socket.create_connection(place_of(browser), timeout=30) as client,
    ):
        client.sendall(head.encode() + b"\r\n" + b"x" * 1000)
        said = b""
        with suppress(ConnectionError):
            while piece := client.recv(4096):
                said += piece
    assert said.startswith(b"HTTP/1.1 401"), said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--model", "m", "--base-url", "gpt-5"), "--base-url: 'gpt-5'. Use the address"),
        (
            ("--base-url", "http://127.0.0.1:1/v1"),
            "--model is missing. Use the name of the model at that address",
        ),
        (("--store", "oracle://scott:tiger@host/db"), "oracle://***@host/db"),
        (("--port", "70000"), "65535"),
        (("--proxy", "*"), "--proxy * is not an address"),
        (("--compress-only", "--model", "m"), "serves no chats. Leave out --model."),
        (("--compress-only", "--root", "."), "serves no chats. Leave out --root."),
        (("--host", "::", "--token", "x" * 16, "--editor", "vi"), "Use a loopback --host."),
        (("--root", "nowhere"), "'nowhere' does not exist"),
    ],
)
def test_mistakes_are_told(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, before anything is served."""
    assert main(["serve", *arguments]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "tiger" not in err
