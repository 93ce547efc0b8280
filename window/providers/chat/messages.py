"""OpenAI's chat messages: one turn for each message, with results paired by adjacency.

The parts of a turn hold everything besides role, text and calls: other content blocks, and further
fields of message, blocks and calls.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from attrs import Factory, asdict, define

from ...call_ids import SentCalls
from ...part import PartKind
from ...turn import Role, ToolCall, Turn
from ...wire_text import compact, stand_in
from ..blocks import check_blocks, copied_messages
from ..layout import (
    MISSING,
    Collector,
    Entry,
    accepted,
    further_fields,
    is_plain,
    layout_of,
    without,
)
from ..media_room import MediaRoom
from ..openai_places import MAX_TOOL_NAME, OpenAIPlace
from ..places import Place, shown
from ..tool_pairs import CallNames, paired, result_text
from ..wire import Message, Parsed, Provider, Rendered, ToolDefinition, speaker
from .rules import BODIES, MAX_CALL_ID, check_part

_ROLES = {"developer": Role.SYSTEM} | {str(role): role for role in Role}

_LEGAL_ID = re.compile(rf"(?s).{{1,{MAX_CALL_ID}}}")
_PART = OpenAIPlace(Provider.OPENAI)
LEGACY = "function_call"
"""The id of a call in the deprecated form, whose result is a message of the role function."""


def parse(messages: object, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Parse chat messages into turns, one for each message; the history may end on open calls.

    With `repair`, a call in the middle without a result gets a marked one, and a result that is
    null or a number becomes text. `waiting` are ids of calls before the list that have no result
    yet.

    Raises:
        InvalidMessagesError: A message breaks a rule of docs/providers.md; the error names its
            index and the rule.

    >>> parse(
    ...     [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    ... ).turns[0].role
    <Role.SYSTEM: 'system'>
    """
    copies = copied_messages(Provider.OPENAI, messages)
    if repair:
        copies = [*map(_repaired, copies)]
    modern = _modern(copies, is_called=LEGACY in [*waiting])
    turns = [
        (_parse_turn(message, Place(Provider.OPENAI, ("messages", index))), index)
        for index, message in enumerate(_named(modern, [*waiting]))
    ]
    return paired(Provider.OPENAI, turns, copies, repair=repair, waiting=waiting)


def _repaired(message: Message) -> Message:
    """Return a message whose content is text if its value allows it."""
    content, role = message.get("content"), message.get("role")
    if role in ("tool", "function"):
        return {**message, "content": result_text(content)}
    is_empty = role == "assistant" and content == [] and not message.get("tool_calls")
    return {**message, "content": ""} if is_empty else message


def _modern(messages: Sequence[Message], *, is_called: bool) -> Iterator[Message]:
    """Yield `messages` with calls and results of the deprecated form in today's form.

    `is_called` states whether such a call waits for the first of them.

    A result without its call stays a message of its own, and so does a call that nothing answers.
    """
    for message, following in pairwise([*messages, None]):
        assert message is not None
        called = message.get("function_call")
        is_result = is_called and message.get("role") == "function"
        is_called = _is_called(called) and not message.get("tool_calls")
        if is_called and (following is None or following.get("role") == "function"):
            call = {"id": LEGACY, "type": "function", "function": called}
            yield {**without(message, LEGACY), "tool_calls": [call]}
        elif is_result:
            yield {**message, "role": "tool", "tool_call_id": LEGACY}
        elif message.get("role") == "function":
            yield {**message, "role": "user", "_role": "function"}
        else:
            yield message


def _named(messages: Iterable[Message], waiting: list[str]) -> Iterator[Message]:
    """Yield `messages` with an id for each call and result: some servers give none."""
    names = CallNames(waiting)
    for message in messages:
        calls = message.get("tool_calls")
        if isinstance(calls, list) and all(isinstance(call, dict) for call in calls):
            names.waiting.clear()
            named = [{**call, "id": names.call(call.get("id"))} for call in calls]
            yield {**message, "tool_calls": named}
        elif message.get("role") == "tool":
            yield {**message, "tool_call_id": names.result(message.get("tool_call_id"))}
        else:
            yield message


def _is_called(called: object) -> bool:
    """Return whether a `function_call` names a function: servers send empty ones beside text."""
    return isinstance(called, dict) and bool(called.get("name"))


def _parse_turn(message: Message, place: Place) -> Turn:
    role, content = _parse_role(message.get("role"), place), message.get("content")
    # Nearly every message holds only text, and this path takes a fifth of the time.
    if isinstance(content, str) and message.keys() == _PLAIN and message["role"] == role:
        with place.turn_errors():
            return Turn(role, content)
    called = _parse_calls(message, role, place)
    calls = [call for call, _ in called]
    call_id, name = message.get("tool_call_id") if role is Role.TOOL else None, message.get("name")
    if name is not None and not isinstance(name, str):
        raise place.into("name").wrong("bad-name", name, "text, or no name")
    collector = Collector(Provider.OPENAI)
    blocks = _parse_content(message, role, calls, place)
    further = _further(message, role, blocks)
    if further:
        collector.message(further)
    for block in blocks:
        collector.take(block, "text", TEXTS)
    for call, beside in called:
        collector.call(call, beside)
    if role is Role.TOOL and not isinstance(call_id, str):
        legal = "the id of the call that it answers"
        raise place.into("tool_call_id").wrong("orphan-result", call_id, legal)
    with place.turn_errors():
        return collector.turn(role, tool_call_id=call_id, name=name)


