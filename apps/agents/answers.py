"""The nodes of an agent and what each answers (docs/agents.md)."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from attrs import evolve, field, frozen
from attrs.validators import ge, le

from polycontext.base import InvalidDataError
from polycontext.nodes import PendingState, SessionIdRegistry
from polycontext.nodes.builders import Node
from polycontext.nodes.builders.standard_nodes import ACT, REPLY, THINK, UNDERSTAND
from polycontext.nodes.memory.current_exchange import generic_outcome
from polycontext.nodes.reasoning import ConversationPhase, StepKind, ThinkDecision

from .forms import Form, Ref
from .memory import AgentMemory, next_id


@frozen
class Retained:
    """An entity that stays in mind, and why."""

    ref: Ref
    reason: str


@frozen
class Understanding(Form):
    """What Understand answers: the intent, and which entities stay in mind."""

    event: ClassVar = "understood"
    writes: ClassVar = ("append:reasoning.intents",)

    intent: str
    confidence: float = field(validator=[ge(0), le(1)])
    retained: tuple[Retained, ...] = ()
    demoted: tuple[Ref, ...] = ()
    phase: ConversationPhase | None = None
    user_expressed: str = ""

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the decisions about entities, and the intent for all agents."""
        turn = memory.turn.observe(phase=self.phase, user_expressed=self.user_expressed)
        if self.retained or self.demoted:
            registry = memory.conversation.id_registry
            for each in self.retained:
                registry = registry.retain(each.ref, each.reason)
            for ref in self.demoted:
                registry = registry.demote(ref)
            reasons: dict[str, str] = {each.ref: each.reason for each in self.retained}
            turn = turn.curate(reasons, self.demoted, reasons)
            memory = memory.with_registry(registry)
        memory = evolve(memory, turn=turn)
        intent = {"type": self.intent, "confidence": self.confidence}
        return memory.share("understand", append={"reasoning.intents": [intent]})


@frozen
class PlannedStep:
    """One step of a plan."""

    type: StepKind
    subdomain: str
    description: str


