"""The ledger maps ids to tags; a class is only ever raised."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from polycontext.base import CallerError, InvalidOptionError
from polycontext.linearity import (
    DemotionError,
    LinearityMap,
    LinearityStats,
    ResourceClass,
    UnknownResourceError,
)
from polycontext.linearity.tag import Tag

DROPPABLE, REQUIRED, PRESERVED = ResourceClass
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def ledger() -> LinearityMap:
    """Return a ledger of three resources, one a class."""
    tagged = LinearityMap().tag(
        "low", DROPPABLE, provenance="default", rationale="small talk", when=NOON
    )
    return tagged.tag("middle", REQUIRED).tag("high", PRESERVED)


def test_promoting_keeps_the_provenance_and_takes_the_new_reason(ledger: LinearityMap) -> None:
    """Where a resource came from does not change; why and when it has its class does."""
    later = ledger.promote("low", REQUIRED, rationale="quoted by the user", when=NOON)
    assert later.tag_of("low") == Tag(
        REQUIRED, provenance="default", rationale="quoted by the user", when=NOON
    )
    assert later.stats() == LinearityStats(droppable=0, required=2, preserved=1, promotions=1)


@pytest.mark.parametrize(
    ("resource_id", "requested"),
    [("middle", REQUIRED), ("middle", DROPPABLE), ("high", PRESERVED), ("high", REQUIRED)],
)
def test_promoting_to_the_same_or_a_lower_class_is_refused(
    ledger: LinearityMap, resource_id: str, requested: ResourceClass
) -> None:
    """The error names the id, both classes and what would be legal."""
    with pytest.raises(
        DemotionError, match=f"{resource_id!r} is .* cannot be promoted to {requested.name}"
    ) as caught:
        ledger.promote(resource_id, requested)
    assert (caught.value.resource_id, caught.value.current, caught.value.requested) == (
        resource_id,
        ledger.get(resource_id),
        requested,
    )
    assert str(caught.value).endswith(
        "Promote it to PRESERVED." if resource_id == "middle" else "No class is higher."
    )
    assert isinstance(caught.value, ValueError | CallerError)


@pytest.mark.parametrize("resource_id", ["middle", "high"])
def test_only_droppable_resources_may_leave(ledger: LinearityMap, resource_id: str) -> None:
    """REQUIRED and PRESERVED leave a trace at least."""
    with pytest.raises(
        InvalidOptionError,
        match=r"Use the id of a DROPPABLE resource, this one is (REQUIRED|PRESERVED)\.$",
    ) as caught:
        ledger.drop(resource_id)
    assert (caught.value.option, caught.value.value) == ("resource_id", resource_id)
    assert str(caught.value).endswith(f"{ledger.get(resource_id).name}.")


@pytest.mark.parametrize("read", [LinearityMap.get, LinearityMap.tag_of, LinearityMap.drop])
def test_an_unknown_id_is_refused_with_near_misses(ledger: LinearityMap, read: object) -> None:
    """An unknown id raises a readable KeyError that suggests similar ids."""
    assert callable(read)
    with pytest.raises(UnknownResourceError) as caught:
        read(ledger, "midle")
    assert caught.value.near == ("middle",)
    assert str(caught.value) == "there is no turn or resource 'midle'. Did you mean 'middle'?"
    assert isinstance(caught.value, KeyError)


def test_an_id_that_is_no_text_is_unknown(ledger: LinearityMap) -> None:
    """Looking up a number finds nothing, as it could never have been tagged."""
    number: Any = 7
    with pytest.raises(UnknownResourceError, match="there is no turn or resource 7"):
        ledger.get(number)


def test_stats_count_classes_promotions_and_drops(ledger: LinearityMap) -> None:
    """Counts are by class, lowest first; the ratio is the share of DROPPABLE."""
    stats = ledger.tag("more", DROPPABLE).drop("more").promote("more", REQUIRED).stats()
    assert list(stats.counts.items()) == [(DROPPABLE, 1), (REQUIRED, 2), (PRESERVED, 1)]
    assert (stats.total, stats.promotions, stats.drops, stats.droppable_ratio) == (4, 1, 1, 0.25)


def test_copies_are_the_ledger_itself_and_pickles_are_equal(ledger: LinearityMap) -> None:
    """An immutable value needs no copy, and a pickle carries items and counters."""
    later = ledger.drop("low").promote("middle", PRESERVED)
    assert copy.copy(later) is later
    assert copy.deepcopy({"ledger": later})["ledger"] is later
    again = pickle.loads(pickle.dumps(later))  # noqa: S301  our own bytes
    assert again == later
    assert again.tag("new", DROPPABLE).get("new") is DROPPABLE
