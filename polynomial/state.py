"""The positions of the machine and the kinds of input that move it."""

from enum import StrEnum


class ContextState(StrEnum):
    """Name the positions of the context polynomial (docs/machine.md)."""

    EMPTY = "EMPTY"
    """No turns yet."""
    ACCUMULATING = "ACCUMULATING"
    """Collecting turns."""
    PRESSURED = "PRESSURED"
    """Pressure above the high mark: compress or clear first."""
    COMPRESSED = "COMPRESSED"
    """Recently compressed, cooling down."""


class InputKind(StrEnum):
    """Name the directions: what can come in."""

    USER_TURN = "user_turn"
    ASSISTANT_TURN = "assistant_turn"
    TOOL_TURN = "tool_turn"
    SYSTEM = "system"
    COMPRESS = "compress"
    CLEAR = "clear"
    RECALL = "recall"
    PROMOTE = "promote"
