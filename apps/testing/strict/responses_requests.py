"""OpenAI's rules for the fields of a Responses request, and what they require of the input."""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.window import InvalidMessagesError
from polycontext.window.providers import (
    Breach,
    Provider,
    Spot,
    copied_messages,
    entry_breaches,
    first,
    is_whole,
)
from polycontext.window.providers.responses import InputJudge, type_of

from . import openai_requests as fields

LEAST_OUTPUT = 16
"""The least value of `max_output_tokens`."""
LEAST_THRESHOLD = 1000
"""The least tokens at which the platform compacts, as seen in recorded requests."""

_NOT_FOUND = 404
_MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}


def findings(
    request: Sequence[Any] | Mapping[str, Any], *, foreign: bool = False
) -> list[InvalidMessagesError]:
    """Return the errors of a Responses request or list of items.

    There is at most one for each item, followed by the items that lack a successor or an output.

    >>> items = [
    ...     {"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"}
    ...     for name in "ab"
    ... ]
    >>> [(error.index, error.rule) for error in findings(items)]
    [(0, 'unanswered-call'), (1, 'unanswered-call')]
    """
    body, breaches = dict[str, Any](), list[Breach | None]()
    try:
        if isinstance(request, Mapping):
            body = fields.copy_request(Provider.RESPONSES, request)
            breaches = [request_breach(body, foreign=foreign) or unstored(body)]
            items = body.get("input")
        else:
            items = copied_messages(Provider.RESPONSES, request)
    except InvalidMessagesError as error:
        return [error]
    if isinstance(items, list):
        judge = InputJudge(continued=is_continued(body), foreign=foreign)
        breaches += [*entry_breaches(judge, items), *judge.ends()]
    return [breach.error(Provider.RESPONSES) for breach in breaches if breach is not None]


def is_continued(request: Mapping[str, Any]) -> bool:
    """Return whether the input continues a conversation that the provider stores."""
    return any(
        request.get(key) is not None for key in ("previous_response_id", "conversation", "prompt")
    )


def request_breach(request: Mapping[str, Any], *, foreign: bool = False) -> Breach | None:
    """Return the first breach in the fields of `request`, or None.

    The input is only checked to be text or a list. With `foreign`, only model and input are
    checked, since other servers have other options.
    """
    breach = _moved(request) or _model(request) or _input(request)
    if breach or foreign:
        return breach
    return _continued(request) or _tools(request) or _limits(request) or _context(request)


def unstored(request: Mapping[str, Any]) -> Breach | None:
    """Return the breach of an item that cannot be resolved with ``store: false``, or None.

    Such items are references, and reasoning without its encrypted content.
    """
    items = request.get("input")
    if request.get("store") is not False or not isinstance(items, list) or is_continued(request):
        return None
    return first(
        not_found(str(item["id"]), index) for index, item in enumerate(items) if _wants_store(item)
    )


def not_found(own: str, index: int | None) -> Breach:
    """Return the breach for an item id that the platform does not store."""
    message = (
        f"Item with id '{own}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input."
    )
    legal = "reasoning with its encrypted_content"
    return Breach("not-stored", message, legal, index, "input", None, _NOT_FOUND)


def _wants_store(item: object) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return False
    kind = type_of(item)
    return kind == "item_reference" or (
        kind == "reasoning" and not item.get("encrypted_content") and not item.get("content")
    )


def _moved(request: Mapping[str, Any]) -> Breach | None:
    for old, new in _MOVED.items():
        if old in request:
            message = (
                f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved "
                f"to '{new}'. "
                "Try again with the new parameter. See the API documentation for more information: "
                "https://platform.openai.com/docs/api-reference/responses/create."
            )
            return Spot(old).breach("moved-field", message, new, "unsupported_parameter")
    return None


def _model(request: Mapping[str, Any]) -> Breach | None:
    if request.get("model") is None and request.get("prompt") is None:
        return Spot("model").missing("missing-model", "the name of a model")
    return fields.model(request)


def _input(request: Mapping[str, Any]) -> Breach | None:
    items, place = request.get("input"), Spot("input")
    if not isinstance(items, str | list | None):
        return place.wrong_type("not-a-list", "one of a string or array of input items", items)
    if is_continued(request):
        return None
    if items is None:
        return place.missing("empty-list", "a text, or a list of items")
    return place.empty("empty-list") if items == [] else None


def _continued(request: Mapping[str, Any]) -> Breach | None:
    previous, conversation = request.get("previous_response_id"), request.get("conversation")
    place = Spot("previous_response_id")
    if previous is not None and conversation is not None:
        message = (
            "Mutually exclusive parameters: 'previous_response_id', 'conversation'. "
            "Ensure you are only providing one of: 'previous_response_id' or 'conversation'."
        )
        code = "mutually_exclusive_parameters"
        return place.breach("bad-option", message, "one of the two", code)
    if previous is None:
        return None
    breach = place.text("bad-previous-response", previous, empty=False)
    if breach is None and not previous.startswith("resp"):
        message = (
            f"Invalid 'previous_response_id': '{previous}'. Expected an ID that begins with 'resp'."
        )
        return place.breach("bad-previous-response", message, "the id of a response")
    return breach


def _tools(request: Mapping[str, Any]) -> Breach | None:
    breach = fields.tools(request, _tool, empty=True)
    if breach is not None:
        return breach
    # Tools may also be added in the input, so the known names are only complete without such an
    # item.
    if any(_adds_tools(item) for item in _items(request)):
        return None
    names = [
        tool["name"] for tool in request.get("tools") or () if isinstance(tool.get("name"), str)
    ]
    return fields.choice(request, names, "Tool choice '{name}' not found in 'tools' parameter.")


def _items(request: Mapping[str, Any]) -> Sequence[object]:
    items = request.get("input")
    return items if isinstance(items, list) else ()


def _adds_tools(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output")


def _tool(tool: dict[str, Any], place: Spot) -> Breach | None:
    if tool["type"] == "function":
        return fields.function(tool, place)
    return place.tool_name(tool, "bad-tools", "") if tool["type"] == "custom" else None


def _limits(request: Mapping[str, Any]) -> Breach | None:
    return (
        fields.sampling(request)
        or fields.number(request, "max_output_tokens", least=LEAST_OUTPUT)
        or fields.text_field(request, "instructions", "bad-option")
        or fields.flags(request, "store", "stream", "parallel_tool_calls")
    )


def _context(request: Mapping[str, Any]) -> Breach | None:
    entries, key = request.get("context_management"), "context_management"
    return None if entries is None else Spot(key).each("bad-context-management", entries, _entry)


def _entry(entry: Mapping[str, Any], place: Spot) -> Breach | None:
    rule = "bad-context-management"
    if entry.get("type") != "compaction":
        return place.at(".type").unsupported(rule, entry.get("type"), ("compaction",))
    threshold, spot = entry.get("compact_threshold"), place.at(".compact_threshold")
    if threshold is None:
        return None
    if not is_whole(threshold):
        return spot.wrong_type(rule, "an integer", threshold)
    return spot.out_of_range(rule, threshold, least=LEAST_THRESHOLD)
