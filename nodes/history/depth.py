"""How deep a node looks into the conversation (seed 003 layer 2)."""

from typing import Literal

from attrs import define

from polycontext.linearity import CallerError

Depth = Literal[2, 5, "full"]
DEPTHS: tuple[Depth, ...] = (2, 5, "full")
RECENT_ONLY = 2
"""The depth at which there is no summary."""


@define(slots=False, eq=False)
class UnknownDepthError(CallerError, ValueError):
    """Refuse a depth that no node looks at."""

    depth: object

    def __str__(self) -> str:
        return f"depth {self.depth!r:.60} of a conversation; legal: {', '.join(map(repr, DEPTHS))}"


def check_depth(depth: object) -> None:
    """Raise `UnknownDepthError` unless `depth` is one of the three; ``True`` and ``2.0`` are not."""
    if type(depth) not in (int, str) or depth not in DEPTHS:
        raise UnknownDepthError(depth)
