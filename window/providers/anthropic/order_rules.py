"""Anthropic's rules for the order of messages, as a judge that checks each message once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from ...errors import InvalidMessagesError
from ..judge import ListJudge, raise_first, text_ids
from ..places import shown
from ..tool_pairs import without_results
from ..wire import Message
from .block_rules import THINKING, check_blocks_of, marks
from .message_rules import LIMITS, WHOLE, AnthropicPlace, block_at, read_entry


@define
class Judge(ListJudge):
    """Checks messages, each once; a run of messages of one role is one message to the provider.

    Without `newest`, the rules are those of the API before version 2026-10-21. The list may begin
    with system messages, which is a common way to store them.
    """

    newest: bool = True
    role: str | None = None
    has_begun: bool = False
    """Whether there was a message that is not a system message."""
    system: int | None = None
    """The last message, if it is a system message that an assistant message must follow."""
    led_by_system: bool = False
    misplaced: tuple[int, str] | None = None
    """The index of the first misplaced system message, and which rule it breaks.

    Unless it leads the list, a system message must follow a user message or a server tool's result,
    and precede an assistant message or end the list.
    """
    waiting: dict[str, int] = field(factory=dict)
    """The calls without a result, by id, with the index of their message."""
    answered: frozenset[str] = frozenset()
    called: set[str] = field(factory=set)
    """The ids of all calls."""
    servers: dict[str, tuple[str, int]] = field(factory=dict)
    """The server tool calls without a result, by id, with the name and the index of the message."""
    tail: tuple[int, str | None, bool] = (0, None, False)
    """The end of the last assistant run: index, type of the last block, if it ends in a space."""
    compaction: int | None = None
    marks: tuple[tuple[str, AnthropicPlace], ...] = ()

    def add(self, entry: Message) -> None:
        """Check the next message, of which only a final one of the assistant may be empty."""
        index = self.count
        self.count += 1
        read = read_entry(entry, index, sent=True, final=index == self.last)
        check_blocks_of(read, index, newest=self.newest)
        if read.role == "user":
            self._add_user(read.blocks, index)
        elif read.role == "assistant":
            self._add_assistant(read.blocks, index)
        elif read.blocks:
            self._add_system(index)
        self.role = read.role
        self.marks += tuple(marks(read.blocks, WHOLE.into("messages", index, "content")))

    def pardon(self, entry: Mapping[str, Any]) -> None:
        """Continue after a message that broke a rule, with only its own calls open."""
        index, content = self.count - 1, entry.get("content")
        blocks = content if isinstance(content, list) else ()
        calls = [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_use"]
        self.role = str(entry.get("role"))
        self.has_begun = True
        self.waiting = dict.fromkeys(text_ids(calls) if self.role == "assistant" else (), index)
        self.answered, self.servers, self.tail = frozenset(), {}, (0, None, False)
        self.compaction = None

    def ends(self, *, allow_open_tail: bool = False) -> Iterator[InvalidMessagesError]:
        """Yield the errors of the end of the list, and of totals.

        With `allow_open_tail`, it may also end with assistant text that ends in white space.
        """
        if self.misplaced is not None:
            index, rule = self.misplaced
            yield WHOLE.into("messages", index).broken(rule)
        if not allow_open_tail:
            yield from _unanswered(self.waiting)
        if self.role == "assistant" and not allow_open_tail:
            yield from _thinking_last(self.tail)
            index, _, blank = self.tail
            if blank:
                yield WHOLE.into("messages", index).broken("trailing-whitespace")
        yield from mark_errors(self.marks)

    def _add_user(self, blocks: Sequence[Message], index: int) -> None:
        results = [block for block in blocks if block["type"] == "tool_result"]
        others = len(results) < len(blocks)
        if not results:
            raise_first(_unanswered(self.waiting))
        if self.role == "assistant":
            raise_first(_thinking_last(self.tail))
        if self.servers and (others or not results):
            raise self._unanswered_server()
        waiting, answered = {**self.waiting}, {*self.answered}
        for number, block in enumerate(results):
            _answer(block["tool_use_id"], waiting, answered, block_at(index, number))
        if others:
            raise_first(_unanswered(waiting))
        if self.role == "system" and self.system is not None:
            self.misplaced = self.misplaced or (self.system, "system-place/before")
        self.has_begun, self.system = True, None
        self.waiting, self.answered = waiting, frozenset() if others else frozenset(answered)

    def _add_assistant(self, blocks: Sequence[Message], index: int) -> None:
        runs_on, own = self.role == "assistant", dict[str, int]()
        if not runs_on:
            raise_first(_unanswered(self.waiting))
        for number, block in enumerate(blocks):
            if block["type"] != "tool_use":
                continue
            if block["id"] in own or block["id"] in self.called:
                raise block_at(index, number).broken("duplicate-call-id", shown=shown(block["id"]))
            own[block["id"]] = index
        servers, compaction = self._servers_after(blocks, index), self._compacted(blocks, index)
        kinds, blank = [block["type"] for block in blocks], False
        last = kinds[-1] if kinds else self.tail[1] if runs_on else None
        if kinds and last == "text":
            blank = blocks[-1]["text"][-1:].isspace()
        self.has_begun, self.system = True, None
        self.waiting, self.answered = {**self.waiting, **own}, frozenset()
        self.called.update(own)
        self.servers, self.compaction = servers, compaction
        self.tail = (index, last, blank)

    def _add_system(self, index: int) -> None:
        raise_first(_unanswered(self.waiting))
        if not self.has_begun:
            self.led_by_system = True
            return
        if self.role == "assistant" and not (self.tail[1] or "").endswith("_tool_result"):
            self.misplaced = self.misplaced or (index, "system-place/after")
        self.system = index

    def _compacted(self, blocks: Sequence[Message], index: int) -> int | None:
        """Check that a signed compaction block comes first and is the only one with a summary."""
        found = self.compaction
        for number, block in enumerate(blocks):
            if block["type"] != "compaction":
                continue
            if block.get("signature") and block.get("content") is not None:
                at = block_at(index, number)
                if found is not None:
                    raise at.broken("compaction-ambiguous")
                if self.has_begun or number:
                    raise at.broken("compaction-place")
            found = index
        return found

    def _servers_after(self, blocks: Sequence[Message], index: int) -> dict[str, tuple[str, int]]:
        """Pair server tool calls with results, which come later if the tool calls the client.

        Until then, user messages may hold results only (platform.claude.com, agents-and-tools,
        programmatic-tool-calling, "Message formatting restrictions").
        """
        waiting = {**self.servers}
        for number, block in enumerate(blocks):
            kind, at = block["type"], block_at(index, number)
            if kind in SERVER_CALLS:
                name = block.get("name") if kind == "server_tool_use" else _MCP
                called = name if isinstance(name, str) else "server"
                waiting[_server_id(block, at)] = (called, index)
            elif is_server_result(block) and waiting.pop(block["tool_use_id"], None) is None:
                owner = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
                call = block["tool_use_id"]
                names = {"kind": kind, "owner": owner, "call": call, "shown": shown(call)}
                raise at.broken("orphan-server-result", **names)
        return waiting

    def _unanswered_server(self) -> InvalidMessagesError:
        """Return the error for a server tool call that has no result when the user speaks."""
        call_id, (name, index) = next(iter(self.servers.items()))
        result = "mcp_tool_result" if name == _MCP else f"{name}_tool_result"
        names = {"name": name, "tool": shown(name), "call": call_id, "shown": shown(call_id)}
        at = WHOLE.into("messages", index)
        return at.broken("unanswered-server-call", result=result, **names)


def mark_errors(found: Sequence[tuple[str, AnthropicPlace]]) -> Iterator[InvalidMessagesError]:
    """Yield the errors of wrong cache breakpoints (rules cache-marks, cache-order).

    They must be given in the order tools, system, messages.
    """
    most = LIMITS["marks"]
    if len(found) > most:
        numbers = {"number": most + 1, "count": len(found), "most": most}
        yield found[most][1].broken("cache-marks", **numbers)
    short = False
    for ttl, at in found:
        if ttl == "1h" and short:
            yield at.into("ttl").broken("cache-order")
        short = short or ttl == "5m"


def _answer(call_id: str, waiting: dict[str, int], answered: set[str], at: AnthropicPlace) -> None:
    if call_id in answered:
        raise at.broken("duplicate-result", call=call_id, shown=shown(call_id))
    if call_id not in waiting:
        raise at.broken("orphan-result", call=call_id, shown=shown(call_id))
    del waiting[call_id]
    answered.add(call_id)


_MCP = "mcp"
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""The types of calls that the vendor's own tools answer."""


