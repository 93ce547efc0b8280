"""Several servers, or a server and commands, over one SQLite file."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, closing
from pathlib import Path
from time import monotonic

import pytest

from polycontext.base import UnknownNameError
from polycontext.models.answers import ScriptedAnswering
from polycontext.pills import PillDocument
from polycontext.polynomial.stores import SQLiteStore
from polycontext.server.chats import Chats, key_of
from polycontext.server.feed import PROPS, FeedEvent
from tests.server.front import contents
from tests.server_workers import judge, run

OTHER = """
import sys
from polycontext import ContextSession
place, key, act = sys.argv[1:]
if act == "delete":
    ContextSession.history.delete(place, key)
else:
    with ContextSession.open(place, key, max_tokens=4_000) as session:
        session.add_user_turn("from elsewhere")
"""


async def elsewhere(store: Path, key: str, act: str = "write") -> None:
    """Let another process write to a chat, or delete it."""
    command = [sys.executable, "-c", OTHER, str(store), key, act]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=60)


def chats_of(store: SQLiteStore) -> Chats:
    """Return the chats of a worker."""
    return Chats(store, ScriptedAnswering, max_tokens=4_000)


async def until_event(
    events: AsyncGenerator[FeedEvent], is_it: Callable[[FeedEvent], bool]
) -> FeedEvent:
    """Return the first event that is sought."""
    async with asyncio.timeout(30):
        async for event in events:
            if is_it(event):
                return event
    raise AssertionError("the events ended")


def test_a_listener_sees_what_another_process_stores(tmp_path: Path) -> None:
    """A `props` event follows what another process writes; a chat it deletes is closed."""
    place = tmp_path / "chats.db"

    async def talk() -> None:
        with closing(SQLiteStore(place)) as store:
            chats = chats_of(store)
            watching = asyncio.create_task(chats.watch())
            name, _ = await chats.create("me")
            async with chats.held("me", name) as chat, aclosing(chat.feed.listen()) as events:
                await until_event(events, lambda event: event.kind == PROPS)
                await elsewhere(place, key_of("me", name))
                event = await until_event(events, lambda event: event.kind == PROPS)
                assert b"from elsewhere" in event.data
                await elsewhere(place, key_of("me", name), "delete")
                async with asyncio.timeout(30):
                    assert [event async for event in events if event.kind == PROPS] == []
            with pytest.raises(UnknownNameError):
                await chats.get("me", name)
            watching.cancel()
            await chats.close()

    asyncio.run(talk())


def test_a_request_sees_what_another_process_stored(tmp_path: Path) -> None:
    """Without waiting for an event: a chat is current, gone, or there though nothing was said."""
    place = tmp_path / "chats.db"

    async def talk() -> None:
        with closing(SQLiteStore(place)) as store:
            chats, others = chats_of(store), chats_of(store)
            name, _ = await chats.create("me")
            async with others.held("me", name) as chat:
                assert chat.props()["messages"] == []
            await elsewhere(place, key_of("me", name))
            for each in (chats, others):
                async with each.held("me", name) as chat:
                    assert contents(chat.props()) == ["from elsewhere"]
            async with chats.held("me", name) as chat:
                await chat.send(PillDocument("and from here"), key="k")
                await chat.cancel()
            async with others.held("me", name) as chat:
                assert contents(chat.props())[:2] == ["from elsewhere", "and from here"]
                again = await chat.send(PillDocument("and from here"), key="k")
                assert contents(again).count("and from here") == 1
            await elsewhere(place, key_of("me", name), "delete")
            for each in (chats, others):
                with pytest.raises(UnknownNameError):
                    async with each.held("me", name):
                        pass
            await asyncio.gather(chats.close(), others.close())

    asyncio.run(talk())


@pytest.mark.gate
@pytest.mark.no_cover
def test_workers_that_are_killed_lose_no_turn(tmp_path: Path) -> None:
    """Clients of two workers, one of which is killed, go on and lose nothing they were told of."""
    store, begun = tmp_path / "chats.db", monotonic()
    clients, killed = asyncio.run(run(store, seconds=12, clients=10, workers=2, every=5, pause=0.3))
    assert judge(store, clients) == (0, 0, 0)
    assert killed
    assert all(client.said and not client.refused for client in clients)
    assert monotonic() - begun < 120
