"""The laws of what a window is given: token counters and message formats."""

from collections.abc import Sequence

from attrs import evolve

from polycontext.linearity.law import agree, holds, law
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import Message, WireFormat
from polycontext.window.tokens.counting import TURN_OVERHEAD, TokenCounter, count_turn
from polycontext.window.turn import Role, Turn


@law("design §5")
def counting_repeats(counter: TokenCounter, text: str) -> None:
    """A counter says the same of any text again, never less than nothing, and nothing of no text."""
    count = counter.count(text)
    agree(counter.count(text), count)
    holds(count >= 0 and counter.count("") == 0, "0 or more, 0 for no text", (count, counter.count("")))


@law("design §5")
def a_turn_costs_its_text_and_framing(counter: TokenCounter, turn: Turn) -> None:
    """Any turn costs at least what its content and its calls' arguments count, and the framing of a message around them."""
    texts = [turn.text, *(call.arguments for call in turn.tool_calls)]
    least = TURN_OVERHEAD + sum(counter.count(text) for text in texts if text)
    found = count_turn(counter, turn)
    holds(found >= least, f"at least {least}", found)


@law("design §5, §7")
def what_is_written_is_valid(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes passes its own check, for turns whose calls are paired and of which at least one is the user's."""
    messages = wire.render(turns).messages
    agree(fault_of(wire, messages, allow_open_tail=True), None, provider=wire.provider, messages=messages)


def fault_of(wire: WireFormat, messages: Sequence[Message], *, allow_open_tail: bool = False) -> str | None:
    """Return what a provider would find wrong, None where it takes the messages; calls may wait for results where it is said so."""
    try:
        wire.check(messages, allow_open_tail=allow_open_tail)
    except InvalidMessagesError as error:
        return str(error)
    return None


@law("design §5")
def reading_undoes_writing(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """What a format writes it reads back: texts in order (white space at their ends aside), calls in order, each with its result.

    A format may cut a tool's name short and may spell call ids anew; system texts may be taken apart from the others.
    """
    again = wire.parse(wire.render(turns).inline()).turns
    for system in (False, True):
        lost = missing(spoken(turns, system=system), spoken(again, system=system))
        agree(lost, [], provider=wire.provider, read=again)
    calls, read = called(turns), called(again)
    kept = len(calls) == len(read) and all(name and call.startswith(name) for call, name in zip(calls, read, strict=True))
    holds(kept, f"the calls {calls}", read, provider=wire.provider)
    agree(answered(again), answered(turns), provider=wire.provider, read=again)


@law("design §5")
def what_was_read_is_written_back_unchanged(wire: WireFormat, turns: Sequence[Turn]) -> None:
    """A message list that was read is written back as it was when all its turns are kept, and reading it did not change it."""
    messages, untouched = wire.render(turns).inline(), wire.render(turns).inline()
    parsed = wire.parse(messages)
    kept = [evolve(turn, resource_id=f"t{index}") for index, turn in enumerate(parsed.turns)]
    positions = {turn.resource_id: index for index, turn in enumerate(kept)}
    agree((wire.rebuild(parsed, kept, positions).messages, messages), (untouched, untouched), provider=wire.provider)


# --- what turns say, freed of how a format spells it: the words that must survive being written and read ---


def spoken(turns: Sequence[Turn], *, system: bool) -> list[str]:
    """Return the visible texts, without the white space at their ends, of the system turns or of all others."""
    return [text for turn in turns if (turn.role is Role.SYSTEM) is system and (text := turn.text.strip())]


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
