from . import builder, node, standard_nodes
from .builder import NodeContext, build_context
from .node import Addition, Node, Section

__all__ = [
    "Addition",
    "Node",
    "NodeContext",
    "Section",
    "build_context",
    "builder",
    "node",
    "standard_nodes",
]
