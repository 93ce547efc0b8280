"""Chats opened, closed, cancelled and deleted at bad moments: nothing is lost or comes back."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any
from unittest.mock import ANY

import pytest
from fastapi import HTTPException

from polycontext.base import UnknownNameError
from polycontext.pills import PillDocument
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import SessionWriteError, StoreError
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.server.access import Access
from polycontext.server.chat import Chat
from polycontext.server.chats import UNDO, Chats, key_of
from tests.server.front import Model, Request, contents, until

pytestmark = pytest.mark.anyio

MAX = 8000


class Slow(InMemoryStore):
    """Wait before it stores, for tasks alone, until it may; or refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()
        self.may.set()
        self.waiting = threading.Event()
        self.broken = False

    async def aload(self, session_id: str, after: int = 0) -> Any:
        """Return what `load` returns."""
        return await asyncio.to_thread(self.load, session_id, after)

    async def aappend(self, *arguments: Any, **options: Any) -> None:
        """Store, once it may."""
        await asyncio.to_thread(self._stored, *arguments, **options)

    def _stored(self, *arguments: Any, **options: Any) -> None:
        self.waiting.set()
        assert self.may.wait(60)
        if self.broken:
            raise StoreError("chats.db", "appending", "the disk is full")
        self.append(*arguments, **options)


def said(chat: Chat) -> list[str]:
    """Return what is shown."""
    return contents(chat.props())


@pytest.fixture
def model() -> Model:
    """Return a model whose words are put in."""
    return Model()


@pytest.fixture
def store() -> Slow:
    """Return a store that may be slow."""
    return Slow()


@pytest.fixture
async def chats(request: pytest.FixtureRequest, model: Model, store: Slow) -> AsyncGenerator[Chats]:
    """Return chats on a slow store, and let go of them."""
    options: dict[str, Any] = {"max_tokens": MAX, **getattr(request, "param", {})}
    made = Chats(store, lambda: model, **options)
    yield made
    store.may.set()
    await asyncio.wait_for(made.close(), 60)


async def begun(chats: Chats, model: Model, *words: str) -> tuple[str, Chat]:
    """Begin a chat whose answer has come so far."""
    name, chat = await chats.create("ann")
    await chat.send(PillDocument("hello"))
    for word in words:
        model.words.put_nowait(word)
    whole = "".join(words).encode("utf-8", "ignore").decode()
    await until(lambda: chat.session.output.answering == whole)
    return name, chat


