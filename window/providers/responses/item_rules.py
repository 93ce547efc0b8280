"""OpenAI's rules for the shape of one item of a Responses input, in any position.

Sources: the vendor's reference of responses and the types of its SDK, recorded requests, recorded
errors. An item of an unknown type is accepted. docs/providers.md lists the rules.
"""

from collections.abc import Mapping, Sequence

from ..breach import Breach, ObjectJudge, Spot, first
from ..chat.rules import image_breach
from ..wire import Message

MAX_ID = 64
"""The most characters of the id of an item or of a call."""
MAX_PAYLOAD = 104_857_600
"""The most characters of a file or an encrypted content."""

_ROLES = ("user", "assistant", "system", "developer")
_INPUT = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUT = ("output_text", "refusal")
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


def type_of(item: Message) -> str:
    """Return the type of `item`.

    Without a type, an item with a role or content is a message, and any other one a reference.

    >>> type_of({"role": "user", "content": "hi"}), type_of({"id": "msg_1"})
    ('message', 'item_reference')
    """
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item or "content" in item else "item_reference"
    return str(kind)


def item_breach(item: Message, spot: Spot, *, foreign: bool = False) -> Breach | None:
    """Return the breach of `item` on its own, or None.

    With `foreign`, ids that the platform does not issue and reasoning in plain text are accepted.
    """
    kind = item.get("type")
    if kind is not None and not isinstance(kind, str):
        return spot.at(".type").wrong_type("bad-item", "a string", kind)
    kind = type_of(item)
    breach = _id(item, kind, spot, foreign=foreign)
    if breach is None and kind == "reasoning":
        return _reasoning(item, spot, foreign=foreign)
    return breach or first(judge(item, spot) for judge in _SHAPES.get(kind, ()))


def _id(item: Message, kind: str, spot: Spot, *, foreign: bool) -> Breach | None:
    own, place = item.get("id"), spot.at(".id")
    rule, start = "bad-item-id", ID_STARTS.get(kind, "")
    if own is None:
        return place.missing(rule, "the id of an item") if kind == "item_reference" else None
    breach = place.text(rule, own, most=MAX_ID, empty=False)
    if breach is None and not foreign and not own.startswith(start):
        message = f"Invalid '{place.path}': '{own}'. Expected an ID that begins with '{start}'."
        return place.breach(rule, message, f"an id that begins with {start}, or none")
    return breach


def _message(item: Message, spot: Spot) -> Breach | None:
    role, place = item.get("role"), spot.at(".content")
    if role is None:
        return spot.at(".role").missing("unknown-role", ", ".join(_ROLES))
    if role not in _ROLES:
        return spot.at(".role").unsupported("unknown-role", role, _ROLES)
    if "content" not in item:
        return place.missing("missing-content", _TEXT_OR_PARTS)
    return _content(item["content"], role, place)


_TEXT_OR_PARTS = "text, or a list of content parts"


def _content(content: object, role: str, place: Spot) -> Breach | None:
    if content is None:
        return place.wrong_type("missing-content", _STRING_OR_ARRAY, content)
    # An answer may be cut off before its first word, but input may not be empty.
    if content == [] and role != "assistant":
        return place.empty("empty-content")
    return _parts(content, _OUTPUT if role == "assistant" else _INPUT, place)


_STRING_OR_ARRAY = "one of a string or array of objects"


def _parts(content: object, legal: tuple[str, ...], place: Spot) -> Breach | None:
    if isinstance(content, str):
        return place.text("bad-content", content)
    if not isinstance(content, list):
        return place.wrong_type("bad-content", _STRING_OR_ARRAY, content)
    return place.each("bad-content", content, lambda part, spot: _part(part, legal, spot))


def _part(part: Message, legal: tuple[str, ...], place: Spot) -> Breach | None:
    kind = part.get("type")
    if kind is None:
        return place.at(".type").missing("bad-content", ", ".join(legal))
    if kind not in legal:
        return place.unsupported("misplaced-part", kind, legal)
    return _PARTS[kind](part, place)


def _text(part: Message, place: Spot) -> Breach | None:
    return place.needed_text("bad-content", part, "text")


def _output_text(part: Message, place: Spot) -> Breach | None:
    if part.get("annotations") is not None:
        breach = place.needed("bad-content", part, "annotations", list)
        return breach or _text(part, place)
    return _text(part, place)


def _refusal(part: Message, place: Spot) -> Breach | None:
    return place.needed_text("bad-refusal", part, "refusal")


def _image(part: Message, place: Spot) -> Breach | None:
    if part.get("file_id") is not None:
        return place.at(".file_id").text("bad-image", part["file_id"], most=MAX_ID, empty=False)
    if part.get("image_url") is None:
        return place.at(".image_url").missing("bad-image", "image_url, or file_id")
    return image_breach(part, "image_url", part.get("detail"), place)


def _file(part: Message, place: Spot) -> Breach | None:
    given = [key for key in ("file_id", "file_data", "file_url") if part.get(key) is not None]
    if not given:
        return place.at(".file_id").missing("bad-file", "file_id, file_data or file_url")
    return first(
        place.at(f".{key}").text("bad-file", part[key], most=MAX_PAYLOAD, empty=False)
        for key in given
    )


