"""The transition table of a machine, compiled from its class.

The session decides with this table. Guards and validators are methods of the machine, bound once to
an instance that is never started, so a subclass can override them like any method.

Each class has its own states: python-statemachine shares `State` objects between a class and its
subclasses, so a declaration on `ContextMachine.accumulating` in one subclass would change every
other machine in the process.
"""

from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction, signature
from typing import Any

from attrs import field, frozen
from statemachine import State as DeclaredState
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError

from ..errors import illegal
from ..inputs import InputKind, Kind, kind_of
from ..state import ContextState, State, state_of
from .step import Step

_RULES = (
    "a machine whose states are texts, neither nested, parallel nor final, "
    "and whose transitions have one event and one target each"
)

TAKES: Mapping[str, Any] = {"validators": "in_order", "on": "put_window"}
"""The callbacks of every transition of a built-in event: check the input, then put the window that
the step leads to.
"""


@frozen
class Check:
    """A method that checks a step; for a guard, with the answer that lets the step pass."""

    name: str
    ask: Callable[[Step], object] = field(eq=False, repr=False)
    expected: bool = True

    def __str__(self) -> str:
        return self.name if self.expected else f"not {self.name}"


@frozen
class Row:
    """A transition: its target, its validators and its guards."""

    target: State
    validators: tuple[Check, ...] = ()
    guards: tuple[Check, ...] = ()


