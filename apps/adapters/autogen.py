"""Model context for AutoGen agents that returns the messages that fit (docs/adapters.md)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from polycontext.base import require_extra
from polycontext.window import Role, ToolCall, Turn

from .blocks import picture, pictures
from .bridge import Bridge
from .dialect import MessageDialect

require_extra("autogen_core", extra="autogen", purpose=__name__)

from autogen_core import FunctionCall, Image
from autogen_core import models as own
from autogen_core.model_context import ChatCompletionContext

_URLS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Data URLs of images: the framework encodes an image again on every access."""
_ROLES = {own.SystemMessage: Role.SYSTEM, own.AssistantMessage: Role.ASSISTANT}


class ContextChatCompletionContext(ChatCompletionContext):
    """Keep all messages of an agent, and return those that fit into the window of `model`.

    `options` are those of `Sessions`, including `tools`. `key` names the conversation and is saved
    in the agent's state; the default is a new id. `system` is the agent's system message, which a
    model context does not see.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        key: Any = None,
        system: Any = None,
        initial_messages: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(initial_messages)
        self._key, self._system, self._bridge = (
            key or uuid4().hex,
            system,
            Bridge(AutoGenDialect(), model=model, **options),
        )

    async def get_messages(self) -> list[Any]:
        """Return the messages that fit; all messages are kept."""
        return await self._bridge.afit(self._messages, key=self._key, system=self._system)

    async def save_state(self) -> Mapping[str, Any]:
        """Return all messages and the conversation's key."""
        return {**await super().save_state(), "key": self._key}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore all messages and the conversation's key."""
        await super().load_state(state)
        self._key = state.get("key", self._key)


class AutoGenDialect(MessageDialect[Any]):
    """Read AutoGen's messages, one of which holds all results of a step."""

    def read(self, native: Any) -> Iterator[Turn]:
        """Yield the turns of a message.

        AutoGen keeps text beside tool calls in `thought`; it becomes the text of the turn.
        """
        said = getattr(native, "content", native)
        if isinstance(native, own.FunctionExecutionResultMessage):
            for place, each in enumerate(said):
                call, told = each.call_id or f"call-{place}", {"is_error": each.is_error}
                yield Turn(
                    Role.TOOL, each.content, tool_call_id=call, name=each.name, metadata=told
                )
        elif isinstance(native, own.AssistantMessage) and isinstance(said, list):
            calls = [
                ToolCall(each.id or f"call-{place}", each.name, each.arguments)
                for place, each in enumerate(said)
            ]
            yield Turn(Role.ASSISTANT, native.thought or "", tool_calls=calls)
        else:
            pieces = said if isinstance(said, list) else [said]
            urls = [
                _URLS.get(each) or _URLS.setdefault(each, each.data_uri)
                for each in pieces
                if isinstance(each, Image)
            ]
            text = "\n".join(str(each) for each in pieces if not isinstance(each, Image))
            yield Turn(
                _ROLES.get(type(native), Role.USER),
                text,
                name=getattr(native, "source", None),
                parts=[*map(picture, urls)],
            )

    def write(self, turns: Sequence[Turn]) -> list[Any]:
        """Return `turns` as one message."""
        turn = turns[0]
        if turn.role is Role.TOOL:
            results = [
                {
                    **each.metadata,
                    "content": each.text,
                    "name": each.name or "",
                    "call_id": each.tool_call_id,
                }
                for each in turns
            ]
            return [own.FunctionExecutionResultMessage(content=results)]
        if turn.role is Role.ASSISTANT:
            calls = [FunctionCall(call.id, call.arguments, call.name) for call in turn.tool_calls]
            return [
                own.AssistantMessage(
                    content=calls or turn.text,
                    thought=turn.text if calls else None,
                    source=turn.name or "assistant",
                )
            ]
        if turn.role is Role.SYSTEM:
            return [own.SystemMessage(content=turn.text)]
        images = [Image.from_uri(url) for url in pictures(turn)]
        return [
            own.UserMessage(
                content=[turn.text, *images] if images else turn.text, source=turn.name or "user"
            )
        ]