def _audio(part: Message, place: Spot) -> Breach | None:
    inner, spot = part.get("input_audio"), place.at(".input_audio")
    if inner is None:
        return spot.missing("bad-audio")
    breach = place.needed("bad-audio", part, "input_audio", dict)
    return breach or spot.needed_text("bad-audio", inner, "data", most=MAX_PAYLOAD, empty=False)


_PARTS: Mapping[str, ObjectJudge] = {
    "input_text": _text,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
    "output_text": _output_text,
    "refusal": _refusal,
}


def _reasoning(item: Message, spot: Spot, *, foreign: bool) -> Breach | None:
    rule = "bad-reasoning"
    if "summary" not in item:
        return spot.at(".summary").missing(rule, "a list of summary texts, which may be empty")
    content, secret = item.get("content"), item.get("encrypted_content")
    if content and isinstance(content, list) and not foreign:
        return spot.at(".content").too_long(content, 0)
    place = spot.at(".encrypted_content")
    breach = None if secret is None else place.text(rule, secret, most=MAX_PAYLOAD, empty=False)
    return breach or spot.at(".summary").each(rule, item["summary"], _summary_text)


def _summary_text(part: Message, place: Spot) -> Breach | None:
    rule, kind = "bad-reasoning", part.get("type")
    if kind != "summary_text":
        return place.at(".type").unsupported(rule, kind, ("summary_text",))
    return place.needed_text(rule, part, "text")


def _compaction(item: Message, spot: Spot) -> Breach | None:
    return spot.needed_text(
        "bad-compaction", item, "encrypted_content", most=MAX_PAYLOAD, empty=False
    )


def _status(item: Message, spot: Spot) -> Breach | None:
    return spot.at(".status").one_of("bad-item", item.get("status"), _STATES)


def _call_id(item: Message, spot: Spot) -> Breach | None:
    return spot.needed_text("bad-tool-call", item, "call_id", most=MAX_ID, empty=False)


def _output(item: Message, spot: Spot) -> Breach | None:
    if item.get("call_id") is None:
        return spot.at(".call_id").missing("orphan-result", "the id of the call that it answers")
    place = spot.at(".output")
    if "output" not in item:
        return _call_id(item, spot) or place.missing("missing-content", _TEXT_OR_PARTS)
    return _call_id(item, spot) or _parts(item["output"], _INPUT[:3], place)


def _text_under(key: str, rule: str = "bad-item") -> ObjectJudge:
    """Return a check for an item that requires text under `key`."""
    return lambda item, spot: spot.needed_text(rule, item, key)


def _object_under(key: str) -> ObjectJudge:
    """Return a check for an item that requires an object under `key`."""
    return lambda item, spot: spot.needed("bad-tool-call", item, key, dict, "an object")


def _action(item: Message, spot: Spot) -> Breach | None:
    if item.get("action") is None and item.get("actions") is None:
        return spot.at(".action").missing("bad-tool-call", "an action, or a list of actions")
    return None


def _screenshot(item: Message, spot: Spot) -> Breach | None:
    kind = item["output"].get("type")
    if kind in ("computer_screenshot", "input_image"):
        return None
    return spot.at(".output.type").unsupported("bad-content", kind, ("computer_screenshot",))


def _shell_output(item: Message, spot: Spot) -> Breach | None:
    if item.get("output") is None:
        return spot.at(".output").missing("missing-content", "a list")
    return spot.needed("bad-content", item, "output", list)


def _named(item: Message, spot: Spot) -> Breach | None:
    return spot.tool_name(item)


def _approve(item: Message, spot: Spot) -> Breach | None:
    return spot.needed("bad-item", item, "approve", bool, "true or false")


_ID = _text_under("id")
_MCP_CALL = (_ID, *map(_text_under, ("name", "arguments", "server_label")))
_SHELL_CALL = (_call_id, _object_under("action"))

_SHAPES: Mapping[str, Sequence[ObjectJudge]] = {
    "message": (_message,),
    "function_call": (_call_id, _named, _text_under("arguments", "bad-tool-call"), _status),
    "function_call_output": (_output,),
    "custom_tool_call": (_call_id, _named, _text_under("input", "bad-tool-call")),
    "custom_tool_call_output": (_output,),
    "computer_call": (_action, _call_id),
    "computer_call_output": (_call_id, _object_under("output"), _screenshot),
    "local_shell_call": _SHELL_CALL,
    "local_shell_call_output": (_text_under("output"),),
    "shell_call": _SHELL_CALL,
    "shell_call_output": (_shell_output, _call_id),
    "apply_patch_call": (_call_id, _object_under("operation")),
    "apply_patch_call_output": (_text_under("call_id"), _text_under("status")),
    "mcp_call": _MCP_CALL,
    "mcp_list_tools": (_ID, _text_under("server_label")),
    "mcp_approval_request": _MCP_CALL,
    "mcp_approval_response": (_approve, _text_under("approval_request_id")),
    "web_search_call": (_ID,),
    "file_search_call": (_ID,),
    "code_interpreter_call": (_ID, _text_under("container_id")),
    "image_generation_call": (_ID,),
    "compaction": (_compaction,),
}
