"""OpenAI's rules for the shape of one item of a Responses input, in any position.

Sources: the vendor's reference of responses and the types of its SDK, recorded requests, recorded
errors. An item of an unknown type is accepted. docs/providers.md lists the rules.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..chat.rules import check_image
from ..openai_places import ObjectCheck, OpenAIPlace
from ..wire import Message

MAX_ID = 64
"""The most characters of the id of an item or of a call."""
MAX_PAYLOAD = 104_857_600
"""The most characters of a file or an encrypted content."""

_ROLES = ("user", "assistant", "system", "developer")
INPUT = ("input_text", "input_image", "input_file", "input_audio")
OUTPUT = ("output_text", "refusal")
"""The parts of a message of the user, and of the assistant; an output may hold the first three."""
_STATES = ("in_progress", "completed", "incomplete")

ID_STARTS: Mapping[str, str] = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "computer_call": "cu",
    "compaction": "cmp",
}
"""The prefixes of the ids that the platform issues."""


def type_of(item: Mapping[str, Any]) -> str:
    """Return the type of `item`.

    Without a type, an item with a role or content is a message, and any other one a reference.

    >>> type_of({"role": "user", "content": "hi"}), type_of({"id": "msg_1"})
    ('message', 'item_reference')
    """
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item or "content" in item else "item_reference"
    return str(kind)


def check_item(item: Message, place: OpenAIPlace, *, foreign: bool = False) -> None:
    """Check `item` on its own.

    With `foreign`, ids that the platform does not issue and reasoning in plain text are accepted.

    Raises:
        InvalidMessagesError: OpenAI would reject the item.
    """
    if item.get("type") is not None:
        place.needed("bad-item", item, "type", str)
    kind = type_of(item)
    _check_id(item, kind, place, foreign=foreign)
    if kind == "reasoning":
        _check_reasoning(item, place, foreign=foreign)
    elif kind == "message":
        _check_message(item, place, foreign=foreign)
    for check in _SHAPES.get(kind, ()):
        check(item, place)


def _check_id(item: Message, kind: str, place: OpenAIPlace, *, foreign: bool) -> None:
    own, inner = item.get("id"), place.into("id")
    rule, start = "bad-item-id", ID_STARTS.get(kind, "")
    if own is None:
        if kind == "item_reference":
            raise inner.missing(rule, "the id of an item")
        return
    inner.text(rule, own, most=MAX_ID, empty=False)
    if not foreign and not own.startswith(start):
        raise inner.broken("bad-item-id", own=own, start=start)


def _check_message(item: Message, place: OpenAIPlace, *, foreign: bool) -> None:
    role, inner = item.get("role"), place.into("content")
    if role is None:
        raise place.into("role").missing("unknown-role", ", ".join(_ROLES))
    place.into("role").one_of("unknown-role", role, _ROLES)
    if "content" not in item:
        raise inner.missing("missing-content", _TEXT_OR_PARTS)
    if item["content"] is None:
        raise inner.wrong_type("missing-content", "one of a string or array of objects", None)
    # An answer may be cut off before its first word, but input may not be empty.
    if item["content"] == [] and role != "assistant":
        raise inner.empty("empty-content")
    legal = OUTPUT if role == "assistant" else INPUT
    check = partial(check_part, legal=legal, foreign=foreign)
    inner.text_or_objects(item["content"], check)


_TEXT_OR_PARTS = "text, or a list of content parts"


def check_part(
    part: Message, place: OpenAIPlace, *, legal: tuple[str, ...], foreign: bool = False
) -> None:
    """Check a part of content, which has to be of a type in `legal`, or unknown with `foreign`.

    Raises:
        InvalidMessagesError: OpenAI would reject the part.
    """
    kind = part.get("type")
    if kind is None:
        raise place.into("type").missing("bad-content", ", ".join(legal))
    if foreign and kind not in _PARTS:
        return
    place.one_of("misplaced-part", kind, legal)
    _PARTS[kind](part, place)


def _check_output_text(part: Message, place: OpenAIPlace) -> None:
    if part.get("annotations") is not None:
        place.needed("bad-content", part, "annotations", list)
    place.needed_text("bad-content", part, "text")


def _check_image(part: Message, place: OpenAIPlace) -> None:
    if part.get("file_id") is not None:
        place.into("file_id").text("bad-image", part["file_id"], most=MAX_ID, empty=False)
        return
    if part.get("image_url") is None:
        raise place.into("image_url").missing("bad-image", "image_url, or file_id")
    check_image(part, "image_url", part.get("detail"), place)


def _check_file(part: Message, place: OpenAIPlace) -> None:
    given = [key for key in ("file_id", "file_data", "file_url") if part.get(key) is not None]
    if not given:
        raise place.into("file_id").missing("bad-file", "file_id, file_data or file_url")
    for key in given:
        place.into(key).text("bad-file", part[key], most=MAX_PAYLOAD, empty=False)


def _check_audio(part: Message, place: OpenAIPlace) -> None:
    inner = place.into("input_audio")
    if part.get("input_audio") is None:
        raise inner.missing("bad-audio")
    audio = place.needed("bad-audio", part, "input_audio", dict)
    inner.needed_text("bad-audio", audio, "data", most=MAX_PAYLOAD, empty=False)


def _text_under(key: str, rule: str = "bad-item") -> ObjectCheck:
    """Return a check for an item that requires text under `key`."""
    return lambda item, place: place.needed_text(rule, item, key)


_PARTS: Mapping[str, ObjectCheck] = {
    "input_text": _text_under("text", "bad-content"),
    "input_image": _check_image,
    "input_file": _check_file,
    "input_audio": _check_audio,
    "output_text": _check_output_text,
    "refusal": _text_under("refusal", "bad-refusal"),
}


def _check_reasoning(item: Message, place: OpenAIPlace, *, foreign: bool) -> None:
    rule = "bad-reasoning"
    if "summary" not in item:
        legal = "a list of summary texts, which may be empty"
        raise place.into("summary").missing(rule, legal)
    content = item.get("content")
    if content and isinstance(content, list) and not foreign:
        raise place.into("content").too_long(content, 0)
    if item.get("encrypted_content") is not None:
        _check_secret(item, place, rule)
    place.into("summary").each(rule, item["summary"], _check_summary)


def _check_summary(part: Message, place: OpenAIPlace) -> None:
    place.into("type").one_of("bad-reasoning", part.get("type"), ("summary_text",))
    place.needed_text("bad-reasoning", part, "text")


def _check_secret(item: Message, place: OpenAIPlace, rule: str = "bad-compaction") -> None:
    place.needed_text(rule, item, "encrypted_content", most=MAX_PAYLOAD, empty=False)


def _check_status(item: Message, place: OpenAIPlace) -> None:
    if item.get("status") is not None:
        place.into("status").one_of("bad-item", item["status"], _STATES)


def _check_call_id(item: Message, place: OpenAIPlace) -> None:
    place.needed_text("bad-tool-call", item, "call_id", most=MAX_ID, empty=False)


def _check_output(item: Message, place: OpenAIPlace) -> None:
    if item.get("call_id") is None:
        raise place.into("call_id").missing("orphan-result", "the id of the call that it answers")
    _check_call_id(item, place)
    if "output" not in item:
        raise place.into("output").missing("missing-content", _TEXT_OR_PARTS)
    check = partial(check_part, legal=INPUT[:3])
    place.into("output").text_or_objects(item["output"], check)


def _object_under(key: str) -> ObjectCheck:
    """Return a check for an item that requires an object under `key`."""
    return lambda item, place: place.needed("bad-tool-call", item, key, dict, "an object")


def _check_action(item: Message, place: OpenAIPlace) -> None:
    if item.get("action") is None and item.get("actions") is None:
        raise place.into("action").missing("bad-tool-call", "an action, or a list of actions")


def _check_screenshot(item: Message, place: OpenAIPlace) -> None:
    kind = item["output"].get("type")
    if kind != "input_image":
        place.into("output", "type").one_of("bad-content", kind, ("computer_screenshot",))


def _check_shell_output(item: Message, place: OpenAIPlace) -> None:
    if item.get("output") is None:
        raise place.into("output").missing("missing-content", "a list")
    place.needed("bad-content", item, "output", list)


def _check_approval(item: Message, place: OpenAIPlace) -> None:
    place.needed("bad-item", item, "approve", bool, "true or false")


def _check_tool_name(item: Message, place: OpenAIPlace) -> None:
    place.tool_name(item)


_ID = _text_under("id")
_MCP_CALL = (_ID, *map(_text_under, ("name", "arguments", "server_label")))
_SHELL_CALL = (_check_call_id, _object_under("action"))

_SHAPES: Mapping[str, Sequence[ObjectCheck]] = {
    "function_call": (
        _check_call_id,
        _check_tool_name,
        _text_under("arguments", "bad-tool-call"),
        _check_status,
    ),
    "function_call_output": (_check_output,),
    "custom_tool_call": (_check_call_id, _check_tool_name, _text_under("input", "bad-tool-call")),
    "custom_tool_call_output": (_check_output,),
    "computer_call": (_check_action, _check_call_id),
    "computer_call_output": (_check_call_id, _object_under("output"), _check_screenshot),
    "local_shell_call": _SHELL_CALL,
    "local_shell_call_output": (_text_under("output"),),
    "shell_call": _SHELL_CALL,
    "shell_call_output": (_check_shell_output, _check_call_id),
    "apply_patch_call": (_check_call_id, _object_under("operation")),
    "apply_patch_call_output": (_text_under("call_id"), _text_under("status")),
    "mcp_call": _MCP_CALL,
    "mcp_list_tools": (_ID, _text_under("server_label")),
    "mcp_approval_request": _MCP_CALL,
    "mcp_approval_response": (_check_approval, _text_under("approval_request_id")),
    "web_search_call": (_ID,),
    "file_search_call": (_ID,),
    "code_interpreter_call": (_ID, _text_under("container_id")),
    "image_generation_call": (_ID,),
    "compaction": (_check_secret,),
}
