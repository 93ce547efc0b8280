"""What turns say, freed of how a format spells it: the words that must survive being written and read."""

from collections.abc import Sequence

from polycontext.window.turn import Role, Turn


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
