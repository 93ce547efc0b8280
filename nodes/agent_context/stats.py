"""How much a context holds, and of what (seed 002, Context Statistics)."""

from collections.abc import Mapping

from attrs import frozen

from polycontext.nodes.agent_context._frozen import FrozenMap
from polycontext.nodes.agent_context._kinds import Shape
from polycontext.nodes.agent_context._measure import measure
from polycontext.nodes.agent_context.context import AgentContext
from polycontext.nodes.agent_context.schema import SCHEMA, all_keys


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
        namespace_sizes=FrozenMap({name: measure(getattr(context, name)).size for name in SCHEMA}),
        array_counts=FrozenMap({key.key: len(getattr(getattr(context, key.namespace), key.key)) for key in arrays}),
        externalized_count=sum(artifact.external is not None for artifact in context.retrieval.artifacts),
    )
