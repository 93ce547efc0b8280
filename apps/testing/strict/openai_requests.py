"""OpenAI's rules for the fields of a request besides its messages, for both formats.

They cover the required fields, tools and the tool choice. Each check raises `InvalidMessagesError`;
its `place` is that of the whole request.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polycontext.window.providers import Provider
from polycontext.window.providers.openai_places import ObjectCheck, OpenAIPlace

from .provider import TABLES

Request = Mapping[str, Any]
"""The body of a request."""

MAX_TOOLS = 128
"""The most functions that a request may define."""

_CHOICES = ("none", "auto", "required")
_KINDS = ("function", "custom")
_CHAT = OpenAIPlace(Provider.OPENAI)
_MOVED: Mapping[str, str] = TABLES["moved"]
_RESPONSES = OpenAIPlace(Provider.RESPONSES)


def check_tools(request: Request, check: ObjectCheck, place: OpenAIPlace, *, empty: bool) -> None:
    """Check the list of tools, each with `check`; with `empty`, the list may be empty."""
    given, place = request.get("tools"), place.into("tools")
    if given is None:
        return
    if given == [] and not empty:
        raise place.empty("bad-tools")
    if isinstance(given, list) and len(given) > MAX_TOOLS:
        raise place.too_long(given, MAX_TOOLS)

    def check_tool(tool: dict[str, Any], inner: OpenAIPlace) -> None:
        inner.needed("bad-tools", tool, "type", str, "function")
        check(tool, inner)

    place.each("bad-tools", given, check_tool)


def check_function(body: dict[str, Any], place: OpenAIPlace) -> None:
    """Check the definition of a function: name, description and schema of its arguments."""
    place.tool_name(body, "bad-tools", "the name of the function")
    if body.get("description") is not None:
        place.into("description").text("bad-tools", body["description"])
    schema, place = body.get("parameters"), place.into("parameters")
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise place.wrong_type("bad-schema", dict, schema)
    problem = legal = ""
    if schema and schema.get("type") != "object":
        kind = f'"{schema["type"]}"' if "type" in schema else '"None"'
        problem = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."
        legal = "a JSON Schema of type object"
    elif body.get("strict") and schema and schema.get("additionalProperties") is not False:
        problem = (
            "In context=(), 'additionalProperties' is required to be supplied and to be false."
        )
        legal = "additionalProperties: false, or strict: false"
    if problem:
        message = f"Invalid schema for function '{body['name']}': {problem}"
        raise place.fault("bad-schema", message, legal, "invalid_function_parameters")


def check_choice(request: Request, names: Sequence[str], unknown: str, place: OpenAIPlace) -> None:
    """Check the tool choice.

    `names` are the tools that may be chosen. `unknown` is the vendor's message for any other tool
    ``{name}``.
    """
    given, place, rule = request.get("tool_choice"), place.into("tool_choice"), "bad-tool-choice"
    if isinstance(given, str):
        place.one_of(rule, given, _CHOICES)
    elif given is not None and not isinstance(given, dict):
        raise place.wrong_type(rule, "one of a tool choice object or string", given)
    elif given is not None and given.get("type") == "function":
        inner = given.get("function", given)
        name = inner.get("name") if isinstance(inner, dict) else None
        if isinstance(name, str) and name not in names:
            raise place.fault(rule, unknown.format(name=name), ", ".join(names), None)


def check_model(request: Request, place: OpenAIPlace) -> None:
    """Check the name of the model, if it is present."""
    if request.get("model") is not None:
        place.into("model").text("missing-model", request["model"], empty=False)


def check_chat_fields(request: Mapping[str, Any], *, foreign: bool = False) -> None:
    """Raise `InvalidMessagesError` for the fields of a request that OpenAI would reject.

    The messages are only checked to be a list. With `foreign`, only model and messages are checked,
    since other servers have other options.
    """
    if request.get("model") is None:
        message, legal = "you must provide a model parameter", "the name of a model"
        raise _CHAT.fault("missing-model", message, legal, None, None)
    check_model(request, _CHAT)
    messages, place = request.get("messages"), _CHAT.into("messages")
    if "messages" not in request:
        raise place.missing("not-a-list", "a list of messages")
    if not isinstance(messages, list):
        raise place.wrong_type("not-a-list", list, messages)
    if not foreign:
        _check_chat_tools(request)


def _check_chat_tools(request: Mapping[str, Any]) -> None:
    given = request.get("tools")
    if given is None:
        for key, rule in (
            ("tool_choice", "bad-tool-choice"),
            ("parallel_tool_calls", "bad-option"),
        ):
            if request.get(key) is not None:
                problem = f"'{key}' is only allowed when 'tools' are specified."
                message = f"Invalid value for '{key}': {problem}"
                raise _CHAT.into(key).fault(
                    rule, message, "tools beside it, or no such field", None
                )
        return
    check_tools(request, _check_chat_tool, _CHAT, empty=False)
    unknown = (
        "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' "
        "parameter."
    )
    check_choice(request, [tool[tool["type"]]["name"] for tool in given], unknown, _CHAT)


def _check_chat_tool(tool: dict[str, Any], place: OpenAIPlace) -> None:
    kind = tool["type"]
    place.into("type").one_of("bad-tools", kind, _KINDS)
    inner = place.into(kind)
    if tool.get(kind) is None:
        raise inner.missing("bad-tools", "an object")
    check_function(place.needed("bad-tools", tool, kind, dict), inner)


def is_continued(request: Mapping[str, Any]) -> bool:
    """Return whether the input continues a conversation that the provider stores."""
    return any(
        request.get(key) is not None for key in ("previous_response_id", "conversation", "prompt")
    )


def check_responses_fields(request: Mapping[str, Any], *, foreign: bool = False) -> None:
    """Raise `InvalidMessagesError` for the fields of a request that OpenAI would reject.

    Of the input, only its type is checked. With `foreign`, only
    model and input are checked, since other servers have other options.
    """
    _check_moved(request)
    if request.get("model") is None and request.get("prompt") is None:
        raise _RESPONSES.into("model").missing("missing-model", "the name of a model")
    check_model(request, _RESPONSES)
    _check_input(request)
    if not foreign:
        _check_responses_tools(request)


def _check_moved(request: Mapping[str, Any]) -> None:
    for old, new in _MOVED.items():
        if old in request:
            message = (
                f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved "
                f"to '{new}'. "
                "Try again with the new parameter. See the API documentation for more information: "
                "https://platform.openai.com/docs/api-reference/responses/create."
            )
            raise _RESPONSES.into(old).fault("moved-field", message, new, "unsupported_parameter")


def _check_input(request: Mapping[str, Any]) -> None:
    items, place = request.get("input"), _RESPONSES.into("input")
    if not isinstance(items, str | list | None):
        raise place.wrong_type("not-a-list", "one of a string or array of input items", items)
    if items is None and not is_continued(request):
        raise place.missing("empty-list", "a text, or a list of items")
    if items == [] and not is_continued(request):
        raise place.empty("empty-list")


def _check_responses_tools(request: Mapping[str, Any]) -> None:
    check_tools(request, _check_responses_tool, _RESPONSES, empty=True)
    # Tools may also be added in the input, so the known names are only complete without such an
    # item.
    items = request.get("input")
    if not any(_adds_tools(item) for item in (items if isinstance(items, list) else ())):
        names = [
            tool["name"] for tool in request.get("tools") or () if isinstance(tool.get("name"), str)
        ]
        unknown = "Tool choice '{name}' not found in 'tools' parameter."
        check_choice(request, names, unknown, _RESPONSES)


def _adds_tools(item: object) -> bool:
    return isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output")


def _check_responses_tool(tool: dict[str, Any], place: OpenAIPlace) -> None:
    if tool["type"] == "function":
        check_function(tool, place)
    elif tool["type"] == "custom":
        place.tool_name(tool, "bad-tools", "")
