"""The laws of message formats."""

import re
from collections.abc import Sequence
from typing import Any

from polycontext.base.law import agree, holds, law
from polycontext.window.atoms import open_calls
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import Message, WireFormat
from polycontext.window.providers.layout import without
from polycontext.window.turn import Role, Turn

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The tool names that every provider accepts."""


@law('docs/providers.md, "Guarantees for all providers"')
def what_is_written_is_valid(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """The messages that a format writes pass its own check.

    It holds for turns whose calls are paired and that include a user turn.
    """
    messages = wire.render(turns).messages
    agree(
        fault_of(wire, messages, allow_open_tail=True),
        None,
        provider=wire.provider,
        messages=messages,
    )


def fault_of(
    wire: WireFormat, messages: Sequence[Message], *, allow_open_tail: bool = False
) -> str | None:
    """Return the error that a provider would report, or None if it accepts the messages.

    `allow_open_tail` permits calls without results at the end.
    """
    try:
        wire.check(messages, allow_open_tail=allow_open_tail)
    except InvalidMessagesError as error:
        return str(error)
    return None


@law('docs/providers.md, "Guarantees for all providers"')
def reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """A format reads back the texts and calls that it wrote, in order, with each call's result.

    White space around texts is ignored. A format may change the names of tools and the ids of
    calls, and may move system texts to a separate place, or write them as the user's.
    """
    again = wire.parse(wire.render(turns).inline()).turns
    said = spoken(again, system=False)
    agree(missing(spoken(turns, system=False), said), [], provider=wire.provider, read=again)
    read = [*spoken(again, system=True), *said]
    agree(missing(spoken(turns, system=True), read), [], provider=wire.provider, read=again)
    calls, read = called(turns), called(again)
    kept = len(calls) == len(read) and all(
        name == call or not _NAME.fullmatch(call) for call, name in zip(calls, read, strict=True)
    )
    holds(kept, f"the calls {calls}", read, provider=wire.provider)
    agree(answered(again), answered(turns), provider=wire.provider, read=again)


@law('docs/providers.md, "Guarantees for all providers"')
def what_was_read_is_written_back_unchanged(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """A message list that was read is written back unchanged from its turns alone.

    Reading does not modify the list.
    """
    messages, untouched = wire.render(turns).inline(), wire.render(turns).inline()
    parsed = wire.parse(messages)
    agree(
        (wire.render(parsed.turns).inline(), messages),
        (untouched, untouched),
        provider=wire.provider,
    )


@law('docs/providers.md, "Guarantees for all providers"')
def what_is_written_stays_when_more_is_said(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """The messages of a conversation begin with the messages of any of its starts, block for block.

    A start has no open calls at its end. White space at the end of its last text may be missing.
    """
    whole = blocks_of(wire.render(turns).inline())
    for stop in range(1, len(turns)):
        if not open_calls(turns[:stop]):
            start = blocks_of(wire.render(turns[:stop]).inline())
            found = trimmed(whole[: len(start)])
            agree(found, trimmed(start), provider=wire.provider, stop=stop)


def blocks_of(messages: Sequence[Message]) -> list[tuple[str, Any]]:
    """Return the content of messages as blocks with roles, independent of how it is split.

    Message boundaries and the form of the content (text or list) are left out.

    >>> blocks_of(
    ...     [
    ...         {"role": "user", "content": "hi"},
    ...         {"role": "user", "content": [{"type": "text", "text": "there"}]},
    ...     ]
    ... )
    [('user', {'type': 'text', 'text': 'hi'}), ('user', {'type': 'text', 'text': 'there'})]
    """
    found: list[tuple[str, Any]] = []
    for message in messages:
        role, content = str(message.get("role", "")), message.get("content", message.get("parts"))
        further = without(message, "role", "content", "parts")
        found += (
            [(role, {"type": "text", "text": content})]
            if isinstance(content, str)
            else [(role, each) for each in content or ()]
        )
        found += [(role, further)] if further else []
    return found


def trimmed(blocks: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return `blocks` without the white space at the end of the last one's text."""
    found = [*blocks]
    match found[-1:]:
        case [(role, {"text": str(text)} as what)]:
            found[-1] = role, {**what, "text": text.rstrip()}
        case _:
            pass
    return found


# --- the content of turns, independent of a format, that must survive rendering and parsing ---


def spoken(turns: Sequence[Turn], *, system: bool) -> list[str]:
    """Return the non-empty texts of the system turns or of all other turns, stripped."""
    return [
        text
        for turn in turns
        if (turn.role is Role.SYSTEM) is system and (text := turn.text.strip())
    ]


def called(turns: Sequence[Turn]) -> list[str]:
    """Return the names of the called tools, in order."""
    return [call.name for turn in turns for call in turn.tool_calls]


def answered(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Return, for every result, the number of calls so far and the index of the call it answers.

    The index counts from the calls of the latest turn that has any.

    >>> from polycontext.window.turn import ToolCall
    >>> calls = Turn(
    ...     "assistant", None, tool_calls=(ToolCall("a", "search"), ToolCall("b", "search"))
    ... )
    >>> answered(
    ...     [calls, Turn("tool", "found", tool_call_id="b"), Turn("tool", "", tool_call_id="a")]
    ... )
    [(2, 1), (2, 0)]
    """
    pairs: list[tuple[int, int]] = []
    calls: list[str] = []
    total = 0
    for turn in turns:
        if turn.tool_calls:
            calls = [call.id for call in turn.tool_calls]
            total += len(calls)
        if turn.tool_call_id in calls:
            pairs.append((total, calls.index(turn.tool_call_id)))
    return pairs


def missing(texts: Sequence[str], read: Sequence[str]) -> list[str]:
    """Return those of `texts` that do not occur, in order, in the joined `read`.

    >>> missing(["one", "two", "one"], ["one two", "three"])
    ['one']
    """
    rest, lost = "\n".join(read), list[str]()
    for text in texts:
        _, found, behind = rest.partition(text)
        rest = behind if found else rest
        lost += [] if found else [text]
    return lost