@frozen
class Plan(Form):
    """What Think answers: a plan to carry out, a proposal, or questions."""

    event: ClassVar = "planned"
    writes: ClassVar = ("append:retrieval.plans",)

    decision: ThinkDecision
    goal: str
    steps: tuple[PlannedStep, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def is_direct(self) -> bool:
        """Return whether there are steps to take now."""
        return self.decision is ThinkDecision.PLAN_DIRECT and bool(self.steps)

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the plan, or with what awaits the user's word."""
        turn = memory.turn.decide(self.decision, self.goal)
        if self.decision is not ThinkDecision.PLAN_DIRECT:
            pending = PendingState(self.decision, self.goal, self.questions)
            return evolve(memory, turn=turn.expects(pending), plan=(), results=())
        first = next_id("p", memory.shared.retrieval.plans)
        plans = [
            {"id": f"p{number}", "description": step.description, "sources": [step.subdomain]}
            for number, step in enumerate(self.steps, first)
        ]
        memory = evolve(memory, turn=turn, plan=self.steps, results=())
        return memory.share("think", append={"retrieval.plans": plans})


@frozen
class ToolUse:
    """A call of a tool, with refs for ids."""

    tool: Ref
    arguments: Mapping[str, Any]


@frozen
class Deed(Form):
    """What Act answers: calls of tools, or the outcome of the step once it is done."""

    event: ClassVar = "acted"
    writes: ClassVar = ("append:enrichment.facts",)

    calls: tuple[ToolUse, ...] = ()
    outcome: str = ""
    entities: tuple[Ref, ...] = ()
    note_for_next_step: str | None = None
    confidence: float = field(default=1.0, validator=[ge(0), le(1)])

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the step done, and its outcome as a fact for all agents."""
        if not memory.plan:
            raise InvalidDataError("$", "no step is under way", "an answer to a step of the plan")
        memory = memory.with_registry(self._touched(memory))
        step, results = memory.plan[0], memory.results
        result = results[0] if len(results) == 1 else results or None
        found = _rows(results) if len(results) > 1 else result
        turn = memory.turn.step(
            step.type,
            step.subdomain,
            step.description,
            result,
            outcome=self.outcome
            or generic_outcome(step.type, step.subdomain, found, self.entities),
            entities_involved=self.entities,
            note=self.note_for_next_step,
        )
        fact = {
            "id": f"f{next_id('f', memory.shared.enrichment.facts)}",
            "content": turn.steps[-1].summary.outcome,
            "source": step.subdomain,
            "confidence": self.confidence,
        }
        memory = evolve(memory, turn=turn, plan=memory.plan[1:], results=())
        return memory.share("act", append={"enrichment.facts": [fact]})

    def _touched(self, memory: AgentMemory) -> SessionIdRegistry:
        """Return the registry with the step's entities referenced; the step may have removed one.

        Raises:
            UnknownRefError: the model made one up.
        """
        registry = memory.conversation.id_registry
        for ref in {*self.entities} - {stone.ref for stone in registry.tombstones}:
            registry = registry.touch(ref, turn=memory.turn.turn_num)
        return registry


def _rows(results: Iterable[Any]) -> list[Any] | None:
    """Return the rows of several results, which are what an outcome counts; None of texts alone."""
    data = [each for each in results if not isinstance(each, str)]
    rows = [row for each in data for row in (each if isinstance(each, list) else [each])]
    return rows if data else None


@frozen
class Summary(Form):
    """What Summarize answers: the theme of the conversation, and what was said and done so far."""

    event: ClassVar = "summarized"
    writes: ClassVar = ("reasoning.summary",)

    engagement: str
    summary: str = ""
    reasoning: str = ""

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the theme and the summaries in the model's words."""
        conversation = memory.conversation.summarize(
            self.engagement, self.summary, self.reasoning, counter=memory.rules.counter
        )
        memory = evolve(memory, conversation=conversation)
        return memory.share("summarize", {"reasoning.summary": self.summary})


@frozen
class Blocked(Form):
    """Why an exchange cannot be completed: the reply says so."""

    event: ClassVar = "blocked"

    why: str

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the exchange blocked and nothing left to do."""
        return evolve(memory, turn=memory.turn.block(self.why), plan=(), results=())


@frozen
class Written(Form):
    """What another agent writes into the shared context, as far as its rights go."""

    event: ClassVar = "wrote"

    agent: Ref
    changes: Mapping[str, Any] = field(factory=dict)
    append: Mapping[str, Any] = field(factory=dict)

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with the keys written."""
        return memory.share(self.agent, self.changes, append=self.append)


SUMMARIZE = Node(
    "summarize",
    conversation={"recent", "summary", "engagement"},
    reasoning={"outcomes", "earlier"},
    answers=Summary,
)

NODES: Mapping[str, Node] = {
    "UNDERSTANDING": evolve(UNDERSTAND, answers=Understanding),
    "THINKING": evolve(THINK, answers=Plan),
    "ACTING": evolve(ACT, answers=Deed),
    "REPLYING": REPLY,
}
"""The node of each state of an `AgentMachine`."""

EVENTS: tuple[type[Form], ...] = (Summary, Blocked, Written)
"""The forms of events that no state waits for."""

_STEP = {"type": "read", "subdomain": "things", "description": "Look."}
EXAMPLES: Mapping[str, tuple[list[Any], ...]] = {
    Understanding.event: ([{"intent": "ask", "confidence": 1}],),
    Plan.event: (
        [{"decision": "plan_direct", "goal": "Look.", "steps": [_STEP]}],
        [{"decision": "clarify", "goal": "Ask.", "questions": ["Which?"]}],
    ),
    Deed.event: ([{"outcome": "done"}],),
    Summary.event: ([{"engagement": "talk"}],),
    Blocked.event: ([{"why": "It cannot be done."}],),
}
"""An answer of each form, for each way that it leads."""
