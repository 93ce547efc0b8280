"""Turns written as OpenAI's chat messages: one message a turn."""

from collections.abc import Mapping, Sequence

from attrs import Factory, define

from ...part import PartKind
from ...turn import Role, Turn
from ..aliases import aliases, speaker
from ..blocks import stand_in
from ..layout import MISSING, Entry, laid_out, without
from ..wire import Message, Provider, Rendered

BODIES = {"function": "arguments", "custom": "input"}
"""What each kind of call says to its tool by."""

TEXTS = {"text": "text", "refusal": "refusal"}
"""Which field of each kind of block holds text."""

MAX_NAME = 64
"""Characters that the name of a called tool may have."""

MAX_CALL_ID = 40
"""Characters that the id of a call may have at the vendor itself; other servers give longer ones, which go back as they came."""


@define
class Writer:
    """Write turns one after the other; see `wire.Writer`. Every turn can be read again."""

    readable: bool = False
    _messages: list[Message] = Factory(list)
    _ids: dict[str, str] = Factory(dict)

    @property
    def size(self) -> int:
        """Return how many stand so far."""
        return len(self._messages)

    def add(self, turn: Turn) -> None:
        """Write `turn` behind the others."""
        # Nearly every turn holds words and nothing else: a tenth of the price.
        if turn.content is None or turn.parts or turn.tool_calls:
            message = self._written(turn)
        else:
            message = {"role": turn.role.value, "content": turn.content}
        if turn.name:
            message["name"] = turn.name if self.readable else speaker(turn.name)
        if turn.tool_call_id is not None:
            message["tool_call_id"] = self._ids.get(turn.tool_call_id, turn.tool_call_id)
        self._messages.append(message)

    def finished(self) -> Rendered:
        """Return what was written."""
        return Rendered(list(self._messages))

    def _written(self, turn: Turn) -> Message:
        entries = list(laid_out(Provider.OPENAI, turn))
        further: Message = next((entry.data for entry in entries if entry.kind is PartKind.MESSAGE), {})
        form = further.get("content", "natural")
        message = without(further, "role", "content")
        is_developer = turn.role is Role.SYSTEM and further.get("role") == "developer"
        message["role"] = "developer" if is_developer else turn.role.value
        if turn.tool_calls:
            further_of = {entry.call: entry.data for entry in entries if entry.kind is PartKind.CALL}
            self._ids = _ids(turn, further_of)
            message["tool_calls"] = _calls(turn, further_of, self._ids)
        if (form is None or form is MISSING) and _may_be_absent(turn, message):
            return message if form is MISSING else {**message, "content": None}
        return {**message, "content": _content(turn, entries, is_list=form == [])}


def _may_be_absent(turn: Turn, message: Message) -> bool:
    """Tell whether the content may be null, or not there; a refusal then says what the turn says."""
    if turn.role is not Role.ASSISTANT:
        return False
    if not turn.tool_calls and isinstance(message.get("refusal"), str):
        message["refusal"] = turn.text
        return True
    return not turn.text and (bool(turn.tool_calls) or isinstance(message.get("audio"), dict))


def _content(turn: Turn, entries: Sequence[Entry], *, is_list: bool) -> str | list[Message] | None:
    blocks = [_block(entry) for entry in entries if entry.kind in (PartKind.BLOCK, PartKind.WORDS)]
    is_plain = len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and blocks[0]["type"] == "text"
    if blocks:
        return blocks if is_list or not is_plain else str(blocks[0]["text"])
    if turn.tool_calls:
        return [] if is_list else None
    return stand_in(turn)


def _block(entry: Entry) -> Message:
    if entry.kind is PartKind.BLOCK:
        return entry.data
    kind = entry.data.get("type", "text")
    return {**entry.data, "type": kind, TEXTS.get(kind, "text"): entry.text}


def _ids(turn: Turn, further: Mapping[int, Message]) -> dict[str, str]:
    """Return the ids that are spelled anew: long ones, but for those that came in this format."""
    ids = aliases((call.id for call in turn.tool_calls), MAX_CALL_ID, any_sign=True)
    return {call.id: ids[call.id] for number, call in enumerate(turn.tool_calls) if call.id in ids and "id" not in further[number]}


def _calls(turn: Turn, further: Mapping[int, Message], ids: Mapping[str, str]) -> list[Message]:
    names = aliases((call.name for call in turn.tool_calls), MAX_NAME)
    return [
        _call(further[number], ids.get(call.id, call.id), names.get(call.name, call.name), call.arguments)
        for number, call in enumerate(turn.tool_calls)
    ]


def _call(further: Message, call_id: str, name: str, body: str) -> Message:
    kind = "custom" if further.get("type") == "custom" else "function"
    inner = further.get(kind)
    called = {**(inner if isinstance(inner, dict) else {}), "name": name, BODIES[kind]: body}
    return {**further, "id": call_id, "type": kind, kind: called}
