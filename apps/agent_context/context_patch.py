"""The changes from one context to another, key by key, as a value.

A patch can be applied, inverted, summarised, and recorded in the audit trail.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import FrozenDict
from polycontext.linearity import UNIX_EPOCH

from .errors import at_path
from .json_text import canonical, is_same, shared_start, to_data
from .kinds import Count, field_reader
from .record_base import with_changes
from .records import AgentContext, AgentRecord, ContextDiff, utc_now
from .schema import SCHEMA, key_schema


@frozen
class KeyChange:
    """What changed in a key; `path` is its name, such as ``reasoning.intents``.

    `old` and `new` are the items of a list that differ, from the index `start` on; the entries of a
    map that differ; or the whole value of any other key.
    """

    path: str
    old: Any
    new: Any
    start: int = 0

    @classmethod
    def between(cls, path: str, old: Any, new: Any) -> Self | None:
        """Return what leads from one value of a key to another, None if they are the same."""
        if isinstance(old, tuple) and isinstance(new, tuple):
            start = shared_start(old, new)
            if start == len(old) == len(new):
                return None
            end = shared_start(old[start:][::-1], new[start:][::-1])
            return cls(path, old[start : len(old) - end], new[start : len(new) - end], start)
        if is_same(old, new):
            return None
        if isinstance(old, FrozenDict) and isinstance(new, FrozenDict):
            same = {name for name in old.keys() & new.keys() if is_same(old[name], new[name])}
            old, new = _entries(old, old.keys() - same), _entries(new, new.keys() - same)
        return cls(path, old, new)

    def applied(self, found: Any) -> Any:
        """Return the value of the key after the change.

        Raises:
            InvalidDataError: the key does not have the value that the change starts from.
        """
        old, new, start = self.old, self.new, self.start
        parts, there, end = {type(old), type(new), type(found)}, found, start
        if parts == {tuple}:
            end += len(old)
            there = found[start:end] if start <= len(found) else None
        elif parts == {FrozenDict}:
            there = _entries(found, found.keys() & (old.keys() | new.keys()))
        if not is_same(old, there):
            what = f"the patch expects {old!r:.80}, found {there!r:.80}"
            raise InvalidDataError(f"$.{self.path}", what, "the context that it was made from")
        if parts == {tuple}:
            return (*found[:start], *new, *found[end:])
        if parts == {FrozenDict}:
            left = {name: value for name, value in found.items() if name not in old or name in new}
            return FrozenDict({**left, **new})
        return new

    def counts(self) -> dict[str, int]:
        """Return how many array items or map entries were added, removed and changed.

        Any other value counts as one change.
        """
        if isinstance(self.old, FrozenDict) and isinstance(self.new, FrozenDict):
            changed = len(self.old.keys() & self.new.keys())
            removed, added = len(self.old) - changed, len(self.new) - changed
            return {"added": added, "removed": removed, "changed": changed}
        removed = added = 1
        if isinstance(self.old, tuple) and isinstance(self.new, tuple):
            removed, added = _items(self.old, self.new), _items(self.new, self.old)
        # Items that only moved are one change.
        changed = min(removed, added) or int(removed == added)
        return {
            "added": max(0, added - removed),
            "removed": max(0, removed - added),
            "changed": changed,
        }


@frozen
class ContextPatch:
    """The changes from one context to another, as `diff` returns them.

    It has what changed in each key, before and after; see `KeyChange`. `agent_id` and `timestamp`
    say who changed it and when, if known. A `ContextDiff` of the audit trail records a patch.

    >>> from polycontext.agent_context import ContextValidator
    >>> before = AgentContext.new("session-1", "trace-1")
    >>> after = ContextValidator.default().safe_set(before, "orchestrator", "llm", "model", "small")
    >>> diff(before, after).summary(), diff(before, after).invert().apply(after) == before
    ('Changes: llm.model_changed=1', True)
    """

    changes: tuple[KeyChange, ...] = field(default=(), repr=False)
    agent_id: str = ""
    timestamp: datetime = UNIX_EPOCH

    def __attrs_post_init__(self) -> None:
        AgentRecord(self.timestamp, self.agent_id)  # refuses what is no time or no text

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the changed keys, such as ``reasoning.intents``, in the order of the document."""
        return tuple(change.path for change in self.changes)

    def apply(self, context: AgentContext) -> AgentContext:
        """Return the context after the changes.

        Only what changed is compared: other keys, items and entries may differ.

        Law: ``diff(a, b).apply(a) == b``.

        Raises:
            InvalidDataError: a key does not have the value that the patch was made from; names the
                path and both values.
        """
        written: dict[str, dict[str, Any]] = {}
        for change in self.changes:
            namespace, _, key = change.path.partition(".")
            new = change.applied(getattr(getattr(context, namespace), key))
            written.setdefault(namespace, {})[key] = new
        return with_changes(
            context,
            **{
                name: with_changes(getattr(context, name), **keys) for name, keys in written.items()
            },
        )

    def invert(self) -> Self:
        """Return the patch that undoes this one.

        Law: ``diff(a, b).invert().apply(b) == a``.
        """
        back = (evolve(change, old=change.new, new=change.old) for change in self.changes)
        return evolve(self, changes=tuple(back))

    def summary(self) -> str:
        """Return one line such as ``[intent_detection] Changes: reasoning.intents_added=1``.

        Keys are in the order of the document, each with the number of array items or map entries
        that were added, removed and changed. Any other key counts as one change.
        """
        counts = [
            f"{change.path}_{verb}={number}"
            for change in self.changes
            for verb, number in change.counts().items()
            if number
        ]
        agent = f"[{self.agent_id}] " if self.agent_id else ""
        return f"{agent}Changes: {', '.join(counts) or 'none'}"

    def record(self) -> ContextDiff:
        """Return the changes as a record of the audit trail: by namespace and key, old and new.

        Law: ``ContextPatch.of(patch.record()) == patch``.
        """
        changes: dict[str, dict[str, Any]] = {}
        for change in self.changes:
            namespace, _, key = change.path.partition(".")
            sides = {"old": to_data(change.old), "new": to_data(change.new)}
            start = {"start": change.start} if change.start else {}
            changes.setdefault(namespace, {})[key] = sides | start
        return ContextDiff(self.timestamp, self.agent_id, changes)

    @classmethod
    def of(cls, record: ContextDiff) -> Self:
        """Return the patch that a record of the audit trail contains.

        Raises:
            InvalidDataError: the changes are not in the form that `record` writes; names the path.
            UnknownNameError: a key that the schema does not have.
        """
        found = at_path("$.changes", lambda: tuple(_read_changes(record.changes)))
        return cls(found, record.agent_id, record.timestamp)


