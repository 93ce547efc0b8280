"""Pills over HTTP, with real and hostile files: completion, preview, and attachment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.models.answers import ScriptedAnswering
from polycontext.pills import (
    BufferResolver,
    FileResolver,
    PillDocument,
    SymbolResolver,
    document_to_json,
)
from polycontext.pills.pill import PillType
from polycontext.pills.resolution import FunctionResolver
from polycontext.pills.resolver import Resolved, Resolver
from polycontext.server.access import Access
from polycontext.server.sources import MOST_PILLS, MOST_SHOWN, Sources
from polycontext.testing import FAST
from tests.pills.trees import planted
from tests.server.front import Front, chatting, contents

pytestmark = pytest.mark.anyio

FILES: dict[str, str | bytes] = {
    "src/agent.py": "class Agent:\n    def run(self):\n        return 'the plums'\n",
    "src/other.py": "ONE = 1\n",
    "app/[[...slug]]/page.tsx": "export const page = 'the pears'\n",
    "café/日本 📎.txt": "the jars\n",
    "picture.png": b"\x89PNG\0\0",
    ".env": "KEY=the key under the mat",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of files."""
    return planted(tmp_path / "root", FILES)


@asynccontextmanager
async def served(*resolvers: Resolver) -> AsyncGenerator[Front]:
    """Open a chat whose messages may name what these resolvers find."""
    options: dict[str, Any] = {
        "max_tokens": 50_000,
        "counter": FAST,
        "access": Access(a_minute=10_000),
    }
    async with chatting(model=ScriptedAnswering(), resolvers=resolvers, **options) as page:
        yield page


@pytest.fixture
async def page(root: Path) -> AsyncGenerator[Front]:
    """Open a chat that serves a folder, as the command line does."""
    async with served(FileResolver([root]), SymbolResolver([root])) as made:
        yield made


async def send(page: Front, document: PillDocument, **headers: str) -> httpx.Response:
    """Send a message with its pills, as the document's JSON."""
    data = document_to_json(document)
    body = {"content": data["text"], "pills": data["pills"]}
    return await page.ask("POST", "/messages", json=body, headers=headers)


async def log(page: Front) -> list[str]:
    """Return everything that the user's side of the conversation holds."""
    return [turn.text for turn in (await page.chat()).session.log() if turn.role == "user"]


async def test_names_are_completed(root: Path) -> None:
    """Files, symbols and buffers are completed, secrets are not, and no resolver gives none."""
    resolvers = FileResolver([root]), SymbolResolver([root])
    async with served(*resolvers, BufferResolver({"*scratch*": "notes"})) as page:

        async def completed(**query: Any) -> list[dict[str, str]]:
            found: list[dict[str, str]] = (await page.get("/completions", **query))["completions"]
            return found

        file = {"name": "src/agent.py", "type": "file", "detail": ""}
        assert await completed(prefix="@src/ag") == [file]
        symbol = {"name": "src.agent.Agent.run", "type": "symbol", "detail": "src/agent.py:2"}
        assert await completed(prefix="Agent.run") == [symbol]
        names = {each["name"] for each in await completed(limit=50)}
        assert names >= {"*scratch*", "app/[[...slug]]/page.tsx", "café/日本 📎.txt"}
        assert ".env" not in names
        assert len(await completed(limit=2)) == 2
        for query in ({"limit": 51}, {"prefix": "x" * 1025}):
            assert (await page.ask("GET", "/completions", params=query)).status_code == 422
    async with served() as page:
        assert await page.get("/completions", prefix="a") == {"completions": []}
        missing = "[@src/agent.py]: Cannot attach context: file not found"
        assert (await page.get("/source", name="src/agent.py"))["detail"] == missing


