"""The declaration of a machine class: states of its own, and a table of its transitions.

python-statemachine shares `State` objects between a class and its subclasses, so a transition that
one subclass declares on `ContextMachine.accumulating` would be added to every other machine. Here
each class has its own copies, and the transitions of a class body move to them.

The first transition whose guards hold is taken, as in python-statemachine.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from enum import Enum
from typing import Any, TypeVar, cast

from statemachine import State as DeclaredState
from statemachine.event import Event
from statemachine.factory import StateMachineMetaclass
from statemachine.graph import iterate_states
from statemachine.signature import SignatureAdapter
from statemachine.state import AnyState
from statemachine.states import States
from statemachine.transition import Transition
from statemachine.transition_list import TransitionList

from polycontext.base import InvalidOptionError, require

from ..inputs import InputKind, Kind
from ..state import ContextState, State
from .places import Places
from .table import Table, table_of

F = TypeVar("F", bound=Callable[..., Any])


def once(method: F) -> F:
    """Declare a method that a transition names as one that runs once, when the step is decided.

    It takes the step and changes nothing. As a validator it raises, or returns None. As an action
    (``on=``) it returns what the event does to the view: an `Edit`, or for a built-in event a
    window. A method without the mark is called by python-statemachine, as its documentation says.
    """
    method.runs_once = True  # type: ignore[attr-defined]
    return method


# --- the class ------------------------------------------------------------------------


def _regions_of(machine: Any) -> Mapping[str, Any]:
    """Return the regions of a machine class, which declares them as a class variable."""
    return machine.regions  # type: ignore[no-any-return]


class OwnStates(StateMachineMetaclass):
    """The metaclass that gives each machine class its own states and a table of transitions."""

    table: Table
    places: Places
    from_any: list[Transition]
    """The transitions that the class body declares from every state."""
    always: Iterable[str]
    once: frozenset[str]
    """The names of the methods that run once, when a step is decided."""

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
        # The library keeps signatures by name, also of a class that this one takes the place of.
        cast("Any", SignatureAdapter.from_callable).clear_cache()
        super().__init__(name, bases, attrs)
        self._declared = {id(each): len(each.transitions) for each in self.states_map.values()}
        moves = _moves_in(attrs.values(), ())
        self.from_any = [move for move in moves if isinstance(move.source, AnyState)]
        marked = (
            name
            for base in self.__mro__
            for name, each in vars(base).items()
            if getattr(each, "runs_once", False)
        )
        self.once = frozenset(marked)
        if len(self.states):
            self.table = table_of(self)
            if ContextState.EMPTY not in self.table.cells:
                _require_no_actions(self)
            legal = 'subclasses of Region by name, such as {"approval": Approval}'
            regions: object = _regions_of(self)
            require(f"regions of {name}", regions, isinstance(regions, Mapping), legal)
            for key, region in _regions_of(self).items():
                is_apart = ContextState.EMPTY not in getattr(
                    region, "directions", {ContextState.EMPTY}
                )
                require(f"regions of {name}", key, key.isidentifier() and is_apart, legal)
            others = {key: region.table for key, region in _regions_of(self).items()}
            self.places = Places(self, others)

    @property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each place."""
        return self.places.directions

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
        richest = max(machines, key=lambda each: each.table.size)
        for state in richest.states:
            _copied(state, copies)
        for place, move in (each for machine in machines for each in machine.take_added()):
            move.source = copies[place]
            copies[place].transitions.add_transitions(move)
        for state in richest.states_map.values():
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
            if "rewind" not in attrs:
                self._allow_everywhere(_states_in(attrs.values()))
            super().add_from_attributes(attrs)  # type: ignore[no-untyped-call]
            return
        inherited = list(self.states_map.values())
        _require_names(self.__name__, attrs, _machines(self.__mro__)[-1])
        _require_supported(self.__name__, attrs)
        for move in _moves_in(attrs.values(), self.states):
            move.targets[:] = map(self._copy_of, move.targets)
            source = self._copy_of(move.source)
            if source is not move.source:  # it was declared before the class body
                move.source = source
                source.transitions.add_transitions(move)
        attrs = attrs | {event: _staying(inherited) for event in attrs.get("always", ())}
        known = [len(state.transitions) for state in inherited]
        super().add_from_attributes(attrs)  # type: ignore[no-untyped-call]
        for state, before in zip(inherited, known, strict=True):
            _put_first(state, state.transitions.transitions[before:])  # those of `from_.any()`
        _require_single_targets(self.__name__, self.states_map.values())
        ours = {state.id for state in inherited}
        added = [each for each in self.states_map.values() if each.id not in ours]
        for state in (each for each in added if each.parent is None and not each.final):
            for move in (move for one in _machines(self.__mro__[1:]) for move in one.from_any):
                again = _again(move, {}, state)
                again.targets[:] = map(self._copy_of, move.targets)
                state.transitions.add_transitions(again)
        self._allow_everywhere(added)

    def _allow_everywhere(self, added: Collection[DeclaredState]) -> None:
        """Let added states be rewound to and from, and stay where what happens is not theirs."""
        empty = self.states_map.get(ContextState.EMPTY)
        states = dict.fromkeys([*self.states_map.values(), *added])
        for state in [each for each in added if each.is_atomic]:
            for source in [each for each in states if each.is_atomic]:
                source.to(state, event="rewind", cond=_stood_in(state.value))
                _put_first(source, source.transitions.transitions[-1:])
            for move in [] if empty is None else [*empty.transitions]:
                target: Any = move.target
                if move.match(InputKind.REWIND) and target.value in tuple(ContextState):
                    state.transitions.add_transitions(_again(move, {}, state))
            always = (each for base in self.__mro__ for each in vars(base).get("always", ()))
            for event in ("rewind", *always) if empty is None else ("resize", "forget"):
                state.to.itself(event=event, internal=True)  # type: ignore[no-untyped-call]


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


def _staying(states: Iterable[DeclaredState]) -> TransitionList:
    moves = TransitionList()
    for state in states:
        moves |= state.to.itself(internal=True)  # type: ignore[no-untyped-call]
    return moves


def _stood_in(value: Any) -> Callable[[Any], bool]:
    return lambda step: bool(step.stood_in(value))


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
    for each in attrs.values():
        for state in each if isinstance(each, States) else ():
            state._initial = False  # `from_enum` asks for one; the inherited one stays
    ids = {id(value): key for key, value in attrs.items()}
    for state in iterate_states(_states_in(attrs.values())):
        if isinstance(state.value, Enum) and isinstance(state.value.value, str):
            state.value = state.value.value  # a session stores texts
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
        raise InvalidOptionError(
            f"machine {name}", ids.get(id(state), state.id or state.name), legal
        )


def _require_no_actions(region: OwnStates) -> None:
    for move in region.table.leaves:
        for action in region.once.intersection(map(str, move.on)):
            legal = "an action of the context's machine: only that changes the view"
            raise InvalidOptionError(f"region {region.__name__}", action, legal)


def _require_single_targets(name: str, states: Iterable[DeclaredState]) -> None:
    for state in states:
        for move in state.transitions:
            if len(move.targets) != 1:
                legal = "transitions with one target; to stay, write state.to.itself(internal=True)"
                raise InvalidOptionError(f"machine {name}", str(move), legal)
