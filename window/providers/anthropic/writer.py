"""The renderer of turns as Anthropic messages, merging neighbours of one role.

Content that the provider rejects is converted: empty content is replaced by a placeholder or
omitted, arguments that are not an object are wrapped, and ids and names outside the provider's
alphabet are replaced, ids together with those of their results.
"""

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from attrs import Factory, define, evolve

from ...call_ids import SentCalls
from ...filler import SYSTEM_FOLLOWS, SYSTEM_READ
from ...part import PartKind
from ...turn import Role, ToolCall, Turn
from ...wire_text import EMPTY, is_visible, loaded_arguments, stand_in
from ..layout import (
    MISSING,
    Entry,
    further_fields,
    is_native,
    is_plain,
    layout_of,
    without,
)
from ..media_room import MediaRoom
from ..wire import Message, Provider, Rendered, ToolDefinition
from .block_rules import MARK, THINKING, as_accepted, each_block, known_fields, limit_marks
from .message_rules import FIELDS_OF, MAX_NAME, SENT_ID, WHOLE
from .order_rules import SERVER_CALLS, caller_of, is_server_result
from .versions import COMPACTION_BETA, THRESHOLD_BETA, adapted, options_after

COMPACTION = "compaction"
"""The type of the assistant's block that replaces all earlier messages.

No message may come before it.
"""

_NATURAL = object()
_FIELDS = ("role", "content")
_ROLES = {Role.SYSTEM: "system", Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "user"}


@define(eq=False)
class Written:
    """A message under construction.

    `form` is the original form of its content, and `anew` marks a message that starts separately
    after one of the same role. `further` are fields of the message itself. Nothing is merged into a
    message that is `alone`. `empty` is the form of an empty final message, which is only written if
    nothing follows it.
    """

    role: str
    blocks: list[Message] = Factory(list)
    form: object = None
    anew: bool = False
    empty: object = None
    further: Message = Factory(dict)
    alone: bool = False

    def joins(self, last: "Written") -> bool:
        """Return whether this continues the `last` message.

        System blocks of text stay separate from others, which `system` cannot hold.
        """
        apart = self.role == "system" and all_are("text", self.blocks) != all_are(
            "text", last.blocks
        )
        return (
            self.role == last.role
            and not self.anew
            and not last.alone
            and not apart
            and not self.further
            and not last.further
        )

    def message(self, *, final: bool) -> Message:
        """Return the message.

        The `final` text of the assistant loses its trailing white space, and a final empty message
        stays empty.
        """
        blocks = [*self.blocks]
        if final and self.role == "assistant":
            if self.empty is not None:
                return {"role": self.role, "content": self.empty}
            if blocks and blocks[-1]["type"] == "text":
                blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
        is_text = self.form == "" and is_plain(blocks, "text")
        return {
            **known_fields(self.further, FIELDS_OF[self.role], "message"),
            "role": self.role,
            "content": blocks[0]["text"] if is_text else blocks,
        }


