"""Broken ledgers and classifiers, each of which a law rejects."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from unittest.mock import patch

from attrs import evolve

from polycontext.base import Column
from polycontext.linearity import Classifier, LinearityMap, LinearityStats, ResourceClass, Tag
from polycontext.linearity.laws import classifiers
from polycontext.linearity.tag import SharedStore
from tests.laws.counterexamples import breaks
from tests.laws.internal import ledgers

DROPPABLE, REQUIRED, PRESERVED = ResourceClass


class Lowering(LinearityMap):
    """Promote to anything, downward too, as a ledger made anew at each compression would."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return type(self)().tag(resource_id, resource_class)


class LastWordWins(LinearityMap):
    """Let a tag replace a higher one."""

    def tag(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return type(self)._restored(
            {**dict(self.items()), resource_id: Tag(resource_class)}.items(), self.stats()
        )


class Overshooting(LinearityMap):
    """Raise one class further than asked, but never twice."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return super().promote(resource_id, PRESERVED)


class Climbing(LinearityMap):
    """Climb a single class each time, whatever class was asked for."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return super().promote(
            resource_id, ResourceClass(min(self.get(resource_id) + 1, PRESERVED))
        )


class Contrary(LinearityMap):
    """Give the less the more is asked for."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return super().promote(resource_id, REQUIRED if resource_class is PRESERVED else PRESERVED)


class Uncounted(LinearityMap):
    """Count nothing."""

    def stats(self) -> LinearityStats:
        return LinearityStats()


class Restless(LinearityMap):
    """Count every tagging, a repeated one too."""

    def tag(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        return evolve(
            super().tag(resource_id, resource_class),
            _stats=self.stats().tagged(resource_class).dropped(),
        )


class Erasing(LinearityMap):
    """Drop the tag along with the resource."""

    def drop(self, resource_id: str) -> Self:
        return evolve(type(self)(), _stats=self.stats().dropped())


class Everywhere(LinearityMap):
    """Put the first id into every part."""

    def partition(self) -> dict[ResourceClass, tuple[str, ...]]:
        return {each: tuple(self)[:1] for each in ResourceClass}


class Partial(LinearityMap):
    """Answer for many ids at once, and leave the last one out."""

    def classes_of(self, resource_ids: Sequence[str]) -> list[ResourceClass]:
        return super().classes_of(resource_ids)[:-1]


class Meddling(LinearityMap):
    """Change the tag in place, so that the ledger it came from changes too."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        object.__setattr__(self, "_store", self._store.replace(resource_id, Tag(resource_class)))
        return self


class Unguarded(SharedStore):
    """Let every version write in place, as if nobody else looked."""

    def _with(self, ids: Column[str], kinds: Column[Tag], whens: Column[datetime]) -> SharedStore:
        self.ids, self._kinds, self._whens = ids, kinds, whens
        return self


