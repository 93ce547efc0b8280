"""How much of an atom the view still holds, and how little its class allows."""

from enum import IntEnum

from polycontext.linearity import ResourceClass


class Fidelity(IntEnum):
    """Order how much of an atom a view holds: nothing, a gist, every word."""

    DROPPED = 0
    GIST = 1
    VERBATIM = 2


_FLOORS = {
    ResourceClass.DROPPABLE: Fidelity.DROPPED,
    ResourceClass.REQUIRED: Fidelity.GIST,
    ResourceClass.PRESERVED: Fidelity.VERBATIM,
}


def floor_of(resource_class: ResourceClass) -> Fidelity:
    """Return the lowest fidelity a class allows (docs/pressure.md, "Fidelity, floors and ceilings").

    Law: monotone in the class.

    >>> floor_of(ResourceClass.REQUIRED)
    <Fidelity.GIST: 1>
    """
    return _FLOORS[resource_class]