@define
class Writer:
    """Renders turns incrementally, merging neighbours of one role; see `wire.Writer`.

    Leading system turns become `system`; later ones stay in place.

    >>> writer = Writer()
    >>> writer.add(Turn("system", "Be brief."))
    >>> writer.add(Turn("user", "hi"))
    >>> writer.finish().system, writer.finish().messages[0]["content"]
    (({'type': 'text', 'text': 'Be brief.'},), [{'type': 'text', 'text': 'hi'}])
    """

    readable: bool = False
    _written: list[Written] = Factory(list)
    _complete: list[Message] = Factory(list)
    """The messages that nothing can join any more."""
    _calls: SentCalls = Factory(lambda: SentCalls(SENT_ID.fullmatch, "request", MAX_NAME))
    _has_begun: bool = False
    _introduced: list[str] = Factory(list)
    size: int = 0
    _betas: dict[str, None] = Factory(dict)
    _servers: dict[str, Written] = Factory(dict)
    """The messages of the server tool calls that have no result yet, by id."""
    _marked: list[Message] = Factory(list)
    """The blocks with a cache breakpoint."""
    _room: MediaRoom = Factory(partial(MediaRoom, Provider.ANTHROPIC))

    def add(self, turn: Turn) -> None:
        """Append `turn`, unless it is a system turn without visible content."""
        entries = list(layout_of(Provider.ANTHROPIC, turn))
        self._betas |= {beta: None for entry in entries if (beta := _beta_of(entry)) is not None}
        if turn.tool_calls:
            self._calls.add(turn)
        blocks = list[Message]()
        write = _tool_message if turn.role is Role.TOOL else _messages
        for written in write(turn, entries, self._calls):
            written.blocks = [as_accepted(block, written.role) for block in written.blocks]
            blocks += written.blocks
            if written.role == "user" and not all_are("tool_result", written.blocks):
                self._leave_out_open_servers()
            last = self._written[-1] if self._written else None
            self.size += len(written.blocks)
            if (
                last is not None
                and written.joins(last)
                and (not self.readable or last.blocks[-1]["type"] == "tool_result")
            ):
                last.blocks.extend(written.blocks)
                last.empty = None
            else:
                between = _between(last, written, is_head=not self._has_begun)
                self.size += sum(len(each.blocks) for each in between)
                self._introduced += (block["text"] for each in between for block in each.blocks)
                self._written += [*between, written]
                self._has_begun = self._has_begun or written.role != "system"
            self._pair_servers(self._written[-1], len(written.blocks))
        self._room.add(blocks)
        marked = [*self._marked, *(block for block, _ in each_block(blocks, WHOLE))]
        self._marked = limit_marks([block for block in marked if block.get(MARK)])

    def _pair_servers(self, written: Written, added: int) -> None:
        """Note the server tool calls among the last `added` blocks, and drop results of none."""
        for number in range(len(written.blocks) - added, len(written.blocks)):
            block = written.blocks[number]
            if block["type"] in SERVER_CALLS:
                self._servers.setdefault(str(block.get("id")), written)
            elif block["type"] == "tool_use" and caller_of(block) not in (None, *self._servers):
                written.blocks[number] = without(block, "caller")
            elif (
                is_server_result(block)
                and self._servers.pop(str(block["tool_use_id"]), None) is None
            ):
                written.blocks[number] = _left_out(block["type"])

    def _leave_out_open_servers(self) -> None:
        """Leave out server tool calls that were interrupted: the user goes on without a result."""
        if not self._servers:
            return
        first = min(map(self._written.index, self._servers.values()))
        del self._complete[first:]
        for written in self._written[first:]:
            for number, block in enumerate(written.blocks):
                if block["type"] in SERVER_CALLS and block.get("id") in self._servers:
                    written.blocks[number] = _left_out(str(block.get("name")))
                elif caller_of(block) in self._servers:
                    written.blocks[number] = without(block, "caller")
        self._servers.clear()

    def finish(self) -> Rendered:
        """Return the messages, with leading system text separated."""
        complete = self._written[len(self._complete) : -1]
        self._complete += [written.message(final=False) for written in complete]
        messages = self._complete + [each.message(final=True) for each in self._written[-1:]]
        # Thinking is bound to what stood before it, and media of that are gone.
        is_bound = self._room.has_left_out and _thinks(messages)
        options = options_after([Provider.ANTHROPIC] if is_bound else ())
        if betas := [*self._betas, *options.get("betas", ())]:
            options["betas"] = betas
        introduced = tuple(self._introduced)
        return evolve(hoist_system(messages), introduced=introduced, options=options)


def _left_out(what: str) -> Message:
    return {"type": "text", "text": f"[{what}, left out: it was interrupted]"}


def _thinks(messages: Sequence[Message]) -> bool:
    blocks = (block for message in messages for block in _blocks(message))
    return any(block["type"] in THINKING for block in blocks)


def _beta_of(entry: Entry) -> str | None:
    """Return the beta header that a compaction block requires, or None.

    A summary made on request is signed; one made at a threshold is not.
    """
    if entry.kind is not PartKind.BLOCK or entry.data["type"] != COMPACTION:
        return None
    return COMPACTION_BETA if entry.data.get("signature") else THRESHOLD_BETA


def hoist_system(messages: Sequence[Message]) -> Rendered:
    """Return `messages` with the leading system messages of text separated."""
    leading = list(takewhile(_is_hoisted, messages))
    system = tuple(block for message in leading for block in _blocks(message))
    return Rendered(list(messages[len(leading) :]), system, tuple(leading))


def _is_hoisted(message: Message) -> bool:
    return (
        message["role"] == "system"
        and len(message) == len(_FIELDS)
        and all_are("text", _blocks(message))
    )


