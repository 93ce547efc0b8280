"""Declare machines: each class has states of its own, and a table that is compiled from them once.

python-statemachine shares `State` objects between a class and its subclasses, so what one subclass declares on
`ContextMachine.accumulating` would change every other machine in the process.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from inspect import iscoroutinefunction, signature
from typing import Any

from statemachine import State
from statemachine.factory import StateMachineMetaclass
from statemachine.transition_list import TransitionList

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial.machine.table import Guard, Row, Table
from polycontext.polynomial.state import ContextState, InputKind, Kind, kind_of, state_of

_RULES = "a machine whose states are texts, neither nested, parallel nor final, and whose transitions have one event and one target each"


class OwnStates(StateMachineMetaclass):
    """Give each class of machine states of its own and a compiled table."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **options: Any) -> MutableMapping[str, object]:
        for machine in _ancestors(bases):  # what a class body left there that failed half-way
            machine.forget_new()
        namespace: MutableMapping[str, object] = super().__prepare__(name, bases, **options)
        return namespace

    def __new__(cls, name: str, bases: tuple[type], attrs: dict[str, Any]) -> Any:
        """Declare the inherited states and transitions once more."""
        machines = _ancestors(bases)
        if machines:
            _redeclare(name, machines, attrs)
        return super().__new__(cls, name, bases, attrs)

    def __init__(self, name: str, bases: tuple[type], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        self.declared = {state.id: list(state.transitions) for state in self.states}
        self.table = _compiled(self)

    def add_inherited(self, bases: tuple[type, ...]) -> None:
        """Inherit nothing by reference: the copies are declared in the class itself."""

    def forget_new(self) -> None:
        """Leave on each state the transitions that the class has declared itself."""
        for state in self.states:
            state.transitions.transitions[:] = self.declared[state.id]


def _ancestors(bases: Iterable[type]) -> list[Any]:
    """Return the machines that a class inherits from, nearest first."""
    found = dict.fromkeys(each for base in bases for each in base.__mro__)
    return [each for each in found if isinstance(each, OwnStates)]


def _redeclare(name: str, machines: list[Any], attrs: dict[str, Any]) -> None:
    """Put into `attrs` a copy of every state, with what was inherited and what the class body adds, which is tried first."""
    base, own = machines[0], {key: value for key, value in attrs.items() if isinstance(value, State)}
    new = [*_new(own, machines)]
    for key, state in own.items():
        _require(isinstance(state.value, str | None) and not (state.states or state.parallel or state.final), name, key)
    copies = {key: _copied(state) for key, state in {**{state.id: state for state in base.states}, **own}.items()}
    after = {id(state): copies[key] for key, state in own.items()}
    after |= {id(state): copies[state.id] for machine in machines for state in machine.states if state.id in copies}
    for key, state in own.items():
        for source in copies.values():
            source.to(copies[key], event="rewind", validators="in_order", cond=f"stood_in_{key}", on="put_window")
        attrs[f"stood_in_{key}"] = _standing_guard(state.value or key)
    events = _named_in(attrs)
    for move in [*new, *(move for state in base.states for move in state.transitions)]:
        _declare(move, after[id(move.source)], after, events.get(id(move)) or [*map(str, move.events)], name)
    back = [move for move in base.states_map[ContextState.EMPTY].transitions if str(move.event) == InputKind.REWIND]
    for key in own:
        for kind in (InputKind.RESIZE, InputKind.FORGET):
            copies[key].to.itself(event=str(kind), validators="in_order", on="put_window", internal=True)
        for move in back:
            _declare(move, copies[key], after, [str(move.event)], name)
    for key in [key for key, value in attrs.items() if isinstance(value, TransitionList)]:
        del attrs[key]
    attrs.update(copies)


def _new(own: Mapping[str, Any], machines: Iterable[Any]) -> Iterator[Any]:
    """Iterate over what a class body has declared on its own states and on those of its ancestors, which forget it."""
    for state in own.values():
        yield from state.transitions
    for machine in machines:
        known = {id(move) for moves in machine.declared.values() for move in moves}
        yield from [move for state in machine.states for move in state.transitions if id(move) not in known]
        machine.forget_new()


def _named_in(attrs: Mapping[str, Any]) -> dict[int, list[str]]:
    """Return under which names a class body has each transition: its events."""
    events: dict[int, list[str]] = {}
    for key, value in attrs.items():
        for move in value if isinstance(value, TransitionList) else ():
            events.setdefault(id(move), []).append(key)
    return events


def _standing_guard(value: str) -> Any:
    return lambda _, step: step.stood_in(value)


def _copied(state: Any) -> Any:
    groups: dict[str, Any] = {group: [spec.func for spec in getattr(state, group) if not spec.is_convention] for group in ("enter", "exit")}
    return State(state.name, value=state.value, initial=state.initial, **groups)


def _declare(move: Any, source: Any, after: Mapping[int, Any], events: Iterable[str], name: str) -> None:
    """Declare a transition once more, from `source`, for each of its events; one for an event of ours is checked and puts the window."""
    _require(len(move.targets) == 1 and events and id(move.target) in after, name, str(move))
    for event in events:
        ours = isinstance(kind_of(event), InputKind)
        groups: dict[str, list[Any]] = {
            group: [spec.func for spec in getattr(move, group) if not spec.is_convention]
            for group in ("validators", "before", "on", "after")
        }
        for group, needed in (("validators", "in_order"), ("on", "put_window")):
            groups[group] = [*(() if needed in groups[group] or not ours else [needed]), *groups[group]]
        groups["cond"] = [spec.func for spec in move.cond if spec.expected_value is not False]
        groups["unless"] = [spec.func for spec in move.cond if spec.expected_value is False]
        source.to(after[id(move.target)], event=event, internal=move.internal, **groups)


def _require(fits: object, name: str, what: str) -> None:
    if not fits:
        raise InvalidOptionError(f"machine {name}", what, _RULES)


def _compiled(machine: Any) -> Table:
    """Read states, events, guards and validators off a declared class, ours first."""
    names = dict.fromkeys([*InputKind, *(kind_of(str(event)) for state in machine.states for event in state.transitions.unique_events)])
    cells = {
        state_of(state.value): {kind: rows for kind in names if (rows := tuple(_rows(machine, state, kind)))} for state in machine.states
    }
    return Table(machine, cells)


def _rows(machine: Any, state: Any, kind: Kind) -> Iterator[Row]:
    for move in state.transitions:
        if str(kind) in map(str, move.events):
            guards = (Guard(_method(machine, spec), spec.expected_value is not False) for spec in move.cond)
            yield Row(state_of(move.target.value), tuple(_method(machine, spec) for spec in move.validators), tuple(guards))


def _method(machine: Any, spec: Any) -> str:
    """Return the name of a guard or validator; raise `InvalidOptionError` unless it is a method that takes the step."""
    found = getattr(machine, spec.attr_name, None)
    if not callable(found) or iscoroutinefunction(found) or len(signature(found).parameters) != 2:  # noqa: PLR2004 - itself, and the step
        raise InvalidOptionError(f"machine {machine.__name__}", spec.attr_name, "guards and validators that are plain methods(self, step)")
    name: str = spec.attr_name
    return name
