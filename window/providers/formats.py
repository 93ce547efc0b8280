"""The entry points for all message formats: detection, parsing, validation and unwrapping.

Each format is imported lazily, on first access.
"""

from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from itertools import groupby
from typing import Any

from attrs import evolve

from ..errors import InvalidMessagesError
from .blocks import copied_messages
from .judge import ListJudge, raise_first
from .media_room import load_errors
from .places import Place
from .streams import field_of, messages_of_stream, refuse_part, stream_of
from .wire import (
    AUTO,
    CHAT_BLOCKS,
    RESPONSES_BLOCKS,
    RESPONSES_ITEMS,
    Provider,
    WireFormat,
    as_provider,
)

_MODULES = {
    Provider.ANTHROPIC: ("anthropic.messages", "anthropic.writer", "anthropic.order_rules"),
    Provider.OPENAI: ("chat.messages", "chat.messages", "chat.rules"),
    Provider.RESPONSES: ("responses.messages", "responses.writer", "responses.rules"),
    Provider.GEMINI: ("gemini.contents", "gemini.writer", "gemini.rules"),
}
"""The modules that read, write and judge each format, which are imported on first use."""


def get_format(provider: Provider | str) -> WireFormat:
    """Return the message format of `provider`.

    Raises:
        UnknownNameError: There is no such format; the error names the known ones.

    >>> get_format("openai").provider
    <Provider.OPENAI: 'openai'>
    """
    return _loaded(as_provider(provider))


@cache
def _loaded(known: Provider) -> WireFormat:
    reader, writer, _ = map(_module, _MODULES[known])
    options = {"foreign": True} if known in (Provider.OPENAI, Provider.RESPONSES) else {}
    check_list = partial(check, provider=known, **options)
    form = WireFormat(known, reader.parse, check_list, writer.Writer, writer.define_tools)
    return evolve(form, options=writer.options_after) if known is Provider.ANTHROPIC else form


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")


def check(
    messages: object, provider: Provider | str, *, allow_open_tail: bool = False, **options: bool
) -> None:
    """Raise an error for a message list (Responses: input items) that `provider` would reject.

    With `allow_open_tail`, the list may end like a history that is to be continued, such as with
    open calls. `options` are those of the format: ``foreign=True`` accepts what only servers
    compatible with OpenAI do, and ``continued=True`` outputs of calls that the provider stores.

    Raises:
        InvalidMessagesError: A rule is broken. The error holds the first broken rule, its place,
            the accepted values, and the provider's own wording.
        UnknownNameError: There is no such provider.

    >>> check([{"role": "user", "content": ""}], "anthropic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.errors.InvalidMessagesError: messages[0] breaks the anthropic rule \
empty-message: ...
    """
    known = as_provider(provider)
    judge: ListJudge = _module(_MODULES[known][2]).Judge(**options)
    if not (judge.takes_text and isinstance(messages, str)):
        copies = copied_messages(known, messages)
        judge(copies, allow_open_tail=allow_open_tail)
        raise_first(load_errors(known, copies))


def findings(messages: object, provider: Provider | str) -> list[InvalidMessagesError]:
    """Return the error that `check` raises for a message list, or an empty list if it is valid.

    `polycontext.testing.strict.findings` returns all findings, of whole requests too.

    >>> [found.rule for found in findings([{"role": "user", "content": " "}], "anthropic")]
    ['empty-message']
    """
    try:
        check(messages, provider)
    except InvalidMessagesError as error:
        return [error]
    return []


_CERTAIN = frozenset({"tool_use", "tool_result"})
"""Block types that only occur in Anthropic's messages, even behind a gateway."""

_BLOCKS: Mapping[str, Provider] = {
    **dict.fromkeys(
        (
            *_CERTAIN,
            "thinking",
            "redacted_thinking",
            "server_tool_use",
            "mcp_tool_use",
            "mcp_tool_result",
            "document",
            "search_result",
            "web_search_tool_result",
            "web_fetch_tool_result",
            "code_execution_tool_result",
            "container_upload",
            "compaction",
        ),
        Provider.ANTHROPIC,
    ),
    **dict.fromkeys(CHAT_BLOCKS, Provider.OPENAI),
    **dict.fromkeys(RESPONSES_BLOCKS, Provider.RESPONSES),
}
_ITEMS = frozenset({"message", *RESPONSES_ITEMS})
_CHAT_ROLES = frozenset({"tool", "function"})


def format_of(
    messages: object, provider: Provider | str, otherwise: Provider = Provider.OPENAI
) -> WireFormat:
    """Return the format of `provider`.

    With ``"auto"``, the first message that only one provider writes determines the format; if there
    is none, it is `otherwise`.

    Raises:
        UnknownNameError: There is no such provider.
        InvalidMessagesError: `messages` are clearly in another format, or in that of a host, which
            the error names.

    >>> format_of(
    ...     [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}], "auto"
    ... ).provider
    <Provider.ANTHROPIC: 'anthropic'>
    """
    found = _marks(messages)
    if provider == AUTO:
        return get_format(next((whose for _, whose, _ in found), otherwise))
    wire = get_format(provider)
    for index, whose, mark in found:
        if mark in _CERTAIN and whose is not wire.provider:
            problem, legal = (
                f"a {mark} block is {whose.value}'s",
                f"provider={whose.value!r}, or provider='auto'",
            )
            raise InvalidMessagesError(str(wire.provider), index, "another-format", problem, legal)
    return wire


