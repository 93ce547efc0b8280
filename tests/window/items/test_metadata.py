"""Known metadata keys are checked, near misses pointed at, all others pass."""

import json
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.window import context_to_string
from polycontext.window.items import (
    ContextItem,
    MetadataWarning,
    item_from_json,
    item_to_dict,
    item_to_json,
)

WRONG: list[tuple[str, Any]] = [
    ("filename", None),
    ("filename", 7),
    ("package", ("agent-q",)),
    ("start_line", 0),
    ("start_line", True),
    ("start_line", "5"),
    ("start_line", 5.0),
    ("start_line", None),
    ("end_line", -1),
    ("end_line", False),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_known_key_with_a_wrong_value_is_refused(key: str, value: Any) -> None:
    """The error names the key; a truth value is no line number."""
    with pytest.raises(InvalidDataError) as caught:
        ContextItem("x", metadata={key: value})
    assert caught.value.path == f"item.metadata.{key}"
    assert repr(value) in caught.value.what


def test_lines_may_not_run_backwards() -> None:
    """The last line is the first one or a later one."""
    assert ContextItem("x", metadata={"start_line": 5, "end_line": 5})
    with pytest.raises(
        InvalidDataError, match=r"4 is before start_line 5. Use a line from start_line on"
    ):
        ContextItem("x", metadata={"start_line": 5, "end_line": 4})


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("start-line", "start_line"),
        ("startLine", "start_line"),
        ("START_LINE", "start_line"),
        (":end-line", "end_line"),
        ("file_name", "filename"),
        ("fileName", "filename"),
        ("filname", "filename"),
        ("packages", "package"),
    ],
)
def test_a_near_miss_of_a_known_key_is_pointed_at(key: str, meant: str) -> None:
    """The item is made, and the warning says where and what was probably meant."""
    with pytest.warns(
        MetadataWarning, match=f"{key!r} is not known; did you mean {meant!r}"
    ) as caught:
        item = ContextItem("x", metadata={key: 1})
    assert item.metadata == {key: 1}
    assert caught[0].filename == __file__


def nested(levels: int) -> dict[str, Any]:
    """Return metadata of so many objects and lists in one another."""
    value: Any = 1
    for level in range(levels):
        value = {"in": value} if level % 2 or level == levels - 1 else [value]
    return {"at": value}


def test_metadata_are_nested_a_hundred_levels_deep_at_most() -> None:
    """Metadata may be nested 100 levels deep; anything deeper is refused, whatever the source."""
    item = ContextItem("x", metadata=nested(99))
    assert item_from_json(item_to_json(item)) == item
    assert item.says_the_same_as(ContextItem("x", metadata=nested(99)))
    for levels in (100, 400, 100_000):
        with pytest.raises(InvalidDataError, match="nested too deep, or in itself"):
            ContextItem("x", metadata=nested(levels))
    with pytest.raises(InvalidDataError, match=r"^\$\.metadata.*: nested too deep"):
        item_from_json(json.dumps(item_to_dict(ContextItem("x")) | {"metadata": nested(100)}))


@pytest.mark.parametrize(
    "where",
    [
        {"metadata": {"start_line": 2**64}},
        {"metadata": {"any": [-(10**5000)]}},
        {"timestamp": 10**5000},
    ],
)
def test_a_number_that_cannot_be_written_is_refused(where: dict[str, Any]) -> None:
    """A number of more than 64 bits is refused; one of 64 bits survives a round trip."""
    with pytest.raises(InvalidDataError, match="bits"):
        ContextItem("x", **where)
    item = ContextItem(
        "x", metadata={"any": -(2**63), "start_line": 1, "end_line": 2**64 - 1}, timestamp=2**64 - 1
    )
    assert item_from_json(item_to_json(item)) == item
    assert context_to_string([item]).startswith("### Code\n")
