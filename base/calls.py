"""Calls that do not fit their function: the error says how it is called."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, cast, get_args

from .errors import did_you_mean, similar

F = TypeVar("F", bound=Callable[..., Any])


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
    given = signature(function).parameters.values()
    bare = [each for each in given if each.name not in ("self", "cls")]
    known, name = _keywords(bare), function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        for key in kwargs if known else ():
            if key not in known:
                use = did_you_mean(similar(key, known, 1)) or f" Use {', '.join(known)}."
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}.{use}")
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if cast("Any", error.__traceback__).tb_next:
                raise  # the function has begun
            problem = str(error)
        none = Parameter.empty
        usage = Signature([each.replace(annotation=none, default=none) for each in bare])
        raise TypeError(f"{problem}. Use {name}{usage}.")

    return cast("F", called)


def _keywords(parameters: list[Parameter]) -> dict[str, None]:
    """Return the keywords of parameters and an unpacked `TypedDict`; none if any fits."""
    names = list[str]()
    for each in parameters:
        if each.kind is not Parameter.VAR_KEYWORD:
            names.append(each.name)
        elif unpacked := get_args(each.annotation):
            names += unpacked[0].__annotations__
        else:
            return {}
    return dict.fromkeys(names)
