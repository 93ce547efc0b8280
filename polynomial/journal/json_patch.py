"""JSON Patch (RFC 6902) for immutable JSON data; what a patch does not touch is shared.

The operations are add, remove, replace and test. The RFC's copy and move are not supported; express
them with these.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import orjson

from polycontext.base import InvalidDataError

ABSENT: Any = object()
"""The value of a document that does not exist yet."""

_LEGAL = 'a list of operations such as {"op": "add", "path": "/intents/-", "value": "query"}'
_END = "-"


def patched(document: Any, patch: str) -> Any:
    """Return the document after applying all operations of a patch, or raise.

    O(what the patch touches and the arrays and objects on the way there).

    Raises:
        InvalidDataError: it is not a patch, or does not fit this document; names the operation.

    >>> before = {"intents": ["query"], "facts": {}}
    >>> after = patched(before, '[{"op": "add", "path": "/intents/-", "value": "buy"}]')
    >>> after, before["intents"], after["facts"] is before["facts"]
    ({'intents': ['query', 'buy'], 'facts': {}}, ['query'], True)
    """
    try:
        operations = orjson.loads(patch)
    except orjson.JSONDecodeError as error:
        raise InvalidDataError(".patch", f"not JSON ({error})", _LEGAL) from None
    if not isinstance(operations, list):
        raise InvalidDataError(".patch", f"{type(operations).__name__} is not a list", _LEGAL)
    after = reduce(lambda done, numbered: _apply(done, *numbered), enumerate(operations), document)
    if after is ABSENT:
        raise InvalidDataError(
            ".patch", "nothing is left of the document", "a patch behind which there is one"
        )
    return after


def _apply(document: Any, number: int, operation: Any) -> Any:
    at = f".patch[{number}]"
    if (
        not isinstance(operation, dict)
        or not isinstance(operation.get("path"), str)
        or not isinstance(operation.get("op"), str)
    ):
        raise InvalidDataError(at, f"{operation!r:.60} is no operation", _LEGAL)
    name, path = operation["op"], operation["path"]
    act = _ACTS.get(name)
    if act is None or (name != "remove" and "value" not in operation):
        raise InvalidDataError(
            at,
            f"operation {name!r:.20} is unknown, or has no value",
            f"{', '.join(_ACTS)}; with a value, but for remove",
        )
    if path and not path.startswith("/"):
        raise InvalidDataError(
            at,
            f"path {path!r:.60} begins nowhere",
            "an empty path, or one that begins with a slash",
        )
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    try:
        return _at(
            document, steps, lambda found: act(found, operation.get("value")), adds=name == "add"
        )
    except (KeyError, IndexError, ValueError, TypeError):
        raise InvalidDataError(
            at,
            f"{name} at {path!r:.60} does not fit what stands there",
            "a patch that was made of this document",
        ) from None


def _at(found: Any, steps: list[str], act: Callable[[Any], Any], *, adds: bool) -> Any:
    """Return `found` with `act` applied to the value at the end of `steps`.

    Only the containers on the way there are copied.
    """
    if not steps:
        return act(found)
    step, *others = steps
    if isinstance(found, dict):
        inner = found.get(step, ABSENT) if not others else found[step]
        after = _at(inner, others, act, adds=adds)
        if after is ABSENT:
            return {key: value for key, value in found.items() if key != step}
        return {**found, step: after}
    if not isinstance(found, list):
        raise TypeError(step)
    place = _place(step, len(found), adds=adds and not others)
    inserts = adds and not others
    after = _at(ABSENT if inserts else found[place], others, act, adds=adds)
    kept = found[place + (not inserts) :]
    return [*found[:place], *kept] if after is ABSENT else [*found[:place], after, *kept]


def _place(step: str, length: int, *, adds: bool) -> int:
    if adds and step == _END:
        return length
    if not (step.isascii() and step.isdigit()) or (len(step) > 1 and step[0] == "0"):
        raise ValueError(step)
    place = int(step)
    if place >= length + adds:
        raise IndexError(step)
    return place


def _add(_: Any, value: Any) -> Any:
    return value


def _replace(found: Any, value: Any) -> Any:
    if found is ABSENT:
        raise KeyError
    return value


def _remove(found: Any, _: Any) -> Any:
    return _replace(found, ABSENT)


def _test(found: Any, value: Any) -> Any:
    # Compared as JSON, since 1 == True in Python.
    if found is ABSENT or orjson.dumps(found, option=orjson.OPT_SORT_KEYS) != orjson.dumps(
        value, option=orjson.OPT_SORT_KEYS
    ):
        raise ValueError
    return found


_ACTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}


def encode(data: object, name: str) -> str:
    """Return a companion's data as immutable JSON text, or raise `InvalidDataError`."""
    try:
        return orjson.dumps(data).decode()
    except TypeError as error:
        raise InvalidDataError(f"companions.{name}", str(error), "JSON data") from None
