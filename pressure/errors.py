"""What compression refuses."""

from attrs import define

from polycontext.linearity import CallerError, ResourceClass
from polycontext.pressure.fidelity import Fidelity


@define(slots=False, eq=False)
class ConflictError(CallerError, RuntimeError):
    """Refuse a change that was made for another state of things."""

    what: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.what}: made for {self.expected}, found {self.found}; legal: make it anew from the current one"


@define(slots=False, eq=False)
class TargetError(CallerError, ValueError):
    """Refuse a target pressure outside 0..1."""

    target: object

    def __str__(self) -> str:
        return f"target pressure {self.target!r}; legal: a number from 0.0 to 1.0 (tokens / max tokens)"


@define(slots=False, eq=False)
class FloorError(CallerError, ValueError):
    """Refuse a compression that leaves less of an atom than its class allows; `resource_id` is that of its first turn."""

    resource_id: str
    resource_class: ResourceClass
    fidelity: Fidelity
    floor: Fidelity

    def __str__(self) -> str:
        return (
            f"compression refused: atom {self.resource_id!r} would be {self.fidelity.name}, its class {self.resource_class.name} demands "
            f"{self.floor.name}; legal: a fulfilment that keeps every atom at or above the floor of its class"
        )
