"""The root of all polycontext errors, and the errors that every package shares.

The classes below the root say whose fault an error is. They live in the lowest package because
every other package raises errors, and imports only go downward. Leaves are attrs classes: they
store their facts as fields, build their message from them, and subclass a fitting builtin, so that
``except ValueError`` also works for callers who do not know polycontext.

When one of these errors is raised, nothing has changed.
"""

import re
from collections.abc import Callable, Collection, Iterable
from importlib.util import find_spec
from math import inf
from types import UnionType
from typing import Any, TypeGuard, cast

from attrs import Attribute, define, field

_ADDRESS = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # a text that is a value stays as it is
    r"| at 0x[0-9a-fA-F]+(?=>)"
)


class PolycontextError(Exception):
    """The base class of every error that polycontext raises.

    Tracebacks name the module that has them all.
    """

    __module__ = "polycontext.errors"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("polycontext.") and not cls.__name__.startswith("_"):
            cls.__module__ = "polycontext.errors"


class CallerError(PolycontextError):
    """An error of the caller: the input, the argument or the timing was wrong."""


class CollaboratorError(PolycontextError):
    """An error of a plugged-in component: a summariser, a counter or a store."""


def safe_repr(value: object) -> str:
    """Return the `repr` of a value without addresses, or its type if it has none.

    Python prints no huge integers.

    >>> safe_repr([object(), "<at 0x1>"])
    "[<object object>, '<at 0x1>']"
    """
    try:
        return _ADDRESS.sub(r"\1", repr(value))
    except Exception:  # noqa: BLE001 - an error message must not raise another
        return f"<{type(value).__name__}>"


def advised(problem: str, advice: str) -> str:
    """Return an error message: a problem, and what to do; each ends with one full stop.

    >>> advised("messages: too few.", "Use 1, 2, ...")
    'messages: too few. Use 1, 2, ...'
    """
    return f"{problem.removesuffix('.')}. {advice.removesuffix('.')}."


def similar(
    name: object, known: Iterable[object], most: int = 3, cutoff: float = 0.6
) -> tuple[str, ...]:
    """Return the names in `known` that are similar to `name`, the most similar first."""
    from difflib import get_close_matches  # noqa: PLC0415 - errors are rare

    return tuple(get_close_matches(str(name), map(str, known), most, cutoff))


def did_you_mean(near: Collection[str]) -> str:
    """Return the question after similar names, with a space before it; nothing if there are none.

    >>> did_you_mean(similar("colour", ["color", "size"]))
    " Did you mean 'color'?"
    """
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


@define(slots=False, eq=False)
class InvalidDataError(CallerError, ValueError):
    """Data that was read from outside is invalid.

    `path` names the location of the first fault, such as ``$.tags[3].when``. It is empty if the
    value itself is at fault.
    """

    path: str
    what: str
    legal: str

    def __str__(self) -> str:
        return advised(f"{self.path or 'value'}: {self.what}", f"Use {self.legal}")


@define(slots=False, eq=False)
class InvalidOptionError(CallerError, ValueError):
    """The value of an argument or option is invalid."""

    option: str
    value: object = field(repr=safe_repr)
    legal: str

    def __str__(self) -> str:
        return advised(f"{self.option} = {safe_repr(self.value):.200}", f"Use {self.legal}")


def require(option: str, value: object, fits: object, legal: str) -> None:
    """Raise `InvalidOptionError` unless `fits` is true; `legal` describes the legal values."""
    if not fits:
        raise InvalidOptionError(option, value, legal)


def must_be(
    kind: type | UnionType | Callable[[Any], object], legal: str
) -> Callable[[object, "Attribute[Any]", Any], None]:
    """Return an attrs validator that raises `InvalidOptionError` for a value of another kind.

    The kind is a type or a predicate; `legal` describes its values.
    """
    is_type, known = isinstance(kind, type | UnionType), cast("Any", kind)

    def validate(_: object, attribute: "Attribute[Any]", value: Any) -> None:
        if not (isinstance(value, known) if is_type else known(value)):
            raise InvalidOptionError(attribute.name, value, legal)

    return validate


def is_whole(value: object, least: float = -inf, most: float = inf) -> TypeGuard[int]:
    """Return whether `value` is an integer from `least` to `most`; booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object, least: float = -inf, most: float = inf) -> TypeGuard[float]:
    """Return whether `value` is a number from `least` to `most`; booleans and nan are not."""
    return is_whole(value, least, most) or (isinstance(value, float) and least <= value <= most)


def whole_number(option: str, value: Any, least: int, unit: str = "tokens") -> int:
    """Return `value`; raise `InvalidOptionError` unless it is an integer of at least `least`.

    Stores hold integers of 64 bits, so larger ones are refused, too.
    """
    fits = is_whole(value, least, 2**63 - 1)
    require(option, value, fits, f"a whole number of {unit}, at least {least}")
    return int(value)


@define(slots=False, eq=False)
class UnknownNameError(CallerError, KeyError):
    """A name is unknown: of a provider, an encoding, an operation or a template.

    `near` holds similar known names; by default it is searched for in `legal`. `advice` says what
    to do where `legal` would be too long.
    """

    kind: str
    name: str
    legal: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    advice: str = ""

    def __attrs_post_init__(self) -> None:
        self.near = self.near or similar(self.name, self.legal)

    def __str__(self) -> str:
        use = self.advice or (f"Use {', '.join(self.legal)}." if self.legal else "")
        meant = did_you_mean(self.near)
        return f"unknown {self.kind} {self.name!r:.200}.{meant}{use and ' '}{use}"


@define(slots=False, eq=False)
class MissingExtraError(CallerError, ModuleNotFoundError):
    """An optional dependency is missing; the message says which extra to install."""

    purpose: str
    module: str
    extra: str

    def __attrs_post_init__(self) -> None:
        self.name = self.module  # the name that `ModuleNotFoundError` uses

    def __str__(self) -> str:
        return (
            f'{self.purpose} needs {self.module}. Run pip install ".[{self.extra}]" in a clone of '
            f"polycontext."
        )


def require_extra(module: str, *, extra: str, purpose: str) -> None:
    """Raise an error unless `module` is installed.

    Raises:
        MissingExtraError: the module is not installed.
    """
    if not is_installed(module):
        raise MissingExtraError(purpose, module, extra)


def is_installed(module: str) -> bool:
    """Return whether `module` can be imported; false if a parent package is missing.

    >>> is_installed("json.decoder"), is_installed("nowhere.at.all")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
