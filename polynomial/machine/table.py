"""The table of a declared machine: the transitions of each state and event, in order.

It is data, for readers and for the replay of journals.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from attrs import frozen
from statemachine import State as DeclaredState
from statemachine.orderedset import OrderedSet
from statemachine.transition import Transition

from ..inputs import InputKind, Kind, kind_of
from ..state import State, state_of

Path = tuple[tuple[Kind | None, Transition], ...]
"""The transitions of one step with their events; an eventless transition has none."""


@frozen(eq=False, slots=False)
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
    initial: State
    """The state in which the machine begins."""

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Return the events that are legal in some state."""
        return frozenset(kind for cell in self.cells.values() for kind in cell)

    @property
    def size(self) -> int:
        """Return the number of transitions, counted once for each state and event."""
        return sum(len(rows) for cell in self.cells.values() for rows in cell.values())

    def done(self, state: State) -> Kind | None:
        """Return the event that announces the final state `state`, if a transition waits for it."""
        final = self.machine.states_map[state]
        event = f"done.state.{final.parent.id}" if final.final and final.parent else None
        return event if event in self.machine.events else None

    def targets(self, state: State, kind: Kind) -> tuple[State, ...]:
        """Return the states that an event can lead to, guards aside."""
        return tuple(leaf for _, leaf in self.paths(state, kind))

    def paths(self, state: State, kind: Kind) -> Iterator[tuple[Path, State]]:
        """Yield each state that an event can lead to, with the transitions on a way there."""
        waiting = deque[Path](((kind, move),) for move in self.cells[state].get(kind, ()))
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
    declared = [kind_of(str(event)) for event in machine.events if "*" not in event]
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
        _leaf(next(state for state in machine.states if state.initial)),
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
