"""The laws of what a window is given: token counters and message formats."""

import re
from collections.abc import Sequence

from polycontext.linearity.law import agree, holds, law

from ..atoms import open_calls
from ..errors import InvalidMessagesError
from ..providers import Message, WireFormat
from ..tokens.counter import TURN_OVERHEAD, TokenCounter, count_turn
from ..turn import Role, Turn

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""


@law('docs/counting.md, "What counts"')
def counting_repeats(counter: TokenCounter, text: str) -> None:
    """A counter says the same of any text again, never less than nothing, and nothing of no text."""
    count = counter.count(text)
    agree(counter.count(text), count)
    holds(
        count >= 0 and counter.count("") == 0,
        "0 or more, 0 for no text",
        (count, counter.count("")),
    )


@law('docs/counting.md, "What counts"')
def a_turn_costs_its_text_and_framing(counter: TokenCounter, turn: Turn) -> None:
    """Any turn costs at least what its content and its calls' arguments count, and the framing of a message around them."""
    texts = [turn.text, *(call.arguments for call in turn.tool_calls)]
    least = TURN_OVERHEAD + sum(counter.count(text) for text in texts if text)
    found = count_turn(counter, turn)
    holds(found >= least, f"at least {least}", found)


@law('docs/providers.md, "Guarantees for all providers"')
def what_is_written_is_valid(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes passes its own check, for turns whose calls are paired and of which at least one is the user's."""
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
    """Return what a provider would find wrong, None where it takes the messages.

    Calls may wait for results where it is said so.
    """
    try:
        wire.check(messages, allow_open_tail=allow_open_tail)
    except InvalidMessagesError as error:
        return str(error)
    return None


@law('docs/providers.md, "Guarantees for all providers"')
def reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes it reads back: texts in order (white space at their ends aside), calls in order, each with its result.

    A format may spell names of tools and ids of calls anew; system texts may be taken apart from
    the others.
    """
    again = wire.parse(wire.render(turns).inline()).turns
    for system in (False, True):
        lost = missing(spoken(turns, system=system), spoken(again, system=system))
        agree(lost, [], provider=wire.provider, read=again)
    calls, read = called(turns), called(again)
    kept = len(calls) == len(read) and all(
        name == call or not _NAME.fullmatch(call) for call, name in zip(calls, read, strict=True)
    )
    holds(kept, f"the calls {calls}", read, provider=wire.provider)
    agree(answered(again), answered(turns), provider=wire.provider, read=again)


@law('docs/providers.md, "Guarantees for all providers"')
def what_was_read_is_written_back_unchanged(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """A message list that was read is written back as it was, from its turns alone, and reading it did not change it."""
    messages, untouched = wire.render(turns).inline(), wire.render(turns).inline()
    parsed = wire.parse(messages)
    agree(
        (wire.render(parsed.turns).inline(), messages),
        (untouched, untouched),
        provider=wire.provider,
    )


@law('docs/providers.md, "Guarantees for all providers"')
def what_is_written_stays_when_more_is_said(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What is written for the start of a conversation begins what is written for all of it, block for block.

    A start ends on no open calls; white space at the end of its last text may be missing.
    """
    whole = blocks_of(wire.render(turns).inline())
    for stop in range(1, len(turns)):
        if not open_calls(turns[:stop]):
            start = blocks_of(wire.render(turns[:stop]).inline())
            found = (
                [*whole[: len(start) - 1], *map(trimmed, whole[len(start) - 1 : len(start)])]
                if start
                else []
            )
            agree(
                found, [*start[:-1], *map(trimmed, start[-1:])], provider=wire.provider, stop=stop
            )


def blocks_of(messages: Sequence[Message]) -> list[tuple[str, object]]:
    """Return what stands in messages, block by block with its role: where one message ends, and in which form it is, is left out.

    >>> blocks_of([{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "there"}]}])
    [('user', {'type': 'text', 'text': 'hi'}), ('user', {'type': 'text', 'text': 'there'})]
    """
    found: list[tuple[str, object]] = []
    for message in messages:
        role, content = str(message.get("role", "")), message.get("content")
        further = {
            name: value for name, value in message.items() if name not in {"role", "content"}
        }
        found += (
            [(role, {"type": "text", "text": content})]
            if isinstance(content, str)
            else [(role, each) for each in content or ()]
        )
        found += [(role, further)] if further else []
    return found


def trimmed(block: tuple[str, object]) -> tuple[str, object]:
    """Return a block without the white space at the end of its text."""
    role, what = block
    return role, {**what, "text": what["text"].rstrip()} if isinstance(what, dict) and isinstance(
        what.get("text"), str
    ) else what


# --- what turns say, freed of how a format spells it: the words that must survive being written and
# read ---


def spoken(turns: Sequence[Turn], *, system: bool) -> list[str]:
    """Return the visible texts, without the white space at their ends, of the system turns or of all others."""
    return [
        text
        for turn in turns
        if (turn.role is Role.SYSTEM) is system and (text := turn.text.strip())
    ]


def called(turns: Sequence[Turn]) -> list[str]:
    """Return the names of the tools that are called, in order."""
    return [call.name for turn in turns for call in turn.tool_calls]


def answered(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Return for every result how many calls there were so far, and which one of the latest turn it answers.

    >>> from polycontext.window.turn import ToolCall
    >>> calls = Turn("assistant", None, tool_calls=(ToolCall("a", "search"), ToolCall("b", "search")))
    >>> answered([calls, Turn("tool", "found", tool_call_id="b"), Turn("tool", "", tool_call_id="a")])
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
    """Return those of `texts` that do not stand in `read`, joined, one behind the other.

    >>> missing(["one", "two", "one"], ["one two", "three"])
    ['one']
    """
    rest, lost = "\n".join(read), list[str]()
    for text in texts:
        _, found, behind = rest.partition(text)
        rest = behind if found else rest
        lost += [] if found else [text]
    return lost
