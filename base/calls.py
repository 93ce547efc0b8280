"""Uses of a class or function that do not fit: the error says what to write."""

from abc import ABCMeta
from collections.abc import Callable
from functools import cache, wraps
from inspect import CO_VARKEYWORDS, Parameter, Signature, iscoroutinefunction, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Never, TypeVar, Unpack, cast, get_args, get_origin

from attrs import frozen

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)


def with_usage(function: F) -> F:
    """Return a function whose error for a call that does not fit names a keyword or the parameters.

    >>> @with_usage
    ... def paint(wall, *, colour="red"): ...
    >>> paint("north", color="blue")
    Traceback (most recent call last):
    TypeError: paint() got an unexpected keyword argument 'color'. Did you mean 'colour'?
    >>> paint("north", "blue")
    Traceback (most recent call last):
    TypeError: paint() takes 1 positional argument but 2 were given. Use paint(wall, *, colour).
    """
    takes_more = cast("Any", function).__code__.co_flags & CO_VARKEYWORDS

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if takes_more and kwargs and (problem := _unknown_keyword(function, kwargs)):
            raise TypeError(problem)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if cast("Any", error.__traceback__).tb_next:
                raise  # the function has begun
            problem = str(error)
        raise TypeError(_unknown_keyword(function, kwargs) or _usage(function, problem))

    return cast("F", called)


def guided(kind: T) -> T:
    """Return the class; its errors for a wrong name, call or subscript say what to write.

    >>> @guided
    ... class Wall:
    ...     colour = "red"
    >>> Wall().color
    Traceback (most recent call last):
    AttributeError: 'Wall' has no attribute 'color'. Did you mean 'colour'?
    >>> Wall()["colour"]
    Traceback (most recent call last):
    TypeError: 'Wall' is not a dict. Use .colour.
    """
    for name, value in [*vars(kind).items()]:
        function = value.__func__ if isinstance(value, classmethod) else value
        is_new = isinstance(function, FunctionType) and not hasattr(function, "__wrapped__")
        if is_new and (name[0] != "_" or name == "__init__") and not iscoroutinefunction(function):
            called = with_usage(function)
            setattr(kind, name, called if value is function else classmethod(called))
    added: dict[str, Any] = {}
    if not any("__getattr__" in vars(each) for each in kind.__mro__):
        added["__getattr__"] = look_up
    if not hasattr(kind, "__getitem__") and not hasattr(kind, "__iter__"):
        added["__getitem__"] = misused
    if not hasattr(kind, "__len__") and not hasattr(kind, "__bool__"):
        added |= {"__len__": misused, "__bool__": lambda _: True}
    for name, method in added.items():
        setattr(kind, name, method)
    return kind


class Guided(ABCMeta):
    """The metaclass of a class that also answers for attributes of the class itself."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Never:
            raise AttributeError(_Missing(cls, name), name=None)


def misused(self: object, key: object = None) -> Never:
    """Raise: the object is not a list, a dict or a function."""
    from .guesses import attribute_advice  # noqa: PLC0415 - errors are rare

    kind, name = type(self), key if isinstance(key, str) else ""
    advice = f" Use .{name}." if name and hasattr(kind, name) else attribute_advice(kind, "[]")
    what = "dict" if name else "list or function"
    raise TypeError(f"{kind.__name__!r} is not a {what}.{advice}")


@frozen
class _Missing:
    """The message about a missing attribute; it is made when it is read, as many only probe."""

    kind: type
    name: str

    def __str__(self) -> str:
        from .guesses import attribute_advice  # noqa: PLC0415 - errors are rare

        advice = attribute_advice(self.kind, self.name)
        problem = f"{self.kind.__name__!r} has no attribute {self.name!r}"
        return f"{problem}.{advice}" if advice else problem


def look_up(self: object, name: str) -> Any:
    """Raise the error of a missing attribute; it is the `__getattr__` of a guided class."""
    if hasattr(type(self), name):
        return object.__getattribute__(self, name)  # a property that raised: its own error
    # Python adds a guess of its own to an error that names the attribute.
    raise AttributeError(_Missing(type(self), name), name=None)


def _unknown_keyword(function: Callable[..., Any], given: dict[str, Any]) -> str:
    """Return what is wrong with a keyword that the function does not know, or nothing."""
    known, name = _keywords(function), _name_of(function)
    for key in given if known else ():
        if key not in known:
            from .guesses import keyword_advice  # noqa: PLC0415 - errors are rare

            advice = keyword_advice(name, key, known)
            return f"{name}() got an unexpected keyword argument {key!r}.{advice}"
    return ""


def _usage(function: Callable[..., Any], problem: str) -> str:
    none = Parameter.empty
    bare = [each.replace(annotation=none, default=none) for each in _parameters(function)]
    usage = f"{_name_of(function)}{Signature(bare)}"
    problem = problem.rpartition("<locals>.")[2].replace(".__init__()", "()")
    return f"{problem}. Use {usage}."


def _name_of(function: Callable[..., Any]) -> str:
    return function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__init__")


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    given = signature(function).parameters.values()
    return [each for each in given if each.name not in ("self", "cls", "_")]


@cache
def _keywords(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the keywords of parameters and an unpacked `TypedDict`; none if any fits."""
    names = list[str]()
    for each in _parameters(function):
        if each.kind is not Parameter.VAR_KEYWORD:
            names.append(each.name)
        elif get_origin(each.annotation) is Unpack:
            names += get_args(each.annotation)[0].__annotations__
        else:
            return ()
    return tuple(dict.fromkeys(names))
