"""The archive is a mapping that forgets the oldest when it is full."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import InvalidDataError
from polycontext.nodes.memory import ArchivedContent, ContentArchive
from tests.nodes.memory.records import JSON, WORDS


@given(st.lists(st.tuples(WORDS, JSON), max_size=12), st.integers(1, 4), st.integers(1, 60))
def test_the_archive_keeps_the_newest_that_fit(items: list[tuple[str, Any]], limit: int, most: int) -> None:
    """Beside a plain list: newest first while there is room, each key once, never over either bound."""
    archive = ContentArchive(limit, most)
    model: list[tuple[str, bytes]] = []
    for key, content in items:
        archive = archive.put(key, content)
        text = orjson.dumps(content)
        model = [item for item in model if item[0] != key]
        model = [*model, (key, text)][-limit:] if len(text) <= most else model
        while sum(len(held) for _, held in model) > most:
            model = model[1:]
        assert [(entry.key, entry.size) for entry in archive.entries] == [(key, len(text)) for key, text in model]


def test_content_is_found_by_its_key() -> None:
    """It reads like any mapping; an absent key is an error, or a default."""
    archive = ContentArchive().put("gen_recipe_1", {"steps": ["boil"]})
    assert archive["gen_recipe_1"] == {"steps": ("boil",)}
    assert ("gen_recipe_1" in archive, len(archive), archive.get("recipe_9")) == (True, 1, None)
    with pytest.raises(KeyError, match="recipe_9"):
        _ = archive["recipe_9"]


def test_content_too_large_for_the_archive_replaces_nothing_but_its_own_key() -> None:
    """What can never fit is not taken, and does not drive out the others; an older one of its key is outdated."""
    archive = ContentArchive(max_bytes=10).put("a", 1).put("b", 2)
    assert dict(archive.put("c", "x" * 20)) == {"a": 1, "b": 2}
    assert dict(archive.put("b", "x" * 20)) == {"a": 1}


@pytest.mark.parametrize("content", [{1}, float("inf"), {"a": "\ud800"}, object()])
def test_what_json_cannot_hold_is_refused(content: object) -> None:
    """The archive is written down, so it takes JSON data only."""
    with pytest.raises(InvalidDataError, match=r"^content"):
        ContentArchive().put("a", content)


def test_a_key_stands_once() -> None:
    """Entries that repeat a key are no archive."""
    with pytest.raises(InvalidDataError, match="every key once"):
        ContentArchive(entries=[ArchivedContent("a", 1), ArchivedContent("a", 2)])
