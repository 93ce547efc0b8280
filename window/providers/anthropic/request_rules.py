"""Anthropic's rules for requests, and the entry points to all of its rules.

`check_messages` checks a message list, `check_request` a whole request. A strict provider calls the
same functions step by step, so that it need not check messages again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import Factory, define

from ..blocks import copied_messages, is_whole, shown
from ..wire import Message, Provider
from .block_rules import THINKING, check_block, check_blocks_of, check_mark, marks
from .option_rules import check_options
from .order_rules import (
    MOST_MEDIA,
    Progress,
    advance,
    finish,
    judge_marks,
    judge_media,
    judge_places,
    refuse_first,
)
from .rules import (
    BLANK,
    EMPTY_TEXT,
    EXTRA,
    MARKED_EMPTY_TEXT,
    NO_LIST,
    NO_OBJECT,
    NO_STRING,
    REQUIRED,
    At,
    check_entry,
    literal_wording,
    minimum_wording,
    pattern_wording,
)
from .versions import NEWEST, check_sampling, check_version

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


def check_messages(
    messages: object, *, allow_open_tail: bool = False, strict_first: bool = True
) -> None:
    """Check a message list as it would be sent.

    It may begin with system messages, which is a common way to store them.

    Raises:
        InvalidMessagesError: The list breaks a rule of docs/providers.md; the error is the first.
    """
    progress = judge_list(copied_messages(Provider.ANTHROPIC, messages))
    if strict_first:
        refuse_first(progress)
    judge_places(progress)
    finish(progress, allow_open_tail=allow_open_tail)


def judge_list(messages: Sequence[Message], version: str = NEWEST) -> Progress:
    """Check `messages` one by one, and return the progress after them.

    Raises:
        InvalidMessagesError: Anthropic would reject a message in its position; the error is the
            first.
    """
    progress, last = Progress(), len(messages) - 1
    for message in messages:
        progress = judge_message(message, progress, final=progress.count == last, version=version)
    return progress


@define
class GrowingList:
    """Checks a growing list as `check_messages` does.

    Each message except the last one is checked only once.
    """

    _settled: Progress = Factory(Progress)

    def __call__(self, messages: Sequence[Message], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` as `check_messages` does.

        Messages that were checked before are skipped.
        """
        if not messages:
            copied_messages(Provider.ANTHROPIC, messages)  # raises empty-list
        for message in messages[self._settled.count : -1]:
            self._settled = judge_message(message, self._settled, final=False)
        progress = judge_message(messages[-1], self._settled, final=True)
        refuse_first(progress)
        finish(progress, allow_open_tail=allow_open_tail)


def judge_message(
    message: Message, progress: Progress, *, final: bool, version: str = NEWEST
) -> Progress:
    """Check one message, and return the progress after it; `final` marks the last of its list.

    Raises:
        InvalidMessagesError: Anthropic would reject the message in its position.
    """
    entry = check_entry(message, progress.count, final=final)
    check_blocks_of(entry, progress.count, version)
    return advance(progress, entry)


def check_request(
    request: object,
    *,
    betas: Collection[str] = (),
    prefill: bool = True,
    most_media: int = MOST_MEDIA,
    version: str = NEWEST,
) -> None:
    """Check a whole request: body, system, tools, thinking, messages, and how they fit together.

    `betas` are the values of the header ``anthropic-beta``; `version` is that of
    ``anthropic-version``. Without `prefill`, the last message may not be the assistant's, as for
    newer models.

    Raises:
        InvalidMessagesError: The request breaks a rule of docs/providers.md; the error is the
            first, with the index of the message if it is in one.
        UnknownNameError: The version is unknown.

    >>> hi = [{"role": "user", "content": "hi"}]
    >>> check_request({"model": "m", "max_tokens": 9, "messages": hi, "tools": [{"name": "a b"}]})
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages break the anthropic rule \
tool-name: tools[0].name is 'a b'. Use 1 to 128 letters, digits, _ and -.
    """
    check_version(version)
    body = check_head(request, betas=betas, version=version)
    progress = judge_list(copied_messages(Provider.ANTHROPIC, body["messages"]), version=version)
    refuse_first(progress)
    check_whole(body, progress, prefill=prefill, most_media=most_media)


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
    check_sampling(request, version)
    _check_max_tokens(request.get("max_tokens", 1))
    _check_system(request.get("system"))
    _check_tools(request.get("tools"), request.get("tool_choice"))
    check_options(request, betas)
    return request


def check_whole(
    body: Mapping[str, Any],
    progress: Progress,
    *,
    prefill: bool = True,
    most_media: int = MOST_MEDIA,
) -> None:
    """Check how the fields of a request and its messages fit together.

    Raises:
        InvalidMessagesError: Rules of the end of the list, of totals, and of thinking.
    """
    if progress.led_by_system:
        says = (
            "use the top-level 'system' parameter for the initial system prompt; "
            "the directive-only form (content: [] with output_config) is accepted at any position"
        )
        raise At("messages", 0).refuse(
            "system-place", "is a system message", "the field system of the request", says
        )
    judge_places(progress)
    finish(progress)
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
