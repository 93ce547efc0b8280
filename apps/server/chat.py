"""One conversation as browsers use it: its actions and its events."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from textwrap import shorten
from typing import Any, Self

from attrs import define

from polycontext.base import PolycontextError, UnknownNameError
from polycontext.models.answers import Answering, in_whole_characters, metadata_of, settle
from polycontext.models.endings import UnfinishedError, ending_of
from polycontext.nodes import ComponentRenderer
from polycontext.nodes.endings import Ending, EndingKind, keep_ending, last_said
from polycontext.nodes.inspection import Inspector
from polycontext.pills import PillDocument
from polycontext.polynomial import Answer, ContextMachine, ContextSession, SessionWriteError
from polycontext.polynomial.session import utc_now
from polycontext.window import Role
from polycontext.window.items import attachment_of

from .feed import PROPS, Feed, Told
from .loop_lock import LoopLock
from .sources import Sources

DELTA, PROBLEM = "delta", "problem"
"""Kinds of events: text added to the answer in progress, and the reason why there is no answer."""

ABOUT = "polycontext.server"
"""The companion that holds what the list of chats shows."""

_SERVICE = {"APIError", "ConnectionError", "TimeoutError"}
"""Errors of a model's service, by the names that the SDKs share: their words say it all."""

TIMEOUT = 120.0
"""Seconds without a piece of the answer or a step of an agent before it ends."""

_STARTED = utc_now()
_LONGEST_TITLE = 80
_log = logging.getLogger("polycontext.server")
_NOT_STORED = "The answer could not be kept."


