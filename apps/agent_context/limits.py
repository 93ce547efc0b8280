"""Sizes of a context and their limits (docs/agent-context.md, "Size limits").

Each record is measured once: it never changes, and neither does its size. A record that holds
others adds up their sizes, so measuring again costs only what changed.
"""

import warnings
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from attrs import Attribute, field, frozen

from polycontext.base import whole_number
from polycontext.base.json_data import FrozenDict

from .consistency import entries_of
from .errors import ContextSizeError, ContextSizeWarning
from .json_text import dumps
from .record_base import Record, json_fields, layout
from .records import AgentContext, Artifact
from .schema import LISTS, SCHEMA


@frozen
class Measure:
    """The bytes of a record in JSON, and the length of its longest array."""

    size: int
    longest: int


def measure(record: Record) -> Measure:
    """Return the measure of a record.

    Law: ``measure(r).size == len(dumps(r))``.
    """
    found: Measure | None = getattr(record, "_measure", None)
    if found is None:
        shown = json_fields(record)
        # Every inner record is measured once, and is null in the bytes of the outer one.
        inner = {name: held for name, value in shown.items() if (held := _records_in(value))}
        hollow = {
            name: None if isinstance(shown[name], Record) else [None] * len(held)
            for name, held in inner.items()
        }
        measures = [measure(each) for held in inner.values() for each in held]
        lengths = *map(len, arrays_of(record).values()), *(each.longest for each in measures)
        found = Measure(
            len(dumps(shown | hollow)) + sum(each.size - len("null") for each in measures),
            max(lengths, default=0),
        )
        # Concurrent threads write the same numbers.
        object.__setattr__(record, "_measure", found)
    return found


def _records_in(value: Any) -> tuple[Record, ...]:
    if isinstance(value, Record):
        return (value,)
    return value if type(value) is tuple and value and isinstance(value[0], Record) else ()


def arrays_of(record: Record) -> dict[str, tuple[Any, ...]]:
    """Return the arrays of a record by JSON name."""
    return {name: getattr(record, attribute) for name, attribute in layout(type(record)).arrays}


@frozen
class ContextStats:
    """Sizes of a context.

    They are the bytes in JSON of the whole and of each namespace, the items of each array, and the
    number of artifacts stored outside.
    """

    total_size: int
    namespace_sizes: Mapping[str, int]
    array_counts: Mapping[str, int]
    externalized_count: int


def get_stats(context: AgentContext) -> ContextStats:
    """Return the statistics of a context.

    Arrays are listed by their key alone, which is unique among all namespaces.

    Law: ``get_stats(c).total_size == len(serialize(c))``.

    >>> get_stats(AgentContext.new("session-1", "trace-1")).array_counts["intents"]
    0
    """
    return ContextStats(
        total_size=measure(context).size,
        namespace_sizes=FrozenDict({name: measure(getattr(context, name)).size for name in SCHEMA}),
        array_counts=FrozenDict(
            {path.partition(".")[2]: len(entries_of(context, path)) for path in LISTS}
        ),
        externalized_count=sum(each.external is not None for each in context.retrieval.artifacts),
    )


KIB = 1024
MIB = 1024 * KIB


def is_size(_limits: object, attribute: "Attribute[int]", value: object) -> None:
    """Raise `InvalidOptionError` for a value that is not a size (an attrs validator)."""
    whole_number(attribute.name, value, 0, "bytes or items")


@frozen(kw_only=True)
class ContextLimits:
    """The limits of a context: sizes in bytes of JSON, lengths in items.

    A value equal to a limit is legal. A context larger than `warn_total_size` causes a warning.
    Content should be moved out if all inline artifacts together exceed
    `artifact_externalization_threshold`, or if the content of one artifact exceeds
    `max_inline_artifact_size`.
    """

    max_total_size: int = field(default=10 * MIB, validator=is_size)
    max_namespace_size: int = field(default=2 * MIB, validator=is_size)
    max_array_items: int = field(default=1_000, validator=is_size)
    artifact_externalization_threshold: int = field(default=100 * KIB, validator=is_size)
    max_inline_artifact_size: int = field(default=50 * KIB, validator=is_size)
    warn_total_size: int = field(default=8 * MIB, validator=is_size)


DEFAULT_LIMITS = ContextLimits()


@frozen
class ContextSizeChecker:
    """Check contexts against limits.

    Measures are cached, so a check costs only what changed since the last one.

    >>> ContextSizeChecker(ContextLimits(max_total_size=10)).check(AgentContext())
    Traceback (most recent call last):
    polycontext.errors.ContextSizeError: size limit exceeded: max_total_size \
at $: 151 bytes. Use at most 10 bytes.
    """

    limits: ContextLimits = DEFAULT_LIMITS

    def check(self, context: AgentContext) -> None:
        """Check the size of the context, of every namespace and of every array, also nested ones.

        Warns:
            ContextSizeWarning: the context is larger than `warn_total_size`.

        Raises:
            ContextSizeError: see `refuse_oversized`.
        """
        self.refuse_oversized(context)
        self.warn(context)

    def refuse_oversized(self, context: AgentContext) -> None:
        """Raise `ContextSizeError` if the context, a namespace or an array is too large.

        The error is about the whole context, else the first namespace, else the longest array.
        """
        limits, whole = self.limits, measure(context)
        if whole.size > limits.max_total_size:
            raise ContextSizeError("max_total_size", whole.size, limits.max_total_size, "bytes")
        for name in SCHEMA:
            size = measure(getattr(context, name)).size
            if size > limits.max_namespace_size:
                raise ContextSizeError(
                    "max_namespace_size", size, limits.max_namespace_size, "bytes", f"$.{name}"
                )
        if whole.longest > limits.max_array_items:
            # Slow, so this is done only if an array is known to be too long.
            arrays = (
                found for name in SCHEMA for found in _arrays(getattr(context, name), f"$.{name}")
            )
            where, array = max(arrays, key=lambda found: len(found[1]))
            raise ContextSizeError(
                "max_array_items", len(array), limits.max_array_items, "items", where
            )

    def warn(self, context: AgentContext) -> None:
        """Issue a `ContextSizeWarning` if the context is larger than `warn_total_size`."""
        size = measure(context).size
        if size > self.limits.warn_total_size:
            near = f"the context holds {size:,} bytes; the limit is {self.limits.max_total_size:,}"
            warnings.warn(near, ContextSizeWarning, stacklevel=3)

    def should_externalize_artifacts(self, context: AgentContext) -> bool:
        """Return whether content of artifacts should be moved out.

        It should if one is too large, or if all inline artifacts together are.
        """
        return bool(large_artifacts(context, self.limits))


def large_artifacts(context: AgentContext, limits: ContextLimits) -> list[Artifact]:
    """Return the artifacts whose content should be moved out, the largest first."""
    inline = [
        (measure(each).size, each)
        for each in context.retrieval.artifacts
        if each.content is not None
    ]
    total, most = sum(size for size, _ in inline), limits.max_inline_artifact_size
    large = list[Artifact]()
    for size, artifact in sorted(inline, key=itemgetter(0), reverse=True):
        # Content is at most as large as its artifact, so it is serialised only in doubt.
        is_oversized = size > most and len(dumps(artifact.content)) > most
        if is_oversized or total > limits.artifact_externalization_threshold:
            large.append(artifact)
            total -= size
    return large


def _arrays(record: Record, path: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, array in arrays_of(record).items():
        yield f"{path}.{name}", array
        for index, item in enumerate(array):
            if isinstance(item, Record):
                yield from _arrays(item, f"{path}.{name}[{index}]")