def _marks(messages: object) -> Iterable[tuple[int, Provider, str]]:
    """Yield the index, provider and mark of everything that only one provider writes."""
    for index, message in enumerate(messages if isinstance(messages, list | tuple) else ()):
        if (whose := _maker(message)) is not None:
            yield index, whose, "object"
        elif isinstance(message, Mapping):
            _refuse_host(message, index)
            yield from ((index, *mark) for mark in _marks_in(message))


def _refuse_host(message: Mapping[str, Any], index: int) -> None:
    """Raise `InvalidMessagesError` for a message in the format of a host: its parts have types."""
    parts = () if message.get("content") else message.get("parts")
    if isinstance(parts, list) and any(
        isinstance(each, Mapping) and "type" in each for each in parts
    ):
        host = "an OpenCode export" if "info" in message else "UI messages of the AI SDK"
        problem, legal = f"{host}: parts with types", "the messages that a provider is sent"
        raise Place(Provider.OPENAI, ("messages", index)).refuse("another-format", problem, legal)


def _maker(message: object) -> Provider | None:
    """Return the provider whose SDK defines the type of an object, or None."""
    package, _, inner = type(message).__module__.partition(".")
    if package == "anthropic":
        return Provider.ANTHROPIC
    if package == "google":
        return Provider.GEMINI
    if package == "openai":
        return Provider.RESPONSES if ".responses" in f".{inner}" else Provider.OPENAI
    return None


def _marks_in(message: Mapping[str, Any]) -> Iterable[tuple[Provider, str]]:
    kind, role, content = message.get("type"), message.get("role"), message.get("content")
    if isinstance(message.get("parts"), list) and not content:
        yield Provider.GEMINI, "parts"
    if "stop_reason" in message:
        yield Provider.ANTHROPIC, "answer"
    if isinstance(kind, str) and (
        kind in _ITEMS or (role is None and kind.endswith(("_call", "_output")))
    ):
        yield Provider.RESPONSES, kind
    if (isinstance(role, str) and role in _CHAT_ROLES) or "tool_calls" in message:
        yield Provider.OPENAI, "tool"
    for block in content if isinstance(content, list | tuple) else ():
        name = block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)
        whose = _BLOCKS.get(name) if isinstance(name, str) else None
        if isinstance(block, Mapping) and (
            (name == "image" and "source" in block) or (name == "text" and block.get("citations"))
        ):
            whose = Provider.ANTHROPIC
        if whose is not None:
            yield whose, str(name)


_PLACE = Place(Provider.OPENAI)
_LEGAL = "an answer with one choice, or the message itself"


def unwrap(messages: object) -> object:
    """Replace each answer in a list by its messages.

    An answer is a chat completion, a response, or the chunks or events of a stream.

    Raises:
        InvalidMessagesError: Rule bad-answer: an answer has no message or several choices, or is a
            single chunk or event of a stream.

    >>> unwrap(
    ...     [
    ...         {
    ...             "object": "chat.completion",
    ...             "choices": [{"message": {"role": "assistant", "content": "Hello!"}}],
    ...         }
    ...     ]
    ... )
    [{'role': 'assistant', 'content': 'Hello!'}]
    """
    if not isinstance(messages, list | tuple):
        return messages
    answers: list[Any] = []
    for stream, run in groupby(messages, stream_of):
        given = [*run]
        if stream is not None and len(given) == 1:
            refuse_part(given[0])
        answers += given if stream is None else [given]
    return [message for answer in answers for message in _messages(answer)]


def _messages(answer: Any) -> Iterable[Any]:
    vendors = filter(None, map(stream_of, answer if isinstance(answer, list | tuple) else ()))
    if (vendor := next(vendors, None)) is not None:
        return messages_of_stream(answer, vendor)
    choices, output = (field_of(answer, name) for name in ("choices", "output"))
    if isinstance(choices, list):
        return [_only(choices)]
    if isinstance(output, list) and field_of(answer, "object") == "response":
        return output or [{"role": "assistant", "content": ""}]
    return [answer]


def _only(choices: list[Any]) -> Any:
    message = field_of(choices[0], "message") if len(choices) == 1 else None
    if message is None or isinstance(message, str):
        raise _PLACE.refuse(
            "bad-answer", "an answer without a message, or with several choices", _LEGAL
        )
    if isinstance(message, Mapping) and not message.get("role"):
        return {**message, "role": "assistant"}  # some servers leave it out
    return message
