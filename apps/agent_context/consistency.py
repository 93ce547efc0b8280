"""Faults in a context: duplicate ids and dangling references.

A document with faults can be read, so that it can be inspected. A write that would add a fault is
refused.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from polycontext.base import InvalidDataError

from .kinds import Shape
from .record_base import layout
from .records import AgentContext
from .schema import all_keys

WITH_IDS = tuple(
    key.path
    for key in all_keys()
    if key.shape is Shape.ARRAY and key.item and "id" in layout(key.item).kinds
)
"""The lists whose entries have ids."""

REFERENCES = {
    "reasoning.hypotheses": ("dependencies", ("reasoning.hypotheses",)),
    "reasoning.conclusions": (
        "based_on",
        (
            "reasoning.hypotheses",
            "enrichment.facts",
            "enrichment.derived_knowledge",
            "reasoning.conclusions",
        ),
    ),
    "enrichment.derived_knowledge": (
        "derived_from",
        ("enrichment.facts", "enrichment.derived_knowledge"),
    ),
}
"""The lists whose entries refer to others: the field with the references, and the lists with their
targets."""

_getter = cache(attrgetter)


def faults(
    context: AgentContext, changed_lists: Collection[str] = WITH_IDS
) -> Iterator[InvalidDataError]:
    """Yield an error for every duplicate id and every dangling reference.

    Only faults that a change of `changed_lists` may have caused are reported.
    """
    for path in changed_lists:
        found = [entry.id for entry in entries_of(context, path)]
        if len(set(found)) < len(found):
            yield from _duplicate_ids(path, found)
    for path, (field, targets) in REFERENCES.items():
        if path in changed_lists or not set(targets).isdisjoint(changed_lists):
            yield from _dangling_references(context, path, field, targets)


def _dangling_references(
    context: AgentContext, path: str, field: str, targets: Sequence[str]
) -> Iterator[InvalidDataError]:
    there = _ids(context, targets)
    for index, entry in enumerate(entries_of(context, path)):
        references = getattr(entry, field)
        for reference in () if there.issuperset(references) else references:
            if reference not in there:
                what = f"{entry.id[:40]!a} refers to {reference[:40]!a}, which is not there"
                yield InvalidDataError(f"$.{path}[{index}]", what, f"ids of {', '.join(targets)}")


def _ids(context: AgentContext, paths: Sequence[str]) -> frozenset[str]:
    return frozenset(entry.id for path in paths for entry in entries_of(context, path)) - {""}


def _duplicate_ids(path: str, ids: Sequence[str]) -> Iterator[InvalidDataError]:
    seen: set[str] = set()
    for index, id_ in enumerate(ids):
        # Entries without an id are never duplicates.
        if id_ and id_ in seen:
            yield InvalidDataError(
                f"$.{path}[{index}]", f"the id {id_[:40]!a} is there already", "an id of its own"
            )
        seen.add(id_)


def entries_of(context: AgentContext, path: str) -> tuple[Any, ...]:
    """Return the list at a path such as ``enrichment.facts``."""
    entries: tuple[Any, ...] = _getter(path)(context)
    return entries


def refuse_new_faults(before: AgentContext, after: AgentContext) -> None:
    """Raise `InvalidDataError` for the first fault of `after` that `before` did not have.

    Faults that a document already had block no writes.
    """
    changed_lists = [
        path for path in WITH_IDS if entries_of(before, path) is not entries_of(after, path)
    ]
    found = list(faults(after, changed_lists))
    known = Counter(map(_signature, faults(before, changed_lists))) if found else Counter()
    for fault in found:
        if known[_signature(fault)] == 0:
            raise fault
        known[_signature(fault)] -= 1


def _signature(fault: InvalidDataError) -> tuple[str, str]:
    # Without the index, because entries move.
    return fault.path.partition("[")[0], fault.what
