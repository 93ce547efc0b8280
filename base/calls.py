"""Calls that do not fit their function: the error names the parameters."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast, get_args

from .errors import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])


def with_usage(function: F) -> F:
    """Return a function whose error for a call that does not fit says how it is called.

    >>> @with_usage
    ... def paint(wall, *, colour="red"): ...
    >>> paint("north", "blue")
    Traceback (most recent call last):
    TypeError: paint() takes 1 positional argument but 2 were given. Use paint(wall, *, colour).
    """

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if cast("Any", error.__traceback__).tb_next:
                raise  # the function has begun
            problem = str(error)
        name, known = function.__qualname__.removesuffix(".__init__"), keywords_of(function)
        for key in kwargs if known else ():
            if key not in known:
                raise unexpected(f"{name}()", key, known)
        raise TypeError(f"{problem}. Use {name}({', '.join(_usage(function))}).")

    return cast("F", called)


def keywords_of(function: Callable[..., Any]) -> dict[str, None]:
    """Return the keywords of a function, with those of an unpacked `TypedDict`; none if any fits."""
    names = list[str]()
    for name, each in signature(function).parameters.items():
        if each.kind is not Parameter.VAR_KEYWORD:
            names.append(name)
        elif unpacked := get_args(each.annotation):
            names += unpacked[0].__annotations__
        else:
            return {}
    return dict.fromkeys(name for name in names if name not in ("self", "cls"))


def unexpected(called: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for a keyword that `called` does not declare: it names a similar one or all.

    >>> print(unexpected("open()", "max_token", ["max_tokens", "model"]))
    open() got an unexpected keyword argument 'max_token'. Did you mean 'max_tokens'?
    """
    use = did_you_mean(name, known) or f"Use {', '.join(known)}."
    return TypeError(f"{called} got an unexpected keyword argument {name!r}. {use}")


def _usage(function: Callable[..., Any]) -> Iterable[str]:
    """Yield the parameters as a call is written, without their types and defaults."""
    stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    is_named = False
    for name, each in signature(function).parameters.items():
        if each.kind is Parameter.KEYWORD_ONLY and not is_named:
            is_named = True
            yield "*"
        if name not in ("self", "cls"):
            yield stars.get(each.kind, "") + name
