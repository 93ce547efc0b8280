"""The declaration of a machine class: states of its own, and a table of its transitions.

python-statemachine shares `State` objects between a class and its subclasses, so a transition that
one subclass declares on `ContextMachine.accumulating` would be added to every other machine. Here
each class has its own copies, and the transitions of a class body move to them.

The table is data, for readers and for the replay of journals; python-statemachine alone decides
which transition is taken.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from typing import Any

from attrs import field, frozen
from statemachine import State as DeclaredState
from statemachine import StateChart
from statemachine.event import Event
from statemachine.factory import StateMachineMetaclass
from statemachine.graph import iterate_states
from statemachine.orderedset import OrderedSet
from statemachine.states import States
from statemachine.transition import Transition
from statemachine.transition_list import TransitionList

from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError

from ..errors import illegal
from ..inputs import InputKind, Kind, kind_of
from ..state import ContextState, State, state_of

Path = tuple[tuple[Kind | None, Transition], ...]
"""The transitions of one step with their events; an eventless transition has none."""


def _machines_with(state: State) -> Iterator[str]:
    """Yield the names of the machines in this process that have a state."""
    left = [StateChart]
    while left:
        machine: Any = left.pop()
        left += machine.__subclasses__()
        if state in getattr(getattr(machine, "table", None), "cells", ()):
            yield f"{machine.__module__}.{machine.__qualname__}"


@frozen(eq=False)
class Table:
    """The transitions of each state and legal event, in the order in which they are tried.

    An event without an entry is illegal. `cells` has the states without substates, and the
    transitions of a state include those of the states around it.
    """

    machine: Any
    cells: Mapping[State, Mapping[Kind, tuple[Transition, ...]]]
    eventless: Mapping[State, tuple[Transition, ...]]
    leaves: Mapping[Transition, State]
    """The state that stands after each transition."""
    configurations: Mapping[State, Any]
    """What python-statemachine stores for each state: its value, or those around it and its own."""
    goes_on: bool
    """Whether a step can take more than one transition: eventless ones, or ``done.state``."""
    _targets: dict[tuple[State, Kind], tuple[State, ...]] = field(factory=dict, init=False)

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each state."""
        return {state: frozenset(cell) for state, cell in self.cells.items()}

    def legal(self, state: State) -> Mapping[Kind, tuple[Transition, ...]]:
        """Return the transitions of every legal event in `state`.

        Raises:
            InvalidDataError: the machine has no such state.
        """
        if state not in self.cells:
            name, others = self.machine.__name__, ", ".join(_machines_with(state))
            raise InvalidDataError(
                ".state",
                f"{name} has no state {state}",
                f"{', '.join(self.cells)}; or pass machine= the class that has it: "
                f"{others or 'polycontext.agents.AgentMachine, if it is an agent'}",
            )
        return self.cells[state]

    def rows(self, state: State, kind: Kind) -> tuple[Transition, ...]:
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

    def done(self, state: State) -> Kind | None:
        """Return the event that announces the final state `state`, if a transition waits for it."""
        final = self.machine.states_map[state]
        event = f"done.state.{final.parent.id}" if final.final and final.parent else None
        return event if event in self.machine._events else None

    def targets(self, state: State, kind: Kind) -> tuple[State, ...]:
        """Return the states that an event can lead to, guards aside.

        Raises as `rows` does.
        """
        found = self._targets.get((state, kind))
        if found is None:
            found = tuple(leaf for _, leaf in self.paths(state, kind))
            self._targets[state, kind] = found
        return found

    def paths(self, state: State, kind: Kind) -> Iterator[tuple[Path, State]]:
        """Yield each state that an event can lead to, with the transitions on a way there."""
        waiting = deque[Path](((kind, move),) for move in self.rows(state, kind))
        seen = set[State]()
        while waiting:
            path = waiting.popleft()
            leaf = self.leaves[path[-1][1]]
            if leaf not in seen:
                seen.add(leaf)
                yield path, leaf
                done = self.done(leaf)
                waiting += [(*path, (None, move)) for move in self.eventless[leaf]]
                waiting += [(*path, (done, move)) for move in self.cells[leaf].get(done or "", ())]


