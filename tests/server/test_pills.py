"""Pills over HTTP, with real and hostile files: completion, preview, and attachment."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.pills import (
    BufferResolver,
    FileResolver,
    PillDocument,
    SymbolResolver,
    document_to_json,
)
from polycontext.pills.pill import PillType
from polycontext.pills.resolution import FunctionResolver
from polycontext.pills.resolver import Candidate, Resolved, Resolver
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.server.access import Access
from polycontext.server.app import create_app
from polycontext.server.sources import MOST_PILLS, MOST_SHOWN, Sources
from polycontext.testing import FAST
from tests.pills.hostile_names import hostile_names
from tests.pills.trees import SECRET_TEXT, besieged, planted

Data = dict[str, Any]
FILES: dict[str, str | bytes] = {
    "src/agent.py": "class Agent:\n    def run(self):\n        return 'the plums'\n",
    "src/other.py": "ONE = 1\n",
    "app/[[...slug]]/page.tsx": "export const page = 'the pears'\n",
    "café/日本 📎.txt": "the jars\n",
    "picture.png": b"\x89PNG\0\0",
    ".env": "KEY=the key under the mat",
}

ANN, BEN = "ann's-secret-token", "ben's-secret-token"


class Page:
    """A browser's window on one chat of an application."""

    def __init__(self, browser: httpx.AsyncClient, name: str, app: Any) -> None:
        self.browser, self.name, self.app = browser, name, app

    async def get(self, route: str, **query: Any) -> httpx.Response:
        """Ask a route of the chat."""
        return await self.browser.get(f"/sessions/{self.name}/{route}", params=query)

    async def send(self, document: PillDocument, **headers: str) -> httpx.Response:
        """Send a message with its pills, as the document's JSON."""
        data = document_to_json(document)
        return await self.browser.post(
            f"/sessions/{self.name}/messages",
            json={"content": data["text"], "pills": data["pills"]},
            headers=headers,
        )

    async def answered(self) -> None:
        """Wait until nothing is being written."""
        chat = await self.app.state.chats.get("local", self.name)
        async with asyncio.timeout(10):
            if chat._writing is not None:
                await asyncio.wait({chat._writing})

    async def log(self) -> list[str]:
        """Return everything that the conversation holds."""
        chat = await self.app.state.chats.get("local", self.name)
        return [turn.text for turn in chat.session.log() if turn.role == "user"]


