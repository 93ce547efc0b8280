"""Callback for LiteLLM that fits requests into a window (docs/adapters.md).

It covers the library, its router and its proxy.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polycontext.base import InvalidOptionError, require_extra
from polycontext.polynomial import ContextSession

from .bridge import Bridge, Fitted, find_session
from .dialect import Piece
from .sessions import Sessions
from .wire_dialect import Message, ThinkingDialect, WireDialect, besides_of

require_extra("litellm", extra="litellm", purpose=__name__)

from litellm.integrations.custom_logger import CustomLogger


class ContextCallback(CustomLogger):
    """Fit every awaited request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many conversations, identified by their
    first messages.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        super().__init__()
        dialects = {
            "completion": LiteLLMDialect(),
            "anthropic_messages": WireDialect("anthropic"),
            "responses": WireDialect("openai-responses"),
        }
        sessions = Sessions(model, **options)
        self._bridges = {kind: Bridge(dialect, sessions) for kind, dialect in dialects.items()}

    def session(self, messages: Sequence[Any], /) -> ContextSession:
        """Return the session behind a conversation, given its messages so far."""
        return find_session([*self._bridges.values()], messages)

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Shorten the messages of a request; the caller's list stays complete.

        Raises:
            InvalidOptionError: the list was passed by position, where the callback cannot see it,
                or `context_management` makes the provider shorten it as well.
        """
        call = getattr(call_type, "value", "")
        bridge, name = (
            self._bridges.get(call) or self._bridges.get(call.removeprefix("a")),
            _list_of(call),
        )
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
        if name not in kwargs:
            raise InvalidOptionError(name, None, f"{name}=..., by name")
        if kwargs.get("context_management"):
            raise InvalidOptionError(
                "context_management", kwargs["context_management"], "none beside this callback"
            )
        return {**kwargs, name: _Sent(await bridge.afit_with_session(given, **besides_of(kwargs)))}

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


class LiteLLMDialect(ThinkingDialect):
    """Read chat messages, as dicts or as LiteLLM's own objects."""

    def split(self, natives: Sequence[Any]) -> Iterator[Piece]:
        """Yield the turns of messages; thinking is bound to the prefix before it."""
        yield from super().split(
            [native if isinstance(native, Mapping) else native.model_dump() for native in natives]
        )


class _Sent(list[Message]):
    """A list of fitted messages that knows its session."""

    def __init__(self, fitted: Fitted[Message]) -> None:
        super().__init__(fitted.natives)
        self.fitted = fitted


def _list_of(call: str) -> str:
    return "input" if call.endswith("responses") else "messages"