@define
class About:
    """What the list of chats shows of a chat; it is stored with every commit."""

    session: ContextSession
    name: str = ""
    """What the user calls the chat."""
    model: str | None = None
    is_answering: bool = False
    is_branch: bool = False
    deleted: str | None = None
    """When the user deleted the chat, in ISO 8601."""

    @classmethod
    def of(cls, session: ContextSession) -> Self:
        """Return what a session stores."""
        data = session.documents.get(ABOUT) or {}
        names = "name", "model", "is_answering", "is_branch", "deleted"
        return cls(session, **{name: data[name] for name in names if name in data})

    @property
    def title(self) -> str:
        """Return the name, or the beginning of the first message as it is now."""
        users = (turn for turn in self.session.conversation.log if turn.role is Role.USER)
        said = (turn.text for turn in users if attachment_of(turn) is None)
        title = self.name or shorten(next(said, ""), _LONGEST_TITLE, placeholder="…")
        return f"{title} (branch)" if title and self.is_branch else title

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        log = self.session.conversation.log
        return {
            "title": self.title,
            "name": self.name,
            "at": log[len(log) - 1].timestamp.isoformat() if log else None,
            "pressure": self.session.pressure,
            "model": self.model,
            "is_answering": self.is_answering,
            "is_branch": self.is_branch,
            "deleted": self.deleted,
        }


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
    - A chat that is changed is not deleted any more.
    """

    def __init__(
        self,
        session: ContextSession,
        models: Mapping[str, Answering],
        sources: Sources,
        *,
        timeout: float = TIMEOUT,
        is_read_only: bool = False,
    ) -> None:
        self.session, self.sources, self.is_read_only = session, sources, is_read_only
        self.about, self.inspector = About.of(session), Inspector(session)
        if not is_read_only:
            session.documents.accompany(ABOUT, self.about)
        self.feed = Feed(self._snapshot)
        self.users = 0
        self.since = self.feed.last
        self.cancelled = False
        self._models, self._timeout = models, timeout
        self._limit: asyncio.Timeout | None = None
        self._renderer = ComponentRenderer()
        if session.conversation.machine is not ContextMachine and not is_read_only:
            session.machine.add_listener(self)
        self._writing: asyncio.Task[None] | None = None
        self._tasks = set[asyncio.Task[None]]()
        self._keeping = self._closed = False
        self._problem: str | None = None
        self._turn = LoopLock()

    def props(self) -> dict[str, Any]:
        """Return the props to show."""
        props = self._renderer.render_chat(self.session, answering=self.is_busy)
        if props["ending"] is None and not self.is_busy and self.about.is_answering:
            props["ending"] = self._died()
        return props

    def _died(self) -> dict[str, Any] | None:
        """Return the ending of an answer that no server can be writing any more.

        A younger one may still be written by another worker.
        """
        turn, latest = last_said(self.session), utc_now() - timedelta(seconds=2 * self._timeout)
        if turn is None or turn.timestamp >= max(_STARTED, latest):
            return None
        return Ending(EndingKind.DIED).to_data(turn.resource_id)

    @property
    def model(self) -> str | None:
        """Return the name of the model that answers, None if it has none."""
        known = self.about.model in self._models
        return (self.about.model if known else next(iter(self._models))) or None

    @property
    def _answering(self) -> Answering:
        return self._models[self.model or ""]

    async def describe(
        self, title: str | None = None, model: str | None = None, *, deleted: bool = False
    ) -> dict[str, Any]:
        """Rename the chat, choose its model, or mark it as deleted, and return the props.

        Raises:
            UnknownNameError: there is no such model.
        """
        if model is not None and model not in self._models:
            raise UnknownNameError("model", model, tuple(self._models))
        if deleted:
            await self.cancel()

        async def described() -> None:
            if title is not None:
                self.about.name, self.about.is_branch = title[:_LONGEST_TITLE], False
            self.about.model = model or self.about.model
            self.about.deleted = utc_now().isoformat() if deleted else None
            await self.session.documents.asave()

        return await self._run(described)

    def on_enter_state(self) -> None:
        """Publish what an agent does: python-statemachine calls it after each step."""
        self._go_on()
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
            ContextOverflowError: the message does not fit; nothing was added.
        """

        async def sent() -> None:
            # A message that was already added stays, even if a source it names has changed since.
            known = key is not None and await asyncio.to_thread(self.session.history.has_taken, key)
            items = [] if known else await self.sources.attached(document)
            if self.session.open_calls and not known:  # of a run that was stopped
                await self.session.aclose_open_calls("the user went on")
            text = document.to_text()
            await self.session.asend_message(text, items, oversize="error", idempotency_key=key)

        return await self._run(sent, answered=True)

    async def edit(self, resource_id: str, document: PillDocument) -> dict[str, Any]:
        """Replace a user message and its attachments, start the answer, and return the props.

        Raises the same errors as `send`.
        """

        async def edited() -> None:
            await self.session.history.aedit(
                resource_id,
                document.to_text(),
                await self.sources.attached(document),
                oversize="error",
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
            stored = About.of(self.session)
            self.about.name, self.about.model = stored.name, stored.model
            self.about.is_answering, self._problem = stored.is_answering, None
            self.about.deleted = stored.deleted
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
            before, title = self.session.history.revision, self.about.title
            was_answering = self.about.is_answering
            self.about.is_answering, self.about.deleted = answered or was_answering, None
            try:
                await act()
            except BaseException:
                self.about.is_answering = was_answering
                raise
            if self.about.title != title:
                # The commit had the title of before; the list has to show this one at once.
                with suppress(PolycontextError):
                    await self.session.documents.asave()
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
        answering = self._answering
        raised: BaseException | None = None
        try:
            await self._stream(answer, answering)
        except (asyncio.CancelledError, Exception) as error:  # noqa: BLE001 - a model may raise any
            raised, self.cancelled = error, isinstance(error, asyncio.CancelledError)
        ending = ending_of(raised, answer.text)
        if not isinstance(raised, asyncio.CancelledError | UnfinishedError | None):
            self._report_failure(ending.text, raised)
        self._keeping, self.about.is_answering, self._limit = True, False, None
        try:
            answer.metadata |= metadata_of(answering, self.session)
            await answer.aclose()
            await asyncio.to_thread(keep_ending, self.session, ending)
        except Exception as error:  # noqa: BLE001 - so may a store
            self._report_failure(_NOT_STORED, error)
        # A client may send its next request as soon as it receives this event.
        self._writing, self._keeping = None, False
        self.feed.publish(PROPS, self.props())
        if ending.kind is EndingKind.DONE and self._problem is None:
            await settle(answering, self.session)

    def _go_on(self) -> None:
        """Wait for the answer from now on."""
        limit = self._limit
        if limit is not None and not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time() + self._timeout)

    async def _stream(self, answer: Answer, answering: Answering) -> None:
        """Publish the model's answer piece by piece."""
        async with asyncio.timeout(self._timeout) as self._limit, AsyncExitStack() as stack:
            pieces = answering.answer(self.session)
            if isinstance(pieces, AsyncGenerator):
                # Close the generator at once, so that a cancelled model stops generating.
                stack.push_async_callback(pieces.aclose)
            whole = in_whole_characters(pieces)
            stack.push_async_callback(whole.aclose)
            async for piece in whole:
                self._go_on()
                if piece:
                    answer.add(piece)
                    self.feed.publish(DELTA, {"text": piece})
                # Yield to the event loop, in case the model never waits.
                await asyncio.sleep(0)

    def _report_failure(self, what: str, error: BaseException) -> None:
        # The error may contain addresses and keys, so only the log has its details.
        names = {kind.__name__ for kind in type(error).__mro__}
        is_told = names & _SERVICE and not _log.isEnabledFor(logging.DEBUG)
        _log.error("no answer: %r", error, exc_info=None if is_told else error)
        self._problem = what
        self.feed.publish(PROBLEM, {"what": what})
