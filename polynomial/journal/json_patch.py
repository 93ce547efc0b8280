"""JSON Patch (RFC 6902) for immutable JSON data; what a patch does not touch is shared.

The operations are add, remove, replace and test. The RFC's copy and move are not supported; express
them with these.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain, count
from typing import Any

import orjson

from polycontext.base import InvalidDataError

ABSENT: Any = object()
"""The value of a document that does not exist yet."""

_LEGAL = 'a list of operations such as {"op": "add", "path": "/intents/-", "value": "query"}'


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


def replaced(patches: Sequence[str], texts: Sequence[str], instead: str) -> list[str]:
    """Return patches without `texts`, wherever a string or a key contains one of them.

    In keys, and in the paths that lead to them, each text has a replacement of its own, so that no
    two keys become one.

    >>> replaced(['[{"op":"add","path":"/a~1b","value":{"a/b":"to a/b"}}]'], ["a/b"], "[gone]")
    ['[{"op":"add","path":"/[gone]","value":{"[gone]":"to [gone]"}}]']
    """
    known = "".join(patches)
    free = (name for n in count(2) if (name := f"{instead} {n}") not in known)
    keys = dict(zip(texts, chain([] if instead in known else [instead], free), strict=False))

    def in_key(key: str) -> str:
        return reduce(lambda left, text: left.replace(text, keys[text]), texts, key)

    def in_value(value: Any) -> Any:
        if isinstance(value, str):
            return reduce(lambda left, text: left.replace(text, instead), texts, value)
        if isinstance(value, dict):
            return {in_key(key): in_value(each) for key, each in value.items()}
        return [in_value(each) for each in value] if isinstance(value, list) else value

    def in_operation(operation: dict[str, Any]) -> dict[str, Any]:
        path = _path(map(in_key, _steps(operation["path"])))
        return {name: in_value(each) for name, each in operation.items()} | {"path": path}

    return [orjson.dumps(list(map(in_operation, orjson.loads(each)))).decode() for each in patches]


def _steps(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _path(steps: Iterable[str]) -> str:
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


def _apply(document: Any, number: int, operation: Any) -> Any:
    at = f".patch[{number}]"
    match operation:
        case {"op": "add" | "replace" | "test" as name, "path": str(path), "value": value}:
            pass
        case {"op": "remove" as name, "path": str(path)}:
            value = ABSENT
        case _:
            raise InvalidDataError(
                at,
                f"{operation!r:.60} is not an operation",
                "add, replace or test with path and value, or remove with a path",
            )
    if path and not path.startswith("/"):
        raise InvalidDataError(
            at,
            f"path {path!r:.60} begins nowhere",
            "an empty path, or one that begins with a slash",
        )
    try:
        return _changed(document, _steps(path), name, value)
    except (LookupError, ValueError, TypeError):
        raise InvalidDataError(
            at,
            f"{name} at {path!r:.60} does not fit what stands there",
            "a patch that was made of this document",
        ) from None


def _changed(found: Any, steps: list[str], name: str, value: Any) -> Any:
    """Return `found` after the operation `name` on the value at the end of `steps`.

    Only the containers on the way there are copied. `ABSENT` stands for what is not there.
    """
    if not steps:
        if name != "add" and found is ABSENT:
            raise LookupError
        if name == "test" and _canonical(found) != _canonical(value):
            raise ValueError
        return found if name == "test" else value
    step, *others = steps
    if isinstance(found, dict):
        inner = found[step] if others else found.get(step, ABSENT)
        after = {**found, step: _changed(inner, others, name, value)}
        return {key: value for key, value in after.items() if value is not ABSENT}
    if not isinstance(found, list):
        raise TypeError(step)
    inserts = name == "add" and not others
    place = _place(step, len(found), inserts=inserts)
    made = _changed(ABSENT if inserts else found[place], others, name, value)
    kept = [] if made is ABSENT else [made]
    return [*found[:place], *kept, *found[place + (not inserts) :]]


def _canonical(value: Any) -> bytes:
    # Compared as JSON, since 1 == True in Python.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _place(step: str, length: int, *, inserts: bool) -> int:
    if inserts and step == "-":
        return length
    place = int(step)
    if str(place) != step or not 0 <= place < length + inserts:
        raise IndexError(step)
    return place


def encode(data: object, name: str) -> str:
    """Return a companion's data as immutable JSON text, or raise `InvalidDataError`."""
    try:
        return orjson.dumps(data).decode()
    except TypeError as error:
        raise InvalidDataError(f"companions.{name}", str(error), "JSON data") from None
