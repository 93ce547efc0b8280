"""The page as the server hands it out."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.polynomial.stores import InMemoryStore
from polycontext.server.app import create_app
from polycontext.server.page_files import FOLDER


async def _got(*asked: tuple[str, dict[str, str]]) -> list[httpx.Response]:
    app = create_app(InMemoryStore())
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost"
    ) as browser:
        return [await browser.get(path, headers=headers) for path, headers in asked]


def _run(*asked: tuple[str, dict[str, str]]) -> list[httpx.Response]:
    return asyncio.run(_got(*asked))


def test_the_page_is_handed_out_with_its_policy() -> None:
    """The page may load files of its own server alone, and may not be framed."""
    page, script, style = _run(("/", {}), ("/page.js", {}), ("/page.css", {}))
    assert page.headers["content-type"].startswith("text/html")
    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")
    for each in (page, script, style):
        policy = dict(
            rule.split(" ", 1) for rule in each.headers["content-security-policy"].split("; ")
        )
        assert (policy["default-src"], policy["script-src"], policy["connect-src"]) == (
            "'none'",
            "'self'",
            "'self'",
        )
        assert policy["frame-ancestors"] == "'none'"
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/%2e%2e/app.py", "/..%2fapp.py", "/nothing.js", "/page.js/x", "/api/nothing"]
)
def test_no_other_file_is_handed_out(path: str) -> None:
    """A path outside of the page gives 404."""
    [answer] = _run((path, {}))
    assert answer.status_code == 404
    assert b"import" not in answer.content


def test_the_page_is_sent_compressed() -> None:
    """A browser that takes gzip is sent it: at most 250 kB for the first view, 550 kB in all."""
    names = [path.name for path in FOLDER.iterdir()]
    answers = _run(*((f"/{name}", {"Accept-Encoding": "gzip"}) for name in names))
    sent = {
        name: int(answer.headers["content-length"])
        for name, answer in zip(names, answers, strict=True)
    }
    first = ("index.html", "page.js", "page.css", "inter.woff2")
    assert sum(sent[name] for name in first) <= 250_000
    assert sum(sent.values()) <= 550_000
    for name, answer in zip(names, answers, strict=True):
        assert answer.content == (FOLDER / name).read_bytes()
        assert "Accept-Encoding" in answer.headers["vary"]
    [plain] = _run(("/page.js", {"Accept-Encoding": "identity"}))
    assert "content-encoding" not in plain.headers
    assert plain.headers["etag"] != answers[names.index("page.js")].headers["etag"]


def test_the_files_of_the_page_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many clients ask for them, none holds a file open."""
    shutil.copytree(FOLDER, folder := tmp_path / "page")
    monkeypatch.setattr("polycontext.server.page_files.FOLDER", folder)
    app = create_app(InMemoryStore())
    shutil.rmtree(folder)

    async def got() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
            paths = ("/", "/page.js", "/page.css")
            answers = await asyncio.gather(*map(browser.get, paths))
        return [answer.status_code for answer in answers]

    for _ in range(2):  # in one event loop after another
        assert asyncio.run(got()) == [200] * 3


def test_many_pages_do_not_hold_up_anybody() -> None:
    """One piece of one file is sent between two steps of the event loop."""
    pieces, most = 0, 0

    async def send(message: Any) -> None:
        nonlocal pieces
        pieces += message["type"] == "http.response.body"

    async def run() -> None:
        nonlocal most
        app, never = create_app(InMemoryStore()), asyncio.Event()
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/page.js",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }

        async def receive() -> Any:
            await never.wait()

        asked = [asyncio.ensure_future(app({**scope}, receive, send)) for _ in range(30)]
        while not all(each.done() for each in asked):
            before = pieces
            await asyncio.sleep(0)
            most = max(most, pieces - before)

    asyncio.run(run())
    assert pieces > 200
    assert most <= 2
