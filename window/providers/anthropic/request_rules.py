"""What Anthropic demands of a request around its messages, and the two doors to all of its rules.

`check_messages` judges a message list, `check_request` a whole request. A strict provider calls the same functions, piece by
piece, so that it need not judge again what it has seen.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import Factory, define

from ..blocks import copied_messages, shown
from ..wire import Message, Provider
from .block_rules import THINKING, check_block, check_blocks_of, check_mark, marks
from .order_rules import (
    MOST_MEDIA,
    Progress,
    advanced,
    finish,
    judge_marks,
    judge_media,
    judge_places,
    refuse_first,
)
from .rules import EXTRA, At, checked_entry
from .versions import NEWEST, check_sampling, check_version

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
LEAST_BUDGET = 1024
"""Tokens of thinking that a budget must allow."""

BINDING_BETA = "thinking-binding-controls-2026-08-01"
COMPACTION_BETA = "compact-2026-09-04"
EDITING_BETA = "context-management-2025-06-27"
THRESHOLD_BETA = "compact-2026-01-12"

EDITS = {"clear_tool_uses_20250919": EDITING_BETA, "clear_thinking_20251015": EDITING_BETA, "compact_20260112": THRESHOLD_BETA}
"""What the provider may do by itself to what it is sent, and the header that each asks for."""

LEAST_TRIGGER = 50_000
"""Input tokens from which on a conversation may be summarised while it is answered."""

REQUEST_FIELDS = frozenset(
    {
        *(
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
        ),
        *("stream", "metadata", "service_tier", "cache_control", "container", "context_management", "compaction", "mcp_servers", "betas"),
        *("output_config", "output_format", "inference_geo", "speed", "diagnostics", "fallbacks", "fallback_credit_token", "thread"),
        *("user_profile_id", "billing_policy", "workspace_id"),
    }
)
"""The fields of a request body."""

_COUNTED = frozenset({"max_tokens"})
"""Fields that a request for a count may lack."""


def check_messages(messages: object, *, allow_open_tail: bool = False, strict_first: bool = True) -> None:
    """Judge a message list as it would be sent; system messages may lead it, as many people store them.

    Raises:
        InvalidMessagesError: the first rule of docs/providers.md that it breaks.
    """
    progress = judged(copied_messages(Provider.ANTHROPIC, messages))
    if strict_first:
        refuse_first(progress)
    judge_places(progress)
    finish(progress, allow_open_tail=allow_open_tail)


def judged(messages: Sequence[Message], progress: Progress | None = None, version: str = NEWEST) -> Progress:
    """Judge `messages` one by one behind those of `progress`, and return what holds behind them.

    Raises:
        InvalidMessagesError: the first message that Anthropic would refuse where it stands.
    """
    progress = progress or Progress()
    last = progress.count + len(messages) - 1
    for message in messages:
        progress = judged_one(message, progress, final=progress.count == last, version=version)
    return progress


@define
class GrowingList:
    """Judge a list that grows, as `check_messages` does; all but the last message are judged once and stay."""

    _settled: Progress = Factory(Progress)

    def __call__(self, messages: Sequence[Message], *, allow_open_tail: bool = False) -> None:
        """Raise `InvalidMessagesError` as `check_messages` does; what a list begins with is not looked at again."""
        if not messages:
            copied_messages(Provider.ANTHROPIC, messages)  # refuses it by its rule
        for message in messages[self._settled.count : -1]:
            self._settled = judged_one(message, self._settled, final=False)
        progress = judged_one(messages[-1], self._settled, final=True)
        refuse_first(progress)
        finish(progress, allow_open_tail=allow_open_tail)


def judged_one(message: Message, progress: Progress, *, final: bool, version: str = NEWEST) -> Progress:
    """Judge one message, the last one of its list if `final`, and return what holds behind it.

    Raises:
        InvalidMessagesError: Anthropic would refuse it where it stands.
    """
    entry = checked_entry(message, progress.count, final=final)
    check_blocks_of(entry, progress.count, version)
    return advanced(progress, entry)


def check_request(
    request: object, *, betas: Collection[str] = (), prefill: bool = True, most_media: int = MOST_MEDIA, version: str = NEWEST
) -> None:
    """Judge a whole request: body, system, tools, thinking, messages, and what they hold together.

    `betas` are the values of the header ``anthropic-beta``, `version` is that of ``anthropic-version``; without `prefill` the
    assistant may not speak last, as newer models demand.

    Raises:
        InvalidMessagesError: the first rule of docs/providers.md that it breaks; its index is that of the message, if it is in one.
        UnknownNameError: no such version.

    >>> check_request({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "a b"}]})
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages break the anthropic rule tool-name: tools[0].name is 'a b'; \
legal: 1 to 128 letters, digits, _ and -
    """
    check_version(version)
    body = check_head(request, betas=betas, version=version)
    progress = judged(copied_messages(Provider.ANTHROPIC, body["messages"]), version=version)
    refuse_first(progress)
    check_whole(body, progress, prefill=prefill, most_media=most_media)


def check_head(request: object, *, betas: Collection[str] = (), counting: bool = False, version: str = NEWEST) -> Mapping[str, Any]:
    """Judge everything but the messages, and return the request.

    Raises:
        InvalidMessagesError: rules of requests; see docs/providers.md.
    """
    at = At("")
    if not isinstance(request, Mapping):
        raise at.refuse(
            "not-an-object", f"{shown(request)} is no request", "an object with model, max_tokens, messages", "Input should be an object"
        )
    for name in request:
        if name not in REQUEST_FIELDS:
            raise At(str(name)).refuse("unknown-field", "is no field of a request", ", ".join(sorted(REQUEST_FIELDS)), EXTRA)
    for name in ("model", "max_tokens", "messages"):
        if name not in request and not (counting and name in _COUNTED):
            raise At(name).refuse("missing-field", "is missing", "model, max_tokens and messages", "Field required")
    if not isinstance(request["model"], str) or not request["model"]:
        raise At("model").refuse("bad-field", f"is {shown(request['model'])}", "the name of a model", "Input should be a valid string")
    check_sampling(request, version)
    _check_max_tokens(request.get("max_tokens", 1))
    _check_system(request.get("system"))
    _check_tools(request.get("tools"), request.get("tool_choice"))
    _check_thinking(request, betas)
    _check_compaction(request, betas)
    _check_edits(request.get("context_management"), betas)
    return request


def check_whole(body: Mapping[str, Any], progress: Progress, *, prefill: bool = True, most_media: int = MOST_MEDIA) -> None:
    """Judge what a request and its messages ask of each other.

    Raises:
        InvalidMessagesError: rules of the end of the list, of totals, and of thinking.
    """
    if progress.led_by_system:
        says = (
            "use the top-level 'system' parameter for the initial system prompt; "
            "the directive-only form (content: [] with output_config) is accepted at any position"
        )
        raise At("messages", 0).refuse("system-place", "is a system message", "the field system of the request", says)
    judge_places(progress)
    finish(progress)
    judge_media(progress, most_media)
    judge_marks([*_head_marks(body), *progress.marks])
    thinking = body.get("thinking")
    mode = thinking.get("type") if isinstance(thinking, Mapping) else None
    index, kind, _ = progress.tail
    if progress.role == "assistant" and kind is not None and not kind.endswith(("tool_use", "tool_result")) and kind != "compaction":
        if not prefill and body.get("compaction") is None:
            says = "This model does not support assistant message prefill. The conversation must end with a user message."
            raise At("messages", index).refuse(
                "prefill", "is the assistant's and the last one", "a user message at the end", says, whole=True
            )
        if mode == "enabled":
            _refuse_unthinking(index, progress.loop[1] if progress.loop else None)
    if mode == "enabled" and progress.last_results and progress.loop and progress.loop[1] not in THINKING:
        _refuse_unthinking(*progress.loop)


def _refuse_unthinking(index: int, found: str | None) -> None:
    if found in THINKING:
        return
    says = (
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    )
    legal = 'the thinking that the answer began with, or thinking of type "adaptive"'
    raise At("messages", index, ("content", 0)).refuse("thinking-first", f"is {found} where thinking must begin", legal, says, whole=True)


def _check_max_tokens(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise At("max_tokens").refuse("bad-field", f"is {shown(value)}", "a whole number", "Input should be a valid integer")
    if value < 0:
        raise At("max_tokens").refuse("bad-field", f"is {value}", "0 or more", "Input should be greater than or equal to 0")


def _check_system(system: object) -> None:
    at = At("system")
    if system is None or system == "":
        return
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    if not isinstance(system, list):
        raise at.refuse("bad-system", f"is {shown(system)}", "text, or a list of text blocks", "Input should be a valid list")
    for number, block in enumerate(system):
        spot = at.into(number)
        if not isinstance(block, Mapping) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            raise spot.refuse("bad-system", "is no text block", "blocks of type text", "Input should be a valid text block")
        if not block["text"]:
            marked = block.get("cache_control") is not None
            says = "cache_control cannot be set for empty text blocks" if marked else "text content blocks must be non-empty"
            raise (spot if marked else at).refuse("empty-text", "holds an empty text block", "text blocks with text", says)
        if not block["text"].strip():
            raise at.refuse(
                "blank-text", "is nothing but white space", "a visible character", "text content blocks must contain non-whitespace text"
            )
        check_block(dict(block), spot)


def _check_tools(tools: object, choice: object) -> None:
    if tools is None:
        tools = []
    if not isinstance(tools, list | tuple):
        raise At("tools").refuse("bad-tool", f"is {shown(tools)}", "a list of tools", "Input should be a valid list")
    names: set[str] = set()
    for number, tool in enumerate(tools):
        at = At("tools").into(number)
        if not isinstance(tool, Mapping):
            raise at.refuse("bad-tool", f"is {shown(tool)}", "an object", "Input should be an object")
        name = _check_tool(tool, at)
        if name is not None and name in names:
            problem, says = f"has the name {shown(name)} of an earlier tool", "tools: Tool names must be unique."
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
        says = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'" if isinstance(name, str) else "Field required"
        raise tagged.into("name").refuse("tool-name", f"is {shown(name)}", "1 to 128 letters, digits, _ and -", says)
    if kind in {None, "custom"}:
        schema = tool.get("input_schema")
        if not isinstance(schema, Mapping):
            raise tagged.into("input_schema").refuse("bad-tool", f"is {shown(schema)}", "a JSON Schema of type object", "Field required")
        if schema.get("type") != "object":
            spot = tagged.into("input_schema", "type")
            says = "Input should be 'object'" if "type" in schema else "Field required"
            raise spot.refuse("bad-tool", f"is {shown(schema.get('type'))}", "object", says)
    return name


def _check_choice(choice: object, names: Collection[str]) -> None:
    at = At("tool_choice")
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or kind not in {"auto", "any", "tool", "none"}:
        says = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'"
        raise at.refuse("tool-choice", f"is {shown(choice if kind is None else kind)}", "a type of auto, any, tool, none", says)
    if kind != "none" and not names:
        says = "tool_choice may only be specified while providing tools."
        raise at.refuse("tool-choice", "is given without tools", "tools, or no tool_choice", says, whole=True)
    if kind == "tool" and choice.get("name") not in names:
        says = f"Tool '{choice.get('name')}' not found in provided tools"
        raise at.refuse("tool-choice", f"names {shown(choice.get('name'))}, which is no tool here", "the name of a tool", says, whole=True)


def _check_thinking(request: Mapping[str, Any], betas: Collection[str]) -> None:
    thinking = request.get("thinking")
    if thinking is None:
        return
    at = At("thinking")
    mode = thinking.get("type") if isinstance(thinking, Mapping) else None
    if not isinstance(thinking, Mapping) or mode not in _MODES:
        says = f"Input tag '{mode}' found using 'type' does not match any of the expected tags: {', '.join(map(repr, _MODES))}"
        raise at.refuse("bad-thinking", f"is {shown(thinking if mode is None else mode)}", f"a type of {', '.join(_MODES)}", says)
    _check_binding(thinking, at.into(f"!{mode}"), betas)
    if mode not in {"enabled", "adaptive"}:
        return
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in {"any", "tool"}:
        says = "Thinking may not be enabled when tool_choice forces tool use."
        raise At("tool_choice").refuse("thinking-forced", "forces a call while thinking is on", "auto or none", says, whole=True)
    if request.get("temperature") not in {None, 1}:
        says = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        problem = f"is {request['temperature']} while thinking is on"
        raise At("temperature").refuse("thinking-temperature", problem, "1, or no temperature", says, whole=True)
    if mode == "enabled":
        _check_budget(thinking.get("budget_tokens"), request.get("max_tokens"), at.into("!enabled", "budget_tokens"))


_MODES = ("adaptive", "between_tools", "disabled", "enabled")


def _check_binding(thinking: Mapping[str, Any], at: At, betas: Collection[str]) -> None:
    binding = thinking.get("block_binding")
    if binding is None:
        return
    spot = at.into("block_binding")
    if BINDING_BETA not in betas:
        says = f"Extra inputs are not permitted. To use it, send the `anthropic-beta: {BINDING_BETA}` header."
        raise spot.refuse("binding-beta", "is set without its header", f"the header anthropic-beta: {BINDING_BETA}", says)
    behaviour = binding.get("prefix_mismatch_behavior") if isinstance(binding, Mapping) else binding
    if not isinstance(binding, Mapping) or behaviour not in {None, "error", "drop_block"}:
        says = "Input should be 'error' or 'drop_block'"
        raise spot.into("prefix_mismatch_behavior").refuse("bad-thinking", f"is {shown(behaviour)}", "error or drop_block", says)


def _check_budget(budget: object, most: object, at: At) -> None:
    if isinstance(budget, bool) or not isinstance(budget, int):
        raise at.refuse("thinking-budget", f"is {shown(budget)}", f"a whole number, at least {LEAST_BUDGET}", "Field required")
    if budget < LEAST_BUDGET:
        says = f"Input should be greater than or equal to {LEAST_BUDGET}"
        raise at.refuse("thinking-budget", f"is {budget}", f"at least {LEAST_BUDGET}", says)
    if isinstance(most, int) and budget >= most:
        says = "`max_tokens` must be greater than `thinking.budget_tokens`."
        raise at.refuse("thinking-budget", f"is {budget} of {most} tokens in all", "a budget below max_tokens", says, whole=True)


def _check_compaction(request: Mapping[str, Any], betas: Collection[str]) -> None:
    compaction = request.get("compaction")
    if compaction is None:
        return
    at = At("compaction")
    if COMPACTION_BETA not in betas:
        raise at.refuse("compaction-beta", "is set without its header", f"the header anthropic-beta: {COMPACTION_BETA}", EXTRA)
    if not isinstance(compaction, Mapping) or compaction.get("type") != "summarize":
        raise at.into("type").refuse("bad-field", f"is {shown(compaction)}", '{"type": "summarize"}', "Input should be 'summarize'")
    if request.get("context_management") is not None:
        says = "`compaction` cannot be combined with `context_management`"
        raise at.refuse("bad-field", "stands beside context_management", "one of both", says)


def _check_edits(management: object, betas: Collection[str]) -> None:
    if management is None:
        return
    at = At("context_management")
    edits = management.get("edits", []) if isinstance(management, Mapping) else None
    if not isinstance(edits, list):
        raise at.refuse("bad-edit", f"is {shown(management)}", '{"edits": [...]}', "Input should be a valid dictionary")
    for number, edit in enumerate(edits):
        spot = at.into("edits", number)
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if kind not in EDITS:
            says = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {', '.join(map(repr, EDITS))}"
            raise spot.refuse("bad-edit", f"is {shown(edit)}", ", ".join(EDITS), says)
        if EDITS[kind] not in betas:
            raise spot.refuse("edit-beta", "is set without its header", f"the header anthropic-beta: {EDITS[kind]}", EXTRA)
        trigger = edit.get("trigger") or {}
        least = LEAST_TRIGGER if kind == "compact_20260112" else 0
        value = trigger.get("value", least) if isinstance(trigger, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            says = f"Input should be greater than or equal to {least}"
            raise spot.into("trigger", "value").refuse("bad-edit", f"is {shown(value)}", f"at least {least}", says)


def _head_marks(body: Mapping[str, Any]) -> list[tuple[str, At]]:
    tools, system = body.get("tools") or [], body.get("system")
    found = [*marks([dict(tool) for tool in tools], At("tools"))]
    if isinstance(system, list):
        found += marks(system, At("system"))
    return found
