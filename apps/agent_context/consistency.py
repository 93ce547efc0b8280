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

FORGOTTEN = "[forgotten]"
"""Stands for the words of a turn that was forgotten, in an id as in a text."""

_getter = cache(attrgetter)


def faults(
    context: AgentContext, changed_lists: Collection[str] = WITH_IDS
) -> Iterator[InvalidDataError]:
    """Yield an error for every duplicate id and every dangling reference.

    Only faults that a change of `changed_lists` may have caused are reported.
    """
    for path in changed_lists:
        yield from _duplicate_ids(context, path)
    for path, (field, targets) in REFERENCES.items():
        if path in changed_lists or not set(targets).isdisjoint(changed_lists):
            yield from _dangling_references(context, path, field, targets)


def _dangling_references(
    context: AgentContext, path: str, field: str, targets: Sequence[str]
) -> Iterator[InvalidDataError]:
    there = {entry.id for target in targets for entry in entries_of(context, target)} - {""}
    for index, entry in enumerate(entries_of(context, path)):
        for reference in getattr(entry, field):
            if reference not in there and reference != FORGOTTEN:
                what = f"{entry.id[:40]!a} refers to {reference[:40]!a}, which is not there"
                yield InvalidDataError(f"$.{path}[{index}]", what, f"ids of {', '.join(targets)}")


def _duplicate_ids(context: AgentContext, path: str) -> Iterator[InvalidDataError]:
    seen = set[str]()
    for index, entry in enumerate(entries_of(context, path)):
        # Entries without an id, or whose ids were forgotten, are never duplicates.
        if entry.id not in ("", FORGOTTEN) and entry.id in seen:
            what = f"the id {entry.id[:40]!a} is there already"
            yield InvalidDataError(f"$.{path}[{index}]", what, "an id of its own")
        seen.add(entry.id)


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
