"""The joined program of the docs: everything in twenty lines."""

from typing import Any

import pytest

from tests.house import ROOT, examples

PAGE = ROOT / "docs" / "agents.md"


def test_everything_joins_in_twenty_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pills, nodes, tools, registry with a deletion, shared context, audit, usage and artifact."""
    _, code = examples(PAGE.read_text(encoding="utf-8"), "python")[0]
    lines = [line for line in code.splitlines() if line]
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    monkeypatch.chdir(ROOT)
    joined: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), joined)  # noqa: S102 - the purpose
    agent = joined["agent"]
    memory, session, shared = agent.memory, agent.session, agent.memory.shared
    registry = memory.conversation.id_registry
    assert joined["reply"] == "Tomato soup is gone."
    assert "[@LICENSE]" in str([message["content"] for message in session.render()["messages"]])
    assert session.invoke("self.context.pressure.check") == session.pressure
    assert [(gone.ref, gone.status) for gone in registry.tombstones] == [("recipe_1", "deleted")]
    assert memory.conversation.turn_summaries[0].think_goal == "Drop a soup"
    assert memory.conversation.engagement_summary == "recipes to drop"
    assert shared.enrichment.facts[0].content == "dropped one soup"
    kinds = [request.node for request in agent.model.requests]
    assert kinds == ["understand", "think", "act", "act", "act", "reply", "summarize"]
    assert [run.agent_id for run in shared.audit.agent_runs] == ["orchestrator", *kinds]
    assert shared.llm.usage is not None
    assert shared.llm.usage.prompt_tokens == session.usage.spent.input_tokens == 7 * 900
    assert shared.retrieval.artifacts[0].content is None
    assert agent.shared.retrieve("log") == "ok " * 50_000
