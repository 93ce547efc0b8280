"""`polycontext serve`, and who answers behind it."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from polycontext.linearity import InvalidOptionError
from polycontext.nodes.commands.app import main
from polycontext.nodes.models.answering import ScriptedAnswering, answering
from polycontext.nodes.models.strict import StrictAnthropic, StrictChat, StrictServer
from polycontext.nodes.server.access import Access, is_loopback
from polycontext.polynomial import ContextSession

PLACE = re.compile(r"chats at (http://\S+)/")


@contextmanager
def served(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Generator[tuple[str, str]]:
    """Run the command in a thread, and return the URL that it says, and all that it says."""
    servers: list[uvicorn.Server] = []

    class Kept(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)

    monkeypatch.setattr(uvicorn, "Server", Kept)
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["serve", "--port", "0", *arguments])))
    thread.start()
    told = ""
    while thread.is_alive() and not (servers and servers[0].started):
        time.sleep(0.01)
    told += capsys.readouterr().err
    found = PLACE.search(told)
    assert found, told
    try:
        yield found[1], told
    finally:
        servers[0].should_exit = True
        thread.join(60)
        assert codes == [0]


def test_the_command_serves_until_it_is_stopped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """With a store and a system prompt; what was said is there when it is started anew."""
    options = ("--store", str(tmp_path / "chats.db"), "--system", "Never name the margin.", "--max-tokens", "900")
    names: list[str] = []
    for _ in range(2):
        with served(capsys, monkeypatch, *options) as (url, told), httpx.Client(base_url=f"{url}/api") as browser:
            assert "token" not in told
            names = names or [browser.post("/sessions").json()["sessionId"]]
            said = browser.post(f"/sessions/{names[0]}/messages", json={"content": "plums"}).json()
            assert said["contextProps"]["messages"][-1]["content"] == "plums"
            assert "margin" not in browser.get(f"/sessions/{names[0]}").text
            assert browser.get("/sessions").json() == {"sessions": names}
            assert browser.get(f"{url}/openapi.json").json()["components"]["schemas"]["ChatProps"]["title"] == "ChatProps"
    assert next(turn.text for turn in _kept(tmp_path / "chats.db").log()) == "Never name the margin."


def _kept(path: Any) -> ContextSession:
    [name] = ContextSession.list_sessions(path)
    with ContextSession.open(path, name) as session:
        return session


def test_a_folder_is_served_where_it_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Its files and symbols; without one there are none."""
    (tmp_path / "plums.py").write_text("JARS = 3\n")
    for options, names in [(("--root", str(tmp_path)), ["plums.py", "plums.JARS"]), ((), [])]:
        with served(capsys, monkeypatch, *options) as (url, _), httpx.Client(base_url=f"{url}/api") as browser:
            chat = browser.post("/sessions").json()["sessionId"]
            offered = browser.get(f"/sessions/{chat}/completions", params={"prefix": "plums"}).json()["completions"]
            assert [each["name"] for each in offered] == names


def test_a_host_that_others_reach_asks_for_a_token(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made and printed; without it nobody comes in."""
    monkeypatch.setattr("polycontext.nodes.server.access.is_loopback", lambda host: False)
    with served(capsys, monkeypatch) as (url, told), httpx.Client(base_url=f"{url}/api") as browser:
        assert browser.get("/sessions").status_code == 401
        token = told.partition("token: ")[2].split()[0]
        assert browser.get("/sessions", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert token not in repr(Access((token,)))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--model", "gpt-5"), "model = 'gpt-5'; legal: the URL of an endpoint"),
        (("--model", "http://127.0.0.1:1/v1"), "name = None; legal: what the endpoint calls its model"),
        (("--store", "oracle://scott:tiger@host/db"), "oracle://***@host/db"),
        (("--port", "70000"), "65535"),
        (("--root", "nowhere"), "--root nowhere: no folder"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, before anything is served."""
    assert main(["serve", *arguments]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "tiger" not in err


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The system's own words, and no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 1
    assert "nothing can be served at 127.0.0.1" in capsys.readouterr().err


def test_it_stops_on_a_signal(tmp_path: Any) -> None:
    """Of a terminal, or of whoever runs services; who listens is let go at once, and what was said of an answer stands."""
    path, whole, over = tmp_path / "chats.db", "Plums and pears. " * 20, threading.Event()

    class Halting(StrictChat):
        def stream(self, request: Any, **options: Any) -> Any:
            for number, event in enumerate(super().stream(request, **options)):
                if number == 6:
                    assert over.wait(60)
                yield event

    with StrictServer((Halting(lambda _: whole),)) as model:
        command = [sys.executable, "-m", "polycontext", "serve", "--port", "0", "--store", str(path)]
        command += ["--model", f"{model.url}/v1", "--name", "gpt-5"]
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stderr is not None
            try:
                found = PLACE.search(process.stderr.readline())
                assert found
                with httpx.Client(base_url=f"{found[1]}/api/sessions/", timeout=30) as browser:
                    name = browser.post(f"{found[1]}/api/sessions").json()["sessionId"]
                    browser.post(f"{name}/messages", json={"content": "What is on the shelves?"})
                    with browser.stream("GET", f"{name}/events") as told:
                        heard = ""
                        for text in told.iter_text():
                            if "delta" in text and "delta" not in heard:
                                process.send_signal(signal.SIGTERM)
                            heard += text
                assert process.wait(60) in {0, -signal.SIGTERM}
                # Nobody had to be cut off.
                assert process.stderr.read() == ""
            finally:
                over.set()
                process.kill()
    said = [turn.text for turn in _kept(path).log()]
    assert said[0] == "What is on the shelves?"
    assert whole.startswith(said[1])
    assert said[1] != whole


def test_which_hosts_are_this_machine() -> None:
    """By number and by name."""
    assert [*map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost"))] == [True] * 4
    assert [*map(is_loopback, ("0.0.0.0", "::", "example.org", ""))] == [False] * 4  # noqa: S104 - nothing is bound


# --- who answers ----------------------------------------------------------------------


async def said_by(answers: Any, session: ContextSession) -> str:
    """Return the whole of an answer."""
    try:
        return "".join([piece async for piece in answers.answer(session)])
    finally:
        await answers.aclose()


@pytest.mark.parametrize(("provider", "name"), [(StrictChat, "gpt-5"), (StrictAnthropic, "claude-opus-4-7")], ids=["openai", "anthropic"])
def test_an_endpoint_answers_and_its_counts_are_learned(provider: Callable[..., Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed, with the system prompt where the vendor wants it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    asked: list[Any] = []
    learned: list[Any] = []
    session = ContextSession(8000)

    def reply(request: Any) -> str:
        asked.append(request)
        return "Plums and pears."

    monkeypatch.setattr(session, "reported", learned.append)
    session.add_system("Never open a jar.")
    session.add_user_turn("What is on the shelves?")
    with StrictServer((provider(reply),)) as server:
        url = server.url if provider is StrictAnthropic else f"{server.url}/v1"
        assert asyncio.run(said_by(answering(url, name), session)) == "Plums and pears."
    assert "Never open a jar." in str(asked)
    assert len(learned) == 1


def test_without_one_a_script_answers() -> None:
    """It says what it was told, and that it is none."""
    session = ContextSession(8000)
    session.add_user_turn("What is on the shelves?")
    said = asyncio.run(said_by(answering(None, None), session))
    assert "5 words" in said
    assert "shelves?" in said
    assert isinstance(answering(None, None), ScriptedAnswering)
    with pytest.raises(InvalidOptionError):
        answering("ftp://host", "gpt-5")
