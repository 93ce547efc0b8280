"""What a tool's result reports of entities, as the result's turn holds it (docs/agents.md).

A report is ``[verb, type, id, label, place, ref]``: `label` is the key of the row's label, `place`
the number of the row, and `ref` that of the generated entity that the row saves. It holds no words,
so refs keep their meaning after the words of the result are erased.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from polycontext.nodes import SessionIdRegistry
from polycontext.nodes.entities.names import EntityId
from polycontext.nodes.entities.registry import Row

ENTITIES = "entities"
"""The key of a tool turn's metadata that holds its reports."""


def report(
    registry: SessionIdRegistry, reports: Iterable[Sequence[Any]], turn: int, rows: Sequence[Any]
) -> SessionIdRegistry:
    """Return the registry after the reports of a result, whose rows hold the words.

    A row that has nothing but an id and a label leaves the known data as they are.
    """

    def row_of(id: EntityId | None, key: str, place: int, ref: str = "") -> Row:
        row = rows[place] if place < len(rows) and isinstance(rows[place], Mapping) else {}
        label = "" if row.get(key) is None else str(row[key])
        return id, label, row if len(row.keys() - {key}) > 1 else None, ref

    for (verb, kind), group in groupby(reports, itemgetter(0, 1)):
        found = (row_of(*rest) for _, _, *rest in group)
        registry = registry.report(verb, kind, found, turn=turn)
    return registry