@frozen(eq=False)
class Table:
    """The transitions of each state and legal event, in the order in which they are tried.

    An event without an entry is illegal.
    """

    machine: StateMachineMetaclass
    cells: Mapping[State, Mapping[Kind, tuple[Row, ...]]]

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each state."""
        return {state: frozenset(cell) for state, cell in self.cells.items()}

    def legal(self, state: State) -> Mapping[Kind, tuple[Row, ...]]:
        """Return the transitions of every legal event in `state`.

        Raises:
            InvalidDataError: the machine has no such state.
        """
        if state not in self.cells:
            name = self.machine.__name__
            raise InvalidDataError(
                ".state",
                f"{name} has no state {state}",
                f"{', '.join(self.cells)}; or pass machine= the class that has it",
            )
        return self.cells[state]

    def rows(self, state: State, kind: Kind) -> tuple[Row, ...]:
        """Return the transitions of an event in `state`.

        Raises:
            UnknownNameError: no state has such an event.
            IllegalDirectionError: the event is legal in another state only (ContextPressureError in
                PRESSURED).
        """
        legal = self.legal(state)
        if kind in legal:
            return legal[kind]
        events = {each for cell in self.cells.values() for each in cell}
        if kind not in events:
            raise UnknownNameError("event", str(kind), tuple(sorted(events)))
        raise illegal(state, kind, legal)


def run(table: Table, state: State, step: Step) -> State:
    """Take `step` through `table` from `state` and return the next state.

    Raises:
        IllegalDirectionError: the event is illegal in `state`, or no guard lets it pass
            (ContextPressureError in PRESSURED).
        UnknownNameError: no state has such an event.
        Any error that a validator raises.
    """
    checked: tuple[Check, ...] = ()
    for row in table.rows(state, step.input.kind):
        # The rows of a cell usually share their validators, which need to run only once.
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


# --- compiling a class ----------------------------------------------------------------


class OwnStates(StateMachineMetaclass):
    """The metaclass that gives each machine class its own states and a compiled table."""

    def __new__(cls, name: str, bases: tuple[type], attrs: dict[str, Any]) -> Any:
        """Redeclare the inherited states and transitions in the new class."""
        if machines := _machines(bases):
            _redeclare(name, machines, attrs)
        return super().__new__(cls, name, bases, attrs)

    def __init__(self, name: str, bases: tuple[type], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        self.declared = {state.id: list(state.transitions) for state in self.states}
        self.table = _compile(self)

    def add_inherited(self, bases: tuple[type, ...]) -> None:
        """Inherit nothing by reference: the class declares its own copies."""

    def forget_new(self) -> None:
        """Remove transitions that were added to the states after the class was declared."""
        for state in self.states:
            state.transitions.transitions[:] = self.declared[state.id]


def _machines(bases: Iterable[type]) -> list[Any]:
    """Return the machine classes that a class inherits from, nearest first."""
    return [
        each
        for each in dict.fromkeys(each for base in bases for each in base.__mro__)
        if isinstance(each, OwnStates)
    ]


def _redeclare(name: str, machines: list[Any], attrs: dict[str, Any]) -> None:
    """Add a copy of every state to `attrs`, with inherited and new transitions, new ones first."""
    base, given = machines[0], attrs.items()
    own = {key: value for key, value in given if isinstance(value, DeclaredState)}
    lists = [(key, value) for key, value in given if isinstance(value, TransitionList)]
    named = [(key, move) for key, moves in lists for move in moves]
    for machine in machines:
        machine.forget_new()
    states = {state.id: state for state in base.states} | own
    copies = {key: _copy(name, state) for key, state in states.items()}
    after = {
        id(state): copies[state.id]
        for machine in machines
        for state in machine.states
        if state.id in copies
    }
    after |= {id(state): copies[key] for key, state in own.items()}
    for key in own:
        attrs[f"stood_in_{key}"] = _stood_in(copies[key])
        for source in copies.values():
            source.to(copies[key], event="rewind", cond=f"stood_in_{key}", **TAKES)
    stated = (move for state in (*own.values(), *base.states) for move in state.transitions)
    for move in dict.fromkeys([*(move for _, move in named), *stated]):
        events = [key for key, each in named if each is move] or [*map(str, move.events)]
        # A rewind from an added state also leads to the state that the guards pick.
        goes_back = move.source.value == ContextState.EMPTY and events == [InputKind.REWIND]
        for source in (after.get(id(move.source)), *(copies[key] for key in own if goes_back)):
            for event in events:
                _declare(name, source, event, move, after.get(id(move.target)))
    for key in own:
        copies[key].to.itself(event="resize forget", internal=True, **TAKES)
    for key, _ in named:
        attrs.pop(key, None)
    attrs.update(copies)


def _copy(name: str, state: Any) -> Any:
    _require(
        isinstance(state.value, str | None) and not (state.states or state.parallel or state.final),
        name,
        state.name,
    )
    return DeclaredState(
        state.name, value=state.value, initial=state.initial, **_functions(state, "enter", "exit")
    )


def _stood_in(state: DeclaredState) -> Any:
    return lambda _, step: step.stood_in(state.value)


def _functions(declared: Any, *groups: str) -> dict[str, Any]:
    """Return the callbacks in each of `groups`, except those that the library adds itself."""
    return {
        group: [spec.func for spec in getattr(declared, group) if not spec.is_convention]
        for group in groups
    }


def _declare(name: str, source: Any, event: str, move: Any, target: Any) -> None:
    """Declare a transition again, from `source`.

    A transition of a built-in event also gets the callbacks in `TAKES`.
    """
    _require(len(move.targets) == 1 and event and None not in (source, target), name, str(move))
    called = _functions(move, "validators", "before", "on", "after")
    for group, needed in TAKES.items():
        if isinstance(kind_of(event), InputKind) and needed not in called[group]:
            called[group].insert(0, needed)
    for group, expected in (("cond", True), ("unless", False)):
        called[group] = [
            spec.func for spec in move.cond if (spec.expected_value is not False) is expected
        ]
    source.to(target, event=event, internal=move.internal, **called)


def _require(fits: object, name: str, what: str) -> None:
    if not fits:
        raise InvalidOptionError(f"machine {name}", what, _RULES)


def _compile(machine: Any) -> Table:
    """Compile the table of a declared class, with the built-in events first."""
    unstarted, seen = machine.__new__(machine), dict[object, Any]()
    events = [event for state in machine.states for event in state.transitions.unique_events]
    kinds = dict.fromkeys([*InputKind, *(kind_of(str(event)) for event in events)])
    cells: dict[Any, Any] = {
        state_of(state.value): dict.fromkeys(kinds, ()) for state in machine.states
    }
    for state in machine.states:
        cell = cells[state_of(state.value)]
        for move in state.transitions:
            validators, guards = (
                tuple(_check(unstarted, spec) for spec in group)
                for group in (move.validators, move.cond)
            )
            row = Row(state_of(move.target.value), seen.setdefault(validators, validators), guards)
            for event in move.events:
                cell[kind_of(str(event))] += (row,)
    return Table(
        machine,
        {
            state: {kind: rows for kind, rows in cell.items() if rows}
            for state, cell in cells.items()
        },
    )


def _check(unstarted: Any, spec: Any) -> Check:
    """Return the `Check` of a guard or validator.

    Raises:
        InvalidOptionError: it is not a plain method that takes only the step.
    """
    ask = getattr(unstarted, spec.attr_name, None)
    if not callable(ask) or iscoroutinefunction(ask) or len(signature(ask).parameters) != 1:
        name = f"machine {type(unstarted).__name__}"
        raise InvalidOptionError(
            name, spec.attr_name, "guards and validators that are plain methods(self, step)"
        )
    return Check(spec.attr_name, ask, spec.expected_value is not False)
