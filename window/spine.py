"""Append-only columns that many windows share.

A window is a spine and a length. Appending to the newest window writes behind
its end and costs O(1); appending to an older one forks the columns first, so
no window ever sees what another appended.
"""

from threading import Lock
from typing import Self

from polycontext.window.turn import Turn


class Spine:
    """Keep turns, running token sums and the first turn of each turn's atom, side by side."""

    __slots__ = ("_lock", "starts", "sums", "turns")

    def __init__(self, turns: list[Turn] | None = None, sums: list[int] | None = None, starts: list[int] | None = None) -> None:
        self.turns = turns if turns is not None else []
        self.sums = sums if sums is not None else [0]
        self.starts = starts if starts is not None else []
        self._lock = Lock()

    def extended(self, length: int, turn: Turn, tokens: int, *, joins: bool) -> Self:
        """Return a spine whose first `length` turns are these and whose next one is `turn`."""
        with self._lock:
            if len(self.turns) == length:
                spine = self
            else:
                spine = type(self)(self.turns[:length], self.sums[: length + 1], self.starts[:length])
            # Sums and starts first: a reader trusts the length of its own window, never these lists' ends.
            spine.sums.append(spine.sums[length] + tokens)
            spine.starts.append(spine.starts[length - 1] if joins else length)
            spine.turns.append(turn)
            return spine
