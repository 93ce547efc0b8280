"""The pure engine: what a class of machine declares, as data, and the one function that looks a step up in it.

The session decides with it. Guards and validators are the machine's own methods, bound once to an instance that is never started, so
a subclass overrides them as it overrides any method.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from polycontext.linearity import InvalidDataError, UnknownNameError
from polycontext.polynomial.errors import illegal
from polycontext.polynomial.state import Kind, State

from .step import Step

if TYPE_CHECKING:
    from .context_machine import ContextMachine


@frozen
class Check:
    """Name a method of the machine that is asked of a step, and, for a guard, the answer that lets the step pass."""

    name: str
    ask: Callable[[Step], object] = field(eq=False, repr=False)
    expected: bool = True

    def __str__(self) -> str:
        return self.name if self.expected else f"not {self.name}"


@frozen
class Row:
    """Hold one transition: where it leads, what may refuse it, and what must hold."""

    target: State
    validators: tuple[Check, ...] = ()
    guards: tuple[Check, ...] = ()


@frozen(eq=False)
class Table:
    """Hold, for each state and legal event, the transitions in the order in which they are tried; absent means illegal."""

    machine: "type[ContextMachine]"
    cells: Mapping[State, Mapping[Kind, tuple[Row, ...]]]

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of every state."""
        return {state: frozenset(cell) for state, cell in self.cells.items()}

    def legal(self, state: State) -> Mapping[Kind, tuple[Row, ...]]:
        """Return what is legal in `state`; raise `InvalidDataError` where this machine has no such state."""
        if state not in self.cells:
            name = self.machine.__name__
            raise InvalidDataError(
                ".state", f"{name} has no state {state}", f"{', '.join(self.cells)}; or pass machine= the class that has it"
            )
        return self.cells[state]

    def rows(self, state: State, kind: Kind) -> tuple[Row, ...]:
        """Return the transitions of an event in `state`.

        Raises:
            UnknownNameError: no state has such an event. IllegalDirectionError: another one has (ContextPressureError in PRESSURED).
        """
        legal = self.legal(state)
        if kind in legal:
            return legal[kind]
        events = {each for cell in self.cells.values() for each in cell}
        if kind not in events:
            raise UnknownNameError("event", str(kind), tuple(sorted(events)))
        raise illegal(state, kind, legal)


def run(table: Table, state: State, step: Step) -> State:
    """Take `step` through `table` from `state`; return the next state.

    Raises:
        IllegalDirectionError: the event is illegal in `state`, or no guard lets it pass (ContextPressureError in PRESSURED).
        UnknownNameError: no state has such an event. Whatever a validator raises.
    """
    checked: tuple[Check, ...] = ()
    for row in table.rows(state, step.input.kind):
        # The rows of a cell mostly share their validators: what one row has let pass is not asked again.
        if row.validators is not checked:
            for validator in row.validators:
                validator.ask(step)
            checked = row.validators
        for guard in row.guards:
            if bool(guard.ask(step)) is not guard.expected:
                break
        else:
            return row.target
    raise illegal(state, step.input.kind, table.cells[state])