def table_of(machine: Any) -> Table:
    """Return the table of a declared class, with the built-in events first."""
    atomic = [state for state in machine.states_map.values() if state.is_atomic]
    declared = [kind_of(str(event)) for event in machine._events if "*" not in event]
    kinds = dict.fromkeys([*InputKind, *declared])
    cells = {
        state_of(state.value): {
            kind: rows
            for kind in kinds
            if (rows := tuple(move for move in moves_of(state) if _takes(move, kind)))
        }
        for state in atomic
    }
    return Table(
        machine,
        cells,
        {
            state_of(state.value): tuple(move for move in moves_of(state) if move.is_eventless)
            for state in atomic
        },
        {move: _leaf(move.target) for state in atomic for move in moves_of(state)},
        {state_of(state.value): _configuration(state) for state in atomic},
        any(
            state.final or any(move.is_eventless for move in moves_of(state))
            for state in machine.states_map.values()
        ),
    )


def moves_of(state: DeclaredState) -> Iterator[Transition]:
    """Yield the transitions of a state, then those of the states around it."""
    for each in (state, *state.ancestors()):
        yield from (move for move in each.transitions if not move.initial)


def _leaf(target: Any) -> State:
    while not target.is_atomic:
        target = next(move.target for move in target.transitions if move.initial)
    return state_of(target.value)


def _takes(move: Transition, kind: Kind) -> bool:
    return not move.is_eventless and bool(move.match(str(kind)))


def _configuration(state: DeclaredState) -> Any:
    around = [each.value for each in state.ancestors()]
    return OrderedSet([*reversed(around), state.value]) if around else state.value


# --- the class ------------------------------------------------------------------------


