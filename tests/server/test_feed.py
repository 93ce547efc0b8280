"""The feed alone: what a listener is told, from wherever it goes on, and how much is held."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import orjson
import pytest

from polycontext.server import feed as module
from polycontext.server.feed import PING, PROPS, Feed, FeedEvent

pytestmark = pytest.mark.anyio


def made(**options: Any) -> Feed:
    """Return a feed whose snapshot is props and half an answer."""
    return Feed(lambda: [(PROPS, {"messages": []}), ("delta", {"text": "half"})], **options)


async def some(listening: AsyncGenerator[FeedEvent], number: int) -> list[FeedEvent]:
    """Return the next events, and stop listening."""
    found = [await asyncio.wait_for(anext(listening), 60) for _ in range(number)]
    await listening.aclose()
    return found


def number(event: FeedEvent) -> int:
    """Return the number within an id."""
    assert event.id is not None
    return int(event.id.rpartition("-")[2])


async def test_how_all_stands_holds_the_words_of_the_answer_that_is_being_written() -> None:
    """A new listener gets the words written so far, and resumes only after the last of them."""
    feed = made()
    feed.publish("delta", {"text": "one"})
    props, half = await some(feed.listen(), 2)
    assert (props.kind, props.id, half.id, orjson.loads(half.data)) == (
        PROPS,
        None,
        feed.last,
        {"text": "half"},
    )
    feed.publish("delta", {"text": "two"})
    [two] = await some(feed.listen(half.id), 1)
    assert orjson.loads(two.data) == {"text": "two"}


@pytest.mark.parametrize("tail", ["", "9" * 5000, "²", "-1"])
async def test_garbage_for_the_last_event_is_as_none(tail: str) -> None:
    """Behind the feed's own name too, of which everybody knows who has listened once."""
    feed = made()
    feed.publish("delta", {"text": "one"})
    name = feed.last.partition("-")[0]
    for garbage in (tail, f"{name}-{tail}"):
        [first] = await some(feed.listen(garbage), 1)
        assert first.kind == PROPS


async def test_what_is_held_is_bounded_in_number_and_in_bytes() -> None:
    """The buffer is bounded in events and bytes, and a listener too far behind gets the full state.

    The newest event is kept, however long it is.
    """
    feed = made(kept=8, most=1000)
    first = feed.last
    for _ in range(100):
        feed.publish("delta", {"text": "x" * 400})
    assert (len(feed._held), feed._bytes) == (2, sum(len(event.data) for event in feed._held))
    assert [event.kind for event in await some(feed.listen(first), 2)] == [PROPS, "delta"]
    for _ in range(100):
        feed.publish("delta", {"text": "y"})
    assert len(feed._held) == 8
    feed.publish("delta", {"text": "z" * 5000})
    assert len(feed._held) == 1
    [last] = await some(feed.listen(f"{feed.last.partition('-')[0]}-200"), 1)
    assert len(last.data) > 5000


async def test_a_slow_listener_sees_each_event_once_beside_one_that_has_stopped() -> None:
    """Nobody waits for another."""
    feed = made()
    stopped, slow = feed.listen(), feed.listen()
    await anext(stopped)
    seen = [await anext(slow), await anext(slow)]
    for count in range(50):
        feed.publish("delta", {"text": str(count)})
        if count % 7 == 0:
            seen.append(await anext(slow))
    seen += await some(slow, 42)
    assert [number(event) for event in seen[1:]] == [*range(51)]
    await stopped.aclose()


async def test_silence_is_told_and_an_end_ends_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that says nothing would be taken for dead by those in between."""
    monkeypatch.setattr(module, "_SILENCE", 0.01)
    feed = made()
    listening = feed.listen()
    assert (await some(feed.listen(), 3))[-1] is PING
    assert PING.wire == b": \n\n"
    rest = asyncio.create_task(_all(listening))
    await asyncio.sleep(0)
    feed.close()
    assert {event.kind for event in await asyncio.wait_for(rest, 60)} <= {
        PROPS,
        "delta",
        "ping",
    }
    assert [event async for event in feed.listen()] == []


async def _all(listening: AsyncGenerator[FeedEvent]) -> list[FeedEvent]:
    return [event async for event in listening]
