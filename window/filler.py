"""Filler: text that some providers require between turns but that no turn contains."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple, Self

from .tokens.counter import TokenCounter, count_introduced
from .turn import Role, Turn

OPENING = "[The assistant speaks first]"
"""The user message that opens a conversation which the assistant began.

It is neither a task nor a constraint.
"""

SYSTEM_FOLLOWS = "[a system message follows]"
"""The user message inserted for Anthropic between an assistant and a system message.

Anthropic rejects a system message directly after an assistant message.
"""

SYSTEM_READ = "[the system message was read]"
"""The assistant message inserted for Anthropic between a system and a user message.

Anthropic rejects a user message directly after a system message.
"""

BETWEEN = {(Role.ASSISTANT, Role.SYSTEM): SYSTEM_FOLLOWS, (Role.SYSTEM, Role.USER): SYSTEM_READ}
"""The filler between two neighbouring roles, after the leading system turns."""


class Introduced(NamedTuple):
    """The token count of the filler in a list of turns, for the provider that needs the most.

    `tokens` is the count so far and `last` the role of the last turn.

    >>> from polycontext.window.tokens.counter import EstimatingCounter
    >>> turns = [
    ...     Turn("user", "Hi"),
    ...     Turn("assistant", "Hello"),
    ...     Turn("system", "Be brief."),
    ...     Turn("user", "Well?"),
    ... ]
    >>> [Introduced().after(turns[:number], EstimatingCounter()).tokens for number in range(5)]
    [0, 0, 0, 11, 23]
    """

    tokens: int = 0
    last: Role | None = None
    has_begun: bool = False
    """Whether a turn other than a system turn has been seen."""
    may_call: bool = False
    """Whether the user has spoken, or the opening that a first call may need was counted."""

    def after(self, turns: Iterable[Turn], counter: TokenCounter) -> Self:
        """Return the count after appending `turns`; O(1) for each turn."""
        tokens, last, has_begun, may_call = self
        for turn in turns:
            role = (
                Role.ASSISTANT if turn.parts and "anthropic" in turn.native_providers else turn.role
            )
            text = BETWEEN.get((last, role)) if has_begun and last is not None else None
            opening = OPENING if turn.tool_calls and not may_call else None
            tokens += count_introduced(counter, filter(None, (text, opening)))
            last, has_begun = role, has_begun or role is not Role.SYSTEM
            may_call = may_call or role is Role.USER or opening is not None
        return type(self)(tokens, last, has_begun, may_call)


def is_opening(turn: Turn) -> bool:
    """Return whether `turn` is the opening filler, inserted here or read from a list.

    >>> is_opening(Turn("user", OPENING)), is_opening(Turn("user", "Hi"))
    (True, False)
    """
    return turn.role is Role.USER and turn.content == OPENING


def opening_of(turns: Sequence[Turn]) -> int | None:
    """Return the index at which the opening filler belongs, or None if none is needed.

    It is needed where the first turn after the leading system turns is the assistant's.

    >>> (
    ...     opening_of([Turn("system", "Be kind."), Turn("assistant", "Hello!")]),
    ...     opening_of([Turn("user", "Hi")]),
    ... )
    (1, None)
    """
    place = sum(1 for _ in takewhile(lambda turn: turn.role is Role.SYSTEM, turns))
    return place if place < len(turns) and turns[place].role is Role.ASSISTANT else None
