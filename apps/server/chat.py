"""One conversation as browsers use it: its actions and its events."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any

from polycontext.models import Answering, in_whole_characters, settle
from polycontext.nodes import ComponentRenderer
from polycontext.pills import PillDocument
from polycontext.polynomial import Answer, ContextMachine, ContextSession, SessionWriteError

from .feed import PROPS, Feed, Told
from .loop_lock import LoopLock
from .sources import Sources

DELTA, PROBLEM = "delta", "problem"
"""Kinds of events: text added to the answer in progress, and the reason why there is no answer."""

_log = logging.getLogger("polycontext.server")
_NO_ANSWER = "The model did not answer."
_NOT_STORED = "The answer could not be kept."

Act = Callable[[], Coroutine[Any, Any, object]]


class Chat:
    """A session that browsers drive, and whose props are published whenever they change.

    Events:

    - ``props``: the current state; during an agent's answer, whenever another node begins.
    - ``delta``: ``text`` that was added to the answer in progress.
    - ``problem``: the reason why there is no answer.

    Laws:

    - There is one answer at a time.
    - Only props and the text of answers are published.
    - An action that was started is finished even if its client disconnects.
    """

    def __init__(self, session: ContextSession, answering: Answering, sources: Sources) -> None:
        self.session, self.sources = session, sources
        self.feed = Feed(self._snapshot)
        self.users = 0
        self.since = self.feed.last
        self.cancelled = False
        self._answering = answering
        self._renderer = ComponentRenderer()
        if session.conversation.machine is not ContextMachine:
            session.machine.add_listener(self)
        self._writing: asyncio.Task[None] | None = None
        self._tasks = set[asyncio.Task[None]]()
        self._keeping = self._closed = False
        self._problem: str | None = None
        self._turn = LoopLock()

    def props(self) -> dict[str, Any]:
        """Return the props to show."""
        return self._renderer.render_chat(self.session, answering=self.is_busy)

    def on_enter_state(self) -> None:
        """Publish what an agent does: python-statemachine calls it after each step."""
        if self._writing is not None and self.is_busy:
            self.feed.publish(PROPS, self.props())

    @property
    def is_busy(self) -> bool:
        """Return whether an answer is in progress."""
        return self.session.output.answering is not None

    async def send(self, document: PillDocument, *, key: str | None = None) -> dict[str, Any]:
        """Add a user message with what its pills name, start the answer, and return the props.

        A message sent again under the same `key` is added once.

        Raises:
            ExceptionGroup: pills cannot be attached; nothing was added.
        """

        async def sent() -> None:
            # A message that was already added stays, even if a source it names has changed since.
            known = key is not None and await asyncio.to_thread(self.session.history.has_taken, key)
            items = [] if known else await self.sources.attached(document)
            if self.session.open_calls and not known:  # of a run that was stopped
                await self.session.aclose_open_calls("the user went on")
            await self.session.asend_message(document.to_text(), items, idempotency_key=key)

        return await self._run(sent, answered=True)

    async def edit(self, resource_id: str, document: PillDocument) -> dict[str, Any]:
        """Replace a user message and its attachments, start the answer, and return the props.

        Raises the same errors as `send`.
        """

        async def edited() -> None:
            await self.session.history.aedit(
                resource_id, document.to_text(), await self.sources.attached(document)
            )

        return await self._run(edited, answered=True, again=True)

    async def regenerate(self) -> dict[str, Any]:
        """Answer the last user message again, and return the props."""
        return await self._run(self.session.history.aregenerate, answered=True, again=True)

    async def change(
        self, act: Callable[[ContextSession], Coroutine[Any, Any, object]]
    ) -> dict[str, Any]:
        """Run another action on the session, and return the props."""
        return await self._run(lambda: act(self.session))

    async def cancel(self) -> dict[str, Any]:
        """Cancel the answer in progress, keeping its text so far, and return the props."""
        task = self._writing
        if task is not None and not task.done():
            # Cancel once, and never while the answer is being stored: its text would be lost.
            if not self._keeping and not task.cancelling():
                task.cancel()
            await asyncio.wait({task})
        return self.props()

    async def refresh(self, revision: int) -> None:
        """Load and publish what another process has written, if that led to a later `revision`.

        During an action or an answer nothing is published: its end shows everything, and what it
        stores is not taken for another process's.
        """
        is_writing = self._writing is not None and not self._writing.done()
        if revision <= self.session.history.revision or is_writing or self._turn.locked():
            return
        async with self._turn:
            await self.session.history.arefresh()
            self._problem = None
            self.feed.publish(PROPS, self.props())

    async def close(self) -> None:
        """Cancel the answer in progress, end all listeners, and close the session."""
        self._closed = True
        async with self._turn:
            await self.cancel()
            for task in self._tasks:  # their answers are stored
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self.feed.close()
        await self.session.aclose()

    def _snapshot(self) -> Iterator[Told]:
        """Yield the current state: the props, a partial answer, and the last problem, if any."""
        yield PROPS, self.props()
        if said := self.session.output.answering:
            yield DELTA, {"text": said}
        if self._problem is not None:
            yield PROBLEM, {"what": self._problem}

    async def _run(
        self, act: Act, *, answered: bool = False, again: bool = False
    ) -> dict[str, Any]:
        return await asyncio.shield(
            asyncio.create_task(self._act(act, answered=answered, again=again))
        )

    async def _act(self, act: Act, *, answered: bool, again: bool) -> dict[str, Any]:
        async with self._turn:
            if self._closed:
                raise SessionWriteError("the chat has been closed", "Ask again")
            if self.is_busy:
                raise SessionWriteError("an answer is being written", "Wait for it, or cancel it")
            before = self.session.history.revision
            await act()
            new = self.session.history.revision != before
            # A message that was already added under the same key has its answer.
            answer = self.session.answer() if answered and (new or again) else None
            props = self.props()
            if new or answer:
                self._problem = None
                self.feed.publish(PROPS, props)
            if answer:
                # The events of the answer follow this one.
                self.since, self.cancelled = self.feed.last, False
                self._writing = asyncio.create_task(self._answer(answer), name="polycontext-answer")
                # Keep a reference: the event loop holds tasks only weakly.
                self._tasks.add(self._writing)
                self._writing.add_done_callback(self._tasks.discard)
                # A task that is cancelled before it starts never closes its answer.
                self._writing.add_done_callback(
                    lambda task: answer.close() if task.cancelled() else None
                )
            return props

    async def _answer(self, answer: Answer) -> None:
        try:
            await self._stream(answer)
        except asyncio.CancelledError:
            self.cancelled = True
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            self._report_failure(f"{_NO_ANSWER} {_cause(error)}".strip())
        self._keeping = True
        try:
            await answer.aclose()
        except Exception:  # noqa: BLE001 - so may a store
            self._report_failure(_NOT_STORED)
        # A client may send its next request as soon as it receives this event.
        self._writing, self._keeping = None, False
        self.feed.publish(PROPS, self.props())
        if self._problem is None and not self.cancelled:
            await settle(self._answering, self.session)

    async def _stream(self, answer: Answer) -> None:
        """Publish the model's answer piece by piece."""
        async with AsyncExitStack() as stack:
            pieces = self._answering.answer(self.session)
            if isinstance(pieces, AsyncGenerator):
                # Close the generator at once, so that a cancelled model stops generating.
                stack.push_async_callback(pieces.aclose)
            whole = in_whole_characters(pieces)
            stack.push_async_callback(whole.aclose)
            async for piece in whole:
                if piece:
                    answer.add(piece)
                    self.feed.publish(DELTA, {"text": piece})
                # Yield to the event loop, in case the model never waits.
                await asyncio.sleep(0)

    def _report_failure(self, what: str) -> None:
        # The error may contain addresses and keys, so only the log has its details.
        _log.exception("no answer")
        self._problem = what
        self.feed.publish(PROBLEM, {"what": what})


def _cause(error: Exception) -> str:
    """Return the cause in one sentence, without addresses or keys.

    The SDKs of OpenAI and Anthropic use the same names for their errors.
    """
    match getattr(error, "status_code", None):
        case 401 | 403:
            return "The service rejected the server's key."
        case 429:
            return "The service limits requests. Try again later."
        case int(code) if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "The service failed."
        case _:
            pass
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"APITimeoutError", "TimeoutError"}:
        return "The service timed out."
    return (
        "The service cannot be reached."
        if names & {"APIConnectionError", "ConnectionError"}
        else ""
    )
