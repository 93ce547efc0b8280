"""Laws: plain functions that raise an error when a statement does not hold.

The docstring of a law states what holds for all inputs. A law takes the subject and the values that
the statement quantifies over, compares both sides, and raises a `LawViolation` that shows them. It
does not depend on a test framework: property tests, the command line and your own scripts call it
in the same way.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from attrs import define, frozen

from .errors import PolycontextError

F = TypeVar("F", bound=Callable[..., None])


@define(slots=False, eq=False)
class LawViolation(PolycontextError, AssertionError):  # noqa: N818 - the field's word for it
    """A law does not hold; the error shows both sides and the inputs they were computed from."""

    law: str
    left: object
    right: object
    inputs: Mapping[str, object]

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {value!r}" for name, value in self.inputs.items())
        return f"{self.law}: {self.left!r} is not {self.right!r}" + (
            f"; given {given}" if given else ""
        )


@frozen
class Law:
    """A law: its name, package, statement, source, parameters and checking function."""

    name: str
    room: str
    statement: str
    source: str
    parameters: tuple[str, ...]
    check: Callable[..., None]


def law(source: str) -> Callable[[F], F]:
    """Mark a function as a law; `source` is the paper, library or page of the docs it is from."""

    def mark(function: F) -> F:
        function.__law_source__ = source  # type: ignore[attr-defined]
        return function

    return mark


def laws_of(package: ModuleType) -> tuple[Law, ...]:
    """Return the laws that the modules of a package define, in the order of definition.

    >>> from polycontext.linearity import laws
    >>> [law.room for law in laws_of(laws)][:1]
    ['linearity']
    """
    modules = (
        import_module(f"{package.__name__}.{found.name}")
        for found in iter_modules(package.__path__)
    )
    values = ((module.__name__, value) for module in modules for value in vars(module).values())
    # A law that a module imports belongs to another module.
    return tuple(
        _law(value)
        for name, value in values
        if hasattr(value, "__law_source__") and value.__module__ == name
    )


def _law(function: Any) -> Law:
    room, parameters = (
        function.__module__.split(".")[1],
        tuple(inspect.signature(function).parameters),
    )
    return Law(
        function.__name__,
        room,
        inspect.getdoc(function) or "",
        function.__law_source__,
        parameters,
        function,
    )


def agree(left: object, right: object, **further: object) -> None:
    """Raise `LawViolation` unless both sides are equal.

    The error carries the name of the calling law, its arguments and `further`.
    """
    if left != right:
        raise _violation(left, right, further)


def holds(condition: object, claim: str, found: object, **further: object) -> None:
    """Raise `LawViolation`, as `agree` does, unless `condition` is true.

    `claim` states the expected value, `found` the actual one.
    """
    if not condition:
        raise _violation(found, claim, further)


def _violation(left: object, right: object, further: Mapping[str, object]) -> LawViolation:
    # Two frames up: the caller is `agree` or `holds`, and its caller is the law.
    frame = sys._getframe(2)  # noqa: SLF001 - the frames of `inspect` may be None
    code = frame.f_code
    given = {name: frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]}
    return LawViolation(code.co_name, left, right, {**given, **further})
