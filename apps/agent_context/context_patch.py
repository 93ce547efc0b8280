"""The changes from one context to another, key by key, as a value.

A patch can be applied, inverted, summarised, and recorded in the audit trail.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import check_text, freeze_object
from polycontext.linearity import UNIX_EPOCH

from .codec import set_aside_extras
from .errors import at_path, origin_mismatch
from .json_text import canonical, is_same, plain, shared_start
from .kinds import Shape, kind_of
from .record_base import EXTRAS, with_changes
from .records import AgentContext, ContextDiff, utc_now
from .schema import SCHEMA, key_schema


def _agent_id(value: Any) -> Any:
    return at_path("agent_id", check_text, value)


def _timestamp(value: Any) -> Any:
    return at_path("timestamp", kind_of(datetime).read, value)


@frozen
class KeyChange:
    """The values of a key before and after; `path` is its name, such as ``reasoning.intents``."""

    path: str
    old: Any
    new: Any

    def counts(self) -> dict[str, int]:
        """Return how many array items or map entries were added, removed and changed.

        Any other value counts as one change.
        """
        namespace, _, key = self.path.partition(".")
        known = SCHEMA.get(namespace, {}).get(key)
        shape, changed = known.shape if known else Shape.JSON, 0
        if shape is Shape.ARRAY:
            removed, added = _items(self.old, self.new), _items(self.new, self.old)
        elif shape is Shape.MAP:
            removed, added = len(self.old.keys() - self.new), len(self.new.keys() - self.old)
            both = self.old.keys() & self.new.keys()
            changed = sum(not is_same(self.old[name], self.new[name]) for name in both)
            return {"added": added, "removed": removed, "changed": changed}
        else:
            removed = added = 1
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

    It has the values before and after of each key that changed. `agent_id` and `timestamp` say who
    changed it and when, if known. A `ContextDiff` of the audit trail records a patch.

    >>> from polycontext.agent_context import ContextValidator
    >>> before = AgentContext.new("session-1", "trace-1")
    >>> after = ContextValidator.default().safe_set(before, "orchestrator", "llm", "model", "small")
    >>> diff(before, after).summary(), diff(before, after).invert().apply(after) == before
    ('Changes: llm.model_changed=1', True)
    """

    changes: tuple[KeyChange, ...] = field(default=(), repr=False)
    agent_id: str = field(default="", converter=_agent_id)
    timestamp: datetime = field(default=UNIX_EPOCH, converter=_timestamp)

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the changed keys, such as ``reasoning.intents``, in the order of the document."""
        return tuple(change.path for change in self.changes)

    def apply(self, context: AgentContext) -> AgentContext:
        """Return the context after the changes.

        Unchanged keys are not compared, so the context may differ there.

        Law: ``diff(a, b).apply(a) == b``.

        Raises:
            InvalidDataError: a key does not have the value that the patch was made from; names the
                path and both values.
        """
        written: dict[str, dict[str, Any]] = {}
        for path, old, new in ((each.path, each.old, each.new) for each in self.changes):
            namespace, _, key = path.partition(".")
            holder = getattr(context, namespace) if key else context
            found = getattr(holder, key or namespace)
            if not _equal(old, found):
                raise origin_mismatch(old, found, f"$.{path}")
            written.setdefault(namespace, {})[key] = new
        return with_changes(
            context,
            **{
                name: keys[""] if "" in keys else with_changes(getattr(context, name), **keys)
                for name, keys in written.items()
            },
        )

    def invert(self) -> Self:
        """Return the patch that undoes this one.

        Law: ``diff(a, b).invert().apply(b) == a``.
        """
        back = (KeyChange(change.path, change.new, change.old) for change in self.changes)
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
            sides = {"old": plain(change.old), "new": plain(change.new)}
            changes.setdefault(namespace, {})[key] = sides
        return ContextDiff(self.timestamp, self.agent_id, changes)

    @classmethod
    def of(cls, record: ContextDiff) -> Self:
        """Return the patch that a record of the audit trail contains.

        Unknown fields of records are kept.

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

    Values are compared, except for those that both share.

    Law: ``diff(a, b).apply(a) == b``.
    """
    return ContextPatch(tuple(_changes(source, target)), agent_id, timestamp)


def _changes(source: AgentContext, target: AgentContext) -> Iterator[KeyChange]:
    for namespace, keys in SCHEMA.items():
        before, after = getattr(source, namespace), getattr(target, namespace)
        for key in (*keys, EXTRAS) if before is not after else ():
            old, new = getattr(before, key), getattr(after, key)
            if not _equal(old, new):
                yield KeyChange(f"{namespace}.{key}", old, new)
    if not is_same(source.extras, target.extras):
        yield KeyChange(EXTRAS, source.extras, target.extras)


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same; shared items of arrays are not compared."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) == shared_start(one, other)
    return is_same(one, other)


def _items(array: tuple[Any, ...], other: tuple[Any, ...]) -> int:
    """Return how many items of an array are not in the other."""
    start = shared_start(array, other)
    left = Counter(map(canonical, array[start:]))
    return (left - Counter(map(canonical, other[start:]))).total()


def _read_changes(data: Mapping[str, Any]) -> Iterator[KeyChange]:
    for namespace, keys in data.items():
        for key, sides in _checked(keys, namespace).items():
            step = f"{namespace}.{key}".removesuffix(".")
            if set(_checked(sides, step)) != {"old", "new"}:
                raise InvalidDataError(step, f"has {', '.join(sides) or 'nothing'}", "old and new")
            read = _extras if EXTRAS in (namespace, key) else _reader(namespace, key)
            old, new = (at_path(f"{step}.{side}", read, sides[side]) for side in ("old", "new"))
            yield KeyChange(step, old, new)


def _checked(value: Any, step: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidDataError(step, f"{type(value).__name__} is not an object", "an object")
    return value


def _reader(namespace: str, key: str) -> Callable[[Any], Any]:
    kind = key_schema(namespace, key).kind
    # The trail has tuples and frozen maps; `set_aside_extras` needs the lists and dicts of a
    # document.
    return lambda value: kind.read(set_aside_extras(kind, plain(value)))


def _extras(value: Any) -> Any:
    return freeze_object(plain(value))


class DiffTracker:
    """Remember a context, and return what an agent changed in it.

    >>> from polycontext.agent_context import ContextValidator, Intent
    >>> ctx = AgentContext.new("session-1", "trace-1")
    >>> tracker = DiffTracker(ctx)
    >>> after = ContextValidator.default().safe_set(
    ...     ctx, "intent_detection", "reasoning", "intents", [Intent("query", 0.95)]
    ... )
    >>> tracker.capture("intent_detection", after).summary()
    '[intent_detection] Changes: reasoning.intents_added=1'
    """

    def __init__(self, context: AgentContext, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._context = context
        self._clock = clock

    def capture(
        self, agent_id: str, context: AgentContext, *, timestamp: datetime | None = None
    ) -> ContextPatch:
        """Return the changes since the last capture, without those of the audit trail.

        The next capture starts from `context`. The default of `timestamp` is the time of the clock.

        Raises:
            InvalidDataError: the name is not text, or the time is naive.
        """
        when = timestamp or self._clock()
        patch = diff(self._context, context, agent_id=agent_id, timestamp=when)
        others = (change for change in patch.changes if not change.path.startswith("audit."))
        self._context = context
        return evolve(patch, changes=tuple(others))
