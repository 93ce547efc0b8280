"""Anthropic's rules for whole requests: fields, tools, and how they fit the messages."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import evolve

from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Message, Provider, copied_messages, is_whole, shown
from polycontext.window.providers.anthropic import (
    BLANK,
    EMPTY_TEXT,
    EXTRA,
    MARKED_EMPTY_TEXT,
    MOST_MEDIA,
    NEWEST,
    NO_LIST,
    NO_OBJECT,
    NO_STRING,
    REQUIRED,
    STRICTER,
    THINKING,
    At,
    Progress,
    check_block,
    check_mark,
    check_version,
    finish,
    judge_marks,
    judge_media,
    judge_message,
    judge_places,
    literal_wording,
    marks,
    minimum_wording,
    pattern_wording,
    refuse_first,
)

from .anthropic_options import check_options

_SAMPLING = ("temperature", "top_p", "top_k")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
REQUEST_FIELDS = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "stream",
        "metadata",
        "service_tier",
        "cache_control",
        "container",
        "context_management",
        "compaction",
        "mcp_servers",
        "betas",
        "output_config",
        "output_format",
        "inference_geo",
        "speed",
        "diagnostics",
        "fallbacks",
        "fallback_credit_token",
        "thread",
        "user_profile_id",
        "billing_policy",
        "workspace_id",
    }
)
"""The fields of a request body."""


def check_head(
    request: object, *, betas: Collection[str] = (), counting: bool = False, version: str = NEWEST
) -> Mapping[str, Any]:
    """Check everything except the messages, and return the request.

    Raises:
        InvalidMessagesError: Rules of requests; see docs/providers.md.
    """
    if not isinstance(request, Mapping):
        problem, legal = (
            f"{shown(request)} is no request",
            "an object with model, max_tokens, messages",
        )
        raise At("").refuse("not-an-object", problem, legal, NO_OBJECT)
    for name in request:
        if name not in REQUEST_FIELDS:
            legal = ", ".join(sorted(REQUEST_FIELDS))
            raise At(str(name)).refuse("unknown-field", "is no field of a request", legal, EXTRA)
    for name in ("model", "max_tokens", "messages"):
        if name not in request and not (counting and name == "max_tokens"):
            legal = "model, max_tokens and messages"
            raise At(name).refuse("missing-field", "is missing", legal, REQUIRED)
    model = request["model"]
    if not isinstance(model, str) or not model:
        raise At("model").wrong("bad-field", model, "the name of a model", NO_STRING)
    _check_sampling(request, version)
    _check_max_tokens(request.get("max_tokens", 1))
    _check_system(request.get("system"))
    _check_tools(request.get("tools"), request.get("tool_choice"))
    check_options(request, betas)
    return request


def check_whole(
    body: Mapping[str, Any] | None,
    progress: Progress,
    *,
    prefill: bool = True,
    most_media: int = MOST_MEDIA,
) -> None:
    """Check how the fields of a request and its messages fit together.

    Without `body`, check the messages alone; they may begin with system messages.

    Raises:
        InvalidMessagesError: Rules of the end of the list, of totals, and of thinking.
    """
    if body is not None and progress.led_by_system:
        says = (
            "use the top-level 'system' parameter for the initial system prompt; "
            "the directive-only form (content: [] with output_config) is accepted at any position"
        )
        raise At("messages", 0).refuse(
            "system-place", "is a system message", "the field system of the request", says
        )
    judge_places(progress)
    finish(progress)
    if body is None:
        return
    judge_media(progress, most_media)
    judge_marks([*_head_marks(body), *progress.marks])
    thinking = body.get("thinking")
    must_think = isinstance(thinking, Mapping) and thinking.get("type") == "enabled"
    index, kind, _ = progress.tail
    if (
        progress.role == "assistant"
        and kind is not None
        and not kind.endswith(("tool_use", "tool_result"))
        and kind != "compaction"
    ):
        if not prefill and body.get("compaction") is None:
            says = (
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message."
            )
            problem, legal = "is the assistant's and the last one", "a user message at the end"
            raise At("messages", index).refuse("prefill", problem, legal, says, whole=True)
        if must_think:
            _refuse_unthinking(index, progress.loop[1] if progress.loop else None)
    if must_think and progress.last_results and progress.loop:
        _refuse_unthinking(*progress.loop)


def _refuse_unthinking(index: int, found: str | None) -> None:
    if found in THINKING:
        return
    says = (
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        f"`{found}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block (preceeding the lastmost set "
        "of `tool_use` and `tool_result` blocks)."
    )
    legal = 'the thinking that the answer began with, or thinking of type "adaptive"'
    raise At("messages", index, ("content", 0)).refuse(
        "thinking-first", f"is {found} where thinking must begin", legal, says, whole=True
    )


def _check_max_tokens(value: object) -> None:
    at = At("max_tokens")
    if not is_whole(value):
        says = "Input should be a valid integer"
        raise at.wrong("bad-field", value, "a whole number", says)
    if value < 0:
        raise at.refuse("bad-field", f"is {value}", "0 or more", minimum_wording(0))


def _check_system(system: object) -> None:
    at = At("system")
    if system is None or system == "":
        return
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    if not isinstance(system, list):
        raise at.wrong("bad-system", system, "text, or a list of text blocks", NO_LIST)
    for number, block in enumerate(system):
        spot = at.into(number)
        if (
            not isinstance(block, Mapping)
            or block.get("type") != "text"
            or not isinstance(block.get("text"), str)
        ):
            says = "Input should be a valid text block"
            raise spot.refuse("bad-system", "is no text block", "blocks of type text", says)
        if not block["text"]:
            marked = block.get("cache_control") is not None
            place, says = (spot, MARKED_EMPTY_TEXT) if marked else (at, EMPTY_TEXT)
            problem, legal = "holds an empty text block", "text blocks with text"
            raise place.refuse("empty-text", problem, legal, says)
        if not block["text"].strip():
            problem = "is nothing but white space"
            raise at.refuse("blank-text", problem, "a visible character", BLANK)
        check_block(dict(block), spot)


def _check_tools(tools: object, choice: object) -> None:
    if tools is None:
        tools = []
    whole = At("tools")
    if not isinstance(tools, list | tuple):
        raise whole.wrong("bad-tool", tools, "a list of tools", NO_LIST)
    names: set[str] = set()
    for number, tool in enumerate(tools):
        at = whole.into(number)
        if not isinstance(tool, Mapping):
            raise at.wrong("bad-tool", tool, "an object", NO_OBJECT)
        name = _check_tool(tool, at)
        if name is not None and name in names:
            problem = f"has the name {shown(name)} of an earlier tool"
            says = "tools: Tool names must be unique."
            raise at.refuse("duplicate-tool", problem, "one tool a name", says, whole=True)
        names.add(name or "")
    if choice is not None:
        _check_choice(choice, names)


def _check_tool(tool: Mapping[str, Any], at: At) -> str | None:
    kind, name = tool.get("type"), tool.get("name")
    check_mark(tool, at)
    if kind == "mcp_toolset":
        return None
    tagged = at.into("!custom") if kind in {None, "custom"} else at
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        says = pattern_wording(name, TOOL_NAME.pattern)
        legal = "1 to 128 letters, digits, _ and -"
        raise tagged.into("name").wrong("tool-name", name, legal, says)
    if kind in {None, "custom"}:
        schema, spot = tool.get("input_schema"), tagged.into("input_schema")
        if not isinstance(schema, Mapping):
            raise spot.wrong("bad-tool", schema, "a JSON Schema of type object", REQUIRED)
        if schema.get("type") != "object":
            says = literal_wording("object")
            raise spot.wrong_field(schema, "type", "bad-tool", "object", says)
    return name


def _check_choice(choice: Any, names: Collection[str]) -> None:
    at, rule = At("tool_choice"), "tool-choice"
    kind = at.tag_of(choice, ("auto", "any", "tool", "none"), rule)
    if kind != "none" and not names:
        says = "tool_choice may only be specified while providing tools."
        legal = "tools, or no tool_choice"
        raise at.refuse(rule, "is given without tools", legal, says, whole=True)
    if kind == "tool" and (name := choice.get("name")) not in [*names]:
        says = f"Tool '{name}' not found in provided tools"
        problem = f"names {shown(name)}, which is no tool"
        raise at.refuse(rule, problem, "the name of a tool", says, whole=True)


def _head_marks(body: Mapping[str, Any]) -> list[tuple[str, At]]:
    tools, system = body.get("tools") or [], body.get("system")
    found = [*marks([dict(tool) for tool in tools], At("tools"))]
    if isinstance(system, list):
        found += marks(system, At("system"))
    return found


def _check_sampling(request: Mapping[str, Any], version: str) -> None:
    """Raise an error for sampling options, which newer versions reject even with default values.

    Raises:
        InvalidMessagesError: Rule sampling.
    """
    for name in _SAMPLING if version >= STRICTER else ():
        if name in request:
            raise At(name).refuse(
                "sampling",
                f"is set, which version {version} does not take",
                f"no {', '.join(_SAMPLING)}",
                EXTRA,
            )


def findings(
    request: Sequence[Any] | Mapping[str, Any],
    *,
    betas: Collection[str] = (),
    version: str = NEWEST,
) -> list[InvalidMessagesError]:
    """Return the errors of a request or message list: at most one for each message.

    Errors of the list as a whole are only reported if there are no others. After an error, the rest
    is checked as if the message were valid, so that each fault is reported once.
    """
    check_version(version)
    found, progress = list[InvalidMessagesError](), Progress()
    body = request if isinstance(request, Mapping) else None
    if body is not None:
        try:
            check_head(body, betas=betas, version=version)
        except InvalidMessagesError as error:
            found.append(error)
    try:
        messages = copied_messages(
            Provider.ANTHROPIC, request if body is None else body.get("messages")
        )
    except InvalidMessagesError as error:
        return [*found, error]
    for index, message in enumerate(messages):
        final = index == len(messages) - 1
        try:
            progress = judge_message(message, progress, final=final, version=version)
        except InvalidMessagesError as error:
            found.append(error)
            progress = _after(progress, message)
    if not found:
        try:
            refuse_first(progress)
            check_whole(body, progress)
        except InvalidMessagesError as error:
            found.append(error)
    return found


def _after(before: Progress, message: Message) -> Progress:
    """Return the progress after a rejected message, with only its own calls open."""
    role, content, index = str(message.get("role")), message.get("content"), before.count
    calls = [
        str(block.get("id"))
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    fresh = Progress(index + 1, role, before.first or (role, index), caller=index)
    if role != "assistant":
        return fresh
    return evolve(fresh, waiting=tuple(calls), called=frozenset(calls))
