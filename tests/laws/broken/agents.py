"""Memories that outlive a rewind, nosy nodes, and answers that grow: each is rejected by a law."""

import json
from functools import reduce
from typing import Any

from attrs import evolve

from polycontext.agents import AgentMachine, AgentMemory, Recollection, Understanding, read_answer
from polycontext.agents.laws import recollections
from polycontext.nodes import NodeContext, Now
from polycontext.nodes.builders import ConversationPart, Node, ReasoningPart, build_context
from polycontext.polynomial import ContextMachine, ContextSession
from tests.laws.counterexamples import breaks, obeys

NODE = Node("critic", "Judge.", conversation={ConversationPart.RECENT})
UNDERSTOOD = {"intent": "plan a soup", "confidence": 0.5, "user_expressed": "wants soup"}


def lived(machine: Any = AgentMachine) -> ContextSession:
    """Return a session in which the user was understood."""
    session = ContextSession(4_000, machine=machine)
    session.add_user_turn("Any soup?")
    session.send(Understanding.event, UNDERSTOOD)
    return session


def stubborn(session: ContextSession) -> AgentMemory:
    """Fold all events, the rewound ones too."""
    first = Recollection(session.history.at(0)).memory
    return reduce(AgentMemory.after, session.history.events(), first)


def recollect(session: ContextSession) -> AgentMemory:
    """Return the memory of a session."""
    return Recollection(session).memory


def nosy(**more: Any) -> Any:
    """Return a builder that reads more than the node declares."""

    def build(node: Node, now: Now) -> NodeContext:
        return build_context(evolve(node, **more), now)

    return build


def growing(form: Any, answer: object) -> Any:
    """Read an intent with an exclamation mark."""
    read = read_answer(form, answer)
    return evolve(read, intent=f"{read.intent}!")


breaks(
    recollections.the_memory_of_a_prefix_is_a_prefix_of_the_memory,
    "a fold over rewound events",
    lambda law: law(lived(), 1, stubborn),
)
obeys(
    recollections.the_memory_of_a_prefix_is_a_prefix_of_the_memory,
    "the fold",
    lambda law: law(lived(), 1, recollect),
)


class Hasty(AgentMachine):
    """An agent's machine in which the answer of a node changes the state of the context."""

    understood = ContextMachine.accumulating.to(ContextMachine.pressured)


breaks(
    recollections.the_context_of_an_agent_is_that_of_a_plain_session,
    "an answer that presses",
    lambda law: law(lived(Hasty)),
)
obeys(
    recollections.the_context_of_an_agent_is_that_of_a_plain_session,
    "an agent",
    lambda law: law(lived()),
)
breaks(
    recollections.a_node_reads_only_its_cells,
    "a node that reads the summary",
    lambda law: law(
        NODE, Recollection(lived()).now, "soup", nosy(conversation=set(ConversationPart))
    ),
)
breaks(
    recollections.a_node_reads_only_its_cells,
    "a node that reads the phase",
    lambda law: law(NODE, Recollection(lived()).now, "soup", nosy(reasoning={ReasoningPart.PHASE})),
)
breaks(
    recollections.a_node_reads_only_its_cells,
    "a node that reads what others share",
    lambda law: law(NODE, Recollection(lived()).now, "soup", nosy(reads=("reasoning.summary",))),
)
obeys(
    recollections.a_node_reads_only_its_cells,
    "a node that reads what it declares",
    lambda law: law(NODE, Recollection(lived()).now, "soup", nosy()),
)
breaks(
    recollections.reading_an_answer_again_changes_nothing,
    "an answer that grows",
    lambda law: law(Understanding, json.dumps(UNDERSTOOD), growing),
)
obeys(
    recollections.reading_an_answer_again_changes_nothing,
    "an answer",
    lambda law: law(Understanding, json.dumps(UNDERSTOOD), read_answer),
)
