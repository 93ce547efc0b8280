"""Sessions of schema 2 load with their turns' parts, which were kept in metadata then."""

import json
from typing import Any

import pytest

from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal.settings import upgraded
from polycontext.testing import FAST
from tests.polynomial.conversations import document

FUNCTION = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CUSTOM = {"id": "b", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
FILE = {"type": "file", "file": {"file_id": "f"}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def calls(*ids: str) -> list[dict[str, str]]:
    """Return calls as a saved turn has them."""
    named = {"a": {"id": "a", "name": "look"}, "b": {"id": "b", "name": "shell", "arguments": "ls"}}
    return [named[call_id] for call_id in ids]


def block(value: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a part as schema 2 had it."""
    return {"provider": "openai", "data": json.dumps(value), **fields}


SAVED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"role": "system", "content": "Be brief.", "metadata": {"wire_role": "developer"}},
        [{"role": "developer", "content": "Be brief."}],
    ),
    (
        {
            "role": "assistant",
            "content": "I cannot.",
            "metadata": {"openai": {"refusal": "I cannot."}, "mood": "sad"},
        },
        [{"role": "assistant", "content": None, "refusal": "I cannot."}],
    ),
    (
        {
            "role": "assistant",
            "content": "Yes.",
            "metadata": {"openai": {"refusal": "", "annotations": [{"é": 1}]}},
        },
        [{"role": "assistant", "content": "Yes.", "refusal": "", "annotations": [{"é": 1}]}],
    ),
    (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": calls("a", "b"),
            "metadata": {"custom_calls": ["b"], "openai": {"reasoning_content": "hm"}},
        },
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [FUNCTION, CUSTOM],
                "reasoning_content": "hm",
            },
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "tool", "tool_call_id": "b", "content": "x"},
        ],
    ),
    (
        {
            "role": "user",
            "content": "what is this?",
            "metadata": {"openai": {"x": 1}},
            "parts": [block(IMAGE), block(FILE, before_text=False)],
        },
        [
            {
                "role": "user",
                "content": [IMAGE, {"type": "text", "text": "what is this?"}, FILE],
                "x": 1,
            }
        ],
    ),
    (
        {
            "role": "user",
            "content": "hi",
            "metadata": {"openai": 7, "custom_calls": "a", "wire_role": "developer"},
        },
        [{"role": "user", "content": "hi"}],
    ),
]


@pytest.mark.parametrize(("turn", "messages"), SAVED)
def test_a_saved_turn_is_written_as_it_came(
    turn: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    """A loaded session renders developer roles, refusals, extra fields, custom calls and blocks."""
    session = ContextSession(100_000, counter=FAST)
    session.add_user_turn("first")
    session.extend(messages)
    saved = document(session)
    places = [event["turn"] for event in saved["events"] if event["event"] == "TurnEvent"]
    kept = {
        name: inner
        for name, inner in places[1].items()
        if name not in {"role", "content", "tool_calls", "parts", "metadata"}
    }
    places[1].clear()
    places[1].update(kept | turn)
    loaded = ContextSession.history.load(json.dumps({**saved, "schema": 2}), counter=FAST)
    assert loaded.messages() == session.messages()
    assert loaded.messages()[1:] == messages
    metadata = dict(loaded.window.all_turns()[1].metadata)
    assert metadata == {
        name: inner for name, inner in turn.get("metadata", {}).items() if name == "mood"
    }


@pytest.mark.parametrize("parts", [7, [7], "x", {"a": 1}])
def test_broken_parts_are_left_for_the_codec(parts: object) -> None:
    """Parts that are not a list are left unchanged for the codec to refuse."""
    turn = {"role": "user", "content": "hi", "parts": parts, "metadata": {"mood": "sad"}}
    assert upgraded({"events": [{"turn": turn}]}) == {"events": [{"turn": turn}]}