def on_a_page(
    resolvers: list[Resolver],
    talk: Callable[[Page], Coroutine[Any, Any, None]],
    max_tokens: int = 50_000,
) -> None:
    """Open a chat, and let `talk` use it."""

    async def run() -> None:
        app = create_app(
            InMemoryStore(),
            access=Access(a_minute=10_000),
            resolvers=resolvers,
            max_tokens=max_tokens,
            counter=FAST,
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost/api"
        ) as browser:
            name = (await browser.post("/sessions")).json()["sessionId"]
            await talk(Page(browser, name, app))
        await app.state.chats.close()

    asyncio.run(run())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of files."""
    return planted(tmp_path / "root", FILES)


def finders(root: Path) -> list[Resolver]:
    """Return what the command line serves of a folder."""
    return [FileResolver([root]), SymbolResolver([root])]


def test_names_are_completed(root: Path) -> None:
    """Files, symbols and buffers are completed, secrets are not, and no resolver gives none."""

    async def talk(page: Page) -> None:
        found = (await page.get("completions", prefix="@src/ag")).json()["completions"]
        assert found == [{"name": "src/agent.py", "type": "file", "detail": ""}]
        symbol = (await page.get("completions", prefix="Agent.run")).json()["completions"]
        assert symbol == [
            {"name": "src.agent.Agent.run", "type": "symbol", "detail": "src/agent.py:2"}
        ]
        everything = (await page.get("completions", limit=50)).json()["completions"]
        names = {each["name"] for each in everything}
        assert names >= {"*scratch*", "app/[[...slug]]/page.tsx", "café/日本 📎.txt"}
        assert ".env" not in names
        assert len((await page.get("completions", limit=2)).json()["completions"]) == 2
        assert (await page.get("completions", limit=51)).status_code == 422
        assert (await page.get("completions", prefix="x" * 1025)).status_code == 422

    async def nothing(page: Page) -> None:
        assert (await page.get("completions", prefix="a")).json() == {"completions": []}
        assert (await page.get("source", name="src/agent.py")).json()[
            "detail"
        ] == "[@src/agent.py]: Cannot attach context: file not found"

    on_a_page([*finders(root), BufferResolver({"*scratch*": "notes"})], talk)
    on_a_page([], nothing)


@pytest.mark.gate
def test_ten_thousand_files_are_completed(tmp_path: Path) -> None:
    """Concurrent completions share one scan, and a new file is found later."""
    planted(tmp_path, {f"shelf{number % 100}/jar{number}.txt": "" for number in range(10_000)})
    scans = 0

    class Counted(FileResolver):
        def entries(self) -> Any:
            nonlocal scans
            scans += 1
            return super().entries()

    async def look() -> None:
        sources = Sources([Counted([tmp_path])])
        answers = await asyncio.gather(
            *(sources.completions(f"jar{number}", 5) for number in range(9990, 10_000))
        )
        assert [found[0]["name"] for found in answers] == [
            f"shelf{number % 100}/jar{number}.txt" for number in range(9990, 10_000)
        ]
        assert scans == 1
        planted(tmp_path, {"plums.txt": ""})
        sources._until = 0  # as if time had passed
        await sources.completions("plums", 5)
        async with asyncio.timeout(30):
            assert sources._looking is not None
            await sources._looking
        assert await sources.completions("plums", 5)
        await sources.close()

    asyncio.run(look())
    assert scans == 2


def test_a_source_that_fails_is_no_end_of_completion(caplog: pytest.LogCaptureFixture) -> None:
    """Why stands in the log; the next question asks it again."""
    down = True

    class Flaky(BufferResolver):
        def entries(self) -> Any:
            if down:
                raise ConnectionError("of an address that is nobody's business")
            return super().entries()

    async def talk(page: Page) -> None:
        nonlocal down
        refused = await page.get("completions")
        assert (refused.status_code, refused.json()) == (200, {"completions": []})
        down = False
        (await page.app.state.chats.get("local", page.name)).sources._until = 0
        assert (await page.get("completions")).json()["completions"][0]["name"] == "notes"

    on_a_page([Flaky({"notes": "plums"})], talk)
    assert "nobody's business" in caplog.text


def test_a_source_is_shown(root: Path) -> None:
    """A file with its path, a symbol with its line, bounded in size."""

    async def talk(page: Page) -> None:
        shown = (await page.get("source", name="src/agent.py")).json()
        assert (shown["content"], shown["path"], shown["notice"]) == (
            FILES["src/agent.py"],
            "src/agent.py",
            None,
        )
        symbol = (await page.get("source", type="symbol", name="Agent.run")).json()
        assert (symbol["content"], symbol["startLine"]) == (
            "    def run(self):\n        return 'the plums'\n",
            2,
        )
        assert (await page.get("source", name="app/[[...slug]]/page.tsx")).json()[
            "content"
        ] == FILES["app/[[...slug]]/page.tsx"]
        assert (await page.get("source", name="café/日本 📎.txt")).json()["content"] == "the jars\n"
        endless = (await page.get("source", type="buffer", name="endless")).json()
        assert len(endless["content"]) == MOST_SHOWN
        assert (await page.get("source", type="folder", name="src")).status_code == 422

    everything = Resolved("endless", PillType.BUFFER, "x" * (MOST_SHOWN + 1))
    on_a_page([*finders(root), FunctionResolver(PillType.BUFFER, lambda _: everything)], talk)


@pytest.mark.parametrize(
    ("name", "problem", "missing"),
    [
        ("gone.py", "Cannot attach context: file not found", True),
        ("picture.png", "Cannot attach context: binary file", False),
        ("large.txt", "Cannot attach context: file too large", False),
        ("src", "Cannot attach context: not a regular file", False),
        ("../secret.txt", "Invalid context name", False),
        ("way-out", "Cannot attach context: outside of the roots", False),
        (".env", "Cannot attach context: file is kept back", False),
        ("broken", "Cannot attach context", False),
    ],
)
def test_what_cannot_be_attached_is_told_and_nothing_is_sent(
    root: Path, name: str, problem: str, *, missing: bool
) -> None:
    """In the words of the resolver, for looking and for sending, beside a pill that is fine."""
    planted(root, {"large.txt": b"x" * 2000})
    planted(root.parent, {"secret.txt": SECRET_TEXT})
    (root / "way-out").symlink_to("../secret.txt")

    def fails(_: str) -> str:
        raise OSError("/an/address/that/is/nobody's")

    async def talk(page: Page) -> None:
        kind = "buffer" if name == "broken" else "file"
        told = {
            "detail": f"[@{name}]: {problem}",
            "pills": [{"name": name, "problem": problem, "missing": missing}],
        }
        # As it is typed: nothing inserts a pill that no resolver can read.
        types = {name: kind}
        document = PillDocument.parse(
            f"see [@src/agent.py] and [@{name}]", lambda each: types.get(each, "file")
        )
        for refused in (await page.get("source", type=kind, name=name), await page.send(document)):
            assert (refused.status_code, refused.json()) == (422, told)
        assert await page.log() == []
        fine = await page.send(document.remove_pill(name))
        assert [each["content"] for each in fine.json()["contextProps"]["messages"]] == [
            "[@src/agent.py]",
            "see [@src/agent.py] and ",
        ]

    on_a_page(
        [FileResolver([root], most_bytes=1000), FunctionResolver(PillType.BUFFER, fails)], talk
    )


@pytest.mark.gate
def test_no_hostile_name_reaches_what_is_outside(tmp_path: Path) -> None:
    """Neither looked at nor sent, however it is written."""
    root = besieged(tmp_path)
    names = hostile_names(tmp_path)
    allowed = {"link-in", "link-self/src/agent.py"}

    async def talk(page: Page) -> None:
        received = ""
        for name in names:
            encoded = name.encode("utf-8", "replace").decode()
            shown = await page.get("source", name=encoded)
            assert shown.status_code == 422 or name in allowed, name
            sent = await page.browser.post(
                f"/sessions/{page.name}/messages",
                json={"content": f"[@{encoded}]", "pills": [{"name": encoded, "type": "file"}]},
            )
            assert sent.status_code == 422, name
            received += shown.text + sent.text
        assert SECRET_TEXT not in received
        assert await page.log() == []

    on_a_page(finders(root), talk)


def test_a_message_attaches_what_its_pills_name(root: Path) -> None:
    """The model reads the content, and the browser sees only names.

    The same content is attached once, and changed content again.
    """

    async def talk(page: Page) -> None:
        document = (
            PillDocument("🙂 what does ")
            .insert_pill("Agent.run", type="symbol")
            .insert_text(24, " in ")
            .insert_pill("src/agent.py")
        )
        sent = await page.send(document)
        assert sent.status_code == 200, sent.text
        shown = [each["content"] for each in sent.json()["contextProps"]["messages"]]
        assert shown == [
            "[@src/agent.py:2-3]",
            "[@src/agent.py]",
            "🙂 what does [@Agent.run] in [@src/agent.py]",
        ]
        assert "plums" not in sent.text
        assert ["the plums" in text for text in await page.log()] == [True, True, False]
        await page.answered()
        await page.send(PillDocument.parse("again [@src/agent.py]"))
        await page.answered()
        (root / "src/agent.py").write_text("the quinces\n")
        await page.send(PillDocument.parse("and now [@src/agent.py]"))
        assert ["quinces" in text for text in await page.log()] == [
            False,
            False,
            False,
            False,
            True,
            False,
        ]

    on_a_page(finders(root), talk)


def test_brackets_typed_by_hand_are_text(root: Path) -> None:
    """Without a list of pills nothing is attached; a list must be of what stands there."""

    async def talk(page: Page) -> None:
        await page.browser.post(
            f"/sessions/{page.name}/messages", json={"content": "see [@src/agent.py]"}
        )
        assert await page.log() == ["see [@src/agent.py]"]
        await page.answered()
        for pills, fault in [
            (
                [{"name": "src/agent.py", "type": "file"}],
                "$.pills[0]: [@src/agent.py] does not stand in the content",
            ),
            ([{"name": "a", "type": "folder"}], "Invalid context name"),
            ([{"name": "a[", "type": "file"}], "Invalid context name"),
            ([{"type": "file"}], "$.pills[0]"),
        ]:
            refused = await page.browser.post(
                f"/sessions/{page.name}/messages",
                json={"content": "see [@src/other.py]", "pills": pills},
            )
            assert (refused.status_code, fault in refused.json()["detail"]) == (422, True), (
                refused.text
            )
        many = [{"name": "src/other.py", "type": "file"}] * (MOST_PILLS + 1)
        assert (
            await page.browser.post(
                f"/sessions/{page.name}/messages", json={"content": "x", "pills": many}
            )
        ).status_code == 422
        blank = await page.browser.post(f"/sessions/{page.name}/messages", json={"content": " \n"})
        assert (blank.status_code, blank.json()["detail"]) == (
            422,
            "$.content: is empty. Use the user's text.",
        )
        assert len(await page.log()) == 1

    on_a_page(finders(root), talk)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_two_names_of_one_file_are_a_duplicate(root: Path) -> None:
    """A link and its target are the same context."""
    (root / "same.py").symlink_to("src/agent.py")

    async def talk(page: Page) -> None:
        refused = await page.send(PillDocument.parse("[@src/agent.py] and [@same.py]"))
        assert refused.json()["pills"] == [
            {"name": "same.py", "problem": "Context already attached", "missing": False}
        ]

    on_a_page(finders(root), talk)


def test_a_message_that_was_taken_in_is_not_asked_for_again(root: Path) -> None:
    """Told again under its key it is the same, also where the file has vanished meanwhile."""

    async def talk(page: Page) -> None:
        document = PillDocument.parse("see [@src/agent.py]")
        headers = {"Idempotency-Key": "k1"}
        assert (await page.send(document, **headers)).status_code == 200
        await page.answered()
        (root / "src/agent.py").unlink()
        assert (await page.send(document, **headers)).status_code == 200
        assert len(await page.log()) == 2
        assert (await page.send(document)).status_code == 422

    on_a_page(finders(root), talk)


def test_a_message_with_pills_is_edited_and_forked(root: Path) -> None:
    """An edit attaches the names it now holds, and a fork keeps the attachments.

    An edit that is rejected takes nothing back.
    """

    async def talk(page: Page) -> None:
        await page.send(PillDocument.parse("see [@src/agent.py]"))
        await page.answered()
        shown = (await page.browser.get(f"/sessions/{page.name}")).json()["contextProps"][
            "messages"
        ]
        place = f"/sessions/{page.name}/messages/{shown[1]['id']}"
        refused = await page.browser.put(
            place, json={"content": "see [@gone]", "pills": [{"name": "gone", "type": "file"}]}
        )
        assert refused.json()["pills"][0]["name"] == "gone"
        assert (await page.browser.get(f"/sessions/{page.name}")).json()["contextProps"][
            "messages"
        ] == shown
        edited = await page.browser.put(
            place,
            json={
                "content": "see [@src/other.py]",
                "pills": [{"name": "src/other.py", "type": "file", "start": 99}],
            },
        )
        after = [each["content"] for each in edited.json()["contextProps"]["messages"]]
        assert after == ["[@src/agent.py]", "[@src/other.py]", "see [@src/other.py]"]
        await page.answered()
        forked = (await page.browser.post(f"/sessions/{page.name}/fork", json={})).json()
        assert [each["content"] for each in forked["contextProps"]["messages"]][:3] == after
        other = Page(page.browser, forked["sessionId"], page.app)
        assert "ONE = 1" in "".join(await other.log())

    on_a_page(finders(root), talk)


def test_what_does_not_fit_is_not_taken_in(root: Path) -> None:
    """Attachments and words are one commit."""
    planted(
        root, {"long.txt": "".join(f"plum number {number} of the shelf\n" for number in range(400))}
    )

    async def talk(page: Page) -> None:
        words = " ".join(f"word{number}" for number in range(900))
        refused = await page.send(PillDocument.parse(f"[@long.txt] {words}"))
        assert refused.status_code in (409, 422)
        assert await page.log() == []

    on_a_page(finders(root), talk, max_tokens=300)


def test_users_name_what_is_served_in_their_own_chats_alone(root: Path) -> None:
    """Completion and source give 404 for another user's chat and 401 for an unknown token."""

    async def run() -> None:
        app = create_app(
            InMemoryStore(),
            access=Access((ANN, BEN)),
            resolvers=finders(root),
            max_tokens=900,
            counter=FAST,
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost/api"
        ) as browser:
            name = (
                await browser.post("/sessions", headers={"Authorization": f"Bearer {ANN}"})
            ).json()["sessionId"]
            for route in (
                f"/sessions/{name}/completions",
                f"/sessions/{name}/source?name=src/agent.py",
            ):
                codes = [
                    (
                        await browser.get(route, headers={"Authorization": f"Bearer {who}"})
                    ).status_code
                    for who in (ANN, BEN, "eve")
                ]
                assert codes == [200, 404, 401]
        await app.state.chats.close()

    asyncio.run(run())


def test_what_is_offered_is_a_candidate_as_it_is() -> None:
    """Names, types and places, nothing else."""

    class Own:
        type = PillType.BUFFER

        def entries(self) -> list[Candidate]:
            return [Candidate("a", PillType.BUFFER, "where")]

        def resolve(self, name: str) -> Resolved:
            return Resolved(name, PillType.BUFFER, "secret")

    async def talk(page: Page) -> None:
        assert (await page.get("completions")).json() == {
            "completions": [{"name": "a", "type": "buffer", "detail": "where"}]
        }

    on_a_page([Own()], talk)
