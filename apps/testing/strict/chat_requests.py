"""OpenAI's rules for the fields of a chat completion request besides the messages."""

from collections.abc import Mapping
from typing import Any

from polycontext.window.providers import OpenAIPlace, Provider

from .openai_requests import (
    check_choice,
    check_flags,
    check_function,
    check_model,
    check_number,
    check_sampling,
    check_tools,
)

_KINDS = ("function", "custom")
_WHOLE = OpenAIPlace(Provider.OPENAI)


def check_fields(request: Mapping[str, Any], *, foreign: bool = False) -> None:
    """Raise `InvalidMessagesError` for the fields of a request that OpenAI would reject.

    The messages are only checked to be a list. With `foreign`, only model and messages are checked,
    since other servers have other options.
    """
    if request.get("model") is None:
        message, legal = "you must provide a model parameter", "the name of a model"
        raise _WHOLE.fault("missing-model", message, legal, None, None)
    check_model(request, _WHOLE)
    messages, place = request.get("messages"), _WHOLE.into("messages")
    if "messages" not in request:
        raise place.missing("not-a-list", "a list of messages")
    if not isinstance(messages, list):
        raise place.wrong_type("not-a-list", list, messages)
    if not foreign:
        _check_tools(request)
        _check_limits(request)


def _check_tools(request: Mapping[str, Any]) -> None:
    given = request.get("tools")
    if given is None:
        for key, rule in (
            ("tool_choice", "bad-tool-choice"),
            ("parallel_tool_calls", "bad-option"),
        ):
            if request.get(key) is not None:
                problem = f"'{key}' is only allowed when 'tools' are specified."
                message = f"Invalid value for '{key}': {problem}"
                raise _WHOLE.into(key).fault(
                    rule, message, "tools beside it, or no such field", None
                )
        return
    check_tools(request, _check_tool, _WHOLE, empty=False)
    unknown = (
        "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' "
        "parameter."
    )
    check_choice(request, [tool[tool["type"]]["name"] for tool in given], unknown, _WHOLE)


def _check_tool(tool: dict[str, Any], place: OpenAIPlace) -> None:
    kind = tool["type"]
    place.into("type").one_of("bad-tools", kind, _KINDS)
    inner = place.into(kind)
    if tool.get(kind) is None:
        raise inner.missing("bad-tools", "an object")
    check_function(place.needed("bad-tools", tool, kind, dict), inner)


def _check_limits(request: Mapping[str, Any]) -> None:
    check_sampling(request, _WHOLE)
    for key in ("max_completion_tokens", "max_tokens", "n"):
        check_number(request, key, _WHOLE, least=1)
    check_flags(request, _WHOLE, "stream", "parallel_tool_calls")
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        code = "invalid_parameter_combination"
        raise _WHOLE.into("max_tokens").fault("bad-option", message, "one of the two", code)
    if request.get("stream_options") is not None and not request.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        place = _WHOLE.into("stream_options")
        raise place.fault("bad-option", message, "stream: true beside it", None)
