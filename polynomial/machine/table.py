"""The pure engine: what a class of machine declares, as data, and the one function that looks a step up in it.

The session decides with it. Guards and validators are the machine's own methods, asked of an instance that was never started, so
a subclass overrides them as it overrides any method.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from polycontext.linearity import InvalidDataError, UnknownNameError
from polycontext.polynomial.errors import illegal
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.state import Kind, State

if TYPE_CHECKING:
    from polycontext.polynomial.machine.context_machine import ContextMachine


@frozen
class Guard:
    """Name a guard, and the answer that lets a step pass."""

    name: str
    expected: bool = True

    def __str__(self) -> str:
        return self.name if self.expected else f"not {self.name}"


@frozen
class Row:
    """Hold one transition: where it leads, what may refuse it, and what must hold."""

    target: State
    validators: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()


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
        rows = self.legal(state).get(kind)
        if rows is None:
            events = {each for cell in self.cells.values() for each in cell}
            if kind not in events:
                raise UnknownNameError("event", str(kind), tuple(sorted(events)))
            raise illegal(state, kind, self.cells[state])
        return rows


def run(table: Table, state: State, step: Step) -> State:
    """Take `step` through `table` from `state`; return the next state.

    Raises:
        IllegalDirectionError: the event is illegal in `state`, or no guard lets it pass (ContextPressureError in PRESSURED).
        UnknownNameError: no state has such an event. Whatever a validator raises.
    """
    asked: Any = table.machine.unstarted(step.window, step.policy, state)
    checked: tuple[str, ...] = ()
    for row in table.rows(state, step.input.kind):
        # The rows of a cell mostly share their validators: what one row has let pass is not asked again.
        if row.validators != checked:
            for name in row.validators:
                getattr(asked, name)(step)
            checked = row.validators
        for guard in row.guards:
            if bool(getattr(asked, guard.name)(step)) is not guard.expected:
                break
        else:
            return row.target
    raise illegal(state, step.input.kind, table.cells[state])
