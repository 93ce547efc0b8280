"""The joined program of the docs: everything in twenty lines."""

from typing import Any

import pytest

from tests.house import ROOT, examples

PAGE = ROOT / "docs" / "agents.md"


def test_everything_joins_in_twenty_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pills, session, five nodes, tools, registry, reasoning, shared context, props and path."""
    _, code = examples(PAGE.read_text(encoding="utf-8"), "python")[0]
    lines = [line for line in code.splitlines() if line]
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    monkeypatch.chdir(ROOT)
    joined: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), joined)  # noqa: S102 - the purpose
    memory = joined["agent"].memory
    assert joined["reply"] == "Tomato soup, in 20 minutes."
    assert "[@LICENSE]" in {message["content"] for message in joined["props"]["messages"]}
    assert joined["pressure"] == joined["session"].pressure
    assert [*memory.conversation.id_registry] == ["recipe_1"]
    assert memory.conversation.turn_summaries[0].think_goal == "Find a soup"
    assert memory.conversation.engagement_summary == "a quick soup"
    assert memory.shared.enrichment.facts[0].content == "found one soup"
    kinds = [request.node for request in joined["agent"].model.requests]
    assert kinds == ["understand", "think", "act", "act", "reply", "summarize"]
