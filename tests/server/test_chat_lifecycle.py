"""Chats opened, closed, cancelled and deleted at bad moments: nothing is lost or comes back."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any
from unittest.mock import ANY

import pytest

from polycontext.base import UnknownNameError
from polycontext.pills import PillDocument
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import SessionWriteError, StoreError
from polycontext.polynomial.stores.in_memory import InMemoryStore
from polycontext.server.access import Access
from polycontext.server.chat import Chat
from polycontext.server.chats import UNDO, Chats, key_of
from tests.server.wait import until

MAX = 8000


class Model:
    """Say words as they are put in; note when it was cut short."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()
        self.ended = 0

    async def answer(self, session: ContextSession) -> AsyncGenerator[str]:
        """Yield the words."""
        try:
            while (word := await self.words.get()) is not None:
                yield word
        finally:
            self.ended += 1

    async def aclose(self) -> None:
        """Let go of nothing."""


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
    return [message["content"] for message in chat.props()["messages"]]


def live(steps: Callable[[Chats, Model, Slow], Awaitable[None]], **options: Any) -> None:
    """Run steps over chats on a slow store, and let go of them."""

    async def lived() -> None:
        model, store = Model(), Slow()
        chats = Chats(store, lambda: model, max_tokens=MAX, **options)
        try:
            await asyncio.wait_for(steps(chats, model, store), 60)
        finally:
            store.may.set()
            await asyncio.wait_for(chats.close(), 60)

    asyncio.run(lived())


async def begun(chats: Chats, model: Model, *words: str) -> tuple[str, Chat]:
    """Begin a chat whose answer has come so far."""
    name, chat = await chats.create("ann")
    await chat.send(PillDocument("hello"))
    for word in words:
        model.words.put_nowait(word)
    whole = "".join(words).encode("utf-8", "ignore").decode()
    await until(lambda: chat.session.output.answering == whole)
    return name, chat


def test_who_cancels_twice_loses_nothing() -> None:
    """Also while what was said is being stored; and the model hears of it at once."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        _, chat = await begun(chats, model, "one ", "two")
        store.may.clear()
        store.waiting.clear()
        first = asyncio.create_task(chat.cancel())
        await asyncio.to_thread(store.waiting.wait, 60)
        second, third = asyncio.create_task(chat.cancel()), asyncio.create_task(chat.cancel())
        await asyncio.sleep(0)
        store.may.set()
        await asyncio.gather(first, second, third)
        assert (said(chat), model.ended) == (["hello", "one two"], 1)

    live(steps)


def test_whoever_asked_may_leave_in_the_middle_of_a_write() -> None:
    """It is done all the same, told, and answered."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        _, chat = await chats.create("ann")
        store.may.clear()
        store.waiting.clear()
        asking = asyncio.create_task(chat.send(PillDocument("hello")))
        await asyncio.to_thread(store.waiting.wait, 60)
        asking.cancel()
        await asyncio.wait({asking})
        store.may.set()
        model.words.put_nowait("yes")
        model.words.put_nowait(None)
        await until(lambda: said(chat) == ["hello", "yes"])
        with pytest.raises(asyncio.CancelledError):
            await asking

    live(steps)


def test_a_slow_store_stops_nobody_else() -> None:
    """While one chat waits for it, another one is read, and a third is opened."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        _, slow = await chats.create("ann")
        name, other = await begun(chats, model, "one")
        await other.cancel()
        store.may.clear()
        sending = asyncio.create_task(slow.send(PillDocument("hello")))
        assert said(await asyncio.wait_for(chats.get("ann", name), 60)) == ["hello", "one"]
        await asyncio.wait_for(chats.create("ben"), 60)
        assert not sending.done()
        store.may.set()
        await sending

    live(steps)


def test_an_answer_that_cannot_be_stored_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """In words for the listener, in full for whoever runs the server; then the chat goes on."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        _, chat = await begun(chats, model, "one")
        told = chat.feed.listen(chat.feed.last)
        store.broken = True
        model.words.put_nowait(None)
        kinds = [(await asyncio.wait_for(anext(told), 60)).kind for _ in range(2)]
        assert (kinds, chat.is_busy, said(chat)) == (["problem", "props"], False, ["hello"])
        await told.aclose()
        store.broken = False
        await chat.regenerate()
        model.words.put_nowait("two")
        model.words.put_nowait(None)
        await until(lambda: said(chat) == ["hello", "two"])

    with caplog.at_level(logging.ERROR):
        live(steps)
    assert "the disk is full" in caplog.text
    assert "Traceback" in caplog.text


