"""The archive is a mapping that forgets the oldest when it is full."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError, UnknownNameError
from polycontext.base.json_data import thaw
from polycontext.nodes import ConversationContext, SessionIdRegistry
from polycontext.nodes.memory.conversation import ArchivedContent, ContentArchive
from tests.nodes.memory.records import JSON, WORDS


@given(st.lists(st.tuples(WORDS, JSON), max_size=12), st.integers(1, 4), st.integers(1, 60))
def test_the_archive_keeps_the_newest_that_fit(
    items: list[tuple[str, Any]], limit: int, most: int
) -> None:
    """The archive keeps the newest entries within both bounds, each key once."""
    archive = ContentArchive(limit, most)
    model: list[tuple[str, bytes]] = []
    for key, content in items:
        archive = archive.put(key, content)
        text = orjson.dumps(content)
        model = [item for item in model if item[0] != key]
        model = [*model, (key, text)][-limit:] if len(text) <= most else model
        while sum(len(held) for _, held in model) > most:
            model = model[1:]
        assert [(entry.key, entry.size) for entry in archive.entries] == [
            (key, len(text)) for key, text in model
        ]


def test_a_key_stands_once() -> None:
    """Entries that repeat a key are no archive."""
    with pytest.raises(InvalidDataError, match="every key once"):
        ContentArchive(entries=[ArchivedContent("a", 1), ArchivedContent("a", 2)])


def test_archived_content_is_retrieved_as_a_node_may_read_it() -> None:
    """Retrieved content shows refs in place of ids; the archive keeps the original."""
    registry, _ = SessionIdRegistry().read("recipes", 17, "Miso soup", turn=1)
    registry, _ = registry.read("recipes", "81b7d3c4-55", "Minestrone", turn=1)
    result = [{"id": 17, "minutes": 17}, {"id": "81b7d3c4-55", "url": "/recipes/81b7d3c4-55"}]
    memory = ConversationContext().with_registry(registry).archive("turn_1_step_1", result)
    shown = [{"id": "recipe_1", "minutes": 17}, {"id": "recipe_2", "url": "/recipes/recipe_2"}]
    assert (
        memory.retrieve("turn_1_step_1", "recipes")
        == memory.retrieve("turn_1_step_1", type="recipes")
        == shown
    )
    assert memory.retrieve("turn_1_step_1")[0]["id"] == 17
    assert thaw(memory.content_archive["turn_1_step_1"]) == result


@pytest.mark.parametrize("key", ["turn_1_step_2", "", None, "nobody"])
def test_what_is_not_archived_cannot_be_retrieved(key: str) -> None:
    """A typed error names keys that are like it, as a model mistypes them."""
    memory = ConversationContext().archive("turn_1_step_1", None)
    assert memory.retrieve("turn_1_step_1") is None
    with pytest.raises(UnknownNameError, match="unknown archived content") as caught:
        memory.retrieve(key)
    assert caught.value.near == (("turn_1_step_1",) if key == "turn_1_step_2" else ())
