"""A tag refuses what could not be stored, and says what would be legal."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.linearity.tag import Tag

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001  naive on purpose


def test_a_moment_is_kept_in_utc() -> None:
    """A moment of another zone is the same moment in UTC."""
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    tag = Tag(ResourceClass.REQUIRED, when=noon)
    assert tag.when == noon
    assert tag.when.tzinfo is UTC


@pytest.mark.parametrize(
    ("field", "fields", "problem"),
    [
        (
            "resource_class",
            {"resource_class": 2},
            (
                "2 is not a resource class. Use ResourceClass.DROPPABLE, ResourceClass.REQUIRED, "
                "ResourceClass.PRESERVED."
            ),
        ),
        ("resource_class", {"resource_class": True}, "True is not a resource class"),
        ("provenance", {"provenance": None}, "NoneType is not text"),
        ("rationale", {"rationale": "ab\ud800"}, "lone surrogate U+D800 at character 2"),
        ("when", {"when": NAIVE}, "naive datetime"),
        ("when", {"when": "2026-01-01"}, "str is not a datetime"),
        (
            "when",
            {"when": datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))},
            "has no UTC time",
        ),
    ],
)
def test_an_unstorable_field_is_refused(field: str, fields: dict[str, Any], problem: str) -> None:
    """The error names the field and the problem."""
    arguments: dict[str, Any] = {"resource_class": ResourceClass.REQUIRED, **fields}
    with pytest.raises(InvalidDataError) as caught:
        Tag(**arguments)
    assert caught.value.path == field
    assert problem in str(caught.value)
    assert ". Use " in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("resource_id", ["", None, 7, "x\udfff", ["a"]])
def test_an_unstorable_id_is_refused(resource_id: Any) -> None:
    """An id that is empty, no text, or not UTF-8 never enters a ledger."""
    ledger = LinearityMap()
    with pytest.raises(InvalidDataError) as caught:
        ledger.tag(resource_id, ResourceClass.REQUIRED)
    assert caught.value.path == "resource_id"
    assert len(ledger) == 0
