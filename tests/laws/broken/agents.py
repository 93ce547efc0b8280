"""Memories that outlive a rewind, nosy nodes, registries that slip, and answers that grow."""

import json
from functools import partial, reduce
from typing import Any

from attrs import evolve

from polycontext.agents import AgentMachine, AgentMemory, Recollection
from polycontext.agents.answers import Understanding
from polycontext.agents.forms import read_answer
from polycontext.agents.laws import recollections
from polycontext.nodes import Now, SessionIdRegistry
from polycontext.nodes.builders import Addition, Node, NodeContext, build_context
from polycontext.nodes.builders.node import ConversationPart, EntityMode, ReasoningPart
from polycontext.nodes.builders.standard_nodes import NODES
from polycontext.nodes.laws import contexts
from polycontext.polynomial import ContextMachine, ContextSession
from tests.laws.counterexamples import breaks, obeys

NODE = Node("critic", "Judge.", conversation={ConversationPart.RECENT})
EMPTY = SessionIdRegistry()
SPEECH = Addition("speech", "Conversation History", lambda _: ["word " * 200])
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


def nostalgic(node: Node, now: Now) -> NodeContext:
    """Build a context that shows retained entities as if they were in use."""
    memory, turn = now.conversation, now.turn.turn_num
    registry = memory.id_registry
    for kept in registry.context(turn).retained:
        registry = registry.touch(kept.ref, turn=turn)
    return build_context(node, evolve(now, conversation=memory.with_registry(registry)))


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


def reading(node: Node, build: Any, law: Any) -> None:
    """Ask a law about one node of a session."""
    law(node, Recollection(lived()).now, "soup", build)


for what, node, build in (
    ("the summary", NODE, nosy(conversation=set(ConversationPart))),
    ("the phase", NODE, nosy(reasoning={ReasoningPart.PHASE})),
    ("what others share", NODE, nosy(reads=("reasoning.summary",))),
    ("full data, and is told refs and labels", NODES["think"], nosy(entities=EntityMode.FULL)),
    ("why an entity was removed", NODES["think"], nosy(entities=EntityMode.CURATION)),
    ("the labels of retained entities", NODES["think"], nostalgic),
):
    call = partial(reading, node, build)
    breaks(contexts.a_node_reads_only_its_cells, f"a node that reads {what}", call)
breaks(
    contexts.data_is_read_where_it_is_needed,
    "nodes that all read full data",
    lambda law: law(Recollection(lived()).now, "soup", nosy(entities=EntityMode.FULL)),
)
breaks(
    contexts.a_context_is_within_its_budget,
    "a node that takes what it likes",
    lambda law: law(NODE, Recollection(lived()).now, 60, nosy(budget=20_000, additions=SPEECH)),
)


def blurting(node: Node, now: Now) -> NodeContext:
    """Build a context for a node that knows no ids."""
    return build_context(node, evolve(now, conversation=now.conversation.with_registry(EMPTY)))


breaks(
    contexts.a_context_shows_no_id,
    "a builder that hides no ids",
    lambda law: law(NODES["think"], Recollection(lived()).now, "soup", blurting),
)


obeys(
    contexts.a_node_reads_only_its_cells,
    "a node that reads what it declares",
    partial(reading, NODE, nosy()),
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