def diff(
    source: AgentContext,
    target: AgentContext,
    *,
    agent_id: str = "",
    timestamp: datetime = UNIX_EPOCH,
) -> ContextPatch:
    """Return the patch from `source` to `target`.

    Values are compared, except for those that both share. Lists are compared from both ends: of a
    list that was appended to, a patch has the new items.

    Law: ``diff(a, b).apply(a) == b``.
    """
    return ContextPatch(tuple(filter(None, _changes(source, target))), agent_id, timestamp)


def _changes(source: AgentContext, target: AgentContext) -> Iterator[KeyChange | None]:
    for namespace, keys in SCHEMA.items():
        before, after = getattr(source, namespace), getattr(target, namespace)
        for key in keys if before is not after else ():
            yield KeyChange.between(f"{namespace}.{key}", getattr(before, key), getattr(after, key))


def _entries(held: FrozenDict[Any], names: Iterable[str]) -> FrozenDict[Any]:
    return FrozenDict({name: held[name] for name in names})


def _items(array: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """Return how many items of an array are not in the other."""
    return (Counter(map(canonical, array)) - Counter(map(canonical, other))).total()


def _read_changes(data: Mapping[str, Any]) -> Iterator[KeyChange]:
    for namespace, keys in data.items():
        for key, sides in _checked(keys, namespace).items():
            step = f"{namespace}.{key}"
            found = {**_checked(sides, step)}
            start = field_reader(Count, f"{step}.start")(found.pop("start", 0))
            if set(found) != {"old", "new"}:
                raise InvalidDataError(step, f"has {', '.join(sides) or 'nothing'}", "old and new")
            read = key_schema(namespace, key).kind.read
            old, new = (at_path(f"{step}.{side}", read, found[side]) for side in ("old", "new"))
            yield KeyChange(step, old, new, start)


def _checked(value: Any, step: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDataError(step, f"{type(value).__name__} is not an object", "an object")
    return value


class DiffTracker:
    """Remember a context, and return what an agent changed in it.

    >>> from polycontext.agent_context import ContextValidator
    >>> from polycontext.agent_context.records import Intent
    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> tracker = DiffTracker(ctx)
    >>> after = ContextValidator.default().safe_set(
    ...     ctx, "intent_detection", "reasoning", "intents", [Intent("query", 0.95)]
    ... )
    >>> tracker.capture("intent_detection", after).summary()
    '[intent_detection] Changes: reasoning.intents_added=1'
    """

    def __init__(self, context: AgentContext) -> None:
        self._context = context

    def capture(
        self, agent_id: str, context: AgentContext, *, timestamp: datetime | None = None
    ) -> ContextPatch:
        """Return the changes since the last capture, without those of the audit trail.

        The next capture starts from `context`. The default of `timestamp` is the current time.

        Raises:
            InvalidDataError: the name is not text, or the time is naive.
        """
        when = timestamp or utc_now()
        patch = diff(self._context, context, agent_id=agent_id, timestamp=when)
        others = (change for change in patch.changes if not change.path.startswith("audit."))
        self._context = context
        return evolve(patch, changes=tuple(others))
