"""How large a context may become, and the check of it (docs/agent-context.md, Sizes)."""

import warnings
from collections.abc import Iterator
from typing import Any

from attrs import Attribute, field, frozen

from polycontext.linearity import InvalidOptionError

from .context import AgentContext
from .errors import ContextSizeError, ContextSizeWarning
from .json_text import dumps
from .record_base import Record
from .records import Artifact
from .schema import SCHEMA
from .sizes import arrays_of, measure

KIB = 1024
MIB = 1024 * KIB


def is_size(_limits: object, attribute: "Attribute[int]", value: object) -> None:
    """Refuse what is no size (an attrs validator)."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidOptionError(attribute.name, value, "a whole number from 0")


@frozen(kw_only=True)
class ContextLimits:
    """Hold the limits: sizes in bytes of JSON, lengths in items. A limit itself is legal; one more is not.

    `warn_total_size` is where a warning begins, `artifact_externalization_threshold` the size of all inline
    artifacts together, and `max_inline_artifact_size` that of one artifact's content, beyond which content should be moved out.
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
    """Check contexts against limits. What was measured once is remembered, so a check costs what changed since the last one.

    >>> ContextSizeChecker(ContextLimits(max_total_size=10)).check(AgentContext())
    Traceback (most recent call last):
    polycontext.nodes.agent_context.errors.ContextSizeError: size limit exceeded: max_total_size at $: 151 bytes; legal: at most 10 bytes
    """

    limits: ContextLimits = DEFAULT_LIMITS

    def check(self, context: AgentContext) -> None:
        """Return if the context, every namespace and every array of the schema, nested ones included, are within the limits.

        Warns:
            ContextSizeWarning: larger than `warn_total_size`.

        Raises:
            ContextSizeError: as `refuse_oversized`.
        """
        self.refuse_oversized(context)
        self.warn(context)

    def refuse_oversized(self, context: AgentContext) -> None:
        """Raise `ContextSizeError` if the whole is too large, for the first namespace that is, or for the longest array if it is too long."""
        limits, whole = self.limits, measure(context)
        if whole.size > limits.max_total_size:
            raise ContextSizeError("max_total_size", whole.size, limits.max_total_size, "bytes")
        for name in SCHEMA:
            size = measure(getattr(context, name)).size
            if size > limits.max_namespace_size:
                raise ContextSizeError("max_namespace_size", size, limits.max_namespace_size, "bytes", f"$.{name}")
        if whole.longest > limits.max_array_items:
            # Slow, and only done when it is known that one is too long.
            arrays = (found for name in SCHEMA for found in _arrays(getattr(context, name), f"$.{name}"))
            where, array = max(arrays, key=lambda found: len(found[1]))
            raise ContextSizeError("max_array_items", len(array), limits.max_array_items, "items", where)

    def warn(self, context: AgentContext) -> None:
        """Warn, with `ContextSizeWarning`, of a context that is larger than `warn_total_size`."""
        size = measure(context).size
        if size > self.limits.warn_total_size:
            near = f"the context holds {size:,} bytes; the limit is {self.limits.max_total_size:,}"
            warnings.warn(near, ContextSizeWarning, stacklevel=3)

    def should_externalize_artifacts(self, context: AgentContext) -> bool:
        """Tell whether content of artifacts should be moved out: one is too large, or all that are inline are together."""
        inline = [artifact for artifact in context.retrieval.artifacts if artifact.content is not None]
        total = sum(measure(artifact).size for artifact in inline)
        return total > self.limits.artifact_externalization_threshold or any(is_oversized(artifact, self.limits) for artifact in inline)


def is_oversized(artifact: Artifact, limits: ContextLimits) -> bool:
    """Tell whether the inline content of an artifact is beyond its limit."""
    most = limits.max_inline_artifact_size
    # The size of the artifact is remembered, and that of its content is not more: it is written out only in doubt.
    return artifact.content is not None and measure(artifact).size > most and len(dumps(artifact.content)) > most


def _arrays(record: Record, path: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, array in arrays_of(record).items():
        yield f"{path}.{name}", array
        for index, item in enumerate(array):
            if isinstance(item, Record):
                yield from _arrays(item, f"{path}.{name}[{index}]")
