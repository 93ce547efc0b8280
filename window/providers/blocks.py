"""Messages as private copies of validated JSON data, and their content as typed blocks.

The caller's data are copied and validated in one pass (`base.json_data`). All other code can
index, compare and write the copy without failing on bytes, NaN, cycles or text that cannot be
stored.
"""

from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping, Sequence
from typing import Any

from polycontext.base.json_data import MAX_DEPTH, copy_json, kind_of

from ..errors import InvalidMessagesError
from ..wire_text import WIRE_INTEGERS
from .places import Place
from .wire import Message, Provider

_PARSED: Mapping[str, Any] = {
    **dict.fromkeys(("parsed", "parsed_arguments"), True),
    "content": {"__all__": {"parsed": True}},
    "tool_calls": {"__all__": {"function": {"parsed_arguments": True}}},
}
"""Fields that an SDK adds to a parsed answer, and that no provider accepts."""


_TEXT = {"text": "text"}


def _as_list(given: object) -> str:
    """Return what to pass instead of something that is not a list, as the end of a sentence."""
    match given:
        case Mapping():
            return ', such as body["messages"], or [message] for one'
        case str() if given.lstrip().startswith(("[", "{")):
            return ", such as json.loads(text)"
        case str():
            return ', such as [{"role": "user", "content": text}]'
        case Iterable():
            return ", such as list(messages)"
        case _:
            return ", such as session.messages()" if hasattr(given, "messages") else ""


def copied_messages(provider: Provider, messages: object) -> list[Message]:
    """Return a deep copy of `messages`, a non-empty list of JSON objects.

    SDK objects are dumped to JSON data, also if they are nested. Anthropic's response objects
    contain fields that cannot be sent back, so only their role and content are kept.

    Raises:
        InvalidMessagesError: Rules not-a-list, empty-list, not-an-object, not-json, lone-surrogate.
    """
    whole = Place(provider)
    if not isinstance(messages, list | tuple):
        raise whole.refuse(
            "not-a-list",
            f"{kind_of(messages)} is not a list",
            f"a list of messages{_as_list(messages)}",
        )
    if not messages:
        raise whole.refuse("empty-list", "there is no message", "at least one message")
    copies: list[Message] = []
    for index, given in enumerate(messages):
        place = Place(provider, ("messages", index))
        is_answer = hasattr(given, "model_dump") or (
            isinstance(given, Mapping) and "stop_reason" in given
        )
        message = _message_of(given, provider) if is_answer else given
        if not isinstance(message, Mapping) or _is_of_langchain(given):
            raise place.refuse(
                "not-an-object",
                f"{kind_of(given)} is not a message",
                _advice_on(given),
            )
        copies.append(_copied(message, place))
    return copies


def _advice_on(given: object) -> str:
    """Return what to pass instead of something that is not a message."""
    match given:
        case _ if _is_of_langchain(given):
            return "convert_to_openai_messages of langchain_core.messages"
        case str():
            return "{'role': 'user', 'content': ...}, add_user_turn, or add_assistant_turn"
        case list() | tuple():
            is_pair = len(given) == 2 and isinstance(given[0], str)  # noqa: PLR2004 - a pair
            pair = "{'role': ..., 'content': ...} in place of a pair"
            return pair if is_pair else "extend for a list of messages"
        case Awaitable():
            return "what it returns: await it first"
        case Iterable() | AsyncIterable():
            return "a list of stream chunks"
        case _:
            message = "an SDK's response, or response.choices[0].message as a dict"
            is_response = hasattr(given, "choices")
            return message if is_response else "a dict with a role, or an SDK's message"


def _is_of_langchain(given: object) -> bool:
    """Return whether `given` is a LangChain message, which has a type in place of a role."""
    return type(given).__module__.startswith("langchain_")


def _copied(message: Mapping[str, Any], place: Place) -> Message:
    try:
        return copy_json(  # type: ignore[no-any-return]
            message, "", place.no_json, integers=WIRE_INTEGERS
        )
    except InvalidMessagesError:
        # Most messages are plain, so SDK objects are only searched for after a failure.
        plain = dumped(message)
        if plain == message:
            raise
    return copy_json(plain, "", place.no_json, integers=WIRE_INTEGERS)  # type: ignore[no-any-return]


def _message_of(given: object, provider: Provider) -> Any:
    message = dumped(given)
    if provider is not Provider.ANTHROPIC or not isinstance(message, Mapping):
        return message
    return {name: message[name] for name in ("role", "content") if name in message}


def dumped(value: Any, levels: int = MAX_DEPTH) -> Any:
    """Return `value` with every SDK object dumped to JSON data, without unset fields."""
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=_PARSED)
    if levels and isinstance(value, Mapping):
        return {name: dumped(inner, levels - 1) for name, inner in value.items()}
    if levels and isinstance(value, list | tuple):
        return [dumped(inner, levels - 1) for inner in value]
    return value


def check_blocks(
    blocks: Sequence[object], place: Place, texts: Mapping[str, str] = _TEXT
) -> list[Message]:
    """Return `blocks` if each is an object with a type, and those that hold text hold it.

    `texts` names the field of each type of block that holds text.

    Raises:
        InvalidMessagesError: Rule bad-content.
    """
    checked: list[Message] = []
    for index, block in enumerate(blocks):
        inner, rule = place.into(index), "bad-content"
        if not isinstance(block, dict):
            raise inner.wrong(rule, block, "an object with a type")
        kind = block.get("type")
        if not isinstance(kind, str):
            raise inner.into("type").wrong(rule, kind, "the block's type as text")
        field = texts.get(kind)
        if field is not None and not isinstance(block.get(field), str):
            raise inner.into(field).wrong(rule, block.get(field), "text")
        checked.append(block)
    return checked
