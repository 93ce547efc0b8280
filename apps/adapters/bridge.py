"""The bridge that adapters are built on: it fits a framework's messages into a window."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, Protocol, cast, runtime_checkable

from attrs import evolve, frozen

from polycontext.base import InvalidDataError, guided, require
from polycontext.base.effects import Effect, Steps, call, procedure, twin, within
from polycontext.polynomial import ContextOverflowError, ContextSession, known_again
from polycontext.polynomial.session import TRIES, context_tools, pairs_of
from polycontext.pressure import ConflictError
from polycontext.window import InvalidMessagesError, Role, Turn
from polycontext.window.providers import ToolDefinition, dumped

from .dialect import Dialect, Held, N
from .sessions import Sessions, said_in

_LOG = logging.getLogger("polycontext.adapters")
_FITTED: ContextVar[tuple[object, ContextSession] | None] = ContextVar("fitted", default=None)
"""The bridge that fitted messages last in this task, and the session that it used."""


@runtime_checkable
class Adapter(Protocol):
    """What every adapter offers, wrapped clients included: the sessions behind conversations."""

    def session(self, conversation: Any, /) -> ContextSession:
        """Return the session behind a conversation; see `Bridge.session`."""
        ...


def recall_definitions() -> list[ToolDefinition]:
    """Return the tools that let a model look up turns that left its view."""
    return [
        ToolDefinition(tool["name"], tool["description"], tool["input_schema"])
        for tool in context_tools.context_tools("anthropic")
    ]


@frozen
class Fitted(Generic[N]):
    """The messages to send to the model, and the session that selected them."""

    natives: list[N]
    session: ContextSession

    def learn(self, usage: object) -> None:
        """Let the session learn from the provider's token counts for these messages.

        `usage` is the usage of a response, or the response (see `session.usage.reported`). A report
        that is damaged or would leave the messages no room is ignored with a warning, because the
        answer has already arrived.

        Raises:
            InvalidDataError: `usage` is not a report at all, such as a text.
        """
        try:
            self.session.usage.reported(usage)
        except (InvalidDataError, ContextOverflowError) as error:
            if not isinstance(dumped(usage), Mapping):
                raise
            _LOG.warning("nothing was learned of a report: %s", error)


@guided
class Bridge(Generic[N]):
    """Fit a framework's messages into a window, for any number of conversations at once.

    Fitting the same messages again returns the same result, because hooks fire on every retry.

    Args:
        dialect: reads and writes the framework's messages.
        sessions: hold the conversations. The default is a new `Sessions` of `model` and `options`,
            which are those of `Sessions` and of a session.
    """

    def __init__(
        self,
        dialect: Dialect[N],
        sessions: Sessions | None = None,
        *,
        model: Any = None,
        **options: Any,
    ) -> None:
        self.dialect = dialect
        self.sessions = Sessions(model, **options) if sessions is None else sessions

    @procedure
    def fit(
        self,
        natives: Sequence[N],
        *,
        key: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = (),
        reserve: int = 0,
    ) -> Steps[list[N]]:
        """Return the messages to send for `natives`, all messages of one conversation so far.

        `natives` is not changed. `key` names the conversation; without one, it is identified by its
        first messages. `system`, `tools` and `reserve` are the other parts of this request, and may
        differ the next time.

        Raises:
            ContextOverflowError: the request does not fit even after full compression.
            Any exception of the dialect: a message is of an unknown form.
        """
        fitted: Fitted[N] = yield call(
            self, "fit_with_session", natives, key=key, system=system, tools=tools, reserve=reserve
        )
        return fitted.natives

    afit = twin(fit)

    @procedure
    def fit_with_session(
        self,
        /,
        natives: Sequence[N],
        *,
        key: str | None = None,
        scope: str = "",
        **besides: Any,
    ) -> Steps[Fitted[N]]:
        """Return the result of `fit` together with the conversation's session.

        Conversations without a key are found among those of the same `scope`, such as a user.
        """
        pairs = self._split(natives)
        said, handles = [turn for turn, _ in pairs], [held for _, held in pairs]
        alone, aalone = (
            partial(self.sessions.alone, said, key, scope),
            partial(self.sessions.aalone, said, key, scope),
        )

        def fit(session: ContextSession) -> Steps[Fitted[N] | None]:
            rewind = key is not None
            try:
                yield Effect(
                    partial(session.sync, said, handles, repair=False, rewind=rewind),
                    partial(session.asynced, said, handles, repair=False, rewind=rewind),
                )
                end = _end(session)
                view = yield call(session, "view", **besides)
                return Fitted(self.dialect.join(view), session) if _end(session) == end else None
            except ConflictError:
                # Without a key, a conversation that another process continued differently is a
                # different one: try again.
                if key is not None:
                    raise
                return None

        for _ in range(TRIES):
            if (fitted := (yield within(alone, aalone, fit))) is not None:
                _FITTED.set((self, fitted.session))
                return cast("Fitted[N]", fitted)
        raise ConflictError(
            f"a conversation of {len(natives)} messages",
            "a session that nobody else writes to",
            f"other writers at {TRIES} tries",
        )

    afit_with_session = twin(fit_with_session)

    def session(self, conversation: str | Sequence[N], /) -> ContextSession:
        """Return the live session behind a conversation, the one that its next request uses.

        `conversation` is the framework's key, or the messages so far of a conversation without
        one. Pins and rules that you add hold from the next request on. If there was
        no request yet, the session is new. Use it between requests: the bridge does not lock it.
        """
        if isinstance(conversation, str):
            return self.sessions.get(conversation)
        return self.sessions.longest(self.said(conversation))

    def look_up(
        self, name: str, arguments: Any, conversation: str | Sequence[N] | None = None
    ) -> str:
        """Return the result of a model's call to one of the tools of `recall_definitions`.

        Without `conversation`, it is about the one that was fitted last in this task.
        """
        if conversation is not None:
            return self.session(conversation).call_tool(name, arguments)
        bridge, session = _FITTED.get() or (None, None)
        if bridge is not self or session is None:
            return f"{context_tools.ERROR}the conversation of this call is unknown."
        return session.call_tool(name, arguments)

    async def alook_up(
        self, name: str, arguments: Any, conversation: str | Sequence[N] | None = None
    ) -> str:
        """Do what `look_up` does without blocking the event loop."""
        return await asyncio.to_thread(self.look_up, name, arguments, conversation)

    def said(self, natives: Sequence[N]) -> list[Turn]:
        """Return the turns of messages, repaired."""
        return [turn for turn, _ in self._split(natives)]

    def _split(self, natives: Sequence[N]) -> list[tuple[Turn, Held[N] | None]]:
        """Return the turns of messages, repaired, each with its messages, None if it was added."""
        # Frameworks keep the summaries they were given, and may join them with other messages.
        split = [*self.dialect.split(natives)]
        known = known_again([piece.turn for piece in split], has_task=False)
        pieces = [
            evolve(piece, turn=turn)
            for piece, turns in zip(split, known, strict=True)
            for turn in turns
        ]
        turns = Counter(piece.start for piece in pieces)
        held = [
            Held(tuple(natives[piece.start : piece.stop]), piece.start, turns[piece.start])
            for piece in pieces
        ]
        return pairs_of([piece.turn for piece in pieces], held, repair=True)


def find_session(
    bridges: Sequence[Bridge[Any]],
    messages: Sequence[Any],
    *,
    is_open: bool = False,
    scope: str = "",
) -> ContextSession:
    """Return the session behind a conversation of one of several bridges.

    If none of them knows it, it is that of the first bridge that can read the messages. `is_open`
    says that only the first request decides which bridge is used.

    Raises:
        InvalidOptionError: not a list that tells which conversation it is, or the first request of
            the conversation has yet to decide.
        InvalidMessagesError: no bridge can read the messages.
    """
    is_list = isinstance(messages, Sequence) and not isinstance(messages, str | bytes)
    require("messages", messages, is_list, "the list of messages that the requests send")
    readings = list[tuple[Sessions, list[Turn]]]()
    for each in bridges:
        with suppress(InvalidMessagesError):  # they are in another format
            readings.append((each.sessions, each.said(messages)))
    found = [session for sessions, said in readings if (session := sessions.find(said, scope))]
    longest = max(found, key=_length, default=None)
    if longest is not None and _length(longest):
        return longest
    sessions, said = readings[0] if readings else (bridges[-1].sessions, bridges[-1].said(messages))
    has_begun = any(turn.role is Role.USER for turn in said)
    legal = "the messages up to the user's first, which tell conversations apart"
    require("messages", messages, has_begun, legal)
    legal = "wrap(client, model), or ask for the session after the first request"
    require("model", None, not is_open, legal)
    return sessions.longest(said, scope)


def _length(session: ContextSession) -> int:
    return len(said_in(session.conversation.log))


def _end(session: ContextSession) -> tuple[int, str]:
    """Return the log's length and newest id, which change when another process continues it."""
    log = session.conversation.log
    return len(log), log[-1].resource_id if log else ""
