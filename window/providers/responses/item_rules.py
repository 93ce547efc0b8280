"""What OpenAI accepts as one item of a Responses input: the shapes, wherever the item stands.

Sources: the vendor's reference of responses and the types of its SDK, recorded requests, recorded refusals. What is not known here is
taken: a new type of item must have a type, and nothing more. Docs/providers.md lists the rules.
"""

from collections.abc import Callable, Mapping

from ..breach import Breach, Spot, first
from ..chat.rules import image_breach
from ..wire import Message

MAX_ID = 64
"""Characters that the id of an item or of a call may have."""
MAX_PAYLOAD = 104_857_600
"""Characters that a file or an encrypted content may have."""

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
"""How the ids of items begin that the platform makes."""


def type_of(item: Message) -> str:
    """Return the type of `item`; one with a role and no type is a message, one with only an id a reference.

    >>> type_of({"role": "user", "content": "hi"}), type_of({"id": "msg_1"})
    ('message', 'item_reference')
    """
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item or "content" in item else "item_reference"
    return str(kind)


def item_breach(item: Message, spot: Spot, *, foreign: bool = False) -> Breach | None:
    """Return what `item` breaks by itself.

    With `foreign` ids that the platform would not make and reasoning in plain text are taken.
    """
    kind = item.get("type")
    if kind is not None and not isinstance(kind, str):
        return spot.at(".type").wrong_type("bad-item", "a string", kind)
    kind = type_of(item)
    return _id(item, kind, spot, foreign=foreign) or (
        _reasoning(item, spot, foreign=foreign) if kind == "reasoning" else _SHAPES.get(kind, _any)(item, spot)
    )


def _any(_item: Message, _spot: Spot) -> Breach | None:
    return None


def _id(item: Message, kind: str, spot: Spot, *, foreign: bool) -> Breach | None:
    own, place = item.get("id"), spot.at(".id")
    if own is None:
        return place.missing("bad-item-id", "the id of an item") if kind == "item_reference" else None
    breach = place.text("bad-item-id", own, most=MAX_ID, empty=False)
    start = ID_STARTS.get(kind)
    if breach is None and start is not None and not foreign and not own.startswith(start):
        message = f"Invalid '{place.path}': '{own}'. Expected an ID that begins with '{start}'."
        return place.breach("bad-item-id", message, f"an id that begins with {start}, or none")
    return breach


def _message(item: Message, spot: Spot) -> Breach | None:
    role, content, place = item.get("role"), item.get("content"), spot.at(".content")
    if role is None:
        return spot.at(".role").missing("unknown-role", ", ".join(_ROLES))
    if role not in _ROLES:
        return spot.at(".role").unsupported("unknown-role", role, _ROLES)
    return place.missing("missing-content", "text, or a list of content parts") if "content" not in item else _content(content, role, place)


def _content(content: object, role: str, place: Spot) -> Breach | None:
    if isinstance(content, str):
        return place.text("bad-content", content)
    if not isinstance(content, list):
        return place.wrong_type("missing-content" if content is None else "bad-content", "one of a string or array of objects", content)
    # An answer may be cut before its first word; what is asked is not.
    if not content and role != "assistant":
        return place.empty("empty-content")
    legal = _OUTPUT if role == "assistant" else _INPUT
    return first(_part(part, legal, place.at(f"[{number}]")) for number, part in enumerate(content))


def _part(part: object, legal: tuple[str, ...], place: Spot) -> Breach | None:
    if not isinstance(part, dict):
        return place.wrong_type("bad-content", "an object", part)
    kind = part.get("type")
    if kind is None:
        return place.at(".type").missing("bad-content", ", ".join(legal))
    if kind not in legal:
        return place.unsupported("misplaced-part", kind, legal)
    return _PARTS[kind](part, place)


def _text(part: Message, place: Spot) -> Breach | None:
    return place.needed_text("bad-content", part, "text")


def _output_text(part: Message, place: Spot) -> Breach | None:
    annotations = part.get("annotations")
    if annotations is not None and not isinstance(annotations, list):
        return place.at(".annotations").wrong_type("bad-content", "an array of objects", annotations)
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
    return first(place.at(f".{key}").text("bad-file", part[key], most=MAX_PAYLOAD, empty=False) for key in given)


def _audio(part: Message, place: Spot) -> Breach | None:
    inner = part.get("input_audio")
    if not isinstance(inner, dict):
        spot = place.at(".input_audio")
        return spot.missing("bad-audio") if inner is None else spot.wrong_type("bad-audio", "an object", inner)
    return place.at(".input_audio").needed_text("bad-audio", inner, "data", most=MAX_PAYLOAD, empty=False)


_PARTS: Mapping[str, Callable[[Message, Spot], Breach | None]] = {
    "input_text": _text,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
    "output_text": _output_text,
    "refusal": _refusal,
}


def _reasoning(item: Message, spot: Spot, *, foreign: bool) -> Breach | None:
    if "summary" not in item:
        return spot.at(".summary").missing("bad-reasoning", "a list of summary texts, which may be empty")
    content, secret = item.get("content"), item.get("encrypted_content")
    if content and isinstance(content, list) and not foreign:
        return spot.at(".content").too_long(content, 0)
    if secret is not None:
        breach = spot.at(".encrypted_content").text("bad-reasoning", secret, most=MAX_PAYLOAD, empty=False)
        if breach is not None:
            return breach
    return _texts(item["summary"], "summary_text", spot.at(".summary"))


