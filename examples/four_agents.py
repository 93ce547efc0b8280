"""Four agents answer one question with a shared AgentContext; the user sees a session.

Prints::

    [intent_detection] Changes: reasoning.intents_added=1, reasoning.entities_added=1
    refused: agent 'intent_detection' may not write llm.model
    [retrieval_planner] Changes: retrieval.plans_added=1, retrieval.artifacts_added=1
    moved out: 85,283 bytes, 2,... bytes stay
    [inference] Changes: reasoning.conclusions_added=1, enrichment.facts_added=1
    Known: line 1041: disk full (from the log of the night)
    [summarization] Changes: reasoning.summary_changed=1
    assistant: The report failed because the disk was full; free some space before tonight.
    intent_detection success, intent_detection failed, ...
    the trail leads to the present: True
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define

from polycontext.agent_context import (
    AgentContext,
    AgentContextStore,
    Artifact,
    Conclusion,
    ContextPatch,
    ContextViolationError,
    Fact,
    Intent,
    ObjectStoreExternalizer,
    retrieve_artifact,
    serialize,
)
from polycontext.agent_context.records import RetrievalPlan
from polycontext.agents import Recollection
from polycontext.nodes import build_context
from polycontext.nodes.builders import Addition, ConversationPart, Node, Section
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel

QUESTION = "Why did the nightly report fail?"
LINES = ["report page written"] * 1040 + ["disk full"] + ["report page written"] * 1659
LOG = "\n".join(f"line {number}: {text}" for number, text in enumerate(LINES, 1))


def clock() -> Iterator[datetime]:
    """Yield times a tenth of a second apart, so that every run prints the same."""
    moment = datetime(2026, 3, 1, 9, tzinfo=UTC)
    while True:
        yield moment
        moment += timedelta(milliseconds=100)


@define
class Team:
    """Agents that share one context and talk to the user through one session."""

    session: ContextSession
    store: AgentContextStore
    artifacts: ObjectStoreExternalizer
    model: ScriptedModel

    def write(self, agent: str, changes: dict[str, Any]) -> None:
        """Write as an agent, and print the summary of the change."""
        context = self.store.write(agent, changes)
        print(ContextPatch.of(context.audit.diffs[-1]).summary())

    def detect_intent(self) -> None:
        """Record the user's intent, and show that this agent may not choose the model."""
        self.write(
            "intent_detection",
            {
                "reasoning.intents": [Intent("diagnosis", 0.95)],
                "reasoning.entities": {"subject": "nightly report"},
            },
        )
        try:
            self.store.write("intent_detection", {"llm.model": "large"})
        except ContextViolationError as refusal:
            print("refused:", str(refusal).partition(". ")[0])

    def retrieve(self) -> None:
        """Fetch the log, and move it out of the context because of its size."""
        plan = RetrievalPlan("p1", "read the log of the night", ("logs",))
        self.write(
            "retrieval_planner",
            {
                "retrieval.plans": [plan],
                "retrieval.artifacts": [Artifact("log", "text", LOG, "logs")],
            },
        )
        context = self.store.externalize_artifacts("retrieval_planner", self.artifacts)
        stub = context.retrieval.artifacts[0].external
        assert stub is not None
        print(f"moved out: {stub.size:,} bytes, {len(serialize(context)):,} bytes stay")

    def infer(self) -> None:
        """Read the log back, and draw the conclusion."""
        log: str = retrieve_artifact(
            self.store.context.retrieval.artifacts[0], self.artifacts
        ).content
        fault = next(line for line in log.splitlines() if "written" not in line)
        fact = Fact(
            "f1", fault, "the log of the night", confidence=1.0, provenance={"artifact": "log"}
        )
        conclusion = Conclusion("c1", "the disk was full", 0.9, (fact.id,))
        self.write("inference", {"enrichment.facts": [fact], "reasoning.conclusions": [conclusion]})

    def summarize(self) -> None:
        """Let the model answer from the agents' facts.

        The answer becomes their summary and the session's next turn.
        """
        known = self.store.context.enrichment.facts
        facts = Addition(
            "facts",
            Section.REASONING,
            lambda _: tuple(f"Known: {fact.content} (from {fact.source})" for fact in known),
        )
        node = Node(
            "summarization",
            "Answer in one sentence.",
            conversation={ConversationPart.RECENT},
            additions=(facts,),
        )
        prompt = str(build_context(node, Recollection(self.session).now))
        print(next(line for line in prompt.splitlines() if "Known:" in line))
        answer = self.model.complete(prompt)
        self.write("summarization", {"reasoning.summary": answer})
        self.session.add_assistant_turn(answer)


def main() -> None:
    """Answer one question, and print the audit trail."""
    moments = clock()
    answer = "The report failed because the disk was full; free some space before tonight."
    with TemporaryDirectory() as folder:
        team = Team(
            ContextSession(max_tokens=2000),
            AgentContextStore(
                AgentContext.new("session-1", "trace-1", created_at=next(moments)),
                clock=lambda: next(moments),
            ),
            ObjectStoreExternalizer.open(folder),
            ScriptedModel(rules={r"Known: line 1041: disk full": answer}),
        )
        team.session.add_user_turn(QUESTION)
        for step in (team.detect_intent, team.retrieve, team.infer, team.summarize):
            step()
    last = team.session.render()["messages"][-1]
    print(f"{last['role']}: {last['content']}")
    print(", ".join(f"{run.agent_id} {run.status}" for run in team.store.context.audit.agent_runs))
    print("the trail leads to the present:", team.store.replay() == team.store.context)


if __name__ == "__main__":
    main()
