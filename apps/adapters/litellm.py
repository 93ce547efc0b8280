"""Callback for LiteLLM that fits requests into a window (docs/adapters.md).

It covers the library, its router and its proxy.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import define, field

from polycontext.base import require, require_extra
from polycontext.polynomial import ContextSession
from polycontext.window.providers.anthropic import block_rules

from .bridge import Bridge, Fitted, find_session
from .dialect import Dialect, Piece
from .sessions import Sessions
from .wire_dialect import Message, ThinkingDialect, WireDialect, besides_of

require_extra("litellm", extra="litellm", purpose=__name__)

from litellm.integrations.custom_logger import CustomLogger

_METADATA = ("litellm_metadata", "metadata")
_LOG = logging.getLogger("polycontext.adapters")


@define
class CallbackFigures:
    """What a callback did with the requests so far.

    `messages` counts those that were given and those that were sent on; `failures` the requests
    that passed unchanged, by the name of the error.
    """

    requests: int = 0
    shortened: int = 0
    messages: tuple[int, int] = (0, 0)
    failures: Counter[str] = field(factory=Counter[str])


class ContextCallback(CustomLogger):
    """Fit every awaited request into the window of its model.

    One instance serves many conversations, identified by their first messages. In the proxy, those
    of each key and of each session id are kept apart.

    If a request cannot be fitted, it passes unchanged, and the reason is logged.

    Args:
        model: as for a session: the window of models that `budgets` does not name.
        budgets: the windows of models, by the names that requests use.
        strict: whether to raise instead of passing a request unchanged.
        seconds: how long a request may take to be fitted, with a store that is slow.
        options: those of `Sessions`, such as `store`.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        budgets: Mapping[str, Any] = MappingProxyType({}),
        strict: bool = False,
        seconds: float = 10.0,
        **options: Any,
    ) -> None:
        super().__init__()
        self.figures, self._strict, self._seconds = CallbackFigures(), strict, seconds
        self._bridges = {
            name: _bridges_of(Sessions(size, **options))
            for name, size in {**budgets, "": model}.items()
        }

    def session(
        self, messages: Sequence[Any], /, *, model: str = "", key: str = "", session_id: str = ""
    ) -> ContextSession:
        """Return the session behind a conversation, given its messages so far.

        In the proxy, pass the hash of the key that it is sent with, and its session id, if any.
        """
        bridges = self._bridges_for(model).values()
        return find_session([*bridges], messages, scope=_scope(key, session_id))

    def sessions(self) -> list[ContextSession]:
        """Return the sessions that are in memory."""
        held = [each["completion"].sessions for each in self._bridges.values()]
        return [session for sessions in held for session in sessions]

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Shorten the messages of a request; the caller's list stays complete.

        Raises:
            InvalidOptionError: this is strict, and the list was passed by position, where the
                callback cannot see it, or `context_management` makes the provider shorten it too.
            Exception: this is strict, and the request could not be fitted.
        """
        call = getattr(call_type, "value", "")
        bridges, name = self._bridges_for(str(kwargs.get("model"))), _list_of(call)
        bridge = bridges.get(call) or bridges.get(call.removeprefix("a"))
        given = kwargs.get(name, [])
        # LiteLLM may route one call through here twice: a list that is already fitted stays
        # unchanged.
        if (
            bridge is None
            or kwargs.get("previous_response_id")
            or kwargs.get("conversation")
            or type(given) is not list
        ):
            return None
        self.figures.requests += 1
        try:
            _check(kwargs, name)
            async with asyncio.timeout(self._seconds):
                sent = await bridge.afit_with_session(
                    given, scope=_scope_of(kwargs), **besides_of(kwargs)
                )
        except Exception as error:
            if self._strict:
                raise
            self.figures.failures[type(error).__name__] += 1
            _LOG.warning("a request of %d messages passes unchanged: %s", len(given), error)
            return None
        before, after = self.figures.messages
        self.figures.messages = (before + len(given), after + len(sent.natives))
        self.figures.shortened += len(sent.natives) < len(given)
        body: Mapping[str, Any] = {**kwargs, name: sent.natives}
        body = block_rules.with_fewer_marks(body) if name == "messages" else body
        return {**body, name: _Sent(body[name], sent)}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Learn from the provider's token counts.

        A streamed answer has none yet.
        """
        sent = request_data.get(_list_of(getattr(call_type, "value", "")))
        if isinstance(sent, _Sent):
            sent.fitted.learn(
                response.get("usage")
                if isinstance(response, dict)
                else getattr(response, "usage", None)
            )

    def _bridges_for(self, model: str) -> Mapping[str, Bridge[Message]]:
        """Return the bridges of a model, which requests may name with its provider."""
        return (
            self._bridges.get(model)
            or self._bridges.get(model.rpartition("/")[2])
            or self._bridges[""]
        )


def _bridges_of(sessions: Sessions) -> Mapping[str, Bridge[Message]]:
    dialects: Mapping[str, Dialect[Message]] = {
        "completion": LiteLLMDialect(),
        "anthropic_messages": WireDialect("anthropic"),
        "responses": WireDialect("openai-responses"),
    }
    return {kind: Bridge(dialect, sessions) for kind, dialect in dialects.items()}


def _check(kwargs: Mapping[str, Any], name: str) -> None:
    require(name, None, name in kwargs, f"{name}=..., by name")
    managed = kwargs.get("context_management")
    require("context_management", managed, not managed, "none beside this callback")


def _scope_of(kwargs: Mapping[str, Any]) -> str:
    """Return what keeps conversations apart: the caller's key, and its session id."""
    told = [each for name in _METADATA if isinstance(each := kwargs.get(name), Mapping)]
    keys = [each.get(name) for each in told for name in ("user_api_key_hash", "user_api_key")]
    ids = [kwargs.get("litellm_session_id"), *(each.get("session_id") for each in told)]
    return _scope(*(next((str(each) for each in found if each), "") for found in (keys, ids)))


def _scope(key: str, session_id: str) -> str:
    return f"{key} {session_id}".strip()


class LiteLLMDialect(ThinkingDialect):
    """Read chat messages, as dicts or as LiteLLM's own objects."""

    def split(self, natives: Sequence[Any]) -> Iterator[Piece]:
        """Yield the turns of messages; thinking is bound to the prefix before it."""
        yield from super().split(
            [native if isinstance(native, Mapping) else native.model_dump() for native in natives]
        )


class _Sent(list[Message]):
    """A list of fitted messages that knows its session."""

    def __init__(self, messages: Iterable[Message], fitted: Fitted[Message]) -> None:
        super().__init__(messages)
        self.fitted = fitted


def _list_of(call: str) -> str:
    return "input" if call.endswith("responses") else "messages"
