"""The laws of the operad: machines side by side."""

from collections.abc import Iterator, Mapping
from itertools import cycle, product
from typing import Any

from polycontext.base.law import agree, holds, law
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextState,
    InputKind,
    PolyAgent,
    Position,
)
from polycontext.polynomial.algebra.operad import Machine, Operad
from polycontext.polynomial.inputs import Kind
from polycontext.polynomial.laws.machines import Inputs
from polycontext.window import ContextWindow
from tests.laws.outcomes import outcome

_MACHINES = 'docs/machine.md, "Compose machines"'


# --- machines -----------------------------------------------------------------------------


@law("docs/machine.md")
def what_is_legal_is_what_every_region_accepts(product_class: type[ContextMachine]) -> None:
    """In each place of a machine, an event is legal if all regions accept it that know it."""
    parts = [product_class, *product_class.regions.values()]
    known = [{kind for cell in part.table.cells.values() for kind in cell} for part in parts]
    for states in product(*(part.table.cells for part in parts)):
        cells = [part.table.cells[state] for part, state in zip(parts, states, strict=True)]
        legal = {
            kind
            for kind in frozenset[Kind]().union(*known)
            if all(kind in cell for cell, kinds in zip(cells, known, strict=True) if kind in kinds)
        }
        place = product_class.places.place(states)
        agree(product_class.directions[place], legal, place=place)


@law("Niu and Spivak, Polynomial Functors")
def what_is_no_direction_is_refused(
    product_class: Machine, empty_window: ContextWindow, inputs: Inputs
) -> None:
    """A machine as a polynomial moves along its directions alone, from position to position."""
    agent, here = PolyAgent(product_class), _start(empty_window)
    for given in _with_own(product_class, inputs):
        after = _move(agent, here, given)
        if after is not None:
            holds(given.kind in agent.directions(here), "a direction", given, position=here)
            holds(after in agent.positions, "a position", after, input=given)
            here = after


def _start(window: ContextWindow) -> Position:
    return Position(ContextState.EMPTY, window)


@law(_MACHINES)
def machines_beside_each_other_need_no_brackets(
    operad: Operad,
    product_class: Machine,
    other_machine_class: Machine,
    third_machine_class: Machine,
) -> None:
    """``(a | b) | c`` and ``a | (b | c)`` have the same legal events, or both are refused."""
    a, b, c = product_class, other_machine_class, third_machine_class
    left = _directions(operad, _beside(operad, a, b), c)
    agree(left, _directions(operad, a, _beside(operad, b, c)))


@law(_MACHINES)
def the_plain_machine_is_the_unit(operad: Operad, product_class: Machine) -> None:
    """``1 | a``, ``a | 1`` and ``a | a`` have the legal events of a; 1 is `ContextMachine`."""
    for pair in ((ContextMachine, product_class), (product_class, ContextMachine)):
        agree(_directions(operad, *pair), product_class.directions)
    agree(_directions(operad, product_class, product_class), product_class.directions)


def _beside(operad: Operad, *machines: Any) -> Any:
    """Return the machine, or the type of the error that refuses it or one of its parts."""
    refused = (each for each in machines if issubclass(each, Exception))
    return next(refused, None) or outcome(operad.beside, *machines)


def _directions(operad: Operad, *machines: Any) -> Any:
    made = _beside(operad, *machines)
    return made if issubclass(made, Exception) else made.directions


@law(_MACHINES)
def machines_beside_each_other_run_as_each_alone(
    operad: Operad,
    product_class: Machine,
    other_machine_class: Machine,
    empty_window: ContextWindow,
    inputs: Inputs,
) -> None:
    """``a | b`` accepts what a and b accept, and its regions stand where they stand alone.

    An event that one of them does not know is for the other to decide. Machines that change the
    context's own region are no part of this.
    """
    parts = [PolyAgent(each) for each in (product_class, other_machine_class)]
    whole = PolyAgent(_beside(operad, product_class, other_machine_class))
    if any(part.machine.table.size > ContextMachine.table.size for part in parts):
        return
    here = _start(empty_window)
    stands = [here.state] * 2
    for given in _with_own(whole.machine, inputs):
        after = _move(whole, here, given)
        alone = [
            _move(part, Position(stand, here.window), given)
            for part, stand in zip(parts, stands, strict=True)
        ]
        agree(after is None, None in alone, input=given)
        if after is not None:
            here, stands = after, [each.state for each in alone if each is not None]
            for part, stand in zip(parts, stands, strict=True):
                found = _regions(whole.machine, here.state)
                agree({**found, **_regions(part.machine, stand)}, found, input=given)


def _with_own(machine: Machine, inputs: Inputs) -> Iterator[ContextInput]:
    """Yield the inputs, each before an event that the machine adds, with its example arguments."""
    own = [
        ContextInput.named(kind, *given)
        for kind in sorted(set(machine.places.kinds) - {*InputKind})
        for given in machine.examples.get(kind, [[]])
        if not isinstance(given, Mapping)
    ]
    for each, further in zip(inputs, cycle(own or [None]), strict=False):
        yield each
        if further is not None:
            yield further


def _move(agent: PolyAgent, position: Position, given: ContextInput) -> Position | None:
    """Return the position that an input leads to, or None if it is refused."""
    if given.kind not in agent.machine.places.kinds:
        return position
    try:
        return agent.invoke(position, given)[0]
    except Exception:  # noqa: BLE001 - a validator may raise anything to refuse an event
        return None


def _regions(machine: Machine, place: Any) -> dict[str, Any]:
    return dict(zip(("", *machine.regions), machine.places.states(place), strict=True))
