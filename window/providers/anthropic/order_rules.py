"""Anthropic's rules for the order of messages, as a fold that checks each message once.

`Progress` holds all that the check of a message needs of the earlier ones, in constant size (except
for the cache breakpoints). A run of messages of one role is one message to the provider.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from ...errors import InvalidMessagesError
from ...request_limits import Load
from ..media_room import load_of
from ..places import shown
from ..tool_pairs import BEHIND_CALL, ONE_RESULT, without_results
from ..wire import Message, Provider
from .block_rules import THINKING, each_block, marks
from .message_rules import LIMITS, WHOLE, AnthropicPlace, Entry, block_at, unanswered_wording


@frozen
class Progress:
    """The state of the check after some messages; the check begins with ``Progress()``."""

    count: int = 0
    role: str | None = None
    first: tuple[str, int] | None = None
    """The role and index of the first message that is not a system message."""
    system: int | None = None
    """The last message, if it is a system message that an assistant message must follow."""
    led_by_system: bool = False
    misplaced: tuple[int, bool] | None = None
    """The first misplaced system message: its index, and whether the next message is the reason."""
    waiting: Mapping[str, int] = field(factory=dict)
    """The calls without a result, by id, with the index of their message."""
    answered: frozenset[str] = frozenset()
    called: tuple[frozenset[str], ...] = ()
    """The ids of all calls, in sets that are each larger than the next (see `_joined`)."""
    servers: Mapping[str, tuple[str, int]] = field(factory=dict)
    """The server tool calls without a result, by id, with the name and the index of the message."""
    tail: tuple[int, str | None, bool] = (0, None, False)
    """The end of the last assistant run: index, type of the last block, if it ends in a space."""
    loop: tuple[int, str | None] | None = None
    """The first assistant message of the open tool loop: its index, and its first block's type."""
    compaction: int | None = None
    marks: tuple[tuple[str, AnthropicPlace], ...] = ()
    load: Load = field(factory=Load)
    widest: AnthropicPlace | None = None
    """The first image that may not stand beside many others."""
    last_results: bool = False


def advance(progress: Progress, entry: Entry) -> Progress:
    """Return the progress after one more message; raise `InvalidMessagesError` if it is invalid."""
    index = progress.count
    after = _AFTER[entry.role](progress, entry, index)
    return _counted(evolve(after, count=index + 1, role=entry.role), entry, index)


def finish(
    progress: Progress, *, allow_open_tail: bool = False, most_media: int | None = None
) -> None:
    """Raise `InvalidMessagesError` for an invalid end of the list, or invalid totals.

    Rules unanswered-call, trailing-whitespace, thinking-last, and of `judge_marks`, `judge_media`.
    """
    if not allow_open_tail:
        _refuse_waiting(progress.waiting)
    if progress.role == "assistant" and not allow_open_tail:
        index, _, blank = progress.tail
        _refuse_thinking_last(progress)
        if blank:
            says = "messages: final assistant content cannot end with trailing whitespace"
            problem = "is the final assistant message and ends in white space"
            raise WHOLE.into("messages", index).fault(
                "trailing-whitespace", problem, "a final text without it", says, whole=True
            )
    judge_marks(progress.marks)
    judge_media(progress, most_media)


def judge_marks(found: Sequence[tuple[str, AnthropicPlace]]) -> None:
    """Raise `InvalidMessagesError` for wrong cache breakpoints (rules cache-marks, cache-order).

    They must be given in the order tools, system, messages.
    """
    most = LIMITS["marks"]
    if len(found) > most:
        says = f"A maximum of {most} blocks with cache_control may be provided. Found {len(found)}."
        problem, legal = f"is cache breakpoint number {most + 1} of {len(found)}", f"at most {most}"
        raise found[most][1].fault("cache-marks", problem, legal, says, whole=True)
    short = False
    for ttl, at in found:
        if ttl == "1h" and short:
            says = (
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control "
                "block. Note that blocks are processed in the following order: `tools`, `system`, "
                "`messages`."
            )
            raise at.into("ttl").fault(
                "cache-order", "is 1h behind one of 5m", "longer times before shorter ones", says
            )
        short = short or ttl == "5m"


