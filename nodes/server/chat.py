"""One conversation that browsers look at: what they may do with it, and what they are told of it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from polycontext.nodes.models.answering import Answering
from polycontext.nodes.props.component_renderer import ComponentRenderer
from polycontext.nodes.server.feed import PROPS, Feed
from polycontext.nodes.server.sources import Sources
from polycontext.polynomial import ContextSession
from polycontext.polynomial.errors import SessionWriteError
from polycontext.window.pills import PillDocument

_log = logging.getLogger("polycontext.server")
_NO_ANSWER = "The model did not answer."

Act = Callable[[], Coroutine[Any, Any, object]]


class Chat:
    """Let browsers drive a session, and publish its props whenever they change.

    Events: ``props`` says how all stands; ``delta`` adds ``text`` to the answer that is being written; ``problem`` says in words why there is none.
    Laws: one answer at a time; nothing but props and the words of answers is published.
    """

    def __init__(self, session: ContextSession, answering: Answering, sources: Sources) -> None:
        self.session, self.sources = session, sources
        self.feed = Feed(self.props)
        self._answering = answering
        self._renderer = ComponentRenderer()
        self._writing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    def props(self) -> dict[str, Any]:
        """Return what may be shown."""
        return self._renderer.render_chat(self.session)

    @property
    def is_busy(self) -> bool:
        """Tell whether an answer is being written."""
        return self._writing is not None and not self._writing.done()

    async def send(self, document: PillDocument, *, key: str | None = None) -> dict[str, Any]:
        """Take in what the user says and what its pills name, have it answered, and return the props; told again under one `key`, it is taken in once.

        Raises:
            ExceptionGroup: pills that cannot be attached; nothing was taken in then.
        """

        async def sent() -> None:
            # What was taken in stays so, whatever became since of what it names.
            known = key is not None and await asyncio.to_thread(self.session.has_taken, key)
            items = [] if known else await self.sources.attached(document)
            await self.session.asend_message(document.to_text(), items, idempotency_key=key)

        return await self._done(sent, answered=True)

    async def edit(self, resource_id: str, document: PillDocument) -> dict[str, Any]:
        """Let the user have said something else, and named something else, and have it answered; raises as `send`."""

        async def edited() -> None:
            await self.session.aedit(resource_id, document.to_text(), await self.sources.attached(document))

        return await self._done(edited, answered=True, again=True)

    async def regenerate(self) -> dict[str, Any]:
        """Have what the user said last answered anew."""
        return await self._done(self.session.aregenerate, answered=True, again=True)

    async def change(self, act: Callable[[ContextSession], Coroutine[Any, Any, object]]) -> dict[str, Any]:
        """Do something else with the session, and return the props."""
        return await self._done(lambda: act(self.session))

    async def cancel(self) -> dict[str, Any]:
        """End the answer that is being written; what was said of it stands."""
        task = self._writing
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})
        return self.props()

    async def close(self) -> None:
        """End what is being written, let listeners go, and let go of the session."""
        await self.cancel()
        self.feed.close()
        await self.session.aclose()

    async def _done(self, act: Act, *, answered: bool = False, again: bool = False) -> dict[str, Any]:
        async with self._turn:
            if self.is_busy:
                raise SessionWriteError("an answer is being written", "wait for it, or cancel it")
            before = self.session.revision
            await act()
            props, new = self.props(), self.session.revision != before
            if new:
                self.feed.publish(PROPS, props)
            # What was taken in before, under the same key, has its answer.
            if answered and (new or again):
                # Held here: the loop itself does not keep a task alive.
                self._writing = asyncio.create_task(self._answer(), name="polycontext-answer")
            return props

    async def _answer(self) -> None:
        said: list[str] = []
        try:
            async for piece in self._answering.answer(self.session):
                said.append(piece)
                self.feed.publish("delta", {"text": piece})
        except asyncio.CancelledError:
            pass
        except Exception:  # noqa: BLE001 - a model may raise anything
            # What went wrong may name addresses and keys: that is for whoever runs the server.
            _log.exception("no answer")
            self.feed.publish("problem", {"what": _NO_ANSWER})
        if "".join(said).strip():
            await self.session.aadd_assistant_turn("".join(said))
        # Whoever hears of it may ask for the next thing at once.
        self._writing = None
        self.feed.publish(PROPS, self.props())
