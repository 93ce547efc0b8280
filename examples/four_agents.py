"""Four agents answer one question: three write what they find, and an agent of nodes replies.

They share the context of one session, so a rewind takes back what they wrote.

Prints::

    refused: agent 'intent_detection' may not write llm.model
    Shared enrichment.facts: {"content":"line 1041: disk full","source":"the log of the night"}
    assistant: The report failed because the disk was full; free some space before tonight.
    shared: 2 intents, 1 plan, 1 fact, 1 conclusion
    after a rewind: 0 intents, 0 plans, 0 facts, 0 conclusions
"""

from typing import ClassVar

from attrs import evolve

from polycontext import ContextSession
from polycontext.agent_context import ContextViolationError
from polycontext.agents import Agent, AgentMachine, NodeRegion
from polycontext.testing import ScriptedModel

LINES = ["report page written"] * 1040 + ["disk full"] + ["report page written"] * 1659
ANSWER = "The report failed because the disk was full; free some space before tonight."
MODEL = ScriptedModel(
    rules={
        r"Find out what": '{"intent": "diagnosis", "confidence": 0.9}',
        r"Plan the next": '{"decision": "plan_direct", "goal": "name the cause"}',
        r"disk full": ANSWER,
    }
)


class Nodes(NodeRegion):
    """The nodes, of which Reply reads the facts that all agents share."""

    nodes: ClassVar = {
        **NodeRegion.nodes,
        "REPLYING": evolve(NodeRegion.nodes["REPLYING"], reads="enrichment.facts"),
    }


class Machine(AgentMachine):
    """The machine with these nodes."""

    regions: ClassVar = {"node": Nodes}


def detect_intent(agent: Agent) -> None:
    """Record the user's intent, and show that this agent may not choose the model."""
    intent = {"type": "diagnosis", "confidence": 0.95}
    agent.write("intent_detection", append={"reasoning.intents": [intent]})
    try:
        agent.write("intent_detection", {"llm.model": "large"})
    except ContextViolationError as refusal:
        print("refused:", str(refusal).partition(". ")[0])


def retrieve(agent: Agent) -> None:
    """Plan to read the log."""
    plan = {"id": "p1", "description": "read the log of the night", "sources": ["logs"]}
    agent.write("retrieval_planner", append={"retrieval.plans": [plan]})


def infer(agent: Agent) -> None:
    """Find the fault in the log, and draw the conclusion."""
    number, fault = next(each for each in enumerate(LINES, 1) if "written" not in each[1])
    fact = {"id": "f1", "content": f"line {number}: {fault}", "source": "the log of the night"}
    told = {"content": "the disk was full", "confidence": 0.9, "based_on": ["f1"]}
    agent.write(
        "inference",
        append={"enrichment.facts": [fact], "reasoning.conclusions": [{"id": "c1", **told}]},
    )


def counted(agent: Agent) -> str:
    """Return how much the agents share."""
    shared = agent.memory.shared
    lists = {
        "intent": shared.reasoning.intents,
        "plan": shared.retrieval.plans,
        "fact": shared.enrichment.facts,
        "conclusion": shared.reasoning.conclusions,
    }
    return ", ".join(f"{len(held)} {name}{'s' * (len(held) != 1)}" for name, held in lists.items())


def main() -> None:
    """Answer one question, and take it back."""
    agent = Agent(ContextSession(max_tokens=4000, machine=Machine), MODEL)
    for write in (detect_intent, retrieve, infer):
        write(agent)
    reply = agent.send("Why did the nightly report fail?")
    prompt = str(MODEL.requests[-1])
    print(next(line for line in prompt.splitlines() if "disk full" in line))
    print("assistant:", reply)
    print("shared:", counted(agent))
    agent.session.history.rewind(0)
    print("after a rewind:", counted(agent))


if __name__ == "__main__":
    main()
