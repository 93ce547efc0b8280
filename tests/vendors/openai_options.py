"""OpenAI's rules for the options of a request, for both formats."""

from collections.abc import Mapping
from typing import Any

from polycontext.testing.strict.openai_requests import Request, is_continued
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider
from polycontext.window.providers.openai_places import OpenAIPlace
from polycontext.window.providers.responses.item_rules import type_of

_CHAT, _RESPONSES = OpenAIPlace(Provider.OPENAI), OpenAIPlace(Provider.RESPONSES)
LEAST_OUTPUT = 16
"""The least value of `max_output_tokens`."""
LEAST_THRESHOLD = 1000
"""The least tokens at which the platform compacts, as seen in recorded requests."""


def check_number(
    request: Request,
    key: str,
    place: OpenAIPlace,
    *,
    least: int = 0,
    most: int | None = None,
    rule: str = "bad-option",
) -> None:
    """Check the number under `key`, if it is present.

    Without an upper bound, it must be an integer.
    """
    value, place = request.get(key), place.into(key)
    if value is None:
        return
    kinds, kind = ((int,), int) if most is None else ((int, float), float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise place.wrong_type(rule, kind, value)
    sort = "integer" if most is None else "decimal"
    if value < least:
        bound, legal, code = "below minimum", f"Expected a value >= {least}", "below_min"
    elif most is not None and value > most:
        bound, legal, code = "above maximum", f"Expected a value <= {most}", "above_max"
    else:
        return
    message = f"Invalid '{place.path}': {sort} {bound} value. {legal}, but got {value} instead."
    raise place.fault(rule, message, legal, f"{sort}_{code}_value")


def check_sampling(request: Request, place: OpenAIPlace) -> None:
    """Check the sampling options."""
    check_number(request, "temperature", place, most=2)
    check_number(request, "top_p", place, most=1)


def check_flags(request: Request, place: OpenAIPlace, *keys: str) -> None:
    """Check the booleans under `keys` that are present."""
    for key in keys:
        if request.get(key) is not None:
            place.needed("bad-option", request, key, bool)


def check_chat_options(request: Mapping[str, Any]) -> None:
    """Raise `InvalidMessagesError` for the options of a request to Chat Completions."""
    check_sampling(request, _CHAT)
    for key in ("max_completion_tokens", "max_tokens", "n"):
        check_number(request, key, _CHAT, least=1)
    check_flags(request, _CHAT, "stream", "parallel_tool_calls")
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        code = "invalid_parameter_combination"
        raise _CHAT.into("max_tokens").fault("bad-option", message, "one of the two", code)
    if request.get("stream_options") is not None and not request.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        place = _CHAT.into("stream_options")
        raise place.fault("bad-option", message, "stream: true beside it", None)


def check_responses_options(request: Mapping[str, Any]) -> None:
    """Raise `InvalidMessagesError` for the options of a request to Responses.

    References to stored items are among them.
    """
    _check_continued(request)
    check_sampling(request, _RESPONSES)
    check_number(request, "max_output_tokens", _RESPONSES, least=LEAST_OUTPUT)
    if request.get("instructions") is not None:
        _RESPONSES.into("instructions").text("bad-option", request["instructions"])
    check_flags(request, _RESPONSES, "store", "stream", "parallel_tool_calls")
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
                raise not_stored(index, message, "reasoning with its encrypted_content")


def not_stored(index: int, message: str, legal: str) -> InvalidMessagesError:
    """Return the error for an item id that the platform does not store."""
    return _RESPONSES.into("input", index).fault("not-stored", message, legal, None, "input")


def _check_continued(request: Mapping[str, Any]) -> None:
    previous, place = request.get("previous_response_id"), _RESPONSES.into("previous_response_id")
    if previous is None:
        return
    if request.get("conversation") is not None:
        message = (
            "Mutually exclusive parameters: 'previous_response_id', 'conversation'. "
            "Ensure you are only providing one of: 'previous_response_id' or 'conversation'."
        )
        code = "mutually_exclusive_parameters"
        raise place.fault("bad-option", message, "one of the two", code)
    place.text("bad-previous-response", previous, empty=False)
    if not previous.startswith("resp"):
        message = (
            f"Invalid 'previous_response_id': '{previous}'. Expected an ID that begins with 'resp'."
        )
        raise place.fault("bad-previous-response", message, "the id of a response")


def _check_entry(entry: dict[str, Any], place: OpenAIPlace) -> None:
    rule = "bad-context-management"
    place.into("type").one_of(rule, entry.get("type"), ("compaction",))
    check_number(entry, "compact_threshold", place, least=LEAST_THRESHOLD, rule=rule)
