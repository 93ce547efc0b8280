"""OpenAI's rules for the options that our own requests have, for both formats."""

from collections.abc import Mapping
from typing import Any

from polycontext.testing.strict.openai_requests import Request, is_continued
from polycontext.window.providers import OpenAIPlace, Provider
from polycontext.window.providers.responses import type_of

_CHAT, _RESPONSES = OpenAIPlace(Provider.OPENAI), OpenAIPlace(Provider.RESPONSES)
LEAST_OUTPUT = 16
"""The least value of `max_output_tokens`."""
LEAST_THRESHOLD = 1000
"""The least tokens at which the platform compacts, as seen in recorded requests."""


def check_number(
    request: Request, key: str, place: OpenAIPlace, least: int, rule: str = "bad-option"
) -> None:
    """Check the whole number under `key`, if it is present."""
    value, place = request.get(key), place.into(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise place.wrong_type(rule, int, value)
    if value < least:
        legal = f"Expected a value >= {least}"
        problem = f"integer below minimum value. {legal}, but got {value} instead."
        message = f"Invalid '{place.path}': {problem}"
        raise place.fault(rule, message, legal, "integer_below_min_value")


def check_chat_options(request: Mapping[str, Any]) -> None:
    """Raise `InvalidMessagesError` for the options of a request to Chat Completions."""
    for key in ("max_completion_tokens", "max_tokens"):
        check_number(request, key, _CHAT, 1)
    if request.get("stream_options") is not None and not request.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        place = _CHAT.into("stream_options")
        raise place.fault("bad-option", message, "stream: true beside it", None)


def check_responses_options(request: Mapping[str, Any]) -> None:
    """Raise `InvalidMessagesError` for the options of a request to Responses.

    References to stored items are among them.
    """
    check_number(request, "max_output_tokens", _RESPONSES, LEAST_OUTPUT)
    if request.get("context_management") is not None:
        place = _RESPONSES.into("context_management")
        place.each("bad-context-management", request["context_management"], _check_entry)
    _check_stored(request)


def _check_stored(request: Mapping[str, Any]) -> None:
    """Refuse items that cannot be resolved with ``store: false``.

    Such items are references, and reasoning without its encrypted content.
    """
    items = request.get("input")
    if request.get("store") is not False or not isinstance(items, list) or is_continued(request):
        return
    for index, item in enumerate(items):
        if isinstance(item, dict) and isinstance(item.get("id"), str):
            is_whole = item.get("encrypted_content") or item.get("content")
            kind = type_of(item)
            if kind == "item_reference" or (kind == "reasoning" and not is_whole):
                message = (
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` "
                    "is set to false. Try again with `store` set to true, or remove this item from "
                    "your input."
                )
                legal = "reasoning with its encrypted_content"
                place = _RESPONSES.into("input", index)
                raise place.fault("not-stored", message, legal, None, "input")


def _check_entry(entry: dict[str, Any], place: OpenAIPlace) -> None:
    rule = "bad-context-management"
    place.into("type").one_of(rule, entry.get("type"), ("compaction",))
    check_number(entry, "compact_threshold", place, LEAST_THRESHOLD, rule)
