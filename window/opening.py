"""The line that opens a conversation in which the assistant spoke first: every provider and the machine want the user to begin."""

from collections.abc import Sequence
from itertools import takewhile

from polycontext.window.turn import Role, Turn

OPENING = "[The assistant speaks first]"
"""What stands for the user who has not said anything yet; it is no task, and no constraint."""


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