def _texts(parts: object, kind: str, place: Spot) -> Breach | None:
    if not isinstance(parts, list):
        return place.wrong_type("bad-reasoning", "an array of objects", parts)
    return first(_part_of(part, kind, place.at(f"[{number}]")) for number, part in enumerate(parts))


def _part_of(part: object, kind: str, place: Spot) -> Breach | None:
    if not isinstance(part, dict):
        return place.wrong_type("bad-reasoning", "an object", part)
    if part.get("type") != kind:
        return place.at(".type").unsupported("bad-reasoning", part.get("type"), (kind,))
    return place.needed_text("bad-reasoning", part, "text")


def _compaction(item: Message, spot: Spot) -> Breach | None:
    return spot.needed_text("bad-compaction", item, "encrypted_content", most=MAX_PAYLOAD, empty=False)


def _function_call(item: Message, spot: Spot) -> Breach | None:
    return _call_id(item, spot) or _tool(item, spot) or spot.needed_text("bad-tool-call", item, "arguments") or _status(item, spot)


def _custom_call(item: Message, spot: Spot) -> Breach | None:
    return _call_id(item, spot) or _tool(item, spot) or spot.needed_text("bad-tool-call", item, "input")


def _tool(item: Message, spot: Spot) -> Breach | None:
    if "name" not in item:
        return spot.at(".name").missing("bad-tool-name", "the name of the tool")
    return spot.at(".name").tool_name(item["name"])


def _status(item: Message, spot: Spot) -> Breach | None:
    status = item.get("status")
    return None if status is None or status in _STATES else spot.at(".status").unsupported("bad-item", status, _STATES)


def _call_id(item: Message, spot: Spot) -> Breach | None:
    return spot.needed_text("bad-tool-call", item, "call_id", most=MAX_ID, empty=False)


def _output(item: Message, spot: Spot) -> Breach | None:
    if item.get("call_id") is None:
        return spot.at(".call_id").missing("orphan-result", "the id of the call that it answers")
    breach, output, place = _call_id(item, spot), item.get("output"), spot.at(".output")
    if breach is not None:
        return breach
    if "output" not in item:
        return place.missing("missing-content", "text, or a list of content parts")
    if isinstance(output, str):
        return place.text("bad-content", output)
    if not isinstance(output, list):
        return place.wrong_type("bad-content", "one of a string or array of objects", output)
    return first(_part(part, _INPUT[:3], place.at(f"[{number}]")) for number, part in enumerate(output))


def _called(key: str) -> Callable[[Message, Spot], Breach | None]:
    """Judge a call whose `key` holds an object."""

    def judged(item: Message, spot: Spot) -> Breach | None:
        return _call_id(item, spot) or _object(item, key, spot)

    return judged


def _object(item: Message, key: str, spot: Spot) -> Breach | None:
    if key not in item:
        return spot.at(f".{key}").missing("bad-tool-call", "an object")
    return None if isinstance(item[key], dict) else spot.at(f".{key}").wrong_type("bad-tool-call", "an object", item[key])


def _needs(rule: str, *keys: str) -> Callable[[Message, Spot], Breach | None]:
    """Judge an item that must have text under each of `keys`."""

    def judged(item: Message, spot: Spot) -> Breach | None:
        return first(spot.needed_text(rule, item, key) for key in keys)

    return judged


def _computer_call(item: Message, spot: Spot) -> Breach | None:
    if item.get("action") is None and item.get("actions") is None:
        return spot.at(".action").missing("bad-tool-call", "an action, or a list of actions")
    return _call_id(item, spot)


def _screenshot(item: Message, spot: Spot) -> Breach | None:
    breach = _call_id(item, spot) or _object(item, "output", spot)
    if breach is None and item["output"].get("type") not in ("computer_screenshot", "input_image"):
        return spot.at(".output.type").unsupported("bad-content", item["output"].get("type"), ("computer_screenshot",))
    return breach


def _shell_output(item: Message, spot: Spot) -> Breach | None:
    output = item.get("output")
    if not isinstance(output, list):
        place = spot.at(".output")
        return (
            place.missing("missing-content", "a list") if output is None else place.wrong_type("bad-content", "an array of objects", output)
        )
    return _call_id(item, spot)


def _approval(item: Message, spot: Spot) -> Breach | None:
    if not isinstance(item.get("approve"), bool):
        place = spot.at(".approve")
        return (
            place.wrong_type("bad-item", "a boolean", item["approve"]) if "approve" in item else place.missing("bad-item", "true or false")
        )
    return spot.needed_text("bad-item", item, "approval_request_id")


_SHAPES: Mapping[str, Callable[[Message, Spot], Breach | None]] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _output,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _output,
    "computer_call": _computer_call,
    "computer_call_output": _screenshot,
    "local_shell_call": _called("action"),
    "local_shell_call_output": _needs("bad-item", "output"),
    "shell_call": _called("action"),
    "shell_call_output": _shell_output,
    "apply_patch_call": _called("operation"),
    "apply_patch_call_output": _needs("bad-item", "call_id", "status"),
    "mcp_call": _needs("bad-item", "id", "name", "arguments", "server_label"),
    "mcp_list_tools": _needs("bad-item", "id", "server_label"),
    "mcp_approval_request": _needs("bad-item", "id", "name", "arguments", "server_label"),
    "mcp_approval_response": _approval,
    "web_search_call": _needs("bad-item", "id"),
    "file_search_call": _needs("bad-item", "id"),
    "code_interpreter_call": _needs("bad-item", "id", "container_id"),
    "image_generation_call": _needs("bad-item", "id"),
    "compaction": _compaction,
}
