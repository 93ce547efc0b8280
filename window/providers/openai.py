"""OpenAI's chat messages: one turn a message, calls and results paired by adjacency.

Everything a message holds beyond role, text and calls survives: word for word
when the message is written back, and as far as a turn can carry it (other
content blocks as parts, further fields as metadata) when turns are rendered.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polycontext.linearity.json_data import thawed
from polycontext.window.part import Part
from polycontext.window.providers.blocks import Place, check_blocks, copied_messages, own_blocks, shown, stand_in, text_and_parts
from polycontext.window.providers.pairing import Pairing, refuse_open_tail
from polycontext.window.providers.wire import Message, Parsed, Provider, Rendered
from polycontext.window.providers.writeback import Fragment, Loose, Untouched, pieces
from polycontext.window.turn import Role, ToolCall, Turn

_ROLES = {"developer": Role.SYSTEM} | {str(role): role for role in Role}
_KNOWN = {"role", "content", "name", "tool_calls"}
_BODIES = {"function": "arguments", "custom": "input"}


def parse(messages: object, *, repair: bool = False) -> Parsed:
    """Read chat messages into turns, one a message. The history may end on open calls.

    With `repair` a call in the middle that has no result gets a marked one.

    Raises:
        InvalidMessagesError: naming index and rule; the rules are listed in docs/providers.md.

    >>> parse([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]).turns[0].role
    <Role.SYSTEM: 'system'>
    """
    copies = copied_messages(Provider.OPENAI, messages)
    pairing = Pairing(Provider.OPENAI, repair=repair)
    for index, message in enumerate(copies):
        pairing.add(_turn(message, Place(Provider.OPENAI, index)), index)
    return pairing.parsed(copies)


def check(messages: object, *, allow_open_tail: bool = False, strict_first: bool = True) -> None:  # noqa: ARG001 - one signature for all
    """Raise `InvalidMessagesError` for a message list that OpenAI would refuse.

    With `allow_open_tail` the last calls may lack results, as in a history that
    somebody goes on with. `strict_first` changes nothing here: any role may be first
    but a result, which is an orphan.

    >>> check([{"role": "tool", "tool_call_id": "a", "content": "21 degrees"}])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] break the openai rule orphan-result: no call 'a' directly before ...
    """
    parsed = parse(messages)
    if not allow_open_tail:
        refuse_open_tail(parsed)


def render(turns: Iterable[Turn]) -> Rendered:
    """Write `turns` as chat messages, from the turns alone.

    >>> render([Turn("user", "hi")]).messages
    [{'role': 'user', 'content': 'hi'}]
    """
    return Rendered([render_turn(turn) for turn in turns])


def rebuild(parsed: Parsed, turns: Iterable[Turn], positions: Mapping[str, int]) -> Rendered:
    """Write a view of `parsed` back: kept turns are copies of the very originals, all others are rendered.

    `positions` gives for each resource id the position in ``parsed.turns``.
    Law: with all turns kept the messages equal the originals.
    """
    messages: list[Message] = []
    for piece in pieces(parsed, turns, positions):
        match piece:
            case Untouched(start, stop):
                messages.extend(map(thawed, parsed.messages[start:stop]))
            case Fragment(turn) | Loose(turn):
                messages.append(render_turn(turn))
    return Rendered(messages)


def _turn(message: Message, place: Place) -> Turn:
    role = _role(message.get("role"), place)
    calls = _calls(message, role, place)
    content, parts = _content(message, role, calls, place)
    call_id, name = message.get("tool_call_id") if role is Role.TOOL else None, message.get("name")
    if role is Role.TOOL and not isinstance(call_id, str):
        raise place.refuse("orphan-result", f"tool_call_id is {shown(call_id)}", "the id of the call that it answers")
    if name is not None and not isinstance(name, str):
        raise place.refuse("bad-name", f"name is {shown(name)}", "text, or no name")
    metadata = _metadata(message, role)
    with place.turn_errors():
        return Turn(role, content, tool_calls=calls, tool_call_id=call_id, name=name, metadata=metadata, parts=parts)


def _role(value: object, place: Place) -> Role:
    if not isinstance(value, str) or value not in _ROLES:
        raise place.refuse("unknown-role", f"role is {shown(value)}", ", ".join(sorted(_ROLES)))
    return _ROLES[value]


def _content(message: Message, role: Role, calls: Sequence[ToolCall], place: Place) -> tuple[str | None, tuple[Part, ...]]:
    match message.get("content"):
        case str(text):
            return text, ()
        case [_, *_] as blocks:
            return text_and_parts(Provider.OPENAI, check_blocks(blocks, place, "content"))
        case None | []:
            return _absent(message, role, calls, place), ()
        case other:
            raise place.refuse("bad-content", f"content is {shown(other)}", "text, or a list of content parts")


def _absent(message: Message, role: Role, calls: Sequence[ToolCall], place: Place) -> str | None:
    if calls:
        return None
    refusal, audio = message.get("refusal"), message.get("audio")
    if role is Role.ASSISTANT and (isinstance(refusal, str) or isinstance(audio, dict)):
        return refusal if isinstance(refusal, str) else ""
    legal = "content; only an assistant that calls may do without"
    raise place.refuse("missing-content", f"a {message['role']} message without content", legal)


def _calls(message: Message, role: Role, place: Place) -> tuple[ToolCall, ...]:
    raw = message.get("tool_calls")
    if raw is None:
        return ()
    if role is not Role.ASSISTANT:
        raise place.refuse("bad-tool-call", f"tool_calls on a {message['role']} message", "tool_calls on assistant messages only")
    if not isinstance(raw, list) or not raw:
        raise place.refuse("bad-tool-call", f"tool_calls is {'empty' if raw == [] else shown(raw)}", "a list of calls, or no such field")
    calls = tuple(_call(call, place, f"tool_calls[{number}]") for number, call in enumerate(raw))
    if len({call.id for call in calls}) < len(calls):
        raise place.refuse("duplicate-call-id", "two calls of this message share an id", "one id a call within a message")
    return calls


def _call(raw: object, place: Place, where: str) -> ToolCall:
    if not isinstance(raw, dict):
        raise place.refuse("bad-tool-call", f"{where} is {shown(raw)}", "an object with id, type and function")
    kind = raw.get("type")
    if kind not in ("function", "custom") or not isinstance(raw.get(kind), dict):
        legal = "type function or custom, with an object of that name"
        raise place.refuse("bad-tool-call", f"{where} of type {shown(kind)} holds no call", legal)
    fields = {"id": raw.get("id"), "name": raw[kind].get("name"), "body": raw[kind].get(_BODIES[kind])}
    for name, value in fields.items():
        if not isinstance(value, str) or (not value and name != "body"):
            field = {"id": "id", "name": f"{kind}.name", "body": f"{kind}.{_BODIES[kind]}"}[name]
            raise place.refuse("bad-tool-call", f"{where}.{field} is {shown(value)}", "text; id and name not empty")
    return ToolCall(str(fields["id"]), str(fields["name"]), str(fields["body"]))


def _metadata(message: Message, role: Role) -> dict[str, Any]:
    known = _KNOWN | {"tool_call_id"} if role is Role.TOOL else _KNOWN
    further = {name: value for name, value in message.items() if name not in known and value is not None}
    custom = [call["id"] for call in message.get("tool_calls") or () if call["type"] == "custom"]
    metadata: dict[str, Any] = {"wire_role": "developer"} if message["role"] == "developer" else {}
    return metadata | ({"openai": further} if further else {}) | ({"custom_calls": custom} if custom else {})


def render_turn(turn: Turn) -> Message:
    """Write one turn as the one chat message it is."""
    message: Message = {"role": turn.role.value, "content": turn.content}
    # Nearly every turn holds words and nothing else: a tenth of the price.
    if turn.content is None or turn.metadata or turn.parts or turn.tool_calls:
        message = _with_further_fields(turn)
    if turn.name is not None:
        message["name"] = turn.name
    if turn.tool_calls:
        message["tool_calls"] = _written_calls(turn)
    if turn.tool_call_id is not None:
        message["tool_call_id"] = turn.tool_call_id
    return message


def _with_further_fields(turn: Turn) -> Message:
    further = thawed(turn.metadata.get("openai"))
    further = further if isinstance(further, dict) else {}
    is_developer = turn.role is Role.SYSTEM and turn.metadata.get("wire_role") == "developer"
    # A refusal was read as the text; written again it stands in its own field alone.
    content = None if "refusal" in further else _written(turn)
    return further | {"role": "developer" if is_developer else str(turn.role), "content": content}


def _written(turn: Turn) -> str | list[Message] | None:
    blocks = own_blocks(Provider.OPENAI, turn)
    if any(block["type"] != "text" for block in blocks):
        return blocks
    if turn.content is not None or turn.tool_calls:
        return turn.content
    return stand_in(turn)


def _written_calls(turn: Turn) -> list[Message]:
    custom = turn.metadata.get("custom_calls")
    customs = custom if isinstance(custom, tuple) else ()
    kinds = ("custom" if call.id in customs else "function" for call in turn.tool_calls)
    return [
        {"id": call.id, "type": kind, kind: {"name": call.name, _BODIES[kind]: call.arguments}}
        for call, kind in zip(turn.tool_calls, kinds, strict=True)
    ]
