"""Errors of the ledger; see `polycontext.base.errors` for the root."""

from attrs import define

from polycontext.base import CallerError

from .resource_class import ResourceClass


@define(slots=False, eq=False)
class DemotionError(CallerError, ValueError):
    """A request would lower a class, or promote a resource to the class it already has."""

    resource_id: str
    current: ResourceClass
    requested: ResourceClass

    def __str__(self) -> str:
        higher = ", ".join(c.name for c in ResourceClass if c > self.current)
        use = f"Promote it to {higher}" if higher else "No class is higher"
        return (
            f"resource {self.resource_id!r} is {self.current.name} and cannot be promoted to "
            f"{self.requested.name}. {use}."
        )


@define(slots=False, eq=False)
class UnknownResourceError(CallerError, KeyError):
    """A resource id was never tagged; `near` holds similar known ids."""

    resource_id: str
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        near = " or ".join(map(repr, self.near))
        use = f"Did you mean {near}?" if near else "Use an id from session.log()."
        return f"there is no turn or resource {self.resource_id!r}. {use}"
