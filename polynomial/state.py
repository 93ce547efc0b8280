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
    RESIZE = "resize"
    REWIND = "rewind"
    FORGET = "forget"


State = ContextState | str
"""A state of a machine: one of ours, or the value of a state that a subclass adds."""
Kind = InputKind | str
"""The name of an event: one of ours, or of an event that a subclass adds."""

_STATES: dict[str, State] = {state.value: state for state in ContextState}
_KINDS: dict[str, Kind] = {kind.value: kind for kind in InputKind}


def state_of(value: str) -> State:
    """Return the state of that value: ours where it is one of ours."""
    return _STATES.get(value, value)


def kind_of(name: str) -> Kind:
    """Return the event of that name: ours where it is one of ours."""
    return _KINDS.get(name, name)
