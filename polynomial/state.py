"""The states of the machine."""

from enum import StrEnum


class ContextState(StrEnum):
    """The states of the machine: the positions of the context polynomial (docs/machine.md)."""

    # An Enum's hash is written in Python, and a turn looks up some dozens of states and events.
    __hash__ = str.__hash__

    EMPTY = "EMPTY"
    """No turns yet."""
    ACCUMULATING = "ACCUMULATING"
    """Collecting turns."""
    PRESSURED = "PRESSURED"
    """Pressure above the high mark: compress or clear first."""
    COMPRESSED = "COMPRESSED"
    """Recently compressed, cooling down."""


State = ContextState | str
"""A state of a machine: a built-in state, or the value of a state that a subclass adds."""

_STATES: dict[str, State] = {state.value: state for state in ContextState}


def state_of(value: str) -> State:
    """Return the state with that value, as a `ContextState` if it is a built-in one."""
    return _STATES.get(value, value)