def is_server_result(block: Message) -> bool:
    """Return whether `block` is the result of a tool of the vendor's own."""
    return block["type"].endswith("_tool_result") and isinstance(block.get("tool_use_id"), str)


def _server_id(block: Message, at: AnthropicPlace) -> str:
    call_id = block.get("id")
    if not isinstance(call_id, str) or not call_id:
        spot = at.into(f"!{block['type']}", "id")
        raise spot.wrong("bad-tool-call", call_id, "the id of the call")
    return call_id


def caller_of(block: Message) -> str | None:
    """Return the id of the server tool call whose code makes this call, or None."""
    caller = block.get("caller")
    if not isinstance(caller, Mapping) or caller.get("type") in {None, "direct"}:
        return None
    return str(caller.get("tool_id"))


def _thinking_last(tail: tuple[int, str | None, bool]) -> Iterator[InvalidMessagesError]:
    index, kind, _ = tail
    if kind in THINKING:
        yield WHOLE.into("messages", index).broken("thinking-last", kind=kind)


def _unanswered(waiting: Mapping[str, int]) -> Iterator[InvalidMessagesError]:
    if waiting:
        at = WHOLE.into("messages", next(iter(waiting.values())))
        problem = without_results([*waiting])
        yield at.broken("unanswered-call", problem=problem, calls=", ".join(waiting))