_PLAIN = {"role", "content"}


def _parse_role(value: object, place: Place) -> Role:
    if not isinstance(value, str) or value not in _ROLES:
        raise place.into("role").unsupported("unknown-role", value, sorted(_ROLES))
    return _ROLES[value]


def _parse_content(
    message: Message, role: Role, calls: Sequence[ToolCall], place: Place
) -> list[Message]:
    """Return the content as blocks; a refusal without content becomes the content."""
    match message.get("content"):
        case str(text):
            return [{"type": "text", "text": text}]
        case [_, *_] as blocks:
            return check_blocks(blocks, place.into("content"))
        case None | [] if calls:
            return []
        case None | []:
            return [{"type": "text", "text": _instead(message, role, place)}]
        case other:
            legal = "text, or a list of content parts"
            raise place.into("content").wrong("bad-content", other, legal)


def _instead(message: Message, role: Role, place: Place) -> str:
    """Return the text of a message without content: a refusal, what was spoken, or nothing."""
    refusal, audio = message.get("refusal"), message.get("audio")
    if role is Role.ASSISTANT and isinstance(refusal, str | None):
        spoken = audio.get("transcript") if isinstance(audio, dict) else None
        return refusal or (spoken if isinstance(spoken, str) else "")
    legal = "content; only an assistant may do without"
    raise place.refuse("missing-content", f"a {message['role']} message without content", legal)


def _further(message: Message, role: Role, blocks: Sequence[Message]) -> Message:
    """Return the fields of the message that a turn does not hold.

    They are further fields, the form of the content, and the original name of the role.
    """
    known = {"role", "content"} | ({"tool_call_id"} if role is Role.TOOL else set())
    known |= {name for name in ("name", "tool_calls") if message.get(name) is not None}
    further = without(message, *known) | _form(message, blocks)
    if message["role"] != role:
        further["role"] = message["role"]
    if "_role" in further:
        further["role"] = further.pop("_role")
    if LEGACY in further and not _is_called(further[LEGACY]):
        del further[LEGACY]
    audio = further.get("audio")
    if isinstance(audio, dict) and not audio.get("id"):
        del further["audio"]  # no provider takes it back
    if "content" not in further or message.get("tool_calls"):
        return further
    # The text of the turn is not stored twice.
    if isinstance(further.get("refusal"), str):
        further["refusal"] = ""
    elif "audio" in further and isinstance(audio, dict) and "transcript" in audio:
        further["audio"] = {**audio, "transcript": ""}
    return further


def _form(message: Message, blocks: Sequence[Message]) -> Message:
    content = message.get("content", MISSING)
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return {}
    if not isinstance(content, list):
        return {"content": content}
    return {} if content and not is_plain(blocks, "text") else {"content": []}


def _parse_calls(message: Message, role: Role, place: Place) -> list[tuple[ToolCall, Message]]:
    """Return the calls of a message with their further fields; an empty list is like none."""
    raw, inner, rule = message.get("tool_calls"), place.into("tool_calls"), "bad-tool-call"
    if raw is None or raw == []:
        return []
    if role is not Role.ASSISTANT:
        problem = f"tool_calls on a {message['role']} message"
        raise place.refuse(rule, problem, "tool_calls on assistant messages only")
    if not isinstance(raw, list):
        raise place.refuse(rule, f"tool_calls is {shown(raw)}", "a list of calls, or no such field")
    return [_parse_call(call, inner.into(number)) for number, call in enumerate(raw)]


def _parse_call(raw: object, place: Place) -> tuple[ToolCall, Message]:
    """Return a call and its further fields; servers may leave out its type."""
    rule = "bad-tool-call"
    if not isinstance(raw, dict):
        raise place.wrong(rule, raw, "an object with id, type and function")
    kind = raw.get("type") or next((kind for kind in BODIES if kind in raw), None)
    if not isinstance(kind, str) or kind not in BODIES or not isinstance(raw.get(kind), dict):
        problem = f"{place.within} of type {shown(kind)} holds no call"
        raise place.refuse(rule, problem, "type function or custom, with an object of that name")
    body = raw[kind].get(BODIES[kind])
    found = {
        ("id",): raw.get("id"),
        (kind, "name"): raw[kind].get("name"),
        (kind, BODIES[kind]): compact(body) if isinstance(body, dict) else body or "",
    }
    for steps, value in found.items():
        if not isinstance(value, str) or (not value and steps[-1] != BODIES[kind]):
            raise place.into(*steps).wrong(rule, value, "text; id and name not empty")
    inner = without(raw[kind], "name", BODIES[kind])
    further = without(raw, "id", "type", kind) | ({kind: inner} if inner else {})
    if len(raw["id"]) > MAX_CALL_ID:
        further["id"] = raw["id"]  # accepted by the server it comes from
    return ToolCall(*map(str, found.values())), further if kind == "function" else {
        "type": kind,
        **further,
    }