breaks(
    ledgers.promote_raises_or_refuses,
    "a ledger that lowers",
    lambda law: law(Lowering().tag("a", PRESERVED), "a", DROPPABLE),
)
breaks(
    ledgers.promote_raises_or_refuses,
    "a ledger that promotes strangers",
    lambda law: law(Lowering(), "a", REQUIRED),
)
breaks(
    ledgers.tag_never_lowers,
    "a tag that lowers",
    lambda law: law(LastWordWins().tag("a", PRESERVED), "a", DROPPABLE),
)
breaks(
    ledgers.tagging_twice_is_tagging_once,
    "a ledger that counts repeated tags",
    lambda law: law(Restless(), "a", DROPPABLE),
)
breaks(
    ledgers.raising_ends_at_the_join,
    "a ledger that overshoots",
    lambda law: law(Overshooting().tag("a", DROPPABLE), "a", REQUIRED),
)
breaks(
    ledgers.raising_ends_at_the_join,
    "a ledger that is lost when one id is raised",
    lambda law: law(Lowering().tag("a", DROPPABLE).tag("b", PRESERVED), "a", REQUIRED),
)
breaks(
    ledgers.tagging_twice_is_tagging_once,
    "a ledger that climbs with every request",
    lambda law: law(Climbing().tag("a", DROPPABLE), "a", REQUIRED),
)
breaks(
    ledgers.raising_is_associative,
    "a ledger that takes one step a request",
    lambda law: law(Climbing().tag("a", DROPPABLE), "a", REQUIRED, PRESERVED),
)
breaks(
    ledgers.raising_is_order_independent,
    "a ledger where the last word wins",
    lambda law: law(Lowering().tag("a", DROPPABLE), [("a", REQUIRED), ("a", PRESERVED)]),
)
breaks(
    ledgers.raising_is_order_independent,
    "a ledger that hangs on the order",
    lambda law: law(Lowering(), [("a", PRESERVED), ("a", REQUIRED)]),
)
breaks(
    ledgers.raising_is_monotone,
    "a ledger that gives less for more",
    lambda law: law(Contrary().tag("a", DROPPABLE), "a", REQUIRED, PRESERVED),
)
breaks(
    ledgers.no_change_shows_in_an_older_ledger,
    "a ledger that changes in place",
    lambda law: law(Meddling().tag("a", DROPPABLE), "a", REQUIRED),
)
breaks(
    ledgers.forks_are_independent,
    "a store that lets two branches write in one place",
    lambda law: law(LinearityMap(_store=Unguarded([], [])), "a", REQUIRED, PRESERVED),
)
breaks(
    ledgers.every_id_is_in_the_part_of_its_class,
    "an id in several parts",
    lambda law: law(Everywhere().tag("a", REQUIRED)),
)
breaks(
    ledgers.stats_count_the_parts,
    "stats that count nothing",
    lambda law: law(Uncounted().tag("a", DROPPABLE)),
)
breaks(
    ledgers.all_lookups_agree,
    "a lookup of many that leaves one out",
    lambda law: law(Partial().tag("a", DROPPABLE).tag("b", REQUIRED)),
)
breaks(
    ledgers.a_drop_is_counted_and_changes_nothing_else,
    "a drop that is not counted or takes the tag along",
    lambda law: law(Uncounted().tag("a", DROPPABLE), "a"),
    lambda law: law(Erasing().tag("a", DROPPABLE), "a"),
)
breaks(
    ledgers.a_drop_is_counted_and_changes_nothing_else,
    "a drop of what must stay",
    lambda law: law(Erasing().tag("a", PRESERVED), "a"),
)


def moody() -> Classifier:
    """Return a classifier that keeps count of its answers."""
    answers = iter(ResourceClass)
    return lambda role, content, metadata: next(answers)


def numbers(role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
    """Answer with a number that compares equal to a class."""
    return 1  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - the fault


def marking(role: str, content: str, metadata: Any, /) -> ResourceClass:
    """Mark the turn that was seen."""
    metadata["seen"] = True
    return REQUIRED


def quoting(*sentences: str) -> Any:
    """Decorate a law so that every text is said to hold these constraints."""
    return patch("tests.laws.internal.ledgers.constraint_sentences", lambda _content: sentences)


breaks(
    classifiers.classification_repeats,
    "a moody classifier",
    lambda law: law(moody(), "user", "hello", {}),
)
breaks(
    classifiers.classification_repeats,
    "an answer that is not a resource class",
    lambda law: law(numbers, "user", "hello", {}),
)
breaks(
    classifiers.classification_repeats,
    "a classifier that writes on the turn",
    lambda law: law(marking, "user", "hello", {}),
)
breaks(
    ledgers.a_constraint_can_be_quoted,
    "a quote that is not in the text",
    lambda law: quoting("Never say never.")(law)("You must stop."),
)
breaks(
    ledgers.a_constraint_can_be_quoted,
    "a constraint without a quote",
    lambda law: quoting()(law)("You must stop."),
)
