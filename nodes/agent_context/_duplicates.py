"""Where in JSON text a key stands twice. Slow, and only asked once the text is known to be at fault."""

import json
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from polycontext.nodes.agent_context._frozen import step_of
from polycontext.nodes.agent_context.errors import ContextFormatError


@frozen
class _Repeated:
    """Stand for an object that has a key twice."""

    key: str


def path_of_duplicate(text: bytes) -> str:
    """Return the path of the first duplicate key, or of the root if the text cannot be read to its end."""
    try:
        return _path(json.loads(text, object_pairs_hook=_object)) or ""
    except (ValueError, RecursionError):
        return ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            return _Repeated(key)
        seen[key] = value
    return seen


def _path(value: object) -> str | None:
    if isinstance(value, _Repeated):
        return step_of(value.key)
    for step, item in _children(value):
        found = _path(item)
        if found is not None:
            return ContextFormatError(found, "", "").under(step).path
    return None


def _children(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, dict):
        return ((step_of(key), item) for key, item in value.items())
    return ((f"[{index}]", item) for index, item in enumerate(value)) if isinstance(value, list) else ()