def test_a_character_that_comes_in_halves_is_one() -> None:
    """A character split between two pieces is joined, and a lone half is replaced."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        _, chat = await begun(chats, model, "plums \ud83c")
        told = chat.feed.listen(chat.feed.last)
        for piece in ("", "\udf4f", " and \ud83c", None):
            model.words.put_nowait(piece)
        await until(lambda: said(chat) == ["hello", "plums 🍏 and \ufffd"])
        heard = [await asyncio.wait_for(anext(told), 60) for _ in range(4)]
        assert [event.data for event in heard[:3]] == [
            '{"text":"🍏"}'.encode(),
            b'{"text":" and "}',
            '{"text":"\ufffd"}'.encode(),
        ]
        assert heard[3].kind == "props"
        await told.aclose()

    live(steps)


def test_a_model_that_never_waits_lets_others_live() -> None:
    """A listener hears a model that never waits, and a late one hears the earlier words."""

    class Talker(Model):
        async def answer(  # type: ignore[override]
            self, session: ContextSession
        ) -> AsyncIterator[str]:
            for number in range(2000):
                yield f"{number} "
            await self.words.get()

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
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
        await chat.cancel()

    async def lived() -> None:
        model, store = Talker(), Slow()
        chats = Chats(store, lambda: model, max_tokens=40_000)
        await asyncio.wait_for(steps(chats, model, store), 60)
        await chats.close()

    asyncio.run(lived())


def test_what_is_deleted_while_it_is_answered_stays_away() -> None:
    """Its listeners end; whoever asks meanwhile waits, and is told that there is none."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        name, chat = await begun(chats, model, "one")
        told = chat.feed.listen(chat.feed.last)
        hearing = asyncio.create_task(_rest(told))
        store.may.clear()
        store.waiting.clear()
        deleting = [asyncio.create_task(chats.delete("ann", name)) for _ in range(2)]
        await asyncio.to_thread(store.waiting.wait, 60)
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

    live(steps)


def test_what_is_deleted_can_be_restored_until_it_is_erased() -> None:
    """Another server sees it, too; what is not restored in time is erased, and its branch stays."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
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

    live(steps)


async def _rest(told: AsyncGenerator[Any]) -> int:
    return len([event async for event in told])


async def _soon(store: Slow) -> None:
    await asyncio.sleep(0)
    store.may.set()


def test_more_chats_than_may_be_open_are_open_while_they_are_busy() -> None:
    """A busy chat stays open; then the least recently used ones are closed, and can be reopened."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
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

    live(steps, most=2)


def test_one_chat_is_opened_once_by_all_who_ask_at_once() -> None:
    """And two that are begun at once are two."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        (one, _), (two, _) = await asyncio.gather(chats.create("ann"), chats.create("ann"))
        assert one != two
        name, chat = await begun(chats, model)
        await chat.cancel()
        chats._open.clear()
        found = await asyncio.gather(*(chats.get("ann", name) for _ in range(20)))
        assert len({*map(id, found)}) == 1

    live(steps, system="Be short.")


def test_nobody_looks_through_all_chats_to_find_one() -> None:
    """Neither for one that is not open, nor for one that is not there; another's is not there."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
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

    live(steps)


def test_after_the_end_nothing_is_opened() -> None:
    """And ending twice is ending once."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        name, chat = await begun(chats, model, "one ")
        await asyncio.gather(chats.close(), chats.close())
        await chats.close()
        for asked in (chats.get("ann", name), chats.create("ann")):
            with pytest.raises(SessionWriteError, match="stopped"):
                await asked
        assert [
            turn.text for turn in ContextSession.open(store, key_of("ann", name), MAX).log()
        ] == ["hello", "one "]
        assert [event async for event in chat.feed.listen()] == []

    live(steps)


def test_tokens_that_nobody_asks_for_make_no_memory() -> None:
    """Without tokens, failures are counted by address, so invented users take no memory."""

    class Asking:
        client = type("Client", (), {"host": "127.0.0.1"})()

        def __init__(self, token: str) -> None:
            self.headers = {"host": "localhost", "authorization": f"Bearer {token}"}

    access = Access(a_minute=50)
    refused = 0
    for number in range(100):
        try:
            assert access.user(Asking(f"t{number}")) == f"t{number}"  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - 429
            refused += getattr(error, "status_code", 0) == 429
    storage: Any = access._limiter.storage
    assert (refused, len(storage.events)) == (50, 1)


def test_who_begins_anew_does_so_under_the_same_rules() -> None:
    """A page can clear what was said, and not what the server was told."""

    async def steps(chats: Chats, model: Model, store: Slow) -> None:
        name, chat = await begun(chats, model, "one")
        await chat.cancel()
        await chat.change(lambda session: session.aclear(keep_system=True))
        for session in (chat.session, ContextSession.open(store, key_of("ann", name), MAX)):
            assert [turn.text for turn in session.window.all_turns()] == ["Be short."]

    live(steps, system="Be short.")
