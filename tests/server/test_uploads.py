"""Files uploaded to a chat: accepted and rejected ones, and that only their names are shown."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import sqlite_file
from polycontext.polynomial.stores.session_store import SessionStore
from polycontext.polynomial.stores.sqlite import SQLiteStore
from polycontext.server.chats import key_of
from polycontext.server.uploads import MOST_TEXT, MOST_UPLOADED
from tests.server.front import Front, chatting, until

pytestmark = pytest.mark.anyio

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000"
    "002000001e221bc330000000049454e44ae426082"
)
HELD = "ZQXJ"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    """Keep chats in a file."""
    made = SQLiteStore(tmp_path / "chats.db")
    yield made
    made.close()


async def put(front: Front, name: str, data: bytes, kind: str = "text/plain") -> httpx.Response:
    """Upload a file."""
    return await front.ask("POST", "/uploads", files={"file": (name, data, kind)})


async def test_a_text_goes_to_the_model_and_its_name_to_the_browser(store: SessionStore) -> None:
    """Also after a restart; what it holds is on no route."""
    async with chatting(store) as front:
        made = await put(front, "notes/shelves.md", f"# Shelves\n{HELD}: plums\n".encode())
        assert made.status_code == 201, made.text
        heard = [made.text]
        assert await front.shown() == ["[@notes/shelves.md]"]
        await front.say("Which?")
        await until(lambda: front.model.asked)
        file = f"#### notes/shelves.md\n```markdown\n# Shelves\n{HELD}: plums"
        assert file in str(front.model.asked[0][0]["content"])
    async with chatting(store, front.name) as front:
        assert (await front.shown())[0] == "[@notes/shelves.md]"
        uploads = {"uploads": [{"id": "t1", "name": "notes/shelves.md"}]}
        assert await front.get("/uploads") == uploads
        heard += [str(await front.get(path)) for path in ("", "/history", "/uploads")]
        assert (await put(front, "notes/shelves.md", b"other")).status_code == 422
    assert HELD not in "".join(heard)


@pytest.mark.parametrize(
    ("name", "data", "kind", "block"),
    [
        ("shelf.png", PNG, "image_url", "data:image/png;base64,iVBORw0KGgo"),
        (
            "paper.pdf",
            b"%PDF-1.7\n\x00\xff",
            "file",
            "data:application/pdf;base64,JVBERi0xLjcKAP8=",
        ),
    ],
)
async def test_pictures_and_pdfs_go_as_what_a_model_sees(
    name: str, data: bytes, kind: str, block: str, store: SessionStore
) -> None:
    """By what they hold, whatever they are called; kept over a restart."""
    async with chatting(store, max_tokens=20_000) as front:
        made = await put(front, name, data, "text/html")
        assert made.status_code == 201, made.text
        assert block not in made.text
    async with chatting(store, front.name, max_tokens=20_000) as front:
        assert await front.shown() == [f"[@{name}]"]
        await front.say("What is it?")
        await until(lambda: front.model.asked)
        parts = front.model.asked[0][0]["content"]
        assert [part["type"] for part in parts][:2] == ["text", kind]
        assert block in str(parts[1])


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("empty.txt", b"", "is empty"),
        ("binary.bin", bytes(range(256)) * 9, "Cannot attach context: binary file"),
        ("latin.txt", b"pl\xfcms", "Cannot attach context: unknown encoding"),
        ("half.png", PNG[:9], "Cannot attach context"),
        ("long.txt", b"x" * (MOST_TEXT + 1), "Cannot attach context: file too large"),
        ("full.txt", b"plums and pears " * 20_000, "tokens"),
        ("../name", b"x", "Invalid context name"),
        ("a\u202eb.txt", b"x", "Invalid context name"),
    ],
)
async def test_what_cannot_be_attached_is_refused_in_words(
    front: Front, name: str, data: bytes, told: str
) -> None:
    """And nothing has changed."""
    refused = await put(front, name, data)
    assert (refused.status_code, told in refused.text) == (422, True), refused.text
    assert (await front.shown(), await front.get("/uploads")) == ([], {"uploads": []})


async def test_the_same_name_twice_is_refused_in_the_seeds_words(front: Front) -> None:
    """However its letters are composed, and at once too."""
    names = ("pe\u00e1r.md", "pea\u0301r.md")
    made = await asyncio.gather(*(put(front, name, b"plums") for name in names))
    assert sorted(each.status_code for each in made) == [201, 422]
    assert any("Context already attached" in each.text for each in made)
    assert (await put(front, "日本語 (1).txt", "梅".encode())).status_code == 201
    assert await front.shown() == ["[@pe\u00e1r.md]", "[@日本語 (1).txt]"]


async def test_more_than_may_come_is_cut_off_said_before_or_not(front: Front) -> None:
    """By what the request says of itself, and by what comes."""
    large = b"x" * (MOST_UPLOADED + 1)

    async def pieces() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(len(large) // 100_000 + 2):
            yield large[:100_000]

    assert (await put(front, "a.txt", large)).status_code == 413
    for path, kind in (
        ("/uploads", "multipart/form-data; boundary=b"),
        ("/messages", "application/json"),
    ):
        sent = await front.ask("POST", path, content=pieces(), headers={"Content-Type": kind})
        assert "content-length" not in sent.request.headers
        assert sent.status_code == 413
    assert await front.shown() == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"garbage", "multipart/form-data; boundary=b"),
        (b'{"file":"x"}', "application/json"),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
    ],
)
async def test_what_is_no_upload_is_refused(front: Front, content: bytes, kind: str) -> None:
    """In a form or without one."""
    headers = {"Content-Type": kind}
    refused = await front.ask("POST", "/uploads", content=content, headers=headers)
    assert refused.status_code in (400, 422), refused.text
    assert await front.shown() == []


async def test_an_attachment_is_removed_for_ever(store: SessionStore) -> None:
    """From the store too; then its name is free, and what is no attachment is not touched."""
    async with chatting(store) as front:
        await put(front, "a.txt", HELD.encode())
        await front.say("Which?")
        assert (await put(front, "b.txt", b"plums")).status_code == 409
        for other in ("t2", "t99"):
            gone = await front.ask("DELETE", f"/uploads/{other}")
            assert gone.status_code in (404, 409)
        await front.ask("POST", "/cancel")
        gone = await front.ask("DELETE", "/uploads/t1")
        assert gone.status_code == 200, gone.text
        assert await front.get("/uploads") == {"uploads": []}
        assert (await put(front, "a.txt", b"pears")).status_code == 201
    session = ContextSession.open(store, key_of("local", front.name), 8000)
    assert HELD not in "".join(session.history.export())


async def test_others_are_served_while_an_upload_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two steps of erasing, another chat is read and written, and none is told to wait."""
    step, go_on, steps_taken = threading.Event(), threading.Event(), list[bool]()

    def pause(_: float) -> None:
        step.set()
        steps_taken.append(go_on.wait(60))

    store = SQLiteStore(tmp_path / "chats.db", timeout=0)
    async with chatting(store) as front:
        assert (await put(front, "notes.md", f"{HELD}: plums\n".encode())).status_code == 201
        name = (await front.browser.post("/sessions")).json()["sessionId"]
        other = Front(front.browser, front.model, front.app, name)
        monkeypatch.setattr(sqlite_file, "sleep", pause)
        erasing = asyncio.create_task(front.ask("DELETE", "/uploads/t1"))
        await until(step.is_set)
        front.model.will_say("Plums.")
        assert (await other.say("Which?")).status_code < 300
        while len(await other.shown()) < 2:  # noqa: ASYNC110 - until the answer is stored as well
            await asyncio.sleep(0.01)
        assert not erasing.done()
        go_on.set()
        assert (await erasing).status_code == 200
    store.close()
    assert all(steps_taken)
    assert not any(HELD.encode() in file.read_bytes() for file in tmp_path.iterdir())  # noqa: ASYNC240
