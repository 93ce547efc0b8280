"""Places: where a machine stands, in all of its regions at once.

A *place* names the state of the context, and that of each other region that has left its initial
state: "ACCUMULATING", "ACCUMULATING+node:THINKING". A machine with one region stands in its states.
The places are the tensor of the regions: an event is legal if each region that knows it accepts it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from itertools import product
from typing import Any

from statemachine import StateChart

from polycontext.base import InvalidDataError, UnknownNameError

from ..errors import illegal
from ..inputs import Kind
from ..state import ContextState, State, state_of
from .table import Table


class Places:
    """The tables of a machine's regions, that of the context first, read as one.

    It lives as long as its class, and so does what it has computed.
    """

    def __init__(self, machine: Any, others: Mapping[str, Table]) -> None:
        self.machine = machine
        self.tables: tuple[Table, ...] = (machine.table, *others.values())
        self.initial: Mapping[str, State] = {name: each.initial for name, each in others.items()}
        """The initial states of the regions beside the context's, by name."""
        self.kinds = frozenset[Kind]().union(*(table.kinds for table in self.tables))
        """The events that some region knows."""

    @cache  # noqa: B019 - as the class says
    def place(self, states: tuple[State, ...]) -> State:
        """Return the place of these states, one for each region."""
        others = zip(self.initial.items(), states[1:], strict=True)
        left = [f"+{name}:{state}" for (name, initial), state in others if state != initial]
        return "".join([states[0], *left]) if left else states[0]

    @cache  # noqa: B019 - as the class says
    def at(self, place: State) -> tuple[tuple[State, ...], Mapping[Kind, None]]:
        """Return the states of the regions, that of the context first, and the legal events.

        Those are the events that every region accepts which knows them.

        Raises:
            InvalidDataError: the machine has no such place.
        """
        if not self.knows(place):
            raise self._unknown(place)
        states = self._parse(place)
        known = [*zip(self.tables, states, strict=True)]
        refused = {kind for table, state in known for kind in table.kinds - {*table.cells[state]}}
        heard = (kind for table, state in known for kind in table.cells[state])
        return states, {kind: None for kind in heard if kind not in refused}

    def states(self, place: State) -> tuple[State, ...]:
        """Return the state of each region, that of the context first; raise as `at` does."""
        return self.at(place)[0]

    def legal(self, place: State) -> Mapping[Kind, None]:
        """Return the events that are legal in `place`; raise as `at` does."""
        return self.at(place)[1]

    def _unknown(self, place: State) -> InvalidDataError:
        fits = (each for each in _machines() if each.places.knows(place))
        others = ", ".join(f"{each.__module__}.{each.__qualname__}" for each in fits)
        return InvalidDataError(
            ".state",
            f"{self.machine.__name__} has no state {place}",
            f"{', '.join(state for table in self.tables for state in table.cells)}; or pass "
            f"machine= the class that has it: "
            f"{others or 'polycontext.agents.AgentMachine, if it is an agent'}",
        )

    def _parse(self, place: State) -> tuple[State, ...]:
        left, states = place, list[State]()
        for name, initial in reversed([*self.initial.items()]):
            head, sign, state = left.rpartition(f"+{name}:")
            states.append(state_of(state) if sign else initial)
            left = head if sign else left
        return state_of(left), *states[::-1]

    def knows(self, place: State) -> bool:
        """Return whether the machine has a place."""
        stands = zip(self.tables, self._parse(place), strict=True)
        return all(state in table.cells for table, state in stands)

    def standing(self, place: State) -> dict[str, Any]:
        """Return the fields of a conversation that stands in `place`; raise as `at` does."""
        context, *others = self.states(place)
        return {"state": context, "regions": dict(zip(self.initial, others, strict=True))}

    @cached_property
    def directions(self) -> dict[State, frozenset[Kind]]:
        """Return the legal events of each place."""
        places = map(self.place, product(*(table.cells for table in self.tables)))
        return {place: frozenset(self.legal(place)) for place in places}

    def check(self, place: State, kind: Kind) -> None:
        """Raise if an event is illegal in `place`.

        Raises:
            InvalidDataError: the machine has no such place.
            UnknownNameError: no region has such an event.
            IllegalDirectionError: a region refuses it (ContextPressureError in PRESSURED).
        """
        if kind in self.legal(place):
            return
        if kind not in self.kinds:
            raise UnknownNameError("event", str(kind), tuple(sorted(self.kinds)))
        stands = zip(self.tables, self.states(place), strict=True)
        knowing = (each for each in stands if kind in each[0].kinds)
        refusing = next(state for table, state in knowing if kind not in table.cells[state])
        raise illegal(refusing, kind, self.legal(place))

    @cache  # noqa: B019 - as the class says
    def targets(self, place: State, kind: Kind) -> tuple[State, ...]:
        """Return the places that an event can lead to, guards aside; raise as `check` does.

        A session may have begun without a region, which has then heard nothing of its events: they
        may leave a region in its initial state.
        """
        found = list[tuple[State, ...]]()
        for table, state in zip(self.tables, self.states(place), strict=True):
            is_new = table is not self.tables[0] and state == table.initial
            stays = () if kind in table.kinds and not is_new else (state,)
            found.append((*table.targets(state, kind), *stays))
        if not all(found) or kind not in self.kinds:
            self.check(place, kind)
        return tuple(dict.fromkeys(map(self.place, product(*found))))

    def told(self, state: State, among: Iterable[State] = ()) -> State:
        """Return the place that a journal means which was written before there were regions.

        It has the state of one region alone. The context's is the last of those `among` which it
        can be: the one for which no guard is needed.
        """
        if not self.initial or self.knows(state):
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
