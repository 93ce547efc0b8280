"""Messages as private copies of validated JSON data, and their content as typed blocks.

The caller's data are copied and validated in one pass (`linearity.json_data`). All other code can
index, compare and write the copy without failing on bytes, NaN, cycles or text that cannot be
stored.
"""

import reprlib
from collections.abc import AsyncIterable, Awaitable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

from attrs import frozen

from polycontext.base.json_data import MAX_DEPTH, STORABLE, copy_json

from ..errors import InvalidMessagesError, InvalidTurnError
from ..wire_text import WIRE_INTEGERS
from .wire import Message, Provider

_PARSED: Mapping[str, Any] = {
    **dict.fromkeys(("parsed", "parsed_arguments"), True),
    "content": {"__all__": {"parsed": True}},
    "tool_calls": {"__all__": {"function": {"parsed_arguments": True}}},
}
"""Fields that an SDK adds to a parsed answer, and that no provider accepts."""


@frozen
class Place:
    """The place of a message in a list, for error messages."""

    provider: Provider
    index: int | None

    def refuse(self, rule: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error for breaking `rule` here."""
        return InvalidMessagesError(str(self.provider), self.index, rule, problem, legal)

    def no_json(self, path: str, problem: str, legal: str) -> InvalidMessagesError:
        """Return the error for a value at `path` that is not JSON data."""
        return self.refuse(
            "lone-surrogate" if legal == STORABLE else "not-json",
            f"{path or 'the message'}: {problem}",
            legal,
        )

    @contextmanager
    def turn_errors(self) -> Generator[None]:
        """Convert `InvalidTurnError` to `InvalidMessagesError` with index and field."""
        try:
            yield
        except InvalidTurnError as error:
            raise self.refuse("bad-turn", f"{error.field}: {error.problem}", error.legal) from error


def shown(value: object) -> str:
    """Return `value` for an error message: quoted, shortened text, or the name of its type."""
    return reprlib.repr(str(value)) if isinstance(value, str) else type(value).__name__


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer; booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def copied_messages(provider: Provider, messages: object) -> list[Message]:
    """Return a deep copy of `messages`, a non-empty list of JSON objects.

    SDK objects are dumped to JSON data, also if they are nested. Anthropic's response objects
    contain fields that cannot be sent back, so only their role and content are kept.

    Raises:
        InvalidMessagesError: Rules not-a-list, empty-list, not-an-object, not-json, lone-surrogate.
    """
    whole = Place(provider, None)
    if not isinstance(messages, list | tuple):
        raise whole.refuse(
            "not-a-list", f"{type(messages).__name__} is not a list", "a list of messages"
        )
    if not messages:
        raise whole.refuse("empty-list", "there is no message", "at least one message")
    copies: list[Message] = []
    for index, given in enumerate(messages):
        place = Place(provider, index)
        is_answer = hasattr(given, "model_dump") or (
            isinstance(given, Mapping) and "stop_reason" in given
        )
        message = _message_of(given, provider) if is_answer else given
        if not isinstance(message, Mapping) or _is_of_langchain(given):
            raise place.refuse(
                "not-an-object",
                f"{type(given).__name__} is not a message",
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
            return "{'role': 'user', 'content': ...} or add_user_turn"
        case list() | tuple():
            return "extend for a list of messages"
        case Awaitable():
            return "what it returns: await it first"
        case Iterable() | AsyncIterable():
            return "a list of stream chunks"
        case _:
            return "a dict with a role, or an SDK's message"


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


def check_blocks(blocks: Sequence[object], place: Place, where: str) -> list[Message]:
    """Return `blocks` if each is an object with a type, and text blocks hold text.

    Raises:
        InvalidMessagesError: Rule bad-content.
    """
    checked: list[Message] = []
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            raise place.refuse(
                "bad-content", f"{where}[{index}] is {shown(block)}", "an object with a type"
            )
        if not isinstance(block.get("type"), str):
            raise place.refuse(
                "bad-content",
                f"{where}[{index}].type is {shown(block.get('type'))}",
                "the block's type as text",
            )
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise place.refuse(
                "bad-content", f"{where}[{index}].text is {shown(block.get('text'))}", "text"
            )
        checked.append(block)
    return checked