class OwnStates(StateMachineMetaclass):
    """The metaclass that gives each machine class its own states and a table of transitions."""

    table: Table

    _copy_of: Callable[[Any], Any]

    @classmethod
    def __prepare__(
        cls, _name: str, bases: tuple[type, ...], /, **_options: Any
    ) -> dict[str, object]:
        """Remove what a class body that failed has added to the inherited states."""
        for machine in _machines(bases):
            machine.take_added()
        return {}

    def __init__(self, name: str, bases: tuple[type], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        self._declared = {id(each): len(each.transitions) for each in self.states_map.values()}
        self.table = table_of(self)

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each state."""
        return self.table.directions

    def take_added(self) -> list[tuple[str, Transition]]:
        """Return, and remove, what was added to the states after the class was declared."""
        added = []
        for state in self.states_map.values():
            moves, known = state.transitions.transitions, self._declared[id(state)]
            added += [(state.id, move) for move in moves[known:]]
            del moves[known:]
        return added

    def add_inherited(self, bases: tuple[type, ...]) -> None:
        """Add copies of the inherited states, with the transitions of the class body first."""
        machines = _machines(bases)
        if not machines:
            return
        copies: dict[str, DeclaredState] = {}
        for state in machines[0].states:
            _copied(state, copies)
        for place, move in (each for machine in machines for each in machine.take_added()):
            move.source = copies[place]
            copies[place].transitions.add_transitions(move)
        for state in machines[0].states_map.values():
            for move in state.transitions:
                copies[state.id].transitions.add_transitions(_again(move, copies))
        inherited = {id(each): each.id for one in machines for each in one.states_map.values()}
        self._copy_of = lambda state: copies.get(inherited.get(id(state), ""), state)
        for key, state in copies.items():
            if state.parent is None:
                setattr(self, key, state)
                self.add_state(key, state)

    def add_from_attributes(self, attrs: dict[str, Any]) -> None:
        """Add what the class body declares, and the events that every state allows."""
        if not _machines(self.__mro__[1:]):
            super().add_from_attributes(attrs)  # type: ignore[no-untyped-call]
            return
        inherited = list(self.states_map.values())
        _require_names(self.__name__, attrs, _machines(self.__mro__)[-1])
        _require_supported(self.__name__, attrs)
        for move in _moves_in(attrs.values(), self.states):
            move._targets[:] = map(self._copy_of, move._targets)
            source = self._copy_of(move.source)
            if source is not move.source:  # it was declared before the class body
                move.source = source
                source.transitions.add_transitions(move)
        known = [len(state.transitions) for state in inherited]
        super().add_from_attributes(attrs)  # type: ignore[no-untyped-call]
        for state, before in zip(inherited, known, strict=True):
            _put_first(state, state.transitions.transitions[before:])  # those of `from_.any()`
        _require_single_targets(self.__name__, self.states_map.values())
        ours = {state.id for state in inherited}
        for state in [each for each in self.states_map.values() if each.id not in ours]:
            if state.is_atomic:
                self._allow_what_every_state_allows(state)

    def _allow_what_every_state_allows(self, state: DeclaredState) -> None:
        """Let an added state be rewound to and from, resized, and have words erased."""
        value = state.value
        for source in [each for each in self.states_map.values() if each.is_atomic]:
            source.to(state, event="rewind", cond=lambda step: step.stood_in(value))
            _put_first(source, source.transitions.transitions[-1:])
        for move in [*self.states_map[ContextState.EMPTY].transitions]:
            target: Any = move.target
            if move.match(InputKind.REWIND) and target.value in tuple(ContextState):
                state.transitions.add_transitions(_again(move, {}, state))
        state.to.itself(event="resize forget", internal=True)  # type: ignore[no-untyped-call]


def _machines(bases: Iterable[type]) -> list[Any]:
    """Return the machine classes that a class inherits from, nearest first."""
    found = dict.fromkeys(each for base in bases for each in base.__mro__)
    return [each for each in found if isinstance(each, OwnStates) and len(each.states)]


def _moves_in(values: Collection[object], states: Iterable[DeclaredState]) -> Iterator[Transition]:
    """Yield the transitions that a class body declares, with or without a name."""
    found: list[Transition] = []
    for value in values:
        if isinstance(value, Event):
            found += value._transitions or ()
        elif isinstance(value, TransitionList):
            found += value
    for state in iterate_states([*states, *_states_in(values)]):
        found += state.transitions
    return iter(dict.fromkeys(found))


def _states_in(values: Collection[object]) -> list[DeclaredState]:
    """Return the states that a class body declares."""
    found = [value for value in values if isinstance(value, DeclaredState)]
    return found + [state for value in values if isinstance(value, States) for state in value]


def _put_first(state: Any, moves: list[Transition]) -> None:
    """Try the transitions that were added last before the others."""
    found = state.transitions.transitions
    found[:] = [*moves, *found[: len(found) - len(moves)]]


# --- copies ---------------------------------------------------------------------------


def _copied(state: Any, copies: dict[str, Any]) -> DeclaredState:
    made = DeclaredState(
        state.name,
        state.value,
        state.initial,
        state.final,
        states=[_copied(each, copies) for each in state.states],
    )
    made._set_id(state.id)
    copies[state.id] = made
    _copy_callbacks(state, made)
    return made


def _again(
    move: Any, copies: Mapping[str, DeclaredState], source: DeclaredState | None = None
) -> Transition:
    """Return a copy of a transition, between copies of its states or from another source."""
    made = Transition(
        source or copies[move.source.id],
        [copies.get(state.id, state) for state in move.targets],
        event=[*move.events] or None,
        internal=move.internal,
        initial=move.initial,
    )
    _copy_callbacks(move, made)
    return made


def _copy_callbacks(declared: Any, made: Any) -> None:
    for spec in declared._specs:
        if not spec.is_convention:  # the library adds those itself
            made._specs.add(copy(spec), spec.group)


# --- what a session cannot store or run -----------------------------------------------


def _require_names(name: str, attrs: Mapping[str, object], base: type) -> None:
    """Raise for states and events that would hide an attribute of the machine."""
    for key, value in attrs.items():
        is_declared = isinstance(value, DeclaredState | TransitionList | Event)
        hidden = getattr(base, key, None)
        is_hiding = hidden is not None and not isinstance(hidden, DeclaredState | Event)
        if (is_declared and is_hiding) or (key == "prepare" and callable(value)):
            legal = "another name: python-statemachine or ContextMachine uses this one"
            raise InvalidOptionError(f"machine {name}", key, legal)


def _require_supported(name: str, attrs: Mapping[str, object]) -> None:
    """Raise for states that a session cannot stand in, and say what to write instead."""
    ids = {id(value): key for key, value in attrs.items()}
    for state in iterate_states(_states_in(attrs.values())):
        if state.parallel:
            legal = "compound states: a session stands in one state, not in parallel regions"
        elif state.history or state.is_history:
            legal = "an event per state to return to: a session rewinds by session.history.rewind"
        elif state.final and state.parent is None:
            legal = "a state without final=True: a conversation has no end. Close the session"
        elif not isinstance(state.value, str | None):
            legal = "a state whose value is a text"
        elif any(not spec.is_convention for spec in state.invoke):
            legal = "on_enter to start the work, and an event that brings its result"
        else:
            continue
        raise InvalidOptionError(f"machine {name}", ids.get(id(state), state.id), legal)


def _require_single_targets(name: str, states: Iterable[DeclaredState]) -> None:
    for state in states:
        for move in state.transitions:
            if len(move.targets) != 1:
                legal = "transitions with one target; to stay, write state.to.itself(internal=True)"
                raise InvalidOptionError(f"machine {name}", str(move), legal)
