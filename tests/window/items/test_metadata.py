"""Known metadata keys are checked, near misses pointed at, all others pass."""

from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.window.items import (
    ContextItem,
    MetadataWarning,
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
