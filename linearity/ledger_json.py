"""The ledger as JSON-ready data, and back, trusting nothing that it reads."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from attrs import evolve

from polycontext.linearity.errors import InvalidTagError, LedgerFormatError
from polycontext.linearity.resource_class import ResourceClass
from polycontext.linearity.stats import LinearityStats
from polycontext.linearity.tag import Tag, check_resource_id

SCHEMA = "polycontext.linearity"
SCHEMA_VERSION = 1

_LEDGER_KEYS = ("schema", "version", "promotions", "drops", "tags")
_TAG_KEYS = ("id", "class", "provenance", "rationale", "when")
_KEYS_OF_FIELDS = {"resource_id": "id"}
_CLASSES = {resource_class.name: resource_class for resource_class in ResourceClass}


def encode(items: Iterable[tuple[str, Tag]], stats: LinearityStats) -> dict[str, Any]:
    """Return a ledger's items, in order, and its counters as JSON-ready data; counts a class follow from the items."""
    tags = [_encode_tag(resource_id, tag) for resource_id, tag in items]
    return {"schema": SCHEMA, "version": SCHEMA_VERSION, "promotions": stats.promotions, "drops": stats.drops, "tags": tags}


def decode(data: object) -> tuple[list[tuple[str, Tag]], LinearityStats]:
    """Return the items and counters that `encode` wrote.

    Raises:
        LedgerFormatError: naming the path of the first fault: a missing,
            unknown or wrongly typed field, another schema or version, a
            repeated id, counters that no history of these tags can have.
    """
    record = _record(data, "$", _LEDGER_KEYS)
    _check_equal(record["schema"], SCHEMA, "$.schema")
    _check_equal(record["version"], SCHEMA_VERSION, "$.version")
    tags = record["tags"]
    if not isinstance(tags, list):
        raise LedgerFormatError("$.tags", f"{type(tags).__name__} is not a list", "a list of tags")
    items = [_decode_tag(tag, f"$.tags[{index}]") for index, tag in enumerate(cast("list[object]", tags))]
    _check_ids_differ(items)
    return items, _decode_stats(record, items)


def _encode_tag(resource_id: str, tag: Tag) -> dict[str, Any]:
    return {
        "id": resource_id,
        "class": tag.resource_class.name,
        "provenance": tag.provenance,
        "rationale": tag.rationale,
        "when": tag.when.isoformat(),
    }


def _decode_tag(data: object, path: str) -> tuple[str, Tag]:
    record = _record(data, path, _TAG_KEYS)
    texts = {key: _text(record[key], f"{path}.{key}") for key in _TAG_KEYS}
    if texts["class"] not in _CLASSES:
        where = f"{path}.class"
        raise LedgerFormatError(where, f"unknown class {texts['class']!r}", ", ".join(_CLASSES))
    when = _moment(texts["when"], f"{path}.when")
    try:
        tag = Tag(_CLASSES[texts["class"]], provenance=texts["provenance"], rationale=texts["rationale"], when=when)
        return check_resource_id(texts["id"]), tag
    except InvalidTagError as error:
        where = f"{path}.{_KEYS_OF_FIELDS.get(error.field, error.field)}"
        raise LedgerFormatError(where, error.problem, error.legal) from None


def _decode_stats(record: dict[str, object], items: Iterable[tuple[str, Tag]]) -> LinearityStats:
    stats = LinearityStats()
    for _, tag in items:
        stats = stats.tagged(tag.resource_class)
    promotions = _counter(record["promotions"], "$.promotions", most=stats.required + 2 * stats.preserved)
    drops = _counter(record["drops"], "$.drops", most=None if stats.droppable or promotions else 0)
    return evolve(stats, promotions=promotions, drops=drops)


def _record(data: object, path: str, keys: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(data, dict):
        raise LedgerFormatError(path, f"{type(data).__name__} is not an object", f"an object with {', '.join(keys)}")
    record = cast("dict[str, object]", data)
    for key in (*keys, *record):
        if key not in record or key not in keys:
            where = f"{path}.{key}"
            raise LedgerFormatError(where, "is missing" if key in keys else "is unknown", f"an object with {', '.join(keys)}")
    return record


def _check_equal(value: object, expected: str | int, path: str) -> None:
    if type(value) is not type(expected) or value != expected:
        raise LedgerFormatError(path, f"{value!r} cannot be read", repr(expected))


def _check_ids_differ(items: Iterable[tuple[str, Tag]]) -> None:
    seen: dict[str, int] = {}
    for index, (resource_id, _) in enumerate(items):
        if resource_id in seen:
            where, problem = f"$.tags[{index}].id", f"{resource_id!r} is the id of $.tags[{seen[resource_id]}] already"
            raise LedgerFormatError(where, problem, "every id once")
        seen[resource_id] = index


def _counter(value: object, path: str, *, most: int | None) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise LedgerFormatError(path, f"{value!r} is not a count", "a whole number from 0")
    if most is not None and value > most:
        raise LedgerFormatError(path, f"{value} is more than these tags can have seen", f"0..{most}")
    return value


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise LedgerFormatError(path, f"{type(value).__name__} is not text", "str")
    return value


def _moment(text: str, path: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise LedgerFormatError(path, f"{text!r} is not a moment", "ISO 8601 with a time zone, such as 2026-01-31T12:00:00+00:00") from None
