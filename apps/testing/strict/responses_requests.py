"""OpenAI's rules for the fields of a Responses request, and what they require of the input."""

from collections.abc import Mapping
from typing import Any

from polycontext.window import InvalidMessagesError
from polycontext.window.providers import OpenAIPlace, Provider
from polycontext.window.providers.responses import type_of

from .openai_requests import (
    check_choice,
    check_flags,
    check_function,
    check_model,
    check_number,
    check_sampling,
    check_tools,
)

LEAST_OUTPUT = 16
"""The least value of `max_output_tokens`."""
LEAST_THRESHOLD = 1000
"""The least tokens at which the platform compacts, as seen in recorded requests."""

_MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}
_WHOLE = OpenAIPlace(Provider.RESPONSES)


def is_continued(request: Mapping[str, Any]) -> bool:
    """Return whether the input continues a conversation that the provider stores."""
    return any(
        request.get(key) is not None for key in ("previous_response_id", "conversation", "prompt")
    )


def check_fields(request: Mapping[str, Any], *, foreign: bool = False) -> None:
    """Raise `InvalidMessagesError` for the fields of a request that OpenAI would reject.

    Of the input, only its type and its references to stored items are checked. With `foreign`, only
    model and input are checked, since other servers have other options.
    """
    _check_moved(request)
    if request.get("model") is None and request.get("prompt") is None:
        raise _WHOLE.into("model").missing("missing-model", "the name of a model")
    check_model(request, _WHOLE)
    _check_input(request)
    if not foreign:
        _check_continued(request)
        _check_tools(request)
        check_sampling(request, _WHOLE)
        check_number(request, "max_output_tokens", _WHOLE, least=LEAST_OUTPUT)
        if request.get("instructions") is not None:
            _WHOLE.into("instructions").text("bad-option", request["instructions"])
        check_flags(request, _WHOLE, "store", "stream", "parallel_tool_calls")
        if request.get("context_management") is not None:
            place = _WHOLE.into("context_management")
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
    return _WHOLE.into("input", index).fault("not-stored", message, legal, None, "input")


def _check_moved(request: Mapping[str, Any]) -> None:
    for old, new in _MOVED.items():
        if old in request:
            message = (
                f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved "
                f"to '{new}'. "
                "Try again with the new parameter. See the API documentation for more information: "
                "https://platform.openai.com/docs/api-reference/responses/create."
            )
            raise _WHOLE.into(old).fault("moved-field", message, new, "unsupported_parameter")


def _check_input(request: Mapping[str, Any]) -> None:
    items, place = request.get("input"), _WHOLE.into("input")
    if not isinstance(items, str | list | None):
        raise place.wrong_type("not-a-list", "one of a string or array of input items", items)
    if items is None and not is_continued(request):
        raise place.missing("empty-list", "a text, or a list of items")
    if items == [] and not is_continued(request):
        raise place.empty("empty-list")


def _check_continued(request: Mapping[str, Any]) -> None:
    previous, place = request.get("previous_response_id"), _WHOLE.into("previous_response_id")
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


def _check_tools(request: Mapping[str, Any]) -> None:
    check_tools(request, _check_tool, _WHOLE, empty=True)
    # Tools may also be added in the input, so the known names are only complete without such an
    # item.
    items = request.get("input")
    if not any(_adds_tools(item) for item in (items if isinstance(items, list) else ())):
        names = [
            tool["name"] for tool in request.get("tools") or () if isinstance(tool.get("name"), str)
        ]
        unknown = "Tool choice '{name}' not found in 'tools' parameter."
        check_choice(request, names, unknown, _WHOLE)


def _adds_tools(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output")


def _check_tool(tool: dict[str, Any], place: OpenAIPlace) -> None:
    if tool["type"] == "function":
        check_function(tool, place)
    elif tool["type"] == "custom":
        place.tool_name(tool, "bad-tools", "")


def _check_entry(entry: dict[str, Any], place: OpenAIPlace) -> None:
    rule = "bad-context-management"
    place.into("type").one_of(rule, entry.get("type"), ("compaction",))
    check_number(entry, "compact_threshold", place, least=LEAST_THRESHOLD, rule=rule)