def judge_media(progress: Progress, most: int | None = None) -> None:
    """Raise `InvalidMessagesError` for too many or too big media.

    Rules too-much-media, image-size. `most` is the most images and pages that the
    model takes, if that is known.
    """
    images, media = progress.load["images"], progress.load["media"]
    limit = most or LIMITS["images" if images > LIMITS["images"] else "media"]
    if media > limit:
        says = f"Too much media: {media - images} document pages + {images} images > {limit}"
        problem = f"hold {media} pictures and pages"
        at = WHOLE.into("messages")
        raise at.fault("too-much-media", problem, f"at most {limit}", says, whole=True)
    if progress.widest is not None and images > LIMITS["many"]:
        pixels = LIMITS["side_of_many"]
        says = (
            "At least one of the image dimensions exceed max allowed size for many-image "
            f"requests: {pixels} pixels"
        )
        legal = f"at most {pixels} where there are more than {LIMITS['many']} pictures"
        raise progress.widest.fault("image-size", "is too wide", legal, says)


def _after_user(progress: Progress, entry: Entry, index: int) -> Progress:
    results = [block for block in entry.blocks if block["type"] == "tool_result"]
    if not results:
        _refuse_waiting(progress.waiting)
    others = len(results) < len(entry.blocks)
    if progress.role == "assistant":
        _refuse_thinking_last(progress)
    if progress.servers and (others or not results):
        raise _unanswered_server(progress)
    misplaced = progress.misplaced
    if progress.role == "system" and progress.system is not None:
        misplaced = misplaced or (progress.system, True)
    waiting, answered = {**progress.waiting}, {*progress.answered}
    for number, block in enumerate(results):
        _answer(block["tool_use_id"], waiting, answered, block_at(index, number))
    if others:
        _refuse_waiting(waiting)
    return evolve(
        progress,
        first=progress.first or (entry.role, index),
        waiting=waiting,
        answered=frozenset() if others else frozenset(answered),
        system=None,
        misplaced=misplaced,
        loop=progress.loop if results else None,
        last_results=bool(results),
    )


def _answer(call_id: str, waiting: dict[str, int], answered: set[str], at: AnthropicPlace) -> None:
    if call_id in answered:
        says = (
            "each tool_use must have a single result. Found multiple `tool_result` blocks with "
            f"id: {call_id}"
        )
        problem = f"is a second result of call {shown(call_id)}"
        raise at.fault("duplicate-result", problem, "one result a call", says)
    if call_id not in waiting:
        says = (
            f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        )
        problem = f"is a result with no call {shown(call_id)} directly before it"
        raise at.fault("orphan-result", problem, BEHIND_CALL, says)
    del waiting[call_id]
    answered.add(call_id)


def _after_assistant(progress: Progress, entry: Entry, index: int) -> Progress:
    runs_on, own = progress.role == "assistant", dict[str, int]()
    if not runs_on:
        _refuse_waiting(progress.waiting)
    for number, block in enumerate(entry.blocks):
        if block["type"] != "tool_use":
            continue
        if block["id"] in own or any(block["id"] in ids for ids in progress.called):
            problem = f"has the id of another call: the id {shown(block['id'])} is used twice"
            legal, says = "one id a call within a request", "`tool_use` ids must be unique"
            raise block_at(index, number).fault("duplicate-call-id", problem, legal, says)
        own[block["id"]] = index
    servers = _server_tools(progress, entry, index)
    kinds, blank = [block["type"] for block in entry.blocks], False
    last = kinds[-1] if kinds else progress.tail[1] if runs_on else None
    if kinds and last == "text":
        blank = entry.blocks[-1]["text"][-1:].isspace()
    return evolve(
        progress,
        first=progress.first or (entry.role, index),
        system=None,
        waiting={**progress.waiting, **own},
        answered=frozenset(),
        called=_joined(progress.called, frozenset(own)),
        servers=servers,
        tail=(index, last, blank),
        loop=progress.loop or (index, kinds[0] if kinds else None),
        compaction=_compacted(progress, entry, index),
        last_results=False,
    )


