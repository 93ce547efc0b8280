"""Diffs that forget, contexts that lose a key, and validators that let anybody write."""

from typing import Any

from attrs import evolve

from polycontext.agent_context import (
    AgentContext,
    ContextPatch,
    ContextValidator,
    diff,
)
from tests.laws.counterexamples import breaks
from tests.laws.internal import contexts

VALIDATOR = ContextValidator.default()
NEW = AgentContext.new("s", "t")
TOLD = VALIDATOR.safe_set(NEW, "orchestrator", "reasoning", "summary", "Two soups.")


def one_way(source: AgentContext, target: AgentContext) -> ContextPatch:
    """Forget what was there before."""
    changes = (evolve(each, old=each.new) for each in diff(source, target).changes)
    return evolve(diff(source, target), changes=tuple(changes))


def nothing(source: AgentContext, target: AgentContext) -> ContextPatch:
    """See no change."""
    return ContextPatch()


def losing(context: AgentContext) -> AgentContext:
    """Lose the summary."""
    return VALIDATOR.safe_set(context, "orchestrator", "reasoning", "summary", "")


class Lax(ContextValidator):
    """Let everybody write everything."""

    def may_replace(self, agent: str, namespace: str, key: str) -> bool:
        return True


class Careless(ContextValidator):
    """Write the model whatever is written."""

    def safe_set(
        self, context: AgentContext, agent: str, namespace: str, key: str, value: Any
    ) -> AgentContext:
        written = super().safe_set(context, agent, namespace, key, value)
        return VALIDATOR.safe_set(written, "orchestrator", "llm", "model", "small")


SUMMARY = ("reasoning", "summary", "One soup.")
breaks(
    contexts.a_diff_leads_there_and_back,
    "a diff without a way back, or without a change",
    lambda law: law(NEW, TOLD, one_way),
    lambda law: law(NEW, TOLD, nothing),
)
breaks(
    contexts.a_context_survives_json,
    "a format that loses a key",
    lambda law: law(TOLD, losing),
)
breaks(
    contexts.a_write_needs_its_right_and_changes_its_key_alone,
    "a validator that lets everybody write",
    lambda law: law(Lax.default(), NEW, "intent_detection", SUMMARY),
)
breaks(
    contexts.a_write_needs_its_right_and_changes_its_key_alone,
    "a validator that writes more",
    lambda law: law(Careless.default(), NEW, "summarization", SUMMARY),
)
