"""Anthropic's rules for whole requests: fields, tools, and how they fit the messages."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from polycontext.base import UnknownNameError, is_whole
from polycontext.base.json_data import copy_json
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider, copied_messages
from polycontext.window.providers.anthropic.block_rules import check_block, check_mark, marks
from polycontext.window.providers.anthropic.message_rules import (
    WHOLE,
    WORDINGS,
    AnthropicPlace,
)
from polycontext.window.providers.anthropic.order_rules import Judge, mark_errors
from polycontext.window.providers.judge import raise_first
from polycontext.window.providers.places import shown

from .provider import TABLES

VERSIONS = ("2023-06-01", "2026-10-21")
"""The values of the header ``anthropic-version`` whose rules are known, oldest first."""

NEWEST = VERSIONS[-1]
"""The version without sampling options, documents in assistant messages and user citations."""

_SAMPLING = ("temperature", "top_p", "top_k")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
REQUEST_FIELDS = frozenset(TABLES["anthropic"])
"""The fields of a request body."""


def check_tag(place: AnthropicPlace, rule: str, value: Any, tags: Collection[str]) -> str:
    """Return the type of `value`, an object whose type is one of `tags`.

    Raises:
        InvalidMessagesError: `rule`, for any other value.
    """
    tag = value.get("type") if isinstance(value, Mapping) else None
    if tag not in tags:
        legal, found = f"a type of {', '.join(tags)}", value if tag is None else tag
        raise place.unknown_tag(rule, tag, tags, f"is {shown(found)}", legal)
    return str(tag)


def below(
    place: AnthropicPlace, rule: str, value: object, least: int, legal: str = ""
) -> InvalidMessagesError:
    """Return the error for a number below `least`."""
    found = value if isinstance(value, int) else shown(value)
    says = f"Input should be greater than or equal to {least}"
    return place.fault(rule, f"is {found}", legal or f"at least {least}", says)


def check_version(version: str) -> None:
    """Raise `UnknownNameError` for a version that is not in `VERSIONS`."""
    if version not in VERSIONS:
        raise UnknownNameError("version of Anthropic's API", str(version), VERSIONS)


def check_head(request: object, *, version: str = NEWEST) -> Mapping[str, Any]:
    """Check the fields, the system message and the tools of a request, and return it.

    Raises:
        InvalidMessagesError: Rules of requests; see docs/providers.md.
    """
    if not isinstance(request, Mapping):
        problem = f"{shown(request)} is not a request"
        legal = "an object with model, max_tokens, messages"
        raise WHOLE.refuse("not-an-object", problem, legal, "Input should be an object")
    for name in request:
        if name not in REQUEST_FIELDS:
            legal = ", ".join(sorted(REQUEST_FIELDS))
            raise WHOLE.into(str(name)).fault(
                "unknown-field", "is not a field of a request", legal, WORDINGS["EXTRA"]
            )
    for name in ("model", "max_tokens", "messages"):
        if name not in request:
            raise WHOLE.into(name).missing("missing-field", "model, max_tokens and messages")
    if not WHOLE.needed("bad-field", request, "model", str, "the name of a model"):
        raise WHOLE.into("model").wrong_type("bad-field", str, "", "the name of a model")
    _check_sampling(request, version)
    _check_max_tokens(request["max_tokens"])
    _check_system(request.get("system"))
    _check_tools(request.get("tools"), request.get("tool_choice"))
    return request


def check_whole(body: Mapping[str, Any] | None, judge: Judge) -> None:
    """Check how the fields of a request and its messages fit together.

    Without `body`, check the messages alone; they may begin with system messages.

    Raises:
        InvalidMessagesError: Rules of the end of the list and of totals.
    """
    if body is not None and judge.led_by_system:
        says = (
            "use the top-level 'system' parameter for the initial system prompt; "
            "the directive-only form (content: [] with output_config) is accepted at any position"
        )
        raise WHOLE.into("messages", 0).fault(
            "system-place", "is a system message", "the field system of the request", says
        )
    raise_first(judge.ends())
    if body is not None:
        # Automatic caching takes the place of the last breakpoint.
        automatic = marks([dict(body)], WHOLE)
        raise_first(mark_errors([*_head_marks(body), *judge.marks, *automatic]))


def _check_max_tokens(value: object) -> None:
    at, rule = WHOLE.into("max_tokens"), "bad-field"
    if not is_whole(value):
        raise at.wrong_type(rule, int, value, "a whole number")
    if value < 0:
        raise below(at, rule, value, 0, "0 or more")


def _check_system(system: object) -> None:
    at = WHOLE.into("system")
    if system is None or system == "":
        return
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    if not isinstance(system, list):
        raise at.wrong_type("bad-system", list, system, "text, or a list of text blocks")
    for number, block in enumerate(system):
        spot = at.into(number)
        if (
            not isinstance(block, Mapping)
            or block.get("type") != "text"
            or not isinstance(block.get("text"), str)
        ):
            says = "Input should be a valid text block"
            raise spot.fault("bad-system", "is not a text block", "blocks of type text", says)
        if not block["text"]:
            marked = block.get("cache_control") is not None
            place, says = (
                (spot, WORDINGS["MARKED_EMPTY_TEXT"]) if marked else (at, WORDINGS["EMPTY_TEXT"])
            )
            problem, legal = "holds an empty text block", "text blocks with text"
            raise place.fault("empty-text", problem, legal, says)
        if not block["text"].strip():
            problem = "is nothing but white space"
            raise at.fault("blank-text", problem, "a visible character", WORDINGS["BLANK"])
        check_block(dict(block), spot)


def _check_tools(tools: object, choice: object) -> None:
    if tools is None:
        tools = []
    whole = WHOLE.into("tools")
    if not isinstance(tools, list | tuple):
        raise whole.wrong_type("bad-tool", list, tools, "a list of tools")
    names: set[str] = set()
    for number, tool in enumerate(tools):
        at = whole.into(number)
        if not isinstance(tool, Mapping):
            raise at.wrong_type("bad-tool", object, tool, "an object")
        name = _check_tool(tool, at)
        if name is not None and name in names:
            problem = f"has the name {shown(name)} of an earlier tool"
            says = "tools: Tool names must be unique."
            raise at.fault("duplicate-tool", problem, "one tool a name", says, whole=True)
        names.add(name or "")
    if choice is not None:
        _check_choice(choice, names)


def _check_tool(tool: Mapping[str, Any], at: AnthropicPlace) -> str | None:
    kind, name = tool.get("type"), tool.get("name")
    check_mark(tool, at)
    if kind == "mcp_toolset":
        return None
    tagged = at.into("!custom") if kind in {None, "custom"} else at
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        legal = "1 to 128 letters, digits, _ and -"
        raise tagged.into("name").no_match("tool-name", name, TOOL_NAME, legal)
    if kind in {None, "custom"}:
        schema, spot = tool.get("input_schema"), tagged.into("input_schema")
        if not isinstance(schema, Mapping):
            raise spot.wrong("bad-tool", schema, "a JSON Schema of type object")
        if "type" not in schema:
            raise spot.into("type").missing("bad-tool", "object")
        spot.into("type").one_of("bad-tool", schema["type"], ("object",))
    return name


def _check_choice(choice: Any, names: Collection[str]) -> None:
    at, rule = WHOLE.into("tool_choice"), "tool-choice"
    kind = check_tag(at, rule, choice, ("auto", "any", "tool", "none"))
    if kind != "none" and not names:
        says = "tool_choice may only be specified while providing tools."
        legal = "tools, or no tool_choice"
        raise at.fault(rule, "is given without tools", legal, says, whole=True)
    if kind == "tool" and (name := choice.get("name")) not in [*names]:
        says = f"Tool '{name}' not found in provided tools"
        problem = f"names {shown(name)}, which is not a tool"
        raise at.fault(rule, problem, "the name of a tool", says, whole=True)


def _head_marks(body: Mapping[str, Any]) -> list[tuple[str, AnthropicPlace]]:
    tools, system = body.get("tools") or [], body.get("system")
    found = [*marks([dict(tool) for tool in tools], WHOLE.into("tools"))]
    if isinstance(system, list):
        found += marks(system, WHOLE.into("system"))
    return found


def _check_sampling(request: Mapping[str, Any], version: str) -> None:
    """Raise an error for sampling options, which newer versions reject even with default values.

    Raises:
        InvalidMessagesError: Rule sampling.
    """
    for name in _SAMPLING if version == NEWEST else ():
        if name in request:
            raise WHOLE.into(name).fault(
                "sampling",
                f"is set, which version {version} does not take",
                f"no {', '.join(_SAMPLING)}",
                WORDINGS["EXTRA"],
            )


def anthropic_findings(
    request: Sequence[Any] | Mapping[str, Any],
    *,
    version: str = NEWEST,
) -> list[InvalidMessagesError]:
    """Return the errors of a request or message list: at most one for each message.

    Errors of the list as a whole are only reported if there are no others. After an error, the rest
    is checked as if the message were valid, so that each fault is reported once.
    """
    check_version(version)
    found, judge = list[InvalidMessagesError](), Judge(newest=version == NEWEST)
    body = request if isinstance(request, Mapping) else None
    try:
        if body is not None:
            copy_json({**body, "messages": None}, "", WHOLE.no_json)
            check_head(body, version=version)
    except InvalidMessagesError as error:
        found.append(error)
    try:
        messages = request if body is None else body.get("messages")
        found += judge.faults(copied_messages(Provider.ANTHROPIC, messages))
        if not found:
            check_whole(body, judge)
    except InvalidMessagesError as error:
        found.append(error)
    return found
