"""Malformed requests are refused by a rule with the index, whatever value is in the wrong place."""

from typing import Any

import pytest

from polycontext.window import InvalidMessagesError
from tests.vendors import check_request

ASK = {"role": "user", "content": "hi"}
BASE: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [ASK]},
    "openai": {"model": "m", "messages": [ASK]},
    "openai-responses": {"model": "m", "input": [ASK]},
}
SCHEMA = {"type": "object", "properties": {}}


def items(*given: Any) -> dict[str, Any]:
    """Return an input of these items behind a question."""
    return {"input": [ASK, *given]}


def said(*blocks: Any) -> dict[str, Any]:
    """Return messages of one user message with these blocks."""
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def document(**source: Any) -> dict[str, Any]:
    """Return messages with one document."""
    return said({"type": "document", "source": source})


def compacted(content: Any) -> dict[str, Any]:
    """Return messages that begin anew behind this summary."""
    return {
        "messages": [
            ASK,
            {"role": "assistant", "content": [{"type": "compaction", "content": content}]},
            ASK,
        ]
    }


NO_CHOICES: tuple[dict[str, Any], ...] = (
    {"type": ["tool"]},
    {"type": {}},
    {"type": "tool", "name": ["look"]},
)
MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("anthropic", {"model": ""}, "bad-field"),
    ("anthropic", {"model": 7}, "bad-field"),
    ("anthropic", {"max_tokens": -1}, "bad-field"),
    ("anthropic", {"max_tokens": "many"}, "bad-field"),
    ("anthropic", {"system": 7}, "bad-system"),
    ("anthropic", {"system": [{"type": "image"}]}, "bad-system"),
    ("anthropic", {"system": [{"type": "text", "text": ""}]}, "empty-text"),
    (
        "anthropic",
        {"system": [{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]},
        "empty-text",
    ),
    ("anthropic", {"tools": "look"}, "bad-tool"),
    ("anthropic", {"tools": ["look"]}, "bad-tool"),
    ("anthropic", {"tools": [{"name": "look", "input_schema": {"type": "string"}}]}, "bad-tool"),
    ("anthropic", {"tools": [{"name": "look", "input_schema": {}}]}, "bad-tool"),
    (
        "anthropic",
        {"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": "look"},
        "tool-choice",
    ),
    (
        "anthropic",
        {"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": {"type": "some"}},
        "tool-choice",
    ),
    *(
        (
            "anthropic",
            {"tools": [{"name": "look", "input_schema": SCHEMA}], "tool_choice": choice},
            "tool-choice",
        )
        for choice in NO_CHOICES
    ),
    ("anthropic", {"thinking": "deep"}, "bad-thinking"),
    ("anthropic", {"thinking": {"type": "deep"}}, "bad-thinking"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": "many"}}, "thinking-budget"),
    ("anthropic", document(type="base64", media_type="text/csv", data="YQ=="), "media-type"),
    ("anthropic", document(type="base64", media_type="application/pdf", data=""), "bad-base64"),
    ("anthropic", document(type="text", media_type="text/csv", data="a"), "media-type"),
    ("anthropic", document(type="paper"), "bad-source"),
    ("anthropic", document(type="text", media_type="text/plain", data=7), "bad-source"),
    ("anthropic", said({"type": "document", "source": "here"}), "bad-source"),
    ("anthropic", compacted(7), "bad-compaction"),
    ("anthropic", compacted(""), "bad-compaction"),
    ("openai-responses", items(7), "not-an-object"),
    ("openai-responses", items({"role": "user", "content": [7]}), "bad-content"),
    ("openai-responses", items({"role": "user", "content": [{"text": "hi"}]}), "bad-content"),
    (
        "openai-responses",
        items({"role": "user", "content": [{"type": "input_audio", "input_audio": 7}]}),
        "bad-audio",
    ),
    (
        "openai-responses",
        items({"role": "user", "content": [{"type": "input_audio"}]}),
        "bad-audio",
    ),
    (
        "openai-responses",
        items({"role": "user", "content": [{"type": "input_image", "file_id": ""}]}),
        "bad-image",
    ),
    (
        "openai-responses",
        items({"type": "reasoning", "id": "rs_1", "summary": "so"}),
        "bad-reasoning",
    ),
    (
        "openai-responses",
        items({"type": "reasoning", "id": "rs_1", "summary": [{"type": "text", "text": "so"}]}),
        "bad-reasoning",
    ),
    (
        "openai-responses",
        items({"type": "function_call", "call_id": "a", "arguments": "{}"}),
        "bad-tool-name",
    ),
    (
        "openai-responses",
        items({"type": "function_call_output", "call_id": "a"}),
        "missing-content",
    ),
    ("openai-responses", {"tools": [{"type": "custom"}]}, "bad-tools"),
    ("openai-responses", {"context_management": "compaction"}, "bad-context-management"),
    ("openai-responses", {"context_management": ["compaction"]}, "bad-context-management"),
    (
        "openai-responses",
        {"context_management": [{"type": "compaction", "compact_threshold": "full"}]},
        "bad-context-management",
    ),
    ("openai-responses", {"temperature": "hot"}, "bad-option"),
    ("openai", {"temperature": "hot"}, "bad-option"),
    (
        "openai",
        {"tools": [{"type": "function", "function": {"name": "look", "parameters": 7}}]},
        "bad-schema",
    ),
    (
        "openai",
        {"tools": [{"type": "function", "function": {"name": "look", "description": 7}}]},
        "bad-tools",
    ),
    (
        "openai",
        {"tools": [{"type": "function", "function": {"name": "look"}}], "tool_choice": 7},
        "bad-tool-choice",
    ),
]


@pytest.mark.parametrize(
    ("provider", "change", "rule"),
    MALFORMED,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_malformed_is_refused_by_its_rule(
    provider: str, change: dict[str, Any], rule: str
) -> None:
    """And without the change the request is fine."""
    check_request(BASE[provider], provider)
    with pytest.raises(InvalidMessagesError) as refused:
        check_request(BASE[provider] | change, provider)
    assert refused.value.rule == rule
