"""An item keeps its five invariants: type, text, unique id, fixed timestamp, optional metadata."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import CallerError, InvalidDataError
from polycontext.window import ItemType
from polycontext.window.items import ITEM_IDS, ContextItem, item_from_dict
from polycontext.window.items.item import ItemIds
from tests.window.items.samples import seed_item

NOON = datetime(2023, 12, 8, 12, 0, 0, 999_999, tzinfo=UTC)
SURROGATE = "ab\ud800c"

ILLEGAL: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown type": ({"type": "poem"}, "type", "repl-history"),
    "type of another type": ({"type": ["code"]}, "type", "code, text"),
    "bytes for content": ({"content": b"x"}, "content", "bytes is not text"),
    "no content": ({"content": None}, "content", "NoneType is not text"),
    "lone surrogate": ({"content": SURROGATE}, "content", "U+D800 at character 2"),
    "a plist for metadata": (
        {"metadata": [("filename", "a")]},
        "metadata",
        "list is not an object",
    ),
    "not a number": ({"metadata": {"by": float("nan")}}, "metadata.by", "finite"),
    "naive timestamp": ({"timestamp": NOON.replace(tzinfo=None)}, "timestamp", "aware datetime"),
    "timestamp before 1900": (
        {"timestamp": datetime(1899, 12, 31, tzinfo=UTC)},
        "timestamp",
        "from 1900",
    ),
    "negative timestamp": ({"timestamp": -1}, "timestamp", "0..18446744073709551615"),
    "a truth for a timestamp": ({"timestamp": True}, "timestamp", "whole seconds"),
    "a float timestamp": ({"timestamp": 1.5}, "timestamp", "whole seconds"),
    "id of another shape": ({"id": "item-1"}, "id", "ctx-N"),
    "id with a line end": ({"id": "ctx-1\n"}, "id", "ctx-42"),
    "id in other digits": ({"id": "ctx-١"}, "id", "ctx-42"),
    "id of another type": ({"id": 7}, "id", "ctx-N"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_breaks_an_invariant_is_refused(name: str) -> None:
    """The error names the field and what would be legal, and no id is used up."""
    wrong, field, words = ILLEGAL[name]
    before = int(next(ITEM_IDS).removeprefix("ctx-"))
    with pytest.raises(InvalidDataError) as caught:
        seed_item(**wrong)
    assert caught.value.path == f"item.{field}"
    assert words in str(caught.value)
    assert "Use " in str(caught.value)
    assert isinstance(caught.value, CallerError | ValueError)
    assert next(ITEM_IDS) == f"ctx-{before + 1}"


@pytest.mark.parametrize("kind", ItemType)
def test_all_six_types_are_accepted(kind: ItemType) -> None:
    """A type may be given as a member or as its text; the default is code."""
    assert ContextItem("x", str(kind)).type is ContextItem("x", kind).type is kind
    assert ContextItem("x").type is ItemType.CODE
    assert len(ItemType) == 6


def test_metadata_are_copied_and_cannot_change() -> None:
    """Neither the caller's mapping nor the item's own lets anybody in afterwards."""
    given_metadata: dict[str, Any] = {"filename": "a.py", "tags": ["x"]}
    item = ContextItem("x", metadata=given_metadata)
    given_metadata["filename"] = "b.py"
    given_metadata["tags"].append("y")
    assert item.metadata is not None
    assert item.metadata == {"filename": "a.py", "tags": ("x",)}
    assert repr(item.metadata) == "{'filename': 'a.py', 'tags': ('x',)}"
    with pytest.raises(TypeError):
        item.metadata["filename"] = "c.py"  # type: ignore[index]


def test_the_timestamp_is_universal_time_to_the_second() -> None:
    """3910982400 is the eighth of December 2023, and fractions of a second are cut off."""
    item = seed_item(timestamp=NOON)
    assert item.universal_time == 3910982400 + 12 * 3600
    assert item.timestamp == NOON.replace(microsecond=0)
    assert seed_item(timestamp=3910982400).timestamp == datetime(2023, 12, 8, tzinfo=UTC)
    assert seed_item(timestamp=0).timestamp == datetime(1900, 1, 1, tzinfo=UTC)


def test_ids_are_unique_under_threads() -> None:
    """Eight threads that make 1,000 items each get unique, increasing ids."""
    with ThreadPoolExecutor(8) as pool:
        lots = list(
            pool.map(lambda _: [ContextItem("x", timestamp=0).id for _ in range(1_000)], range(8))
        )
    numbers = [[int(item_id.removeprefix("ctx-")) for item_id in lot] for lot in lots]
    assert len({number for lot in numbers for number in lot}) == 8_000
    assert all(lot == sorted(lot) for lot in numbers)


def test_ids_count_up_and_skip() -> None:
    """A source starts at ctx-1, never goes back, and goes on behind what it is told of."""
    ids = ItemIds()
    assert list(islice(ids, 2)) == ["ctx-1", "ctx-2"]
    for told in ("ctx-7", "item-9", "ctx-" + "9" * 5000, "ctx-3"):
        ids.skip_past(told)
    assert next(ids) == "ctx-8"


def test_an_id_that_was_ever_named_is_not_given_again() -> None:
    """A new id is always later than any id that was named, read, unpickled or copied."""
    number = int(next(ITEM_IDS).removeprefix("ctx-"))
    made: list[Callable[[str], ContextItem]] = [
        lambda name: ContextItem("x", id=name),
        lambda name: item_from_dict({"id": name, "type": "text", "content": "x", "timestamp": 0}),
        lambda name: evolve(ContextItem("x"), id=name),
    ]
    for make in made:
        number += 100
        assert make(f"ctx-{number}").id == f"ctx-{number}"
        assert next(ITEM_IDS) == f"ctx-{number + 1}"
    ContextItem("x", id=f"ctx-{10**30}")
    assert next(ITEM_IDS) == f"ctx-{number + 2}"


def test_a_number_after_the_year_9999_stands_but_is_no_datetime() -> None:
    """A time after the year 9999 is kept, but reading it as a datetime names `universal_time`."""
    item = seed_item(timestamp=10**15)
    assert item.universal_time == 10**15
    with pytest.raises(InvalidDataError, match="Use universal_time"):
        _ = item.timestamp
