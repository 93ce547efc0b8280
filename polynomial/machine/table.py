"""The pure engine: the machine's declaration as data, and the one function that looks things up in it."""

from collections.abc import Callable, Mapping

from attrs import frozen

from polycontext.polynomial.errors import illegal
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.state import ContextState, InputKind
from polycontext.window import ContextWindow


@frozen
class Row:
    """Hold one transition: where it leads, what may refuse it, what must hold, and what it does."""

    target: ContextState
    validators: tuple[Callable[[Step], None], ...]
    guards: tuple[Callable[[Step], bool], ...]
    actions: tuple[Callable[[Step], ContextWindow], ...]


Table = Mapping[ContextState, Mapping[InputKind, tuple[Row, ...]]]
"""For each state and legal input the transitions in the order they are tried; absent means illegal."""


def directions(table: Table) -> dict[ContextState, frozenset[InputKind]]:
    """Return the legal inputs of every state."""
    return {state: frozenset(rows) for state, rows in table.items()}


def run(table: Table, state: ContextState, step: Step) -> ContextState:
    """Take `step` through `table` from `state`; return the next state.

    Raises:
        IllegalDirectionError: the input is no direction of `state` (ContextPressureError in PRESSURED).
    """
    rows = table[state].get(step.input.kind)
    if rows is None:
        raise illegal(state, step.input.kind, frozenset(table[state]))
    checked: tuple[Callable[[Step], None], ...] | None = None
    for row in rows:
        # The rows of a cell share their validators (see `compile_table`): what one row has let pass is not asked again.
        if row.validators is not checked:
            for validate in row.validators:
                validate(step)
            checked = row.validators
        for guard in row.guards:
            if not guard(step):
                break
        else:
            for act in row.actions:
                act(step)
            return row.target
    raise illegal(state, step.input.kind, frozenset(table[state]))
