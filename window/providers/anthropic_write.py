"""Turns written as Anthropic messages: one message a run of one role.

What the provider refuses is given a shape it takes: emptiness gets a visible
stand-in, arguments that are no object are wrapped, ids outside its alphabet are
spelled anew together with their results.
"""

import re
from collections.abc import Sequence

from attrs import Factory, define

from polycontext.window.providers.anthropic_rules import CALL_ID, MAX_NAME
from polycontext.window.providers.blocks import is_visible, loaded_object, own_blocks, stand_in
from polycontext.window.providers.wire import Message, Provider, Rendered
from polycontext.window.turn import Role, ToolCall, Turn

ASSISTANT_FIRST = "[the conversation begins with the assistant]"
"""What the user says where the provider wants a user message first and there is none."""


@define
class Writer:
    """Collect messages; untouched originals stand alone.

    With `merge` turns of one role in a row share a message, so that roles alternate.
    Without it only words behind results do: then every turn can be read back.
    """

    merge: bool
    messages: list[Message] = Factory(list)
    system: list[Message] = Factory(list)
    _aliases: dict[str, str] = Factory(dict)
    _is_open: bool = False

    def keep(self, originals: Sequence[Message]) -> None:
        """Append untouched messages, which nothing may join."""
        self.messages.extend(originals)
        self._aliases, self._is_open = {}, False

    def add_turn(self, turn: Turn) -> None:
        """Append `turn`; system turns go to `system`, unless they carry blocks of this provider that only a message can hold."""
        if turn.tool_calls:
            self._aliases = call_aliases(turn.tool_calls)
        blocks = turn_blocks(turn, self._aliases)
        if turn.role is not Role.SYSTEM:
            self.add_blocks("assistant" if turn.role is Role.ASSISTANT else "user", blocks)
        elif any(block["type"] != "text" for block in blocks):
            self.add_blocks("system", blocks)
        elif is_visible(turn.text):
            self.system.extend(blocks)

    def add_blocks(self, role: str, blocks: list[Message]) -> None:
        """Append `blocks` to the last message if they may join it, else as a new one."""
        last = self.messages[-1] if self._is_open else None
        if last and last["role"] == role and (self.merge or last["content"][-1]["type"] == "tool_result"):
            last["content"].extend(blocks)
        else:
            self.messages.append({"role": role, "content": list(blocks)})
            self._is_open = True

    def finished(self) -> Rendered:
        """Return what was collected. A final text of the assistant that is no original loses trailing white space."""
        if self._is_open and self.messages[-1]["role"] == "assistant":
            final = self.messages[-1]["content"][-1]
            if final["type"] == "text":
                final["text"] = final["text"].rstrip()
        return Rendered(self.messages, tuple(self.system))


def with_user_first(rendered: Rendered) -> Rendered:
    """Return `rendered` with a user message before a leading assistant message."""
    first = next((message for message in rendered.messages if message["role"] != "system"), None)
    if first is None or first["role"] == "user":
        return rendered
    opening: Message = {"role": "user", "content": [{"type": "text", "text": ASSISTANT_FIRST}]}
    return Rendered([opening, *rendered.messages], rendered.system)


def call_aliases(calls: Sequence[ToolCall]) -> dict[str, str]:
    """Return for each id outside the provider's alphabet one inside it, unique within the turn.

    >>> call_aliases([ToolCall("f:1", "f"), ToolCall("f_1", "f"), ToolCall("ok", "f")])
    {'f:1': 'f_1_2'}
    """
    taken = {call.id for call in calls}
    aliases: dict[str, str] = {}
    for call in calls:
        if not CALL_ID.fullmatch(call.id):
            aliases[call.id] = _free(re.sub(r"[^a-zA-Z0-9_-]", "_", call.id), taken)
            taken.add(aliases[call.id])
    return aliases


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def turn_blocks(turn: Turn, aliases: dict[str, str]) -> list[Message]:
    """Return `turn` as blocks, never none: its own parts around its text, then its calls; or its result."""
    if turn.role is Role.TOOL:
        return [_result(turn, aliases)]
    blocks = own_blocks(Provider.ANTHROPIC, turn, blank=False) + [_call(call, aliases) for call in turn.tool_calls]
    return blocks or [{"type": "text", "text": stand_in(turn)}]


def _call(call: ToolCall, aliases: dict[str, str]) -> Message:
    loaded = loaded_object(call.arguments)
    arguments = {"raw_arguments": call.arguments} if loaded is None else loaded
    return {"type": "tool_use", "id": aliases.get(call.id, call.id), "name": call.name[:MAX_NAME], "input": arguments}


def _result(turn: Turn, aliases: dict[str, str]) -> Message:
    call_id = turn.tool_call_id or ""
    blocks = own_blocks(Provider.ANTHROPIC, turn, blank=False)
    plain = all(block["type"] == "text" for block in blocks)
    text = stand_in(turn) if turn.content is None else turn.content
    result: Message = {"type": "tool_result", "tool_use_id": aliases.get(call_id, call_id), "content": text if plain else blocks}
    return result | ({"is_error": True} if turn.metadata.get("is_error") is True else {})
