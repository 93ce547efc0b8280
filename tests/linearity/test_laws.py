"""The laws hold for ledgers with any history, and a broken ledger fails each of them."""

from collections.abc import Mapping
from typing import Any, Self

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, LinearityStats, ResourceClass, constraints, default_classifier, laws
from tests.linearity.strategies import CLASSES, IDS, TEXTS, ledgers

DROPPABLE, REQUIRED, PRESERVED = ResourceClass


@given(st.data(), ledgers(), CLASSES)
def test_a_class_is_only_ever_raised(data: st.DataObject, ledger: LinearityMap, resource_class: ResourceClass) -> None:
    """Promoting any id to any class raises it or is refused."""
    known = ledger.tag("known", data.draw(CLASSES))
    assert laws.raises_or_refuses(known, data.draw(st.sampled_from(list(known))), resource_class)


@given(ledgers(), IDS, CLASSES)
def test_old_maps_are_kept(ledger: LinearityMap, resource_id: str, resource_class: ResourceClass) -> None:
    """Whatever is derived, the map derived from reads as before."""
    new = resource_id + "+"

    def change(old: LinearityMap) -> LinearityMap:
        low = old.tag(new, DROPPABLE).drop(new)
        return low.tag(new, resource_class).tag(new, PRESERVED)

    assert laws.keeps_the_old(ledger.tag("other", REQUIRED), change)


@given(ledgers(), CLASSES)
def test_tagging_twice_is_tagging_once(ledger: LinearityMap, resource_class: ResourceClass) -> None:
    """A second equal tag changes nothing."""
    assert laws.tags_once(ledger, "a new id, longer than drawn ones", resource_class)


@given(ledgers())
def test_a_partition_is_one(ledger: LinearityMap) -> None:
    """Parts are disjoint, cover all ids, keep the order and match the counts."""
    assert laws.partitions(ledger)


@given(ledgers())
def test_dropping_keeps_the_tag(ledger: LinearityMap) -> None:
    """A drop is counted, nothing else changes."""
    assert laws.drop_keeps_the_tag(ledger.tag("a new id, longer than drawn ones", DROPPABLE), "a new id, longer than drawn ones")


@given(
    st.sampled_from(["system", "user", "assistant", "tool", "other"]),
    TEXTS,
    st.dictionaries(st.sampled_from(["gist", "first_user"]), st.booleans()),
)
def test_the_default_classifier_is_repeatable(role: str, content: str, metadata: dict[str, Any]) -> None:
    """Replaying a turn gives it the class it had."""
    assert laws.is_repeatable(default_classifier, role, content, metadata)


PIECES = st.sampled_from(
    [
        "never",
        "must",
        "mind",
        "always",
        "from now on",
        "don't",
        "know",
        "```",
        "~~~",
        "\n",
        ". ",
        "? ",
        ":\n",
        "- ",
        "1. ",
        "please",
        "    ",
        "x",
        "e.g. ",
        "必须",
        "。",
        "必ず",
        "しも",
        "’",
        '"',
        "`",
        "\t",
        "\r",
        "\u2028",
    ]
)


@given(st.lists(PIECES, max_size=25).map(" ".join) | st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40))
def test_finding_a_constraint_and_quoting_it_agree(content: str) -> None:
    """A text states a constraint exactly when there are sentences to quote, word for word."""
    assert laws.sentences_agree(content)


class Lowering(LinearityMap):
    """Promote to anything, downward too."""

    def promote(self, resource_id: str, resource_class: ResourceClass, **_: Any) -> Self:
        """Forget the old class."""
        return type(self)().tag(resource_id, resource_class)


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


def test_a_ledger_that_lowers_fails_its_law() -> None:
    """The law of raising notices a demotion."""
    assert not laws.raises_or_refuses(Lowering().tag("a", PRESERVED), "a", DROPPABLE)


def test_a_ledger_that_changes_fails_its_law() -> None:
    """The law of old maps notices a change in place."""
    ledger = LinearityMap().tag("a", DROPPABLE)

    def meddle(old: LinearityMap) -> LinearityMap:
        old._store._tags[0] = old.promote("a", REQUIRED).tag_of("a")
        return old

    assert not laws.keeps_the_old(ledger, meddle)


def test_a_ledger_that_counts_wrongly_fails_its_laws() -> None:
    """The laws of partition, drop and repeated tags notice wrong counters and lost tags."""
    assert not laws.partitions(Uncounted().tag("a", DROPPABLE))
    assert not laws.drop_keeps_the_tag(Uncounted().tag("a", DROPPABLE), "a")
    assert not laws.drop_keeps_the_tag(Erasing().tag("a", DROPPABLE), "a")
    assert not laws.tags_once(Restless(), "a", DROPPABLE)


def test_a_ledger_that_forgets_fails_its_law() -> None:
    """The law of the round trip notices a lost counter."""
    assert not laws.round_trips(Forgetful().tag("a", DROPPABLE).drop("a"))


def test_a_moody_classifier_fails_its_law() -> None:
    """The law of repeatability notices a classifier that keeps count."""
    answers = iter(ResourceClass)

    def moody(role: str, content: str, metadata: Mapping[str, Any], /) -> ResourceClass:
        return next(answers)

    assert not laws.is_repeatable(moody, "user", "hello", {})


def test_a_quote_that_is_not_in_the_text_fails_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of quoting notices an invented sentence."""
    monkeypatch.setattr(laws, "constraint_sentences", lambda _content: ("Never say never.",))
    assert constraints.states_constraint("You must stop.")
    assert not laws.sentences_agree("You must stop.")
