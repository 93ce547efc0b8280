"""The ledger maps ids to tags; a class is only ever raised."""

import copy
import pickle
from collections.abc import Callable
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
    ("act", "kind", "said"),
    [
        (
            lambda ledger: ledger.promote("middle", DROPPABLE),
            DemotionError,
            (
                "resource 'middle' is REQUIRED and cannot be promoted to DROPPABLE. Promote it to "
                "PRESERVED."
            ),
        ),
        (
            lambda ledger: ledger.promote("high", PRESERVED),
            DemotionError,
            "resource 'high' is PRESERVED and cannot be promoted to PRESERVED. No class is higher.",
        ),
        (
            lambda ledger: ledger.drop("high"),
            InvalidOptionError,
            "resource_id = 'high'. Use the id of a DROPPABLE resource, this one is PRESERVED.",
        ),
        (
            lambda ledger: ledger.get("midle"),
            UnknownResourceError,
            "there is no turn or resource 'midle'. Did you mean 'middle'?",
        ),
        (
            lambda ledger: ledger.tag_of(7),
            UnknownResourceError,
            "there is no turn or resource 7. Use an id from session.log().",
        ),
    ],
)
def test_what_a_ledger_refuses(
    ledger: LinearityMap, act: Callable[[Any], object], kind: type[CallerError], said: str
) -> None:
    """The error names the id, and what would be legal."""
    with pytest.raises(kind) as caught:
        act(ledger)
    assert str(caught.value) == said
    assert isinstance(caught.value, ValueError | KeyError)


def test_copies_are_the_ledger_itself_and_pickles_are_equal(ledger: LinearityMap) -> None:
    """An immutable value needs no copy, and a pickle carries items and counters."""
    later = ledger.drop("low").promote("middle", PRESERVED)
    assert later.stats().drops == 1
    assert copy.copy(later) is later
    assert copy.deepcopy({"ledger": later})["ledger"] is later
    again = pickle.loads(pickle.dumps(later))  # noqa: S301  our own bytes
    assert again == later
    assert again.tag("new", DROPPABLE).get("new") is DROPPABLE
