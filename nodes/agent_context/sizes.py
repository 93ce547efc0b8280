"""How large a context is, remembered part by part, so that asking again costs what has changed since.

A record never changes, hence neither does its size. Records inside a namespace are measured
once each; a namespace, and the context, add up their parts and hand the unchanged ones to
the record that `changed` makes of them.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import frozen

from polycontext.linearity.json_data import FrozenDict

from .context import AgentContext
from .json_text import dumps
from .kinds import Kind, Shape
from .record_base import Record, layout, written
from .schema import SCHEMA, all_keys

Part: TypeAlias = tuple[int, int]
"""Bytes of a value, and the length of its longest array, itself included."""


@frozen
class Measure:
    """Hold the bytes of a record in JSON, the length of the longest array in it, and both for every field."""

    size: int
    longest: int
    parts: dict[str, Part]


def measure(record: Record) -> Measure:
    """Return the measure of a namespace or a whole context.

    Law: ``measure(r).size == len(dumps(r))``.
    """
    found: Measure | None = getattr(record, "_measure", None)
    if found is not None:
        return found
    kinds = layout(type(record)).kinds
    known: dict[str, Part] = getattr(record, "_parts", {})
    shown = written(record)
    parts = {
        name: known.get(name) or _part(kinds[name], value) if name in kinds else (len(dumps(value)), 0) for name, value in shown.items()
    }
    # Two braces, a comma between two fields, a colon after each name.
    size = 2 + max(len(parts) - 1, 0) + sum(len(dumps(name)) + 1 + part[0] for name, part in parts.items())
    return _remember(record, Measure(size, max((part[1] for part in parts.values()), default=0), parts))


def _remember(record: Record, found: Measure) -> Measure:
    # Threads that meet here write the same numbers.
    object.__setattr__(record, "_measure", found)
    object.__setattr__(record, "_parts", found.parts)
    return found


def _part(kind: Kind, value: Any) -> Part:
    if isinstance(value, Record):
        found = measure(value)
        return found.size, found.longest
    if kind.shape is Shape.ARRAY and kind.item is not None and kind.item.record is not None:
        items = [_measure_item(item) for item in value]
        # Two brackets, and a comma between two items.
        return len(items) + 1 + sum(item.size for item in items), max(len(items), *(item.longest for item in items))
    return len(dumps(value)), len(value) if kind.shape is Shape.ARRAY else 0


def _measure_item(record: Record) -> Measure:
    """Return the measure of an item of an array, which is written at once and not field by field."""
    known: Measure | None = getattr(record, "_measure", None)
    return known or _remember(record, Measure(len(dumps(record)), max(map(len, arrays_of(record).values()), default=0), {}))


def arrays_of(record: Record) -> dict[str, tuple[Any, ...]]:
    """Return the arrays of a record by JSON name."""
    return {name: getattr(record, attribute) for name, attribute in layout(type(record)).arrays}


@frozen
class ContextStats:
    """Hold bytes in JSON of the whole and of each namespace, items of each array, and how many artifacts are stored outside."""

    total_size: int
    namespace_sizes: Mapping[str, int]
    array_counts: Mapping[str, int]
    externalized_count: int


def get_stats(context: AgentContext) -> ContextStats:
    """Return the statistics of a context; arrays go by their key alone, which no two namespaces share.

    Law: ``get_stats(c).total_size == len(serialize(c))``.

    >>> get_stats(AgentContext.new("session-1", "trace-1")).array_counts["intents"]
    0
    """
    arrays = (key for key in all_keys() if key.shape is Shape.ARRAY)
    return ContextStats(
        total_size=measure(context).size,
        namespace_sizes=FrozenDict({name: measure(getattr(context, name)).size for name in SCHEMA}),
        array_counts=FrozenDict({key.key: len(getattr(getattr(context, key.namespace), key.key)) for key in arrays}),
        externalized_count=sum(artifact.external is not None for artifact in context.retrieval.artifacts),
    )