async def writing(store: Slow, *acts: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """Begin acts, of which one writes now, and must wait."""
    store.may.clear()
    store.waiting.clear()
    tasks = [*map(asyncio.create_task, acts)]
    await asyncio.to_thread(store.waiting.wait, 60)
    return tasks


async def test_who_cancels_twice_loses_nothing(chats: Chats, model: Model, store: Slow) -> None:
    """Also while what was said is being stored; and the model hears of it at once."""
    _, chat = await begun(chats, model, "one ", "two")
    [first] = await writing(store, chat.cancel())
    second, third = asyncio.create_task(chat.cancel()), asyncio.create_task(chat.cancel())
    await asyncio.sleep(0)
    store.may.set()
    await asyncio.gather(first, second, third)
    assert (said(chat), model.ended) == (["hello", "one two"], 1)


async def test_whoever_asked_may_leave_in_the_middle_of_a_write(
    chats: Chats, model: Model, store: Slow
) -> None:
    """It is done all the same, told, and answered."""
    _, chat = await chats.create("ann")
    [asking] = await writing(store, chat.send(PillDocument("hello")))
    asking.cancel()
    await asyncio.wait({asking})
    store.may.set()
    model.will_say("yes")
    await until(lambda: said(chat) == ["hello", "yes"])
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_an_answer_that_cannot_be_stored_is_told(
    chats: Chats, model: Model, store: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    """In words for the listener, in full for whoever runs the server; then the chat goes on."""
    _, chat = await begun(chats, model, "one")
    told = chat.feed.listen(chat.feed.last)
    store.broken = True
    model.words.put_nowait(None)
    kinds = [(await asyncio.wait_for(anext(told), 60)).kind for _ in range(2)]
    assert (kinds, chat.is_busy, said(chat)) == (["problem", "props"], False, ["hello"])
    await told.aclose()
    store.broken = False
    await chat.regenerate()
    model.will_say("two")
    await until(lambda: said(chat) == ["hello", "two"])
    assert "the disk is full" in caplog.text
    assert "Traceback" in caplog.text


class Talker(Model):
    """A model that never waits."""

    async def answer(  # type: ignore[override]
        self, session: ContextSession
    ) -> AsyncIterator[str]:
        """Yield many words at once."""
        for number in range(2000):
            yield f"{number} "
        await self.words.get()


@pytest.mark.parametrize("model", [Talker()])
@pytest.mark.parametrize("chats", [{"max_tokens": 40_000}], indirect=True)
async def test_a_model_that_never_waits_lets_others_live(chats: Chats, model: Model) -> None:
    """A listener hears a model that never waits, and a late one hears the earlier words."""
    _, chat = await chats.create("ann")
    told, heard = chat.feed.listen(), b""
    await anext(told)
    await chat.send(PillDocument("hello"))
    while b'"1999 "' not in heard:
        heard = (await asyncio.wait_for(anext(told), 60)).data
        assert b'"messages":[]' not in heard
    late = chat.feed.listen()
    props, words = await anext(late), await anext(late)
    assert (props.kind, words.kind) == ("props", "delta")
    assert words.data.startswith(b'{"text":"0 1 2 ')
    assert words.data.endswith(b'1998 1999 "}')
    for each in (told, late):
        await each.aclose()


async def test_what_is_deleted_while_it_is_answered_stays_away(
    chats: Chats, model: Model, store: Slow
) -> None:
    """Its listeners end; whoever asks meanwhile waits, and is told that there is none."""
    name, chat = await begun(chats, model, "one")
    told = chat.feed.listen(chat.feed.last)
    hearing = asyncio.create_task(_rest(told))
    deleting = await writing(store, *(chats.delete("ann", name) for _ in range(2)))
    asking = asyncio.create_task(chats.get("ann", name))
    with pytest.raises(SessionWriteError, match="closed"):
        await asyncio.gather(chat.send(PillDocument("more")), _soon(store))
    first, second = await asyncio.gather(*deleting, return_exceptions=True)
    assert (first, type(second)) == (None, UnknownNameError)
    assert await asyncio.wait_for(hearing, 60) == 1
    with pytest.raises(UnknownNameError):
        await asking
    with pytest.raises(UnknownNameError):
        await chats.get("ann", name)
    assert (store.list_sessions(), await chats.names("ann")) == ((), ())


async def test_what_is_deleted_can_be_restored_until_it_is_erased(
    chats: Chats, model: Model, store: Slow
) -> None:
    """Another server sees it, too; what is not restored in time is erased, and its branch stays."""
    name, chat = await begun(chats, model, "one")
    await chat.describe(deleted=True)
    [shown] = await chats.listed("ann", others=False)
    assert (shown["title"], 0 < shown["undo"] <= UNDO) == ("hello", True)
    other = Chats(store, lambda: model, max_tokens=MAX)
    assert await other.listed("ann", others=False) == [{**shown, "undo": ANY}]
    chat = await other.get("ann", name)
    await chat.describe(deleted=False)
    [shown] = await chats.listed("ann", others=False)
    assert "undo" not in shown
    chat.about.deleted = "2026-01-01T12:00:00+00:00"
    await chat.session.documents.asave()
    branch, _ = await other.fork("ann", name)
    await other.close()
    await chats.listed("ann", others=False)
    with pytest.raises(UnknownNameError):
        await chats.get("ann", name)
    assert await chats.names("ann") == (branch,)


async def _rest(told: AsyncGenerator[Any]) -> int:
    return len([event async for event in told])


async def _soon(store: Slow) -> None:
    await asyncio.sleep(0)
    store.may.set()


@pytest.mark.parametrize("chats", [{"most": 2}], indirect=True)
async def test_more_chats_than_may_be_open_are_open_while_they_are_busy(
    chats: Chats, model: Model
) -> None:
    """A busy chat stays open; then the least recently used ones are closed, and can be reopened."""
    made = [await begun(chats, model) for _ in range(6)]
    for name, chat in made:
        async with chats.held("ann", name) as held:
            assert held is chat
    assert len(chats._open) == 6
    for _, chat in made:
        await chat.cancel()
    async with chats.held("ann", made[0][0]) as first, chats.held("ann", made[1][0]):
        assert first is made[0][1]
        assert len(chats._open) == 2
        names = [name for name, _ in made]
        again = [await chats.get("ann", name) for name in names]
        assert [said(chat) for chat in again] == [["hello"]] * 6
        assert again[0] is first
        assert again[5] is not made[5][1]


@pytest.mark.parametrize("chats", [{"system": "Be short."}], indirect=True)
async def test_one_chat_is_opened_once_by_all_who_ask_at_once(chats: Chats, model: Model) -> None:
    """And two that are begun at once are two."""
    (one, _), (two, _) = await asyncio.gather(chats.create("ann"), chats.create("ann"))
    assert one != two
    name, chat = await begun(chats, model)
    await chat.cancel()
    chats._open.clear()
    found = await asyncio.gather(*(chats.get("ann", name) for _ in range(20)))
    assert len({*map(id, found)}) == 1


async def test_nobody_looks_through_all_chats_to_find_one(
    chats: Chats, model: Model, store: Slow
) -> None:
    """Neither for one that is not open, nor for one that is not there; another's is not there."""
    name, chat = await begun(chats, model)
    await chat.cancel()
    chats._open.clear()
    store.list_sessions = None  # type: ignore[method-assign,assignment]
    assert said(await chats.get("ann", name)) == ["hello"]
    for token, sought in (
        ("ben", name),
        ("ann", "nowhere"),
        ("ann", ""),
        ("ann", f"{name}.x"),
        ("ann", "é\n"),
    ):
        with pytest.raises(UnknownNameError, match="GET /api/sessions"):
            await chats.get(token, sought)
    assert [*chats._open] == [key_of("ann", name)]


def test_tokens_that_nobody_asks_for_make_no_memory() -> None:
    """Without tokens, failures are counted by address, so invented users take no memory."""
    access: Any = Access(a_minute=50)
    refused = 0
    for number in range(100):
        try:
            assert access.user(Request(f"t{number}")) == f"t{number}"
        except HTTPException as error:
            refused += error.status_code == 429
    assert (refused, len(access._limiter.storage.events)) == (50, 1)