TEXTS = {"text": "text", "refusal": "refusal"}
"""The field of each block type that holds its text."""


@define
class Writer:
    """Renders turns incrementally; see `wire.Writer`. Every turn can be parsed again."""

    readable: bool = False
    _messages: list[Message] = Factory(list)
    _calls: SentCalls = Factory(lambda: SentCalls(_LEGAL_ID.fullmatch, "turn", MAX_TOOL_NAME))
    _called: str = ""
    _room: MediaRoom = Factory(partial(MediaRoom, Provider.OPENAI))

    @property
    def size(self) -> int:
        """Return the number of messages so far."""
        return len(self._messages)

    def add(self, turn: Turn) -> None:
        """Append `turn`."""
        # Nearly every turn holds only text, and this path takes a tenth of the time.
        if turn.content is None or turn.parts or turn.tool_calls:
            message = self._written(turn)
        else:
            message = {"role": turn.role.value, "content": turn.content}
        if turn.name:
            message["name"] = turn.name if self.readable else speaker(turn.name)
        if turn.tool_call_id == LEGACY and self._called:
            message |= {"role": "function", "name": message.get("name", self._called)}
        elif turn.tool_call_id is not None:
            message["tool_call_id"] = self._calls.answered(turn)
        self._messages.append(message)
        self._room.add([message])

    def finish(self) -> Rendered:
        """Return the messages."""
        return Rendered(list(self._messages))

    def _written(self, turn: Turn) -> Message:
        entries = list(layout_of(Provider.OPENAI, turn))
        further = further_fields(entries, PartKind.MESSAGE)
        form = further.get("content", "natural")
        message = without(further, "role", "content")
        own = further.get("role")
        message["role"] = own if _ROLES_OF.get(str(own)) is turn.role else turn.role.value
        if [call.id for call in turn.tool_calls] == [LEGACY]:
            call = turn.tool_calls[0]
            message[LEGACY] = {"name": call.name, "arguments": call.arguments}
            self._called = call.name
        elif turn.tool_calls:
            further_of = {
                entry.call: entry.data for entry in entries if entry.kind is PartKind.CALL
            }
            # A long id that was read in this format is accepted by the server that made it.
            long = {turn.tool_calls[each].id for each, data in further_of.items() if "id" in data}
            self._called = ""
            self._calls.add(turn, long)
            message["tool_calls"] = [
                self._call(call, further_of[number]) for number, call in enumerate(turn.tool_calls)
            ]
        if (form is None or form is MISSING) and _may_be_absent(turn, message):
            return message if form is MISSING else {**message, "content": None}
        return {**message, "content": _render_content(turn, entries, is_list=form == [])}

    def _call(self, call: ToolCall, further: Message) -> Message:
        kind = "custom" if further.get("type") == "custom" else "function"
        inner = further.get(kind)
        called = {"name": self._calls.name(call), BODIES[kind]: call.arguments}
        called = {**(inner if isinstance(inner, dict) else {}), **called}
        return {**further, "id": self._calls.ids[call.id], "type": kind, kind: called}


_ROLES_OF = {"developer": Role.SYSTEM, "function": Role.USER}
"""The roles of messages that share a role of turns."""


def _may_be_absent(turn: Turn, message: Message) -> bool:
    """Return whether the content may be null or missing.

    In that case, a refusal or a transcript holds the text of the turn.
    """
    if turn.tool_calls or turn.role is not Role.ASSISTANT:
        return turn.role is Role.ASSISTANT and not turn.text
    audio = message.get("audio")
    if turn.text and isinstance(message.get("refusal"), str):
        message["refusal"] = turn.text
        return True
    if isinstance(audio, dict) and "transcript" in audio:
        message["audio"] = {**audio, "transcript": turn.text}
        return True
    return not turn.text and isinstance(message.get(LEGACY, audio), dict)


def _render_content(
    turn: Turn, entries: Sequence[Entry], *, is_list: bool
) -> str | list[Message] | None:
    inside = (PartKind.BLOCK, PartKind.WORDS)
    blocks = [entry.block("text") for entry in entries if entry.kind in inside]
    if len(blocks) > 1:  # a refusal has to stand alone
        blocks = [_as_text(block) for block in blocks]
    role = turn.role.value
    blocks = [accepted(each, check_part, _PART, role=role, foreign=True) for each in blocks]
    if blocks:
        return blocks if is_list or not is_plain(blocks, "text") else str(blocks[0]["text"])
    if turn.tool_calls:
        return [] if is_list else None
    return stand_in(turn)


def _as_text(part: Message) -> Message:
    return {"type": "text", "text": part["refusal"]} if part["type"] == "refusal" else part


def define_tools(tools: Sequence[ToolDefinition]) -> list[Message]:
    """Return the entries of a request's `tools`."""
    return [{"type": "function", "function": asdict(tool)} for tool in tools]
