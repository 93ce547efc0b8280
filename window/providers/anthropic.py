"""Anthropic's messages: typed blocks, results inside user messages, system apart.

One user message may give several turns (its results, then its words). A run of
messages of one role is one message to the provider, so a run of assistant
messages is one turn from its first call on. Ids may return in later messages,
as the provider accepts, but not within one.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from polycontext.linearity.json_data import thawed
from polycontext.window.providers.anthropic_request_rules import check_messages
from polycontext.window.providers.anthropic_rules import Entry, checked_entries
from polycontext.window.providers.anthropic_write import Writer, with_user_first
from polycontext.window.providers.blocks import Place, compact, copied_messages, shown, text_and_parts
from polycontext.window.providers.pairing import Pairing
from polycontext.window.providers.wire import Message, Parsed, Provider, Rendered
from polycontext.window.providers.writeback import Fragment, Loose, Untouched, pieces
from polycontext.window.turn import Role, ToolCall, Turn


def parse(messages: object, *, repair: bool = False) -> Parsed:
    """Read messages into turns. The history may end on open calls and begin with any role.

    System messages inside the list are read where they stand: the provider takes
    them between turns, and leading ones are a common way to store `system`
    (`hoist` takes those apart). With `repair` a call in the middle that has no
    result gets a marked one.

    Raises:
        InvalidMessagesError: naming index and rule; the rules are listed in docs/providers.md.

    >>> [turn.content for turn in parse([{"role": "user", "content": "hi"}]).turns]
    ['hi']
    """
    copies = copied_messages(Provider.ANTHROPIC, messages)
    entries = checked_entries(copies)
    pairing = Pairing(Provider.ANTHROPIC, repair=repair)
    start = 0
    while start < len(entries):
        stop = _group_end(entries, start)
        for turn in _turns(entries, start, stop):
            pairing.add(turn, start)
        start = stop
    return pairing.parsed(copies)


def check(messages: object, *, allow_open_tail: bool = False, strict_first: bool = True) -> None:
    """Raise `InvalidMessagesError` for a message list that Anthropic would refuse.

    With `allow_open_tail` the list may end as a history does that somebody goes
    on with: on calls without results, or on assistant text with white space behind it.
    Without `strict_first` the assistant may speak first, which some models take.

    >>> check([{"role": "assistant", "content": "hi"}])
    Traceback (most recent call last):
    polycontext.window.errors.InvalidMessagesError: messages[0] break the anthropic rule first-role: \
the first message is the assistant's; legal: a user message first
    """
    check_messages(messages, allow_open_tail=allow_open_tail, strict_first=strict_first)


def render(turns: Iterable[Turn]) -> Rendered:
    """Write `turns` as messages, from the turns alone: roles alternate, system turns are hoisted in order.

    Law: ``check(render(turns).messages)`` passes for turns whose calls are paired and which the user has a part in.

    >>> rendered = render([Turn("system", "Be brief."), Turn("user", "hi")])
    >>> rendered.system, rendered.messages[0]["content"]
    (({'type': 'text', 'text': 'Be brief.'},), [{'type': 'text', 'text': 'hi'}])
    """
    writer = Writer(merge=True)
    for turn in turns:
        writer.add_turn(turn)
    return with_user_first(writer.finished())


def rebuild(parsed: Parsed, turns: Iterable[Turn], positions: Mapping[str, int]) -> Rendered:
    """Write a view of `parsed` back: messages kept whole are copies of the very originals.

    A message of which only some turns are kept is rebuilt from its own blocks; all
    other turns are rendered. `positions` gives for each resource id the position
    in ``parsed.turns``. Law: with all turns kept the messages equal the originals.
    """
    writer = Writer(merge=False)
    for piece in pieces(parsed, turns, positions):
        match piece:
            case Untouched(start, stop):
                writer.keep([thawed(message) for message in parsed.messages[start:stop]])
            case Fragment(_, place, ordinal):
                writer.add_blocks("user", thawed(_fragment(parsed.messages[place]["content"], ordinal)))
            case Loose(turn):
                writer.add_turn(turn)
    return writer.finished()


def hoist(messages: object) -> Rendered:
    """Take the leading system messages of text out of the list, the opposite of `Rendered.inline`.

    Raises:
        InvalidMessagesError: a message breaks a rule by itself.

    >>> hoist([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]).system
    ({'type': 'text', 'text': 'Be brief.'},)
    """
    copies = copied_messages(Provider.ANTHROPIC, messages)
    entries = checked_entries(copies)
    head = list(takewhile(lambda entry: entry.role == "system" and all(block["type"] == "text" for block in entry.blocks), entries))
    return Rendered(copies[len(head) :], tuple(block for entry in head for block in entry.blocks))


def _group_end(entries: Sequence[Entry], start: int) -> int:
    # Results may follow the last of several assistant messages, so from its first call on a run is one turn.
    stop = start + 1
    if entries[start].role == "assistant" and entries[start].calls:
        while stop < len(entries) and entries[stop].role == "assistant":
            stop += 1
    return stop


def _turns(entries: Sequence[Entry], start: int, stop: int) -> list[Turn]:
    _refuse_repeated_ids(entries, start, stop)
    blocks = [block for entry in entries[start:stop] for block in entry.blocks]
    role = entries[start].role
    with Place(Provider.ANTHROPIC, start).turn_errors():
        return [_turn(role, own) for own in _split(role, blocks)]


def _refuse_repeated_ids(entries: Sequence[Entry], start: int, stop: int) -> None:
    seen: set[str] = set()
    for index in range(start, stop):
        for call_id in (block["id"] for block in entries[index].blocks if block["type"] == "tool_use"):
            if call_id in seen:
                problem = f"the id {shown(call_id)} is used twice"
                raise Place(Provider.ANTHROPIC, index).refuse("duplicate-call-id", problem, "one id a call within a message")
            seen.add(call_id)


def _split(role: str, blocks: list[Message]) -> list[list[Message]]:
    """Return the blocks of each turn: of the user every result alone, then all others together."""
    results = sum(block["type"] == "tool_result" for block in blocks) if role == "user" else 0
    if results == len(blocks) > 0:
        return [[block] for block in blocks]
    return [*([block] for block in blocks[:results]), blocks[results:]]


def _fragment(blocks: list[Message], ordinal: int) -> list[Message]:
    """Return what `_split` gives for turn `ordinal` of a user message, without splitting it all."""
    return [blocks[ordinal]] if blocks[ordinal]["type"] == "tool_result" else blocks[ordinal:]


def _turn(role: str, blocks: list[Message]) -> Turn:
    if blocks and blocks[0]["type"] == "tool_result":
        return _tool_turn(blocks[0])
    calls = [ToolCall(block["id"], block["name"], compact(block["input"])) for block in blocks if block["type"] == "tool_use"]
    content, parts = text_and_parts(Provider.ANTHROPIC, (block for block in blocks if block["type"] != "tool_use"))
    return Turn(Role(role), "" if content is None and not calls and not parts else content, tool_calls=calls, parts=parts)


def _tool_turn(block: Message) -> Turn:
    inner = block.get("content")
    content, parts = text_and_parts(Provider.ANTHROPIC, inner) if isinstance(inner, list) else (inner, ())
    if content is None and not parts:
        content = ""
    metadata = {"is_error": True} if block.get("is_error") else {}
    return Turn(Role.TOOL, content, tool_call_id=block["tool_use_id"], parts=parts, metadata=metadata)
