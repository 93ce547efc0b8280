"""One conversation that browsers look at: what they may do with it, and what they are told of it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any

from polycontext.models import Answering, in_whole_characters
from polycontext.nodes import ComponentRenderer
from polycontext.polynomial import Answer, ContextSession, SessionWriteError
from polycontext.window import PillDocument

from .feed import PROPS, Feed, Told
from .sources import Sources

DELTA, PROBLEM = "delta", "problem"
"""The kinds of events that add to the answer which is being written, and that say why there is
none."""

_log = logging.getLogger("polycontext.server")
_NO_ANSWER = "The model did not answer."
_NOT_STORED = "The answer could not be kept."

Act = Callable[[], Coroutine[Any, Any, object]]


class Chat:
    """Let browsers drive a session, and publish its props whenever they change.

    Events: ``props`` says how all stands; ``delta`` adds ``text`` to the answer that is being
    written; ``problem`` says in words why there is none.
    Laws: one answer at a time; nothing but props and the words of answers is published; what was
    begun is ended, though whoever asked for it has gone.
    """

    def __init__(self, session: ContextSession, answering: Answering, sources: Sources) -> None:
        self.session, self.sources = session, sources
        self.feed = Feed(self._snapshot)
        self.users = 0
        self.since = self.feed.last
        self.cancelled = False
        self._answering = answering
        self._renderer = ComponentRenderer()
        self._writing: asyncio.Task[None] | None = None
        self._keeping = self._closed = False
        self._problem: str | None = None
        self._turn = asyncio.Lock()

    def props(self) -> dict[str, Any]:
        """Return what may be shown."""
        return self._renderer.render_chat(self.session, answering=self.is_busy)

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is being written."""
        return self.session.output.answering is not None

    async def send(self, document: PillDocument, *, key: str | None = None) -> dict[str, Any]:
        """Take in what the user says and what its pills name, have it answered, and return the props; told again under one `key`, it is taken in once.

        Raises:
            ExceptionGroup: pills that cannot be attached; nothing was taken in then.
        """

        async def sent() -> None:
            # What was taken in stays so, whatever became since of what it names.
            known = key is not None and await asyncio.to_thread(self.session.history.has_taken, key)
            items = [] if known else await self.sources.attached(document)
            await self.session.asend_message(document.to_text(), items, idempotency_key=key)

        return await self._run(sent, answered=True)

    async def edit(self, resource_id: str, document: PillDocument) -> dict[str, Any]:
        """Let the user have said something else, and named something else, and have it answered.

        Raises as `send`.
        """

        async def edited() -> None:
            await self.session.history.aedit(
                resource_id, document.to_text(), await self.sources.attached(document)
            )

        return await self._run(edited, answered=True, again=True)

    async def regenerate(self) -> dict[str, Any]:
        """Have what the user said last answered anew."""
        return await self._run(self.session.history.aregenerate, answered=True, again=True)

    async def change(
        self, act: Callable[[ContextSession], Coroutine[Any, Any, object]]
    ) -> dict[str, Any]:
        """Do something else with the session, and return the props."""
        return await self._run(lambda: act(self.session))

    async def cancel(self) -> dict[str, Any]:
        """End the answer that is being written; what was said of it stands."""
        task = self._writing
        if task is not None and not task.done():
            # Once, and not while it is being kept: what was said would be lost.
            if not self._keeping and not task.cancelling():
                task.cancel()
            await asyncio.wait({task})
        return self.props()

    async def close(self) -> None:
        """End what is being written, let listeners go, and let go of the session."""
        self._closed = True
        async with self._turn:
            await self.cancel()
        self.feed.close()
        await self.session.aclose()

    def _snapshot(self) -> Iterator[Told]:
        """Yield how all stands: the props, what has been said of the answer that is being written, or why there is none."""
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
            # What was taken in before, under the same key, has its answer.
            answer = self.session.answer() if answered and (new or again) else None
            props = self.props()
            if new or answer:
                self._problem = None
                self.feed.publish(PROPS, props)
            if answer:
                # Behind this event the answer is told.
                self.since, self.cancelled = self.feed.last, False
                # Held here: the loop itself does not keep a task alive.
                self._writing = asyncio.create_task(self._answer(answer), name="polycontext-answer")
                # Cancelled before it began, it closes nothing.
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
        except Exception:  # noqa: BLE001 - so may a store, and a model may say what no turn can hold
            self._report_failure(_NOT_STORED)
        # Whoever hears of it may ask for the next thing at once.
        self._writing, self._keeping = None, False
        self.feed.publish(PROPS, self.props())

    async def _stream(self, answer: Answer) -> None:
        """Publish what the model says, piece by piece."""
        async with AsyncExitStack() as stack:
            pieces = self._answering.answer(self.session)
            if isinstance(pieces, AsyncGenerator):
                # At once: whoever is cut short should hear of it, and not write on.
                stack.push_async_callback(pieces.aclose)
            whole = in_whole_characters(pieces)
            stack.push_async_callback(whole.aclose)
            async for piece in whole:
                if piece:
                    answer.add(piece)
                    self.feed.publish(DELTA, {"text": piece})
                # A model that never waits would let nobody else do anything.
                await asyncio.sleep(0)

    def _report_failure(self, what: str) -> None:
        # What went wrong may name addresses and keys: that is for whoever runs the server.
        _log.exception("no answer")
        self._problem = what
        self.feed.publish(PROBLEM, {"what": what})


def _cause(error: Exception) -> str:
    """Return a sentence for the person who waits; it names no address and no key.

    The SDKs of OpenAI and Anthropic name their errors alike.
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
