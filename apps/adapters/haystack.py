"""Hook for Haystack agents that fits requests into a window (docs/adapters.md)."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import takewhile
from typing import Any

from polycontext.base import require_extra
from polycontext.polynomial import ContextSession
from polycontext.window import Part, Role, ToolCall, Turn

from .blocks import (
    arguments,
    arguments_text,
    block,
    disambiguator,
    own_blocks,
    picture,
    pictures,
    thought,
    tool,
)
from .bridge import Bridge, Fitted, recall_definitions
from .dialect import Dialect, Piece

require_extra("haystack", extra="haystack", purpose=__name__)

from haystack import dataclasses as own
from haystack.core.serialization import default_to_dict
from haystack.tools import Tool

_BESIDE = ("filename", "extra", "validation")


class ContextHook:
    """Fit the messages of every request into the window of `model`.

    `options` are those of `Sessions`. One instance serves many agents and conversations.

    Make it the last of the ``before_llm`` hooks: ``Agent(..., hooks={"before_llm":
    [ContextHook("gpt-5")]})``.
    """

    allowed_hook_points = ("before_llm",)

    def __init__(self, model: Any = None, **options: Any) -> None:
        self._options = {"model": model, **options}
        self._bridge = Bridge(HaystackDialect(), **self._options)

    def session(self, conversation: str | Sequence[own.ChatMessage], /) -> ContextSession:
        """Return the session behind a conversation; see `Bridge.session`."""
        if not isinstance(conversation, str):
            conversation = conversation[_start(conversation) :]
        return self._bridge.session(conversation)

    @property
    def recall_tools(self) -> list[Tool]:
        """Return tools for an agent's model to look up turns that left its view."""
        return [
            Tool(
                each.name,
                each.description,
                dict(each.parameters),
                partial(self._look_up, each.name),
                inputs_from_state={"hook_context": "about"},
            )
            for each in recall_definitions()
        ]

    def _look_up(self, name: str, about: Any = None, **given: Any) -> str:
        return self._bridge.look_up(name, given, (about or {}).get("conversation"))

    def run(self, state: Any) -> None:
        """Show the model what fits; once it has answered, the state holds all messages again."""
        head, rest, besides = _parse_state(state.data)
        state.data["messages"] = _View(
            head, self._bridge.fit_with_session(rest, **besides), state.data["messages"]
        )

    async def run_async(self, state: Any) -> None:
        """Do what `run` does, without blocking."""
        head, rest, besides = _parse_state(state.data)
        state.data["messages"] = _View(
            head, await self._bridge.afit_with_session(rest, **besides), state.data["messages"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the hook as data."""
        data: dict[str, Any] = default_to_dict(self, **self._options)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ContextHook":
        """Return the hook that `data` describes."""
        return cls(**data["init_parameters"])


class _View(list[own.ChatMessage]):
    """The messages that the model sees.

    Adding answers returns the complete list, because an agent keeps only the list that the model
    saw.
    """

    def __init__(
        self,
        head: Sequence[own.ChatMessage],
        fitted: Fitted[own.ChatMessage],
        whole: Sequence[own.ChatMessage],
    ) -> None:
        super().__init__([*head, *fitted.natives])
        self._fitted, self._whole = fitted, whole

    def __add__(self, answers: Any) -> Any:
        for answer in answers:
            self._fitted.learn(answer.meta.get("usage"))
        return [*self._whole, *answers]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy([*self], memo)


def _parse_state(data: Any) -> tuple[list[own.ChatMessage], list[own.ChatMessage], dict[str, Any]]:
    """Return the leading system messages, the other messages, and the rest of a request."""
    messages = data["messages"]
    start = _start(messages)
    system = "\n".join(message.text or "" for message in messages[:start])
    tools = [tool(each.name, each.description, each.parameters) for each in data["tools"]]
    return (
        messages[:start],
        messages[start:],
        {"key": data["hook_context"].get("conversation"), "system": system or None, "tools": tools},
    )


def _start(messages: Sequence[own.ChatMessage]) -> int:
    """Return how many system messages lead the list."""
    return sum(1 for _ in takewhile(lambda message: message.role == "system", messages))


class HaystackDialect(Dialect[own.ChatMessage]):
    """Read messages, each a list of content parts."""

    def split(self, natives: Sequence[own.ChatMessage]) -> Iterator[Piece]:
        """Yield the turn of each message, or one turn for each of its tool results."""
        nth = disambiguator()
        for place, native in enumerate(natives):
            if not native.tool_call_results:
                nth = disambiguator()
                yield Piece(_parse_message(native), place, place + 1)
            for each in native.tool_call_results:
                found = (
                    [own.TextContent(each.result)] if isinstance(each.result, str) else each.result
                )
                text, call = _text(found), nth(each.origin.id or each.origin.tool_name)
                yield Piece(
                    Turn(
                        Role.TOOL,
                        text,
                        tool_call_id=call,
                        name=each.origin.tool_name,
                        parts=_parts(found),
                    ),
                    place,
                    place + 1,
                )

    def write(self, turns: Sequence[Turn]) -> list[own.ChatMessage]:
        """Return a message for each turn."""
        return [_render_message(turn) for turn in turns]


def _parse_message(native: own.ChatMessage) -> Turn:
    nth, content = disambiguator(), native._content  # noqa: SLF001 - all its parts, in order
    calls = [
        ToolCall(nth(call.id or call.tool_name), call.tool_name, arguments_text(call.arguments))
        for call in native.tool_calls
    ]
    return Turn(
        native.role.value, _text(content), tool_calls=calls, name=native.name, parts=_parts(content)
    )


def _text(content: Sequence[Any]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, own.TextContent))


def _parts(content: Sequence[Any]) -> list[Part]:
    thoughts = [
        (part.reasoning_text, part.extra)
        for part in content
        if isinstance(part, own.ReasoningContent)
    ]
    images = [
        picture(f"data:{part.mime_type};base64,{part.base64_image}")
        for part in content
        if isinstance(part, own.ImageContent)
    ]
    files = [
        block(
            "haystack",
            {
                "file": {"media_type": part.mime_type, "data": part.base64_data},
                "own": {name: getattr(part, name) for name in _BESIDE},
            },
            "file",
        )
        for part in content
        if isinstance(part, own.FileContent)
    ]
    return [*(_thought(*each) for each in thoughts), *images, *files]


def _thought(text: str, extra: dict[str, Any]) -> Part:
    signature = extra.get("encrypted_content") or extra.get("signature")
    return thought(text, signature, "openai" if extra.get("type") == "reasoning" else None)


def _render_message(turn: Turn) -> own.ChatMessage:
    urls = [url.removeprefix("data:").partition(";base64,") for url in pictures(turn)]
    images: list[Any] = [own.ImageContent(data, mime, validation=False) for mime, _, data in urls]
    images += [
        own.FileContent(held["file"]["data"], held["file"]["media_type"], **held["own"])
        for held in own_blocks(turn, "haystack")
    ]
    if turn.role is Role.TOOL:
        found = [own.TextContent(turn.text), *images] if images else turn.text
        return own.ChatMessage.from_tool(
            found, own.ToolCall(turn.name or "", {}, turn.tool_call_id)
        )
    if turn.role is Role.ASSISTANT:
        calls = [own.ToolCall(call.name, arguments(call), call.id) for call in turn.tool_calls]
        return own.ChatMessage.from_assistant(turn.text or None, tool_calls=calls)
    if turn.role is Role.SYSTEM:
        return own.ChatMessage.from_system(turn.text)
    return own.ChatMessage.from_user(content_parts=[turn.text, *images])
