"""AG-UI: one turn of a chat for frontends that speak that protocol (docs/server.md, "AG-UI")."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

import orjson
from ag_ui.core import (
    CustomEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    UserMessage,
)
from ag_ui.core.events import BaseEvent
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter

from polycontext.base import InvalidDataError
from polycontext.polynomial import ContextSession

from .chat import DELTA, PROBLEM, Chat
from .feed import PING, FeedEvent
from .routes import EventStream, One
from .sources import document_of

LONGEST_ID = 200
"""The maximum length of the id of a message or a run, in characters."""

_BEHIND = (
    "You have fallen too far behind; the answer goes on: ask for the run again, with the same "
    "message."
)
_CLOSED = "The chat has been closed."

router = APIRouter(prefix="/api/sessions")


@router.post("/{session_id}/agui", response_class=EventStream)
async def run(session_id: str, chat: One, asked: RunAgentInput) -> EventStream:
    """Send the newest user message and stream the answer as AG-UI events.

    A message that was sent before is not sent again.
    """
    said, text = _newest_message(session_id, asked)
    key, before = f"agui:{said.id}", chat.session.history.revision
    known = await asyncio.to_thread(chat.session.history.has_taken, key)
    if not known:
        await chat.send(document_of(text, []), key=key)
    return EventStream(_Run(asked, chat, before, waits=not known or chat.is_busy).events())


def _newest_message(session_id: str, asked: RunAgentInput) -> tuple[UserMessage, str]:
    """Return the newest of the user's messages, and its text.

    Raises:
        InvalidDataError: another thread, no user message, a message that is empty or holds more
            than text, or an id that is empty or too long.
    """
    if asked.thread_id != session_id:
        raise InvalidDataError(
            "$.threadId",
            f"{asked.thread_id!r:.100} is not this chat",
            "the id of the session in the address",
        )
    found = next(
        (
            (place, each)
            for place, each in reversed([*enumerate(asked.messages)])
            if isinstance(each, UserMessage)
        ),
        None,
    )
    if found is None:
        raise InvalidDataError("$.messages", "nobody says anything", "a message of the role user")
    place, said = found
    for path, name in ((f"$.messages[{place}].id", said.id), ("$.runId", asked.run_id)):
        if not 0 < len(name) <= LONGEST_ID:
            raise InvalidDataError(path, f"has {len(name)} characters", f"1 to {LONGEST_ID}")
    parts = [TextPart(text=said.content)] if isinstance(said.content, str) else said.content
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) < len(parts):
        raise InvalidDataError(
            f"$.messages[{place}].content",
            "holds more than text",
            "text; files go to /uploads before",
        )
    text = "\n\n".join(texts)
    if not text.strip():
        raise InvalidDataError(f"$.messages[{place}].content", "is empty", "the user's text")
    return said, text


def _compressions_since(session: ContextSession, revision: int) -> list[Mapping[str, Any]]:
    """Return what each compression after a revision did, by its receipt and without any text."""
    return [
        {
            "id": each.id,
            "tokensBefore": each.before.tokens,
            "tokensAfter": each.after.tokens,
            "seconds": each.summariser and each.summariser.seconds,
            "atoms": Counter(atom.fate.value for atom in each.atoms),
        }
        for each in session.history.receipts(revision)
    ]


class _Run:
    """The AG-UI events of a chat until its answer ends.

    A client that disconnects does not end the answer, so that a broken connection does not lose it.
    To end it, send ``POST …/cancel``.
    """

    def __init__(self, asked: RunAgentInput, chat: Chat, before: int, *, waits: bool) -> None:
        self._thread, self._run, self._before = asked.thread_id, asked.run_id, before
        self._chat, self._waits, self._since = chat, waits, chat.since
        self._message: str | None = None
        self._problem: str | None = None

    async def events(self) -> AsyncIterator[bytes]:
        """Yield the events of the run, encoded for the wire."""
        encoder = EventEncoder()
        async for event in self._run_events():
            yield event.wire if isinstance(event, FeedEvent) else encoder.encode(event).encode()

    async def _run_events(self) -> AsyncIterator[BaseEvent | FeedEvent]:
        yield RunStartedEvent(thread_id=self._thread, run_id=self._run)
        yield StateSnapshotEvent(snapshot=self._chat.props())
        if self._waits:
            async for event in self._answer():
                yield event
            if self._message is not None:
                yield TextMessageEndEvent(message_id=self._message)
            yield StateSnapshotEvent(snapshot=self._chat.props())
        session = self._chat.session
        for value in await asyncio.to_thread(_compressions_since, session, self._before):
            yield CustomEvent(name="polycontext.compression", value=value)
        if self._problem is not None:
            ending = self._chat.props()["ending"] or {}
            yield RunErrorEvent(message=self._problem, code=ending.get("kind"))
        else:
            outcome = (
                RunFinishedCancelledOutcome() if self._waits and self._chat.cancelled else None
            )
            yield RunFinishedEvent(thread_id=self._thread, run_id=self._run, outcome=outcome)

    async def _answer(self) -> AsyncIterator[BaseEvent | FeedEvent]:
        """Yield the text events of the answer, up to the props that end it."""
        failed = None
        async for event in self._chat.feed.listen(self._since):
            if event.kind == DELTA:
                for each in self._words(orjson.loads(event.data)["text"]):
                    yield each
            elif event.kind == PROBLEM:
                failed = orjson.loads(event.data)["what"]
            elif event is PING:
                yield event
            elif event.id is not None:
                props = orjson.loads(event.data)
                if not props["answering"]:
                    self._problem = failed
                    return
                yield StateSnapshotEvent(snapshot=props)
            elif self._message is not None:
                # This is a snapshot in place of events that are no longer kept: its text would
                # repeat what was sent.
                self._problem = _BEHIND
                return
        self._problem = _CLOSED

    def _words(self, text: str) -> list[BaseEvent]:
        begins: list[BaseEvent] = []
        if self._message is None:
            self._message = uuid4().hex
            begins = [TextMessageStartEvent(message_id=self._message, role="assistant")]
        return [*begins, TextMessageContentEvent(message_id=self._message, delta=text)]
