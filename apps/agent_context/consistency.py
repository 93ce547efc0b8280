"""Faults in a context, such as duplicate ids and dangling references, and fixes for them.

A document with faults can be read, so that it can be inspected. `examine` reports the faults with
fixes; a write that would add a fault is refused.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import count
from operator import attrgetter
from typing import Any, TypeAlias

from polycontext.base import InvalidDataError
from polycontext.linearity import UNIX_EPOCH

from .context_patch import ContextPatch, diff
from .errors import at_path
from .json_text import dumps, is_same, loads
from .kinds import Shape
from .record_base import layout, with_changes
from .records import AgentContext, ValidationReport
from .schema import all_keys

Maker: TypeAlias = Callable[[AgentContext], AgentContext]
"""A function that makes a fix: it returns the corrected context, or the same context if there is
nothing to fix."""

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

MOST_ISSUES = 100


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


def make_ids_unique(context: AgentContext) -> AgentContext:
    """Return the context without repeated entries and with unique ids.

    If different entries have one id, all but the first get a new one.
    """
    for path in WITH_IDS:
        entries = entries_of(context, path)
        ids, unique = {entry.id for entry in entries}, dict[str, Any]()
        for number, entry in enumerate(entries):
            # Entries without an id are never duplicates.
            first = unique.setdefault(entry.id or f"\0{number}", entry)
            if first is not entry and not is_same(first, entry):
                free = next(id_ for id_ in (f"{entry.id}-{n}" for n in count(2)) if id_ not in ids)
                ids.add(free)
                unique[free] = with_changes(entry, id=free)
        if len(unique) < len(entries) or len(ids) > len({entry.id for entry in entries}):
            context = with_entries(context, path, tuple(unique.values()))
    return context


def drop_dangling_references(context: AgentContext) -> AgentContext:
    """Return the context without references that have no target."""
    for path, (field, targets) in REFERENCES.items():
        there = _ids(context, targets)
        entries = entries_of(context, path)
        mended = tuple(
            entry
            if there.issuperset(getattr(entry, field))
            else with_changes(
                entry,
                **{
                    field: tuple(
                        reference for reference in getattr(entry, field) if reference in there
                    )
                },
            )
            for entry in entries
        )
        context = with_entries(context, path, mended) if mended != entries else context
    return context


def with_entries(context: AgentContext, path: str, entries: tuple[Any, ...]) -> AgentContext:
    """Return the context with `entries` as the list at a path."""
    namespace, _, key = path.partition(".")
    return with_changes(
        context, **{namespace: with_changes(getattr(context, namespace), **{key: entries})}
    )


MAKERS: tuple[Maker, ...] = (make_ids_unique, drop_dangling_references)
"""The default makers of fixes, in order: each sees the context that the one before it corrected."""


def examine(
    context: AgentContext,
    makers: Sequence[Maker] = MAKERS,
    *,
    agent_id: str = "",
    timestamp: datetime = UNIX_EPOCH,
) -> ValidationReport:
    """Return a report of a context's faults, with fixes for `apply_fixes`.

    It lists the first hundred faults. Each fix is a `ContextPatch` as JSON text.

    >>> from polycontext.agent_context import deserialize
    >>> damaged = deserialize('{"reasoning": {"conclusions": [{"id": "c1", "based_on": ["f1"]}]}}')
    >>> report = examine(damaged)
    >>> report.passed, report.issues
    (False, ("$.reasoning.conclusions[0]: 'c1' refers to 'f1', which is not there",))
    >>> examine(apply_fixes(damaged, report)).passed
    True
    """
    found = [f"{fault.path}: {fault.what}" for fault in faults(context)]
    more = [f"and {len(found) - MOST_ISSUES} more"] if len(found) > MOST_ISSUES else []
    fixes: list[str] = []
    for maker in makers:
        better = maker(context)
        patch = diff(context, better, agent_id=agent_id, timestamp=timestamp)
        fixes += [dumps(patch.to_dict()).decode()] if patch else []
        context = better
    return ValidationReport(
        timestamp, agent_id, not found, (*found[:MOST_ISSUES], *more), tuple(fixes)
    )


def apply_fixes(context: AgentContext, report: ValidationReport) -> AgentContext:
    """Return the context with the fixes of a report applied in order.

    Raises:
        InvalidDataError: not a fix, or one that does not fit any more.
    """
    for index, fix in enumerate(ValidationReport.from_json(report).auto_fixes):
        context = at_path(f"auto_fixes[{index}]", _apply_fix, fix, context)
    return context


def _apply_fix(fix: str, context: AgentContext) -> AgentContext:
    return ContextPatch.from_dict(loads(fix), lenient=True).apply(context)


def diff_fixes(context: AgentContext, report: ValidationReport) -> dict[str, Any]:
    """Return the values to write, by key, to apply the fixes of a report.

    It raises the errors of `apply_fixes`.
    """
    better = apply_fixes(context, report)
    return {path: entries_of(better, path) for path in diff(context, better).keys}
