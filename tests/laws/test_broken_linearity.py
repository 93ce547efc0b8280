"""Broken ledgers and classifiers, each of which a law rejects."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pytest
from attrs import evolve

from polycontext.linearity import LinearityMap, LinearityStats, ResourceClass, Tag, UnknownResourceError, laws
from polycontext.linearity.column import Column
from polycontext.linearity.law import LawViolation
from polycontext.linearity.shared_store import SharedStore
from tests.laws.breaking import breaks

DROPPABLE, REQUIRED, PRESERVED = ResourceClass


class Lowering(LinearityMap):
    """Promote to anything, downward too, as a ledger made anew at each compression would."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Forget the old class."""
        return type(self)().tag(resource_id, resource_class)


class LastWordWins(LinearityMap):
    """Let a tag replace a higher one."""

    def tag(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Start over with the new class."""
        return type(self)._restored({**dict(self.items()), resource_id: Tag(resource_class)}.items(), self.stats())


class Overshooting(LinearityMap):
    """Raise one class further than asked, but never twice."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Go to the top."""
        return super().promote(resource_id, PRESERVED)


class Climbing(LinearityMap):
    """Climb a single class each time, whatever class was asked for."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Take the next step, if there is one."""
        return super().promote(resource_id, ResourceClass(min(self.get(resource_id) + 1, PRESERVED)))


class Contrary(LinearityMap):
    """Give the less the more is asked for."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Turn the request around."""
        return super().promote(resource_id, REQUIRED if resource_class is PRESERVED else PRESERVED)


class Uncounted(LinearityMap):
    """Count nothing."""

    def stats(self) -> LinearityStats:
        """Report an empty ledger."""
        return LinearityStats()


class Forgetful(LinearityMap):
    """Write everything but the counters."""

    def to_json(self) -> dict[str, Any]:
        """Lose the drops."""
        return {**super().to_json(), "drops": 0}


class Restless(LinearityMap):
    """Count every tagging, a repeated one too."""

    def tag(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Count a drop that was none."""
        return evolve(super().tag(resource_id, resource_class), _stats=self.stats().tagged(resource_class).dropped())


class Erasing(LinearityMap):
    """Drop the tag along with the resource."""

    def drop(self, resource_id: str) -> Self:
        """Start over."""
        return evolve(type(self)(), _stats=self.stats().dropped())


class Everywhere(LinearityMap):
    """Put the first id into every part."""

    def partition(self) -> dict[ResourceClass, tuple[str, ...]]:
        """List it thrice."""
        return {each: tuple(self)[:1] for each in ResourceClass}


class Partial(LinearityMap):
    """Answer for many ids at once, and leave the last one out."""

    def classes_of(self, resource_ids: Sequence[str]) -> list[ResourceClass]:
        """Forget one."""
        return super().classes_of(resource_ids)[:-1]


class Meddling(LinearityMap):
    """Change the tag in place, so that the ledger it came from changes too."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Write over the old tag."""
        object.__setattr__(self, "_store", self._store.replace(resource_id, Tag(resource_class)))
        return self


class Unguarded(SharedStore):
    """Let every version write in place, as if nobody else looked."""

    def _with(self, ids: Column[str], tags: Column[Tag]) -> SharedStore:
        self._ids, self._tags = ids, tags
        return self


@breaks(laws.promote_raises_or_refuses)
def test_a_ledger_that_lowers() -> None:
    """A demotion is noticed."""
    laws.promote_raises_or_refuses(Lowering().tag("a", PRESERVED), "a", DROPPABLE)


@breaks(laws.promote_raises_or_refuses)
def test_a_ledger_that_promotes_strangers() -> None:
    """An unknown id that is promoted, as if it had been tagged, is noticed."""
    laws.promote_raises_or_refuses(Lowering(), "a", REQUIRED)


@breaks(laws.tag_never_lowers)
def test_a_tag_that_lowers() -> None:
    """A lower class that replaces a higher one is noticed."""
    laws.tag_never_lowers(LastWordWins().tag("a", PRESERVED), "a", DROPPABLE)


@breaks(laws.tagging_twice_is_tagging_once)
def test_a_ledger_that_counts_repeated_tags() -> None:
    """A tag that repeats another and still counts is noticed."""
    laws.tagging_twice_is_tagging_once(Restless(), "a", DROPPABLE)


@breaks(laws.raising_ends_at_the_join)
def test_a_ledger_that_overshoots() -> None:
    """A class higher than the one asked for is noticed."""
    laws.raising_ends_at_the_join(Overshooting().tag("a", DROPPABLE), "a", REQUIRED)


@breaks(laws.raising_ends_at_the_join)
def test_a_ledger_that_is_lost_when_one_id_is_raised() -> None:
    """The other ids must still be there."""
    laws.raising_ends_at_the_join(Lowering().tag("a", DROPPABLE).tag("b", PRESERVED), "a", REQUIRED)


@breaks(laws.raising_is_idempotent)
def test_a_ledger_that_climbs_with_every_request() -> None:
    """Asking again may not raise again."""
    laws.raising_is_idempotent(Climbing().tag("a", DROPPABLE), "a", REQUIRED)


@breaks(laws.raising_is_associative)
def test_a_ledger_that_takes_one_step_a_request() -> None:
    """Two steps that end higher than one step to the higher class are noticed."""
    laws.raising_is_associative(Climbing().tag("a", DROPPABLE), "a", REQUIRED, PRESERVED)


@breaks(laws.raising_is_commutative)
def test_a_ledger_where_the_last_word_wins() -> None:
    """A result that hangs on who came last is noticed."""
    laws.raising_is_commutative(Lowering().tag("a", DROPPABLE), "a", REQUIRED, "a", PRESERVED)


@breaks(laws.raising_is_order_independent)
def test_a_ledger_that_hangs_on_the_order() -> None:
    """Of many requests the order may not show."""
    laws.raising_is_order_independent(Lowering(), [("a", PRESERVED), ("a", REQUIRED)])


@breaks(laws.raising_is_monotone)
def test_a_ledger_that_gives_less_for_more() -> None:
    """A lower class for a higher request is noticed."""
    laws.raising_is_monotone(Contrary().tag("a", DROPPABLE), "a", REQUIRED, PRESERVED)


@breaks(laws.no_change_shows_in_an_older_ledger)
def test_a_ledger_that_changes_in_place() -> None:
    """A change that shows in the ledger it was made from is noticed."""
    laws.no_change_shows_in_an_older_ledger(Meddling().tag("a", DROPPABLE), "a", REQUIRED)


@breaks(laws.forks_are_independent)
def test_a_store_that_lets_two_branches_write_in_one_place() -> None:
    """Two branches that write behind the same end read each other's tags."""
    laws.forks_are_independent(LinearityMap(_store=Unguarded([], [])), "a", REQUIRED, PRESERVED)


@breaks(laws.every_id_is_in_the_part_of_its_class)
def test_an_id_in_several_parts() -> None:
    """Parts that overlap are noticed."""
    laws.every_id_is_in_the_part_of_its_class(Everywhere().tag("a", REQUIRED))


@breaks(laws.stats_count_the_parts)
def test_stats_that_count_nothing() -> None:
    """Counters that do not move are noticed."""
    laws.stats_count_the_parts(Uncounted().tag("a", DROPPABLE))


@breaks(laws.all_lookups_agree)
def test_a_lookup_of_many_that_leaves_one_out() -> None:
    """A fast path that differs from the slow one is noticed."""
    laws.all_lookups_agree(Partial().tag("a", DROPPABLE).tag("b", REQUIRED))


@breaks(laws.a_drop_is_counted_and_changes_nothing_else)
@pytest.mark.parametrize("kind", [Uncounted, Erasing])
def test_a_drop_that_is_not_counted_or_takes_the_tag_along(kind: Callable[[], LinearityMap]) -> None:
    """A drop counts, and the ledger still knows what was dropped."""
    laws.a_drop_is_counted_and_changes_nothing_else(kind().tag("a", DROPPABLE), "a")


@breaks(laws.a_drop_is_counted_and_changes_nothing_else)
def test_a_drop_of_what_must_stay() -> None:
    """A PRESERVED resource that may be dropped is noticed."""
    laws.a_drop_is_counted_and_changes_nothing_else(Erasing().tag("a", PRESERVED), "a")


@breaks(laws.the_ledger_survives_json)
def test_a_ledger_that_forgets_its_counters_on_the_way() -> None:
    """A lost counter is noticed."""
    laws.the_ledger_survives_json(Forgetful().tag("a", DROPPABLE).drop("a"))


@breaks(laws.classification_repeats)
def test_a_moody_classifier() -> None:
    """A classifier that keeps count of its answers is noticed."""
    answers = iter(ResourceClass)

    def moody(role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        return next(answers)

    laws.classification_repeats(moody, "user", "hello", {})


@breaks(laws.classification_repeats)
def test_a_classifier_that_answers_with_a_number() -> None:
    """A class that is none, though it compares equal to one, is noticed."""

    def numbers(role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        return 1  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - that is what is broken

    laws.classification_repeats(numbers, "user", "hello", {})


@breaks(laws.classification_repeats)
def test_a_classifier_that_writes_on_the_turn() -> None:
    """A classifier that marks what it has seen is noticed."""

    def marking(role: str, content: str, metadata: Any, /) -> ResourceClass:
        metadata["seen"] = True
        return REQUIRED

    laws.classification_repeats(marking, "user", "hello", {})


@breaks(laws.a_constraint_can_be_quoted)
def test_a_quote_that_is_not_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invented sentence is noticed."""
    monkeypatch.setattr("polycontext.linearity.laws.ledgers.constraint_sentences", lambda _content: ("Never say never.",))
    laws.a_constraint_can_be_quoted("You must stop.")


@breaks(laws.a_constraint_can_be_quoted)
def test_a_constraint_without_a_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that states a constraint, of which no sentence can be shown, is noticed."""
    monkeypatch.setattr("polycontext.linearity.laws.ledgers.constraint_sentences", lambda _content: ())
    laws.a_constraint_can_be_quoted("You must stop.")


def test_a_broken_law_shows_its_name_both_sides_and_the_inputs() -> None:
    """What is raised can be read without a debugger, and taken apart by a program."""
    with pytest.raises(LawViolation, match=r"^promote_raises_or_refuses: .*UnknownResourceError.*; given ledger = .*'a'") as caught:
        laws.promote_raises_or_refuses(Lowering(), "a", REQUIRED)
    assert (caught.value.left, caught.value.right) == (REQUIRED, UnknownResourceError)
    assert set(caught.value.inputs) == {"ledger", "resource_id", "resource_class"}
