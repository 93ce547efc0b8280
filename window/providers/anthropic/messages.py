"""Anthropic's messages: typed blocks, results inside user messages, and a separate system prompt.

One user message may become several turns (its results, then its words). The provider treats a run
of messages of one role as one message, so a run of assistant messages becomes one turn from its
first call on.
"""

from collections.abc import Iterable, Iterator, Sequence

from ...turn import Role, ToolCall, Turn
from ...wire_text import compact, loaded_arguments
from ..blocks import copied_messages
from ..layout import MISSING, Collector, without
from ..places import Place
from ..tool_pairs import CallNames, paired, result_text
from ..wire import Message, Parsed, Provider, Rendered
from .block_rules import THINKING
from .message_rules import Entry, read_entries
from .writer import hoist_system

_TEXTS = {"text": "text"}
_MESSAGE = ("role", "content")
_CALL = ("type", "id", "name", "input")
_RESULT = ("type", "tool_use_id", "content")


def parse(messages: object, *, repair: bool = False, waiting: Iterable[str] = ()) -> Parsed:
    """Parse messages into turns; the history may end on open calls and begin with any role.

    System messages inside the list are parsed in place. The provider accepts them between turns,
    and leading ones are a common way to store `system` (`hoist` separates those). With `repair`, a
    call in the middle without a result gets a marked one, a result that is a number becomes text,
    and an input that is null or JSON text an object. `waiting` are ids of calls before the list
    that have no result yet.

    Raises:
        InvalidMessagesError: A message breaks a rule of docs/providers.md; the error names its
            index and the rule.

    >>> [turn.content for turn in parse([{"role": "user", "content": "hi"}]).turns]
    ['hi']
    """
    given = copied_messages(Provider.ANTHROPIC, messages)
    copies = [*_named(given, CallNames([*waiting]), repair=repair)]
    entries = read_entries(copies, results_first=not repair)
    found: list[tuple[Turn, int]] = []
    start = 0
    while start < len(entries):
        stop = _group_end(entries, start)
        with Place(Provider.ANTHROPIC, ("messages", start)).turn_errors():
            found += ((turn, start) for turn in _turns(copies, entries, start, stop))
        start = stop
    return paired(Provider.ANTHROPIC, found, copies, repair=repair, waiting=waiting)


def _named(messages: Iterable[Message], names: CallNames, *, repair: bool) -> Iterator[Message]:
    """Yield `messages` with an id for each call and result, and a content for each answer.

    Compatible servers may give none.
    """
    for message in messages:
        content = message.get("content", MISSING)
        if content is None and message.get("role") == "assistant":
            content = []
        if isinstance(content, list) and all(isinstance(block, dict) for block in content):
            blocks = map(_repaired, content) if repair else content
            yield {**message, "content": [_named_block(block, names) for block in blocks]}
        else:
            yield message


def _repaired(block: Message) -> Message:
    """Return a call with an object as its input, or a result with text as its content."""
    match block:
        case {"type": "tool_use", "input": None | str() as given}:
            loaded = loaded_arguments(given or "")
            return block if loaded is None else {**block, "input": loaded}
        case {"type": "tool_result", "content": int() | float() as content}:
            return {**block, "content": result_text(content)}
        case _:
            return block


def _named_block(block: Message, names: CallNames) -> Message:
    match block.get("type"):
        case "tool_use":
            return {**block, "id": names.call(block.get("id"))}
        case "tool_result":
            return {**block, "tool_use_id": names.result(block.get("tool_use_id"))}
        case _:
            return block


def hoist(messages: object) -> Rendered:
    """Separate the leading system messages of text from the list, the inverse of `Rendered.inline`.

    Raises:
        InvalidMessagesError: A message breaks a rule on its own.

    >>> hoist(
    ...     [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    ... ).system
    ({'type': 'text', 'text': 'Be brief.'},)
    """
    copies = copied_messages(Provider.ANTHROPIC, messages)
    read_entries(copies)
    return hoist_system(copies)


def _group_end(entries: Sequence[Entry], start: int) -> int:
    # Results may follow the last of several assistant messages, so a run is one turn from its first
    # call on. A message that ends in thinking also continues in the next one.
    stop = start + 1
    if entries[start].role == "assistant" and (
        entries[start].calls
        or any(block["type"] in THINKING for block in entries[start].blocks[-1:])
    ):
        while stop < len(entries) and entries[stop].role == "assistant":
            stop += 1
    return stop


def _turns(
    messages: Sequence[Message], entries: Sequence[Entry], start: int, stop: int
) -> Iterator[Turn]:
    """Yield the turns of the messages ``start:stop``.

    A user message yields one turn for each result, and one for the rest at its place; any other
    role yields one turn.
    """
    role = Role(entries[start].role)
    head = [_further(messages, index) for index in range(start, stop)]
    if role is not Role.USER:
        yield _said(
            role, list(zip(head, (entry.blocks for entry in entries[start:stop]), strict=True))
        )
        return
    blocks = entries[start].blocks
    rest = [block for block in blocks if block["type"] != "tool_result"]
    further = iter(head)  # it stays with the first result, if there is one
    for block in blocks:
        if block["type"] == "tool_result":
            yield _result(block, next(further, None))
        elif block is rest[0]:
            yield _said(role, [(head[0] if len(rest) == len(blocks) else None, rest)])


def _further(messages: Sequence[Message], index: int) -> Message | None:
    """Return the fields that a turn does not hold, or None if there are none.

    They include the form of a content that is not a list of blocks. An empty object marks a message
    that follows another one of the same role.
    """
    content, further = messages[index]["content"], without(messages[index], *_MESSAGE)
    if not content or isinstance(content, str):
        return {**further, "content": "" if isinstance(content, str) else []}
    is_anew = index > 0 and messages[index - 1]["role"] == messages[index]["role"]
    return further if further or is_anew else None


def _said(role: Role, messages: Sequence[tuple[Message | None, Sequence[Message]]]) -> Turn:
    collector = Collector(Provider.ANTHROPIC)
    for further, blocks in messages:
        if further is not None:
            collector.message(further)
        for block in blocks:
            _take(collector, block)
    return collector.turn(role)


def _take(collector: Collector, block: Message) -> None:
    if block["type"] == "tool_use":
        call = ToolCall(block["id"], block["name"], compact(block["input"]))
        collector.call(call, without(block, *_CALL))
    else:
        collector.take(block, "text", _TEXTS)


def _result(block: Message, further: Message | None) -> Turn:
    collector = Collector(Provider.ANTHROPIC)
    if further is not None:
        collector.message(further)
    inner, beside = block.get("content"), without(block, *_RESULT)
    is_error = beside.get("is_error") is True
    beside = (without(beside, "is_error") if is_error else beside) | _form(block)
    if beside:
        collector.result(beside)
    for each in [{"type": "text", "text": inner or ""}] if not isinstance(inner, list) else inner:
        collector.take(each, "text", _TEXTS)
    metadata = {"is_error": True} if is_error else {}
    return collector.turn(Role.TOOL, tool_call_id=block["tool_use_id"], metadata=metadata)


def _form(block: Message) -> Message:
    """Return the form of a result's content, if it is not the default one.

    The default is a string for a single text, and a list for anything else.
    """
    match block.get("content", MISSING):
        case str():
            return {}
        case [] | [{"type": "text"}] as inner if not inner or set(inner[0]) == {"type", "text"}:
            return {"content": []}
        case list():
            return {}
        case other:
            return {"content": other}
