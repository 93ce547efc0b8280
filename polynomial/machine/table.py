"""The table of a machine: compiled from what its class declares, and where a step is looked up.

The session decides with it. Guards and validators are the machine's own methods, bound once to an
instance that is never started, so a subclass overrides them as it overrides any method. Each class
has states of its own: python-statemachine shares `State` objects between a class and its
subclasses, so what one subclass declares on `ContextMachine.accumulating` would change every other
machine in the process.
"""

from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from statemachine import State as DeclaredState
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from polycontext.linearity import InvalidDataError, InvalidOptionError, UnknownNameError

from ..errors import illegal
from ..inputs import InputKind, Kind, kind_of
from ..state import ContextState, State, state_of
from .step import Step

if TYPE_CHECKING:
    from .context_machine import ContextMachine

_RULES = "a machine whose states are texts, neither nested, parallel nor final, and whose transitions have one event and one target each"

TAKES: Mapping[str, Any] = {"validators": "in_order", "on": "put_window"}
"""What each transition of an event of ours calls: it is checked, and puts the window that the step
leads to."""


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
    """Hold, for each state and legal event, the transitions in the order in which they are tried.

    Absent means illegal.
    """

    machine: "type[ContextMachine]"
    cells: Mapping[State, Mapping[Kind, tuple[Row, ...]]]

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of every state."""
        return {state: frozenset(cell) for state, cell in self.cells.items()}

    def legal(self, state: State) -> Mapping[Kind, tuple[Row, ...]]:
        """Return what is legal in `state`.

        Raise `InvalidDataError` where this machine has no such state.
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
            UnknownNameError: no state has such an event. IllegalDirectionError: another one has
                (ContextPressureError in PRESSURED).
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
        IllegalDirectionError: the event is illegal in `state`, or no guard lets it pass
            (ContextPressureError in PRESSURED).
        UnknownNameError: no state has such an event. Whatever a validator raises.
    """
    checked: tuple[Check, ...] = ()
    for row in table.rows(state, step.input.kind):
        # The rows of a cell mostly share their validators: what one row has let pass is not asked
        # again.
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


# --- what a class declares ------------------------------------------------------------


class OwnStates(StateMachineMetaclass):
    """Give each class of machine states of its own and a compiled table."""

    def __new__(cls, name: str, bases: tuple[type], attrs: dict[str, Any]) -> Any:
        """Declare the inherited states and transitions once more."""
        if machines := _machines(bases):
            _redeclare(name, machines, attrs)
        return super().__new__(cls, name, bases, attrs)

    def __init__(self, name: str, bases: tuple[type], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        self.declared = {state.id: list(state.transitions) for state in self.states}
        self.table = _compile(self)

    def add_inherited(self, bases: tuple[type, ...]) -> None:
        """Inherit nothing by reference: the copies are declared in the class itself."""

    def forget_new(self) -> None:
        """Leave on each state the transitions that the class has declared itself."""
        for state in self.states:
            state.transitions.transitions[:] = self.declared[state.id]


def _machines(bases: Iterable[type]) -> list[Any]:
    """Return the machines that a class inherits from, nearest first."""
    return [
        each
        for each in dict.fromkeys(each for base in bases for each in base.__mro__)
        if isinstance(each, OwnStates)
    ]


def _redeclare(name: str, machines: list[Any], attrs: dict[str, Any]) -> None:
    """Put into `attrs` a copy of every state, with what was inherited and what the class body adds, which is tried first."""
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
        # Going back leads from an added state to what the guards say, too.
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
    """Return what is called by name or as a function in each of `groups`, without what python-statemachine adds by convention."""
    return {
        group: [spec.func for spec in getattr(declared, group) if not spec.is_convention]
        for group in groups
    }


def _declare(name: str, source: Any, event: str, move: Any, target: Any) -> None:
    """Declare a transition once more, from `source`.

    One for an event of ours is checked and puts the window.
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
    """Read states, events, guards and validators off a declared class, ours first."""
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
    """Return a guard or validator.

    Raise `InvalidOptionError` unless it is a method that takes the step.
    """
    ask = getattr(unstarted, spec.attr_name, None)
    if not callable(ask) or iscoroutinefunction(ask) or len(signature(ask).parameters) != 1:
        name = f"machine {type(unstarted).__name__}"
        raise InvalidOptionError(
            name, spec.attr_name, "guards and validators that are plain methods(self, step)"
        )
    return Check(spec.attr_name, ask, spec.expected_value is not False)
