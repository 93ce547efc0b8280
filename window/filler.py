"""What is said that no turn says: the line that opens where the assistant spoke first, and what one provider wants between two turns."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple, Self

from .part import native_providers
from .tokens.counter import TokenCounter, count_introduced
from .turn import Role, Turn

OPENING = "[The assistant speaks first]"
"""What stands for the user who has not said anything yet; it is no task, and no constraint."""

ASSISTANT_FIRST = "[the conversation begins with the assistant]"
"""What the user says for Anthropic where the assistant would begin."""

SYSTEM_FOLLOWS = "[a system message follows]"
"""What the user says for Anthropic where the system speaks behind the assistant, which it refuses.
"""

SYSTEM_READ = "[the system message was read]"
"""What the assistant says for Anthropic where the user speaks behind the system, which it refuses.
"""

BETWEEN = {(Role.ASSISTANT, Role.SYSTEM): SYSTEM_FOLLOWS, (Role.SYSTEM, Role.USER): SYSTEM_READ}
"""What stands between two neighbours behind the leading system turns."""


class Introduced(NamedTuple):
    """Count the `tokens` of what is introduced into a list of turns that ends with one by the role `last`: the most that any provider is sent.

    >>> from polycontext.window.tokens.counter import EstimatingCounter
    >>> turns = [Turn("user", "Hi"), Turn("assistant", "Hello"), Turn("system", "Be brief."), Turn("user", "Well?")]
    >>> [Introduced().after(turns[:number], EstimatingCounter()).tokens for number in range(5)]
    [0, 0, 0, 11, 23]
    """

    tokens: int = 0
    last: Role | None = None
    has_begun: bool = False
    """Whether anybody but the system has spoken."""

    def after(self, turns: Iterable[Turn], counter: TokenCounter) -> Self:
        """Return the count with `turns` behind; O(1) a turn."""
        tokens, last, has_begun = self
        for turn in turns:
            role = (
                Role.ASSISTANT
                if turn.parts and "anthropic" in native_providers(turn.parts)
                else turn.role
            )
            if has_begun and last is not None:
                text = BETWEEN.get((last, role))
            else:
                text = ASSISTANT_FIRST if role is Role.ASSISTANT else None
            tokens += count_introduced(counter, () if text is None else (text,))
            last, has_begun = role, has_begun or role is not Role.SYSTEM
        return type(self)(tokens, last, has_begun)


def is_opening(turn: Turn) -> bool:
    """Tell whether `turn` is the line that opens, as it was put there or as it came back in a list.

    >>> is_opening(Turn("user", OPENING)), is_opening(Turn("user", "Hi"))
    (True, False)
    """
    return turn.role is Role.USER and turn.content == OPENING


def opening_of(turns: Sequence[Turn]) -> int | None:
    """Return the index in `turns` before which the user has to open, None where nobody has: the first turn but for the system's is the assistant's.

    >>> opening_of([Turn("system", "Be kind."), Turn("assistant", "Hello!")]), opening_of([Turn("user", "Hi")])
    (1, None)
    """
    place = sum(1 for _ in takewhile(lambda turn: turn.role is Role.SYSTEM, turns))
    return place if place < len(turns) and turns[place].role is Role.ASSISTANT else None
