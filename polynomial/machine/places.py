"""Places: where a machine stands, in all of its regions at once.

A *place* names the state of the context, and that of each other region that has left its initial
state: "ACCUMULATING", "ACCUMULATING+node:THINKING". A machine with one region stands in its states.
The places are the tensor of the regions: an event is legal if each region that knows it accepts it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

from statemachine import StateChart

from polycontext.base import InvalidDataError, UnknownNameError

from ..errors import IllegalDirectionError, illegal
from ..inputs import Kind
from ..state import ContextState, State, state_of
from .table import Table

T = TypeVar("T")


class Places:
    """The tables of a machine's regions, that of the context first, read as one."""

    def __init__(self, machine: Any, others: Mapping[str, Table]) -> None:
        self.machine = machine
        self.tables: tuple[Table, ...] = (machine.table, *others.values())
        self.names = tuple(others)
        self._initial = tuple(table.initial for table in self.tables[1:])
        self._cache: dict[Any, Any] = {}

    def _once(self, key: object, compute: Callable[[], T]) -> T:
        found: T | None = self._cache.get(key)
        if found is None:
            found = self._cache[key] = compute()
        return found

    def place(self, states: tuple[State, ...]) -> State:
        """Return the place of these states, one for each region."""
        return states[0] if len(states) == 1 else self._once(states, lambda: self._named(states))

    def _named(self, states: tuple[State, ...]) -> State:
        others = zip(self.names, states[1:], self._initial, strict=True)
        left = [f"+{name}:{state}" for name, state, initial in others if state != initial]
        return "".join([states[0], *left]) if left else states[0]

    def at(self, place: State) -> tuple[tuple[State, ...], Mapping[Kind, None]]:
        """Return the states of the regions, that of the context first, and the legal events.

        Those are the events that every region accepts which knows them.

        Raises:
            InvalidDataError: the machine has no such place.
        """
        return self._cache.get(place) or self._once(place, lambda: self._read(place))

    def states(self, place: State) -> tuple[State, ...]:
        """Return the state of each region, that of the context first; raise as `at` does."""
        return self.at(place)[0]

    def legal(self, place: State) -> Mapping[Kind, None]:
        """Return the events that are legal in `place`; raise as `at` does."""
        return self.at(place)[1]

    def _read(self, place: State) -> tuple[tuple[State, ...], Mapping[Kind, None]]:
        states = self._parse(place)
        if self.knows(place):
            return states, self._legal(states)
        fits = (each for each in _machines() if each.places.knows(place))
        others = ", ".join(f"{each.__module__}.{each.__qualname__}" for each in fits)
        raise InvalidDataError(
            ".state",
            f"{self.machine.__name__} has no state {place}",
            f"{', '.join(state for table in self.tables for state in table.cells)}; or pass "
            f"machine= the class that has it: "
            f"{others or 'polycontext.agents.AgentMachine, if it is an agent'}",
        )

    def _parse(self, place: State) -> tuple[State, ...]:
        left, states = place, list[State]()
        for name, initial in zip(self.names[::-1], self._initial[::-1], strict=True):
            head, sign, state = left.rpartition(f"+{name}:")
            states.append(state_of(state) if sign else initial)
            left = head if sign else left
        return state_of(left), *states[::-1]

    def knows(self, place: State) -> bool:
        """Return whether the machine has a place."""
        return all(
            state in table.cells
            for table, state in zip(self.tables, self._parse(place), strict=True)
        )

    @property
    def initial(self) -> Mapping[str, State]:
        """Return the initial states of the regions beside the context's, by name."""
        return dict(zip(self.names, self._initial, strict=True))

    def standing(self, place: State) -> dict[str, Any]:
        """Return the fields of a conversation that stands in `place`; raise as `states` does."""
        context, *others = self.states(place)
        return {"state": context, "regions": dict(zip(self.names, others, strict=True))}

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """Return the events that some region knows."""
        return frozenset[Kind]().union(*(table.kinds for table in self.tables))

    @cached_property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each place."""
        places = map(self.place, product(*(table.cells for table in self.tables)))
        return {place: frozenset(self.legal(place)) for place in places}

    def _legal(self, states: tuple[State, ...]) -> Mapping[Kind, None]:
        known = [*zip(self.tables, states, strict=True)]
        refused = {kind for table, state in known for kind in table.kinds - {*table.cells[state]}}
        heard = (kind for table, state in known for kind in table.cells[state])
        return {kind: None for kind in heard if kind not in refused}

    def check(self, place: State, kind: Kind) -> None:
        """Raise if an event is illegal in `place`.

        Raises:
            InvalidDataError: the machine has no such place.
            UnknownNameError: no region has such an event.
            IllegalDirectionError: a region refuses it (ContextPressureError in PRESSURED).
        """
        if kind not in self.legal(place):
            raise self.refusal(place, kind)

    def refusal(self, place: State, kind: Kind) -> UnknownNameError | IllegalDirectionError:
        """Return the error for an event that is refused in `place`; it names the state."""
        if kind not in self.kinds:
            return UnknownNameError("event", str(kind), tuple(sorted(self.kinds)))
        states = self.states(place)
        refusing = (
            state
            for table, state in zip(self.tables, states, strict=True)
            if kind in table.kinds and kind not in table.cells[state]
        )
        return illegal(next(refusing, states[0]), kind, self.legal(place))

    def targets(self, place: State, kind: Kind) -> tuple[State, ...]:
        """Return the places that an event can lead to, guards aside; raise as `check` does.

        A session may have begun without a region, which has then heard nothing of its events: they
        may leave a region in its initial state.
        """
        return self._once((place, kind), lambda: self._targets(place, kind))

    def _targets(self, place: State, kind: Kind) -> tuple[State, ...]:
        found = list[tuple[State, ...]]()
        for table, state in zip(self.tables, self.states(place), strict=True):
            hears = kind in table.kinds
            is_new = table is not self.tables[0] and state == table.initial
            stays = () if hears and not is_new else (state,)
            found.append((*table.targets(state, kind), *stays))
        if not all(found) or kind not in self.kinds:
            raise self.refusal(place, kind)
        return tuple(dict.fromkeys(map(self.place, product(*found))))

    def told(self, state: State, among: Iterable[State] = ()) -> State:
        """Return the place that a journal means which was written before there were regions.

        It has the state of one region alone. The context's is the last of those `among` which it
        can be: the one for which no guard is needed.
        """
        if not self.names or self.knows(state):
            return state
        others = (table.cells for table in self.tables[1:])
        places = [*among] or [*map(self.place, product([ContextState.ACCUMULATING], *others))]
        return next((each for each in places[::-1] if state in self.states(each)), state)


def _machines() -> Iterator[Any]:
    """Yield the machines with states in this process."""
    left = [StateChart]
    while left:
        machine: Any = left.pop()
        left += machine.__subclasses__()
        if isinstance(getattr(machine, "places", None), Places):
            yield machine
