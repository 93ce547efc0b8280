"""OpenAI's rules for the fields of a chat completion request besides the messages."""

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
)
from polycontext.window.providers.chat import ChatJudge

from . import openai_requests as fields

_KINDS = ("function", "custom")


def findings(
    request: Sequence[Any] | Mapping[str, Any], *, foreign: bool = False
) -> list[InvalidMessagesError]:
    """Return the errors of a chat completion request or message list, at most one per message.

    After an error, the rest is checked as if the message were valid, so that each fault is reported
    once.

    >>> [
    ...     error.rule
    ...     for error in findings(
    ...         [{"role": "user"}, {"role": "tool", "tool_call_id": "a", "content": "b"}]
    ...     )
    ... ]
    ['missing-content', 'orphan-result']
    """
    body, breaches = None, list[Breach | None]()
    try:
        if isinstance(request, Mapping):
            body = fields.copy_request(Provider.OPENAI, request)
            breaches = [request_breach(body, foreign=foreign)]
        messages = (
            copied_messages(Provider.OPENAI, request) if body is None else body.get("messages")
        )
    except InvalidMessagesError as error:
        return [error]
    if isinstance(messages, list):
        judge = ChatJudge(foreign=foreign)
        breaches += [*entry_breaches(judge, messages), judge.end()]
    return [breach.error(Provider.OPENAI) for breach in breaches if breach is not None]


def request_breach(request: Mapping[str, Any], *, foreign: bool = False) -> Breach | None:
    """Return the first breach in the fields of `request`, or None.

    The messages are only checked to be a list. With `foreign`, only model and messages are checked,
    since other servers have other options.
    """
    breach = _model(request) or _messages(request)
    return (
        breach if breach or foreign else _tools(request) or _limits(request) or _together(request)
    )


def _model(request: Mapping[str, Any]) -> Breach | None:
    if request.get("model") is None:
        return Breach("missing-model", "you must provide a model parameter", "the name of a model")
    return fields.model(request)


def _messages(request: Mapping[str, Any]) -> Breach | None:
    messages, place = request.get("messages"), Spot("messages")
    if "messages" not in request:
        return place.missing("not-a-list", "a list of messages")
    if isinstance(messages, list):
        return None
    return place.wrong_type("not-a-list", "an array of objects", messages)


def _tools(request: Mapping[str, Any]) -> Breach | None:
    given = request.get("tools")
    if given is None:
        return _without_tools(request)
    breach = fields.tools(request, _tool, empty=False)
    if breach is not None:
        return breach
    names = [tool[tool["type"]]["name"] for tool in given]
    return fields.choice(
        request,
        names,
        "Invalid value for 'tool_choice': no function named '{name}' was specified in the 'tools' "
        "parameter.",
    )


def _without_tools(request: Mapping[str, Any]) -> Breach | None:
    for key, rule in (("tool_choice", "bad-tool-choice"), ("parallel_tool_calls", "bad-option")):
        if request.get(key) is not None:
            message = (
                f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
            )
            return Spot(key).breach(rule, message, "tools beside it, or no such field", None)
    return None


def _tool(tool: dict[str, Any], place: Spot) -> Breach | None:
    kind = tool["type"]
    if kind not in _KINDS:
        return place.at(".type").unsupported("bad-tools", kind, _KINDS)
    spot = place.at(f".{kind}")
    if tool.get(kind) is None:
        return spot.missing("bad-tools", "an object")
    breach = place.needed("bad-tools", tool, kind, dict)
    return breach or fields.function(tool[kind], spot)


def _limits(request: Mapping[str, Any]) -> Breach | None:
    return (
        fields.sampling(request)
        or first(
            fields.number(request, key, least=1)
            for key in ("max_completion_tokens", "max_tokens", "n")
        )
        or fields.flags(request, "stream", "parallel_tool_calls")
    )


def _together(request: Mapping[str, Any]) -> Breach | None:
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        message = (
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
        code = "invalid_parameter_combination"
        return Spot("max_tokens").breach("bad-option", message, "one of the two", code)
    if request.get("stream_options") is not None and not request.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return Spot("stream_options").breach("bad-option", message, "stream: true beside it", None)
    return None
