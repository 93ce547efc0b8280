"""The changes from one context to another, as a value.

A patch can be applied, inverted, joined, summarised, and written as JSON.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from attrs import evolve, field, frozen

from polycontext.base import InvalidDataError
from polycontext.base.json_data import EMPTY, FrozenDict, check_text
from polycontext.linearity import UNIX_EPOCH

from .array_changes import Items
from .change_codec import (
    CONTEXT,
    changes_from_json,
    changes_to_json,
    lenient_value,
    operations,
    strict_value,
)
from .change_tree import (
    Parts,
    Patch,
    Replacement,
    apply_patch,
    diff_fields,
    invert_patch,
    join_parts,
)
from .errors import at_path
from .json_text import ABSENT, plain
from .kinds import kind_of
from .records import AgentContext, ContextDiff, utc_now

_NOTHING = Parts(EMPTY)


def _agent_id(value: Any) -> Any:
    return at_path("agent_id", check_text, value)


def _timestamp(value: Any) -> Any:
    return at_path("timestamp", kind_of(datetime).read, value)


@frozen
class ContextPatch:
    """The changes from one context to another, as `diff` returns them.

    It has the values before and after, only where something changed. `agent_id` and `timestamp` say
    who changed it and when, if known. A `ContextDiff` of the audit trail records a patch.

    >>> from polycontext.agent_context import ContextValidator
    >>> before = AgentContext.new("session-1", "trace-1")
    >>> after = ContextValidator.default().safe_set(before, "orchestrator", "llm", "model", "small")
    >>> diff(before, after).summary(), diff(before, after).invert().apply(after) == before
    ('Changes: llm.model_changed=1', True)
    """

    changes: Parts = field(default=_NOTHING, repr=False)
    agent_id: str = field(default="", converter=_agent_id)
    timestamp: datetime = field(default=UNIX_EPOCH, converter=_timestamp)

    def __bool__(self) -> bool:
        return bool(self.changes.changes)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the changed keys, such as ``reasoning.intents``, in the order of the document."""
        return tuple(path for path, _ in self._changed_keys())

    def _changed_keys(self) -> Iterator[tuple[str, Patch]]:
        for name, change in self.changes.changes.items():
            inside = (
                {f"{name}.{key}": inner for key, inner in change.changes.items()}
                if isinstance(change, Parts)
                else {name: change}
            )
            yield from inside.items()

    def apply(self, context: AgentContext) -> AgentContext:
        """Return the context after the changes.

        Unchanged values are not compared, so the context may differ elsewhere.

        Law: ``diff(a, b).apply(a) == b``.

        Raises:
            InvalidDataError: the context is not the one that the patch was made from; names the
                path and both values.
        """
        result: AgentContext = at_path("$", apply_patch, CONTEXT, self.changes, context)
        return result

    def invert(self) -> Self:
        """Return the patch that undoes this one.

        Law: ``diff(a, b).invert().apply(b) == a``.
        """
        back = invert_patch(self.changes)
        assert isinstance(back, Parts)
        return evolve(self, changes=back)

    def then(self, other: "ContextPatch") -> Self:
        """Return the patch that does this one and then `other`.

        It has the agents of both, and the later time.

        Law: ``diff(a, b).then(diff(b, c)).apply(a) == c``. It is associative, and an empty patch
        changes nothing.

        Raises:
            InvalidDataError: `other` does not start where this one ends.
        """
        changes = at_path("$", join_parts, CONTEXT, self.changes, other.changes) or _NOTHING
        # Each name once.
        agents = dict.fromkeys(
            name for name in f"{self.agent_id}, {other.agent_id}".split(", ") if name
        )
        return evolve(
            self,
            changes=changes,
            agent_id=", ".join(agents),
            timestamp=max(self.timestamp, other.timestamp),
        )

    def without_trail(self) -> Self:
        """Return the patch without changes of the audit trail, which does not record itself."""
        others = {name: change for name, change in self.changes.changes.items() if name != "audit"}
        return (
            self
            if len(others) == len(self.changes.changes)
            else evolve(self, changes=Parts(FrozenDict(others)))
        )

    def summary(self) -> str:
        """Return one line such as ``[intent_detection] Changes: reasoning.intents_added=1``.

        Keys are in the order of the document, each with the number of array items or map entries
        that were added, removed and changed. Any other key counts as one change.
        """
        counts = [
            f"{path}_{verb}={number}"
            for path, change in self._changed_keys()
            for verb, number in _counts(change).items()
            if number
        ]
        agent = f"[{self.agent_id}] " if self.agent_id else ""
        return f"{agent}Changes: {', '.join(counts) or 'none'}"

    def to_json_patch(self, *, tests: bool = False) -> list[dict[str, Any]]:
        """Return the changes as a JSON Patch (RFC 6902) of the serialised context.

        `tests` adds a ``test`` operation before every value that is removed or replaced, so that
        the patch fails as a whole on another document.
        """
        found = operations(CONTEXT, self.changes)
        patch: list[dict[str, Any]] = plain(
            [each for each in found if tests or each["op"] != "test"]
        )
        return patch

    def record(self) -> ContextDiff:
        """Return the changes as a record of the audit trail (docs/agent-context.md, "Diffs").

        Law: ``ContextPatch.of(patch.record()) == patch``.
        """
        return ContextDiff(self.timestamp, self.agent_id, changes_to_json(self.changes))

    @classmethod
    def of(cls, record: ContextDiff) -> Self:
        """Return the patch that a record of the audit trail contains.

        Unknown fields of records are kept.

        Raises:
            InvalidDataError: the changes are not in the form that `record` writes; names the path.
        """
        return cls(
            changes_from_json(record.changes, lenient_value), record.agent_id, record.timestamp
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the patch as JSON data: ``timestamp``, ``agent_id``, ``changes``."""
        return {
            "timestamp": plain(self.timestamp),
            "agent_id": self.agent_id,
            "changes": changes_to_json(self.changes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, lenient: bool = False) -> Self:
        """Return the patch that JSON data describes; `lenient` keeps unknown fields of records.

        Law: ``ContextPatch.from_dict(patch.to_dict()) == patch``.

        Raises:
            InvalidDataError: the data is not in the form that `to_dict` writes; names the path.
        """
        if not isinstance(data, Mapping) or set(data) != {"timestamp", "agent_id", "changes"}:
            raise InvalidDataError(
                "$", "is not a patch", "an object with timestamp, agent_id and changes"
            )
        changes = at_path(
            "$.changes",
            changes_from_json,
            data["changes"],
            lenient_value if lenient else strict_value,
        )
        return cls(changes, data["agent_id"], data["timestamp"])


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
    return ContextPatch(diff_fields(source, target) or _NOTHING, agent_id, timestamp)


def _counts(change: Patch) -> dict[str, int]:
    pairs = [(1, 1)]
    if isinstance(change, Items):
        pairs = [(len(run.removed), len(run.added)) for run in change.runs]
    elif isinstance(change, Parts) and change.size is not None:
        swaps = [
            entry if isinstance(entry, Replacement) else Replacement(None, None)
            for entry in change.changes.values()
        ]
        pairs = [(int(swap.old is not ABSENT), int(swap.new is not ABSENT)) for swap in swaps]
    return {
        "added": sum(max(added - removed, 0) for removed, added in pairs),
        "removed": sum(max(removed - added, 0) for removed, added in pairs),
        "changed": sum(min(removed, added) for removed, added in pairs),
    }


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
        patch = diff(
            self._context, context, agent_id=agent_id, timestamp=timestamp or self._clock()
        ).without_trail()
        self._context = context
        return patch