def _between(last: Written | None, written: Written, *, is_head: bool) -> list[Written]:
    """Return the filler between two messages if one of them is a system message.

    A system message must follow the user and precede the assistant. Messages that were sent cannot
    be moved later, so a filler message is inserted instead.
    """
    if last is None or is_head or not written.blocks or not last.blocks:
        return []
    if last.role == "system" and written.role == "user":
        return [Written("assistant", [{"type": "text", "text": SYSTEM_READ}])]
    if (
        last.role == "assistant"
        and written.role == "system"
        and not last.blocks[-1]["type"].endswith("_tool_result")
    ):
        return [Written("user", [{"type": "text", "text": SYSTEM_FOLLOWS}])]
    return []


def _blocks(message: Message) -> list[Message]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def all_are(kind: str, blocks: Sequence[Message]) -> bool:
    """Return whether all `blocks` have the type `kind`."""
    return all(block["type"] == kind for block in blocks)


def _messages(turn: Turn, entries: Sequence[Entry], calls: SentCalls) -> list[Written]:
    """Return the messages of a turn that is not a result, none of them empty.

    There is at least one, except for a system turn.
    """
    if is_native(Provider.ANTHROPIC, turn):
        return [Written("assistant", [entry.data for entry in entries], anew=True, alone=True)]
    role = _ROLES[turn.role]
    messages = [Written(role)]
    for entry in entries:
        if entry.kind is PartKind.MESSAGE:
            further = without(entry.data, *_FIELDS)
            messages.append(
                Written(role, form=entry.data.get("content"), anew=True, further=further)
            )
        elif entry.kind is PartKind.CALL:
            messages[-1].blocks.append(_call(turn.tool_calls[entry.call], entry, calls))
        else:
            messages[-1].blocks.extend(_block(entry, role))
    seen = [message for message in messages if message.blocks or message.further]
    if (
        seen
        and turn.role is Role.ASSISTANT
        and seen[-1].blocks[-1:]
        and seen[-1].blocks[-1]["type"] in THINKING
    ):
        # The provider rejects a message that ends in thinking.
        seen[-1].blocks.append({"type": "text", "text": EMPTY})
    if seen or turn.role is Role.SYSTEM:
        return seen
    form = messages[-1].form
    empty = form if turn.role is Role.ASSISTANT and form in ("", []) and not turn.text else None
    return [
        Written(role, [{"type": "text", "text": stand_in(turn)}], form, messages[-1].anew, empty)
    ]


def _block(entry: Entry, role: str) -> list[Message]:
    """Return a block as a list, which is empty for text without a visible character."""
    if entry.kind is PartKind.BLOCK:
        return [adapted(entry.data, role)]
    if entry.kind is not PartKind.WORDS or not is_visible(entry.text):
        return []
    return [adapted({**entry.data, "type": "text", "text": entry.text}, role)]


def _call(call: ToolCall, entry: Entry, calls: SentCalls) -> Message:
    loaded = loaded_arguments(call.arguments)
    arguments = {"raw_arguments": call.arguments} if loaded is None else loaded
    own = {
        "type": "tool_use",
        "id": calls.ids[call.id],
        "name": calls.name(call),
        "input": arguments,
    }
    return {**entry.data, **own}


def _tool_message(turn: Turn, entries: Sequence[Entry], calls: SentCalls) -> list[Written]:
    further = further_fields(entries, PartKind.RESULT)
    blocks = [block for entry in entries for block in _block(entry, "user")]
    # A failed result may only hold text, so one with other blocks is not marked as an error.
    is_error = turn.metadata.get("is_error") is True and all_are("text", blocks)
    own: dict[str, Any] = {"type": "tool_result", "tool_use_id": calls.answered(turn)}
    content = _content(turn, blocks, further.get("content", _NATURAL), is_error=is_error)
    own |= {} if content is MISSING else {"content": content}
    result = {**without(further, "content"), **own, **({"is_error": True} if is_error else {})}
    return [
        Written("user", [result], anew=any(entry.kind is PartKind.MESSAGE for entry in entries))
    ]


def _content(turn: Turn, blocks: list[Message], form: object, *, is_error: bool) -> object:
    """Return the content of a result, in its original form; a failed result is never empty."""
    if not blocks and (is_error or turn.content is None):
        return EMPTY if turn.content is not None else stand_in(turn)
    if form == []:
        return blocks
    if not blocks:
        return form if form is None or form is MISSING else ""
    return blocks[0]["text"] if is_plain(blocks, "text") else blocks


def define_tools(tools: Sequence[ToolDefinition]) -> list[Message]:
    """Return the entries of a request's `tools`."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in tools
    ]