async def test_many_files_are_completed(tmp_path: Path) -> None:
    """Concurrent completions share one scan, and a new file is found later."""
    planted(tmp_path, {f"shelf{number % 100}/jar{number}.txt": "" for number in range(300)})

    class Counted(FileResolver):
        scans = 0

        def entries(self) -> Any:
            Counted.scans += 1
            return super().entries()

    sources = Sources([Counted([tmp_path])])
    numbers = range(290, 300)
    answers = await asyncio.gather(*(sources.completions(f"jar{n}", 5) for n in numbers))
    assert [found[0]["name"] for found in answers] == [
        f"shelf{n % 100}/jar{n}.txt" for n in numbers
    ]
    assert Counted.scans == 1
    planted(tmp_path, {"plums.txt": ""})
    sources._until = 0  # as if time had passed
    await sources.completions("plums", 5)
    assert sources._looking is not None
    await sources._looking
    assert await sources.completions("plums", 5)
    await sources.close()
    assert Counted.scans == 2


async def test_a_source_that_fails_is_no_end_of_completion(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Why stands in the log; the next question asks it again."""

    class Flaky(BufferResolver):
        down = True

        def entries(self) -> Any:
            if self.down:
                raise ConnectionError("of an address that is nobody's business")
            return super().entries()

    async with served(Flaky({"notes": "plums"})) as page:
        assert await page.get("/completions") == {"completions": []}
        Flaky.down = False
        (await page.chat()).sources._until = 0
        assert (await page.get("/completions"))["completions"][0]["name"] == "notes"
    assert "nobody's business" in caplog.text


async def test_a_source_is_shown(root: Path) -> None:
    """A file with its path, a symbol with its line, bounded in size."""
    everything = Resolved("endless", PillType.BUFFER, "x" * (MOST_SHOWN + 1))
    endless = FunctionResolver(PillType.BUFFER, lambda _: everything)
    async with served(FileResolver([root]), SymbolResolver([root]), endless) as page:
        shown = await page.get("/source", name="src/agent.py")
        assert (shown["content"], shown["path"]) == (FILES["src/agent.py"], "src/agent.py")
        symbol = await page.get("/source", type="symbol", name="Agent.run")
        code = "    def run(self):\n        return 'the plums'\n"
        assert (symbol["content"], symbol["startLine"]) == (code, 2)
        for name in ("app/[[...slug]]/page.tsx", "café/日本 📎.txt"):
            assert (await page.get("/source", name=name))["content"] == FILES[name]
        long = await page.get("/source", type="buffer", name="endless")
        assert len(long["content"]) == MOST_SHOWN


@pytest.mark.parametrize(
    ("name", "problem", "missing"),
    [
        ("gone.py", "Cannot attach context: file not found", True),
        ("picture.png", "Cannot attach context: binary file", False),
        ("../secret.txt", "Invalid context name", False),
        ("broken", "Cannot attach context", False),
    ],
)
async def test_what_cannot_be_attached_is_told_and_nothing_is_sent(
    root: Path, name: str, problem: str, *, missing: bool
) -> None:
    """In the words of the resolver, for looking and for sending, beside a pill that is fine."""

    def fails(_: str) -> str:
        raise OSError("/an/address/that/is/nobody's")

    async with served(FileResolver([root]), FunctionResolver(PillType.BUFFER, fails)) as page:
        kind = "buffer" if name == "broken" else "file"
        told = {
            "detail": f"[@{name}]: {problem}",
            "pills": [{"name": name, "problem": problem, "missing": missing}],
        }
        # As it is typed: nothing inserts a pill that no resolver can read.
        types = {name: kind}
        text = f"see [@src/agent.py] and [@{name}]"
        document = PillDocument.parse(text, lambda each: types.get(each, "file"))
        looked = await page.ask("GET", "/source", params={"type": kind, "name": name})
        for refused in (looked, await send(page, document)):
            assert (refused.status_code, refused.json()) == (422, told)
        assert await log(page) == []
        fine = await send(page, document.remove_pill(name))
        left = ["[@src/agent.py]", "see [@src/agent.py] and "]
        assert contents(fine.json()["contextProps"]) == left


async def test_a_message_attaches_what_its_pills_name(page: Front, root: Path) -> None:
    """The model reads the content, and the browser sees only names.

    The same content is attached once, and changed content again. A message that was taken in is
    not asked for again under its key, also where the file has vanished meanwhile.
    """
    document = (
        PillDocument("🙂 what does ")
        .insert_pill("Agent.run", type="symbol")
        .insert_text(24, " in ")
        .insert_pill("src/agent.py")
    )
    sent = await send(page, document)
    assert sent.status_code == 200, sent.text
    assert contents(sent.json()["contextProps"]) == [
        "[@src/agent.py:2-3]",
        "[@src/agent.py]",
        "🙂 what does [@Agent.run] in [@src/agent.py]",
    ]
    assert "plums" not in sent.text
    assert ["the plums" in text for text in await log(page)] == [True, True, False]
    await page.answered()
    await send(page, PillDocument.parse("again [@src/agent.py]"))
    await page.answered()
    (root / "src/agent.py").write_text("the quinces\n")
    again = PillDocument.parse("and now [@src/agent.py]")
    key = {"Idempotency-Key": "k1"}
    await send(page, again, **key)
    assert ["quinces" in text for text in await log(page)] == [*[False] * 4, True, False]
    await page.answered()
    (root / "src/agent.py").unlink()
    assert (await send(page, again, **key)).status_code == 200
    assert (await send(page, again)).status_code == 422
    assert len(await log(page)) == 6


async def test_brackets_typed_by_hand_are_text(page: Front) -> None:
    """Without a list of pills nothing is attached; a list must be of what stands there."""
    await page.say("see [@src/agent.py]")
    assert await log(page) == ["see [@src/agent.py]"]
    await page.answered()
    other = {"name": "src/other.py", "type": "file"}
    absent = "$.pills[0]: [@src/agent.py] does not stand in the content"
    for pills, fault in (
        ([{"name": "src/agent.py", "type": "file"}], absent),
        ([{"name": "a", "type": "folder"}], "Invalid context name"),
        ([{"type": "file"}], "$.pills[0]"),
        ([other] * (MOST_PILLS + 1), "too_long"),
    ):
        body = {"content": "see [@src/other.py]", "pills": pills}
        refused = await page.ask("POST", "/messages", json=body)
        assert (refused.status_code, fault in refused.text) == (422, True), refused.text
    blank = await page.say(" \n")
    told = "$.content: is empty. Use the user's text."
    assert (blank.status_code, blank.json()["detail"]) == (422, told)
    assert len(await log(page)) == 1


async def test_a_message_with_pills_is_edited_and_forked(page: Front) -> None:
    """An edit attaches the names it now holds, and a fork keeps the attachments.

    An edit that is rejected takes nothing back.
    """
    await send(page, PillDocument.parse("see [@src/agent.py]"))
    await page.answered()
    shown = (await page.get())["contextProps"]["messages"]
    place = f"/messages/{shown[1]['id']}"
    gone = {"content": "see [@gone]", "pills": [{"name": "gone", "type": "file"}]}
    refused = await page.ask("PUT", place, json=gone)
    assert refused.json()["pills"][0]["name"] == "gone"
    assert (await page.get())["contextProps"]["messages"] == shown
    pills = [{"name": "src/other.py", "type": "file", "start": 99}]
    edited = await page.ask("PUT", place, json={"content": "see [@src/other.py]", "pills": pills})
    after = ["[@src/agent.py]", "[@src/other.py]", "see [@src/other.py]"]
    assert contents(edited.json()["contextProps"]) == after
    await page.answered()
    forked = (await page.ask("POST", "/fork", json={})).json()
    assert contents(forked["contextProps"])[:3] == after
    page.name = forked["sessionId"]
    assert "ONE = 1" in "".join(await log(page))
