"""Files uploaded to a chat: accepted and rejected ones, and that only their names are shown."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.pills.errors import InvalidPillNameError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import sqlite_file
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.server.app import create_app
from polycontext.server.chats import key_of
from polycontext.server.uploads import MOST_TEXT, MOST_UPLOADED, parse_name
from tests.server.wait import until

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000"
    "002000001e221bc330000000049454e44ae426082"
)
HELD = "ZQXJ"


class Model:
    """Remember what was sent, and answer once it may."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.may = asyncio.Event()
        self.may.set()

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Yield a word."""
        self.sent.append(session.messages("openai"))
        yield "So "
        await self.may.wait()

    async def aclose(self) -> None:
        """Let go of nothing."""


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    """Keep chats in memory, or in a file."""
    made = InMemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "chats.db")
    yield made
    made.close()


class Front:
    """Put files into one chat."""

    def __init__(self, browser: httpx.AsyncClient, model: Model, name: str) -> None:
        self.browser, self.model, self.name = browser, model, name

    async def put(
        self, name: str, data: bytes, kind: str = "text/plain", **headers: str
    ) -> httpx.Response:
        """Upload a file."""
        return await self.browser.post(
            f"/{self.name}/uploads", files={"file": (name, data, kind)}, headers=headers
        )

    async def get(self, path: str = "") -> Any:
        """Return what a route says."""
        return (await self.browser.get(f"/{self.name}{path}")).json()

    async def shown(self) -> list[str]:
        """Return what is shown."""
        return [message["content"] for message in (await self.get())["contextProps"]["messages"]]


def talk(
    store: SessionStore,
    steps: Callable[[Front], Awaitable[None]],
    name: str | None = None,
    max_tokens: int = 8000,
) -> str:
    """Run steps against a chat, a new one or one that is there, and return its id."""

    async def talked() -> str:
        model = Model()
        app = create_app(store, lambda: model, max_tokens=max_tokens)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost/api/sessions", timeout=60
        ) as browser:
            found = (
                name or (await browser.post("http://localhost/api/sessions")).json()["sessionId"]
            )
            try:
                await asyncio.wait_for(steps(Front(browser, model, found)), 120)
            finally:
                await app.state.chats.close()
        return str(found)

    return asyncio.run(talked())


def test_a_text_goes_to_the_model_and_its_name_to_the_browser(store: SessionStore) -> None:
    """Also after a restart; what it holds is on no route."""
    heard = []

    async def steps(front: Front) -> None:
        made = await front.put("notes/shelves.md", f"# Shelves\n{HELD}: plums\n".encode())
        assert made.status_code == 201, made.text
        heard.append(made.text)
        assert await front.shown() == ["[@notes/shelves.md]"]
        await front.browser.post(f"/{front.name}/messages", json={"content": "Which?"})
        await until(lambda: bool(front.model.sent))
        assert f"#### notes/shelves.md\n```markdown\n# Shelves\n{HELD}: plums" in str(
            front.model.sent[0][0]["content"]
        )

    async def again(front: Front) -> None:
        assert (await front.shown())[0] == "[@notes/shelves.md]"
        assert (await front.get("/uploads")) == {
            "uploads": [{"id": "t1", "name": "notes/shelves.md"}]
        }
        heard.extend([str(await front.get(path)) for path in ("", "/history", "/uploads")])
        assert (await front.put("notes/shelves.md", b"other")).status_code == 422

    talk(store, again, talk(store, steps))
    assert HELD not in "".join(heard)


@pytest.mark.parametrize(
    ("name", "data", "kind", "block"),
    [
        ("shelf.png", PNG, "image_url", "data:image/png;base64,iVBORw0KGgo"),
        ("text.txt", PNG, "image_url", "data:image/png;base64,iVBORw0KGgo"),
        (
            "paper.pdf",
            b"%PDF-1.7\n\x00\xff",
            "file",
            "data:application/pdf;base64,JVBERi0xLjcKAP8=",
        ),
    ],
)
def test_pictures_and_pdfs_go_as_what_a_model_sees(
    name: str, data: bytes, kind: str, block: str, store: SessionStore
) -> None:
    """By what they hold, whatever they are called; kept over a restart."""

    async def steps(front: Front) -> None:
        made = await front.put(name, data, "text/html")
        assert made.status_code == 201, made.text
        assert block not in made.text

    async def again(front: Front) -> None:
        assert await front.shown() == [f"[@{name}]"]
        await front.browser.post(f"/{front.name}/messages", json={"content": "What is it?"})
        await until(lambda: bool(front.model.sent))
        parts = front.model.sent[0][0]["content"]
        assert [part["type"] for part in parts][:2] == ["text", kind]
        assert block in str(parts[1])
        await front.browser.post(f"/{front.name}/cancel")
        assert (await front.put(name, data)).status_code == 422

    talk(store, again, talk(store, steps, max_tokens=20_000), max_tokens=20_000)


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("empty.txt", b"", "is empty"),
        ("binary.bin", bytes(range(256)) * 9, "Cannot attach context: binary file"),
        ("latin.txt", b"pl\xfcms", "Cannot attach context: unknown encoding"),
        ("nul.txt", "a\0b".encode("utf-16"), "Cannot attach context: binary file"),
        ("half.png", PNG[:9], "Cannot attach context"),
        ("long.txt", b"x" * (MOST_TEXT + 1), "Cannot attach context: file too large"),
        ("full.txt", b"plums and pears " * 20_000, "tokens"),
        ("../name", b"x", "Invalid context name"),
        ("/etc/passwd", b"x", "Invalid context name"),
        ("a\\b.txt", b"x", "Invalid context name"),
        ("C:x.txt", b"x", "Invalid context name"),
        ("a[.txt", b"x", "Invalid context name"),
        (" a.txt", b"x", "Invalid context name"),
        ("x" * 1025, b"x", "Invalid context name"),
        ("a\u202eb.txt", b"x", "Invalid context name"),
    ],
)
def test_what_cannot_be_attached_is_refused_in_words(name: str, data: bytes, told: str) -> None:
    """And nothing has changed."""

    async def steps(front: Front) -> None:
        refused = await front.put(name, data)
        assert (refused.status_code, told in refused.text) == (422, True), refused.text
        assert (await front.shown(), await front.get("/uploads")) == ([], {"uploads": []})

    talk(InMemoryStore(), steps)


def test_the_same_name_twice_is_refused_in_the_seeds_words(store: SessionStore) -> None:
    """However its letters are composed, and at once too."""

    async def steps(front: Front) -> None:
        made = await asyncio.gather(
            *(front.put(name, b"plums") for name in ("peár.md", "pea\u0301r.md"))
        )
        assert sorted(each.status_code for each in made) == [201, 422]
        assert any("Context already attached" in each.text for each in made)
        other = await front.put("日本語 (1).txt", "梅".encode())
        assert other.status_code == 201
        assert await front.shown() == ["[@peár.md]", "[@日本語 (1).txt]"]

    talk(store, steps)


def test_more_than_may_come_is_cut_off_said_before_or_not() -> None:
    """By what the request says of itself, and by what comes."""
    large = b"x" * (MOST_UPLOADED + 1)

    async def pieces() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(len(large) // 100_000 + 2):
            yield large[:100_000]

    async def steps(front: Front) -> None:
        assert (await front.put("a.txt", large)).status_code == 413
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        chunked = await front.browser.post(f"/{front.name}/uploads", content=pieces(), headers=kind)
        assert "content-length" not in chunked.request.headers
        assert chunked.status_code == 413
        elsewhere = await front.browser.post(
            f"/{front.name}/messages",
            content=pieces(),
            headers={"Content-Type": "application/json"},
        )
        assert elsewhere.status_code == 413
        assert await front.shown() == []

    talk(InMemoryStore(), steps)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "multipart/form-data; boundary=b"),
        (b"garbage", "multipart/form-data; boundary=b"),
        (b"garbage", "multipart/form-data"),
        (b'{"file":"x"}', "application/json"),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            (
                b'--b\r\nContent-Disposition: form-data; name="other"; filename="a"\r\n\r\nx\r\n'
                b"--b--\r\n"
            ),
            "multipart/form-data; boundary=b",
        ),
        (
            (
                b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\nx\r\n'
                b"--b--\r\n"
            ),
            "multipart/form-data; boundary=b",
        ),
    ],
)
def test_what_is_no_upload_is_refused(content: bytes, kind: str) -> None:
    """In a form or without one."""

    async def steps(front: Front) -> None:
        refused = await front.browser.post(
            f"/{front.name}/uploads", content=content, headers={"Content-Type": kind}
        )
        assert refused.status_code in (400, 422), refused.text
        assert await front.shown() == []

    talk(InMemoryStore(), steps)


def test_not_while_an_answer_is_written_and_not_into_another_users_chat(
    store: SessionStore,
) -> None:
    """As everything else that a page may do."""

    async def steps(front: Front) -> None:
        front.model.may.clear()
        await front.browser.post(f"/{front.name}/messages", json={"content": "Which?"})
        busy = await front.put("a.txt", b"plums")
        assert (busy.status_code, "being written" in busy.text) == (409, True)
        ben = {"Authorization": "Bearer ben"}
        assert (await front.put("a.txt", b"plums", **ben)).status_code == 404
        assert (await front.browser.get(f"/{front.name}/uploads", headers=ben)).status_code == 404
        front.model.may.set()

    talk(store, steps)


def test_an_attachment_is_removed_for_ever(store: SessionStore) -> None:
    """From the store too; then its name is free, and what is no attachment is not touched."""

    async def steps(front: Front) -> None:
        await front.put("a.txt", HELD.encode())
        await front.browser.post(f"/{front.name}/messages", json={"content": "Which?"})
        await until(lambda: bool(front.model.sent))
        for other in ("t2", "t99", "nowhere"):
            assert (await front.browser.delete(f"/{front.name}/uploads/{other}")).status_code in (
                404,
                409,
            )
        await front.browser.post(f"/{front.name}/cancel")
        gone = await front.browser.delete(f"/{front.name}/uploads/t1")
        assert gone.status_code == 200, gone.text
        assert await front.get("/uploads") == {"uploads": []}
        assert (await front.put("a.txt", b"pears")).status_code == 201

    name = talk(store, steps)
    session = ContextSession.open(store, key_of("local", name), 8000)
    assert HELD not in "".join(session.history.export())


def test_a_name_is_one_that_a_pill_can_have() -> None:
    """Or none."""
    assert parse_name("src/[id].tsx") == "src/[id].tsx"
    for name in (None, "", "a/../b"):
        with pytest.raises(InvalidPillNameError):
            parse_name(name)


def test_others_are_served_while_an_upload_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two steps of erasing, another chat is read and written, and none is told to wait."""
    step, go_on, steps_taken = threading.Event(), threading.Event(), list[bool]()

    def pause(_: float) -> None:
        step.set()
        steps_taken.append(go_on.wait(60))

    async def steps(front: Front) -> None:
        made = await front.put("notes.md", f"{HELD}: plums\n".encode())
        assert made.status_code == 201
        other = (await front.browser.post("http://localhost/api/sessions")).json()["sessionId"]
        monkeypatch.setattr(sqlite_file, "sleep", pause)
        erasing = asyncio.create_task(front.browser.delete(f"/{front.name}/uploads/t1"))
        await until(step.is_set)
        sent = await front.browser.post(f"/{other}/messages", json={"content": "Which?"})
        assert sent.status_code < 300
        said = list[Any]()
        while len(said) < 2:  # until the answer is stored as well
            read = await front.browser.get(f"/{other}")
            assert read.status_code == 200
            said = read.json()["contextProps"]["messages"]
            await asyncio.sleep(0.01)
        assert not erasing.done()
        go_on.set()
        assert (await erasing).status_code == 200

    store = SQLiteStore(tmp_path / "chats.db", timeout=0)
    talk(store, steps)
    store.close()
    assert all(steps_taken)
    assert not any(HELD.encode() in file.read_bytes() for file in tmp_path.iterdir())
