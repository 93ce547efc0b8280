"""Whose format a list of messages is in, by what only one provider writes."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidMessagesError
from .formats import get_format
from .wire import Provider, WireFormat

AUTO = "auto"
"""What stands for a provider that is to be recognised."""

_CERTAIN = frozenset({"tool_use", "tool_result"})
"""Blocks that stand in nobody else's messages, whatever a gateway carries along."""

_BLOCKS: Mapping[str, Provider] = {
    **dict.fromkeys(
        (
            *_CERTAIN,
            *("thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "document", "search_result"),
            *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "container_upload", "compaction"),
        ),
        Provider.ANTHROPIC,
    ),
    **dict.fromkeys(("image_url", "input_audio", "file", "refusal"), Provider.OPENAI),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file", "summary_text"), Provider.RESPONSES),
}
_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning", "item_reference", "custom_tool_call"})
_CHAT_ROLES = frozenset({"tool", "function"})


def format_of(messages: object, provider: Provider | str, otherwise: Provider = Provider.OPENAI) -> WireFormat:
    """Return the format of `provider`; with ``"auto"`` that of the first message that only one provider writes, where none is, `otherwise`.

    Raises:
        UnknownNameError: no such provider.
        InvalidMessagesError: `messages` are clearly in another one's format; the error names it.

    >>> format_of([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}], "auto").provider
    <Provider.ANTHROPIC: 'anthropic'>
    """
    found = _marks(messages)
    if provider == AUTO:
        return get_format(next((whose for _, whose, _ in found), otherwise))
    wire = get_format(provider)
    for index, whose, mark in found:
        if mark in _CERTAIN and whose is not wire.provider:
            problem, legal = f"a {mark} block is {whose.value}'s", f"provider={whose.value!r}, or provider='auto'"
            raise InvalidMessagesError(str(wire.provider), index, "another-format", problem, legal)
    return wire


def _marks(messages: object) -> Iterable[tuple[int, Provider, str]]:
    """Yield where `messages` have something that only one provider writes, whose it is and what."""
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if (whose := _maker(message)) is not None:
            yield index, whose, "object"
        elif isinstance(message, Mapping):
            yield from ((index, *mark) for mark in _marks_in(message))


def _maker(message: object) -> Provider | None:
    """Return whose SDK made an object."""
    package, _, inner = type(message).__module__.partition(".")
    if package == "anthropic":
        return Provider.ANTHROPIC
    if package == "openai":
        return Provider.RESPONSES if ".responses" in f".{inner}" else Provider.OPENAI
    return None


def _marks_in(message: Mapping[str, Any]) -> Iterable[tuple[Provider, str]]:
    kind, role, content = message.get("type"), message.get("role"), message.get("content")
    if "stop_reason" in message:
        yield Provider.ANTHROPIC, "answer"
    if isinstance(kind, str) and (kind in _ITEMS or (role is None and kind.endswith(("_call", "_output")))):
        yield Provider.RESPONSES, kind
    if (isinstance(role, str) and role in _CHAT_ROLES) or "tool_calls" in message:
        yield Provider.OPENAI, "tool"
    for block in content if isinstance(content, list | tuple) else ():
        name = block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)
        whose = _BLOCKS.get(name) if isinstance(name, str) else None
        if isinstance(block, Mapping) and ((name == "image" and "source" in block) or (name == "text" and block.get("citations"))):
            whose = Provider.ANTHROPIC
        if whose is not None:
            yield whose, str(name)