def _joined(sets: tuple[frozenset[str], ...], more: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Return `sets` with `more`; each id is copied O(log n) times, and versions share the sets."""
    while sets and more and len(sets[-1]) <= len(more):
        sets, more = sets[:-1], more | sets[-1]
    return (*sets, more) if more else sets


def _compacted(progress: Progress, entry: Entry, index: int) -> int | None:
    """Check that a signed compaction block comes first and is the only one with a summary."""
    found = progress.compaction
    for number, block in enumerate(entry.blocks):
        if block["type"] != "compaction":
            continue
        if block.get("signature") and block.get("content") is not None:
            at = block_at(index, number)
            if found is not None:
                says = (
                    "more than one `compaction` block with content. Send only the block the "
                    "conversation returned last."
                )
                problem = "is a second compaction block"
                raise at.fault("compaction-ambiguous", problem, "the newest one alone", says)
            if progress.first is not None or number:
                says = "the `compaction` block must be the first block of the conversation"
                problem = "is a compaction block behind other blocks"
                legal = "first, in place of what it sums up"
                raise at.fault("compaction-place", problem, legal, says)
        found = index
    return found


def _server_tools(progress: Progress, entry: Entry, index: int) -> dict[str, tuple[str, int]]:
    """Pair server tool calls with results, which come later if the tool calls the client.

    Until then, user messages may hold results only (platform.claude.com, agents-and-tools,
    programmatic-tool-calling, "Message formatting restrictions").
    """
    waiting = {**progress.servers}
    for number, block in enumerate(entry.blocks):
        kind, at = block["type"], block_at(index, number)
        if kind in SERVER_CALLS:
            name = block.get("name") if kind == "server_tool_use" else _MCP
            waiting[_server_id(block, at)] = (name if isinstance(name, str) else "server", index)
        elif is_server_result(block) and waiting.pop(block["tool_use_id"], None) is None:
            owner = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
            says = (
                f"unexpected `tool_use_id` found in `{kind}` blocks: {block['tool_use_id']}. "
                f"Each `{kind}` block must have a corresponding `{owner}` block before it."
            )
            problem = f"is a {kind} with no call {shown(block['tool_use_id'])} before it"
            legal = f"results behind their {owner}, in the same message"
            raise at.fault("orphan-server-result", problem, legal, says)
    return waiting


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


def _unanswered_server(progress: Progress) -> InvalidMessagesError:
    """Return the error for a server tool call that has no result when the user speaks."""
    call_id, (name, index) = next(iter(progress.servers.items()))
    result = "mcp_tool_result" if name == _MCP else f"{name}_tool_result"
    says = (
        f"`{name}` tool use with id `{call_id}` was found without a corresponding `{result}` block"
    )
    problem = f"calls the server tool {shown(name)} and holds no result for {shown(call_id)}"
    return WHOLE.into("messages", index).fault(
        "unanswered-server-call", problem, "its result in the same message, or neither", says
    )


def _after_system(progress: Progress, entry: Entry, index: int) -> Progress:
    if not entry.blocks:
        return progress
    _refuse_waiting(progress.waiting)
    if progress.first is None:
        return evolve(progress, led_by_system=True)
    wrong = progress.role == "assistant" and not (progress.tail[1] or "").endswith("_tool_result")
    return evolve(
        progress, system=index, misplaced=progress.misplaced or ((index, False) if wrong else None)
    )


_AFTER = {"system": _after_system, "assistant": _after_assistant, "user": _after_user}


def judge_places(progress: Progress) -> None:
    """Raise `InvalidMessagesError` (rule system-place) for a misplaced system message.

    Unless it leads the list, a system message must follow a user message or a server tool's result,
    and precede an assistant message or end the list.
    """
    if progress.misplaced is None:
        return
    index, before_user = progress.misplaced
    what, problem, legal = _BEFORE_USER if before_user else _BEHIND_ASSISTANT
    says = (
        f"role 'system' must {what}; the directive-only form (content: [] with output_config) is "
        "accepted at any position"
    )
    raise WHOLE.into("messages", index).fault("system-place", problem, legal, says)


_BEFORE_USER = (
    "precede an 'assistant' message or end the array",
    "is a system message before a user's",
    "one at the end, or before the assistant's",
)
_BEHIND_ASSISTANT = (
    "follow a 'user' message or an 'assistant' message ending in a server tool result",
    "is a system message behind the assistant's",
    "one behind a user message",
)


def _refuse_thinking_last(progress: Progress) -> None:
    index, kind, _ = progress.tail
    if kind in THINKING:
        says = f"The final block in an assistant message cannot be `{kind}`."
        legal = "text or calls behind the thinking, or neither"
        raise WHOLE.into("messages", index).fault("thinking-last", f"ends in {kind}", legal, says)


def _refuse_waiting(waiting: Mapping[str, int]) -> None:
    if waiting:
        at = WHOLE.into("messages", next(iter(waiting.values())))
        problem, says = f"has {without_results([*waiting])}", unanswered_wording(", ".join(waiting))
        raise at.fault("unanswered-call", problem, ONE_RESULT, says)


def _counted(progress: Progress, entry: Entry, index: int) -> Progress:
    """Add up the cache breakpoints and media, whose number in a request is limited."""
    at = WHOLE.into("messages", index, "content")
    found = tuple(marks(entry.blocks, at))
    load, widest = progress.load, progress.widest
    for block, spot in each_block(entry.blocks, at):
        if (added := load_of(Provider.ANTHROPIC, block)) is not None:
            load = load + added
            if added["wide"] and widest is None:
                widest = spot.into("!image", "source", "!base64", "data")
    if not found and load is progress.load:
        return progress
    return evolve(progress, marks=progress.marks + found, load=load, widest=widest)
