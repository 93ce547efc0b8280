"""Every error of polycontext has one root, split by whose fault it is.

The root lives in the lowest room because every other room raises errors and
imports only go downward. Leaves are attrs classes: they carry their facts as
fields, build their message from them, and subclass a fitting builtin, so that
``except ValueError`` works for callers who never heard of polycontext.

Nothing has changed when one of them is raised.
"""

from importlib.util import find_spec

from attrs import define

from .resource_class import ResourceClass


class PolycontextError(Exception):
    """Stand at the root of every error that polycontext raises."""


class CallerError(PolycontextError):
    """Blame the caller: the input, the argument or the moment was wrong."""


class CollaboratorError(PolycontextError):
    """Blame something plugged in: a summariser, a counter, a store."""


@define(slots=False, eq=False)
class InvalidDataError(CallerError, ValueError):
    """Refuse what was read from outside.

    `path` names the place of the first fault, such as ``$.tags[3].when``; empty where that is the
    value itself.
    """

    path: str
    what: str
    legal: str

    def __str__(self) -> str:
        return f"{self.path or 'value'}: {self.what}. Use {self.legal}."


@define(slots=False, eq=False)
class InvalidOptionError(CallerError, ValueError):
    """Refuse the value of an argument or option."""

    option: str
    value: object
    legal: str

    def __str__(self) -> str:
        return f"{self.option} = {self.value!r:.200}. Use {self.legal}."


@define(slots=False, eq=False)
class UnknownNameError(CallerError, KeyError):
    """Refuse a name that nothing of its kind has: a provider, an encoding, an operation, a template; `near` are known ones like it."""

    kind: str
    name: str
    legal: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        meant = f" Did you mean {' or '.join(map(repr, self.near))}?" if self.near else ""
        use = f" Use {', '.join(self.legal)}." if self.legal else ""
        return f"unknown {self.kind} {self.name!r:.200}.{meant}{use}"


@define(slots=False, eq=False)
class DemotionError(CallerError, ValueError):
    """Refuse to lower a class, or to promote to the class a resource already has."""

    resource_id: str
    current: ResourceClass
    requested: ResourceClass

    def __str__(self) -> str:
        higher = ", ".join(c.name for c in ResourceClass if c > self.current)
        use = f"Promote it to {higher}" if higher else "No class is higher"
        return f"resource {self.resource_id!r} is {self.current.name} and cannot be promoted to {self.requested.name}. {use}."


@define(slots=False, eq=False)
class UnknownResourceError(CallerError, KeyError):
    """Refuse a resource id that was never tagged; `near` are known ids that look like it."""

    resource_id: str
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        near = " or ".join(map(repr, self.near))
        use = f"Did you mean {near}?" if near else "Use an id from session.log()."
        return f"there is no turn or resource {self.resource_id!r}. {use}"


@define(slots=False, eq=False)
class MissingExtraError(CallerError, ModuleNotFoundError):
    """Say which extra to install for a part that needs more than the core."""

    purpose: str
    module: str
    extra: str

    def __attrs_post_init__(self) -> None:
        self.name = self.module  # as `ModuleNotFoundError` calls it

    def __str__(self) -> str:
        return f'{self.purpose} needs {self.module}. Run pip install ".[{self.extra}]" in a clone of polycontext.'


def require_extra(module: str, *, extra: str, purpose: str) -> None:
    """Return where `module` is installed.

    Raises:
        MissingExtraError: it is not.
    """
    if not is_installed(module):
        raise MissingExtraError(purpose, module, extra)


def is_installed(module: str) -> bool:
    """Tell whether `module` can be imported; of a dotted one, whether what it is in can be.

    >>> is_installed("json.decoder"), is_installed("nowhere.at.all")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
