"""The laws of agents: a memory is its journal, a node reads what it declares, answers are data."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from polycontext.base.law import agree, holds, law
from polycontext.nodes import NodeContext, Now, PendingState
from polycontext.nodes.builders import ConversationPart, Node, ReasoningPart
from polycontext.polynomial import ContextMachine, ContextSession
from polycontext.polynomial.journal import PatchEvent, replayed

from ..forms import Form, data_of
from ..memory import AgentMemory

_MEMORY = 'docs/agents.md, "What is remembered"'
_REGIONS = 'docs/machine.md, "Regions"'
_NODES = 'docs/nodes.md, "What each node reads"'
_FORMS = 'docs/agents.md, "What each node answers"'


@law(_MEMORY)
def the_memory_of_a_prefix_is_a_prefix_of_the_memory(
    agent_session: ContextSession,
    revision: int,
    recollect: Callable[[ContextSession], AgentMemory],
) -> None:
    """What is remembered at a revision is what is remembered after a rewind to it."""
    history, counter = agent_session.history, agent_session.window.counter
    machine = agent_session.conversation.machine
    again = ContextSession.history.load("".join(history.export()), counter=counter, machine=machine)
    if revision < history.revision:
        again.history.rewind(revision)
    agree(recollect(again), recollect(history.at(revision)), revision=revision)


@law(_REGIONS)
def the_context_of_an_agent_is_that_of_a_plain_session(agent_session: ContextSession) -> None:
    """What the context's machine knows leads where it leads there, and nothing else moves it."""
    history, table = agent_session.history, ContextMachine.table
    for before, event, after in replayed(history.events(), history.at(0).conversation):
        if isinstance(event, PatchEvent) or event.kind not in table.kinds:
            agree((after.state, after.window), (before.state, before.window), event=event)
        else:
            targets = table.targets(before.state, event.kind)
            holds(after.state in targets, "a state of the plain machine", after.state, event=event)


@law(_NODES)
def a_node_reads_only_its_cells(
    node: Node, now: Now, content: str, build: Callable[[Node, Now], NodeContext]
) -> None:
    """The context of a node is the same whatever is in the parts that it does not declare."""
    before = build(node, now)
    for other in _changed(node, now, content):
        after = build(node, other)
        agree(after.text, before.text, node=node, now=other)
        agree(after.reasoning, before.reasoning, node=node, now=other)
        agree(after.conversation, before.conversation, node=node, now=other)
        agree(after.entity, before.entity, node=node, now=other)


def _changed(node: Node, now: Now, words: str) -> Iterator[Now]:
    """Yield the moment with each part changed that the node does not declare."""
    memory, turn = now.conversation, now.turn
    registry = memory.id_registry
    conversation: dict[ConversationPart, dict[str, Any]] = {
        ConversationPart.SUMMARY: {"history_summary": words},
        ConversationPart.ENGAGEMENT: {"engagement": evolve(memory.engagement, stated=words)},
        ConversationPart.PENDING: {"pending": PendingState("propose", words)},
    }
    reasoning: dict[ReasoningPart, dict[str, Any]] = {
        ReasoningPart.PHASE: {"phase": "confirming"},
        ReasoningPart.USER_EXPRESSED: {"user_expressed": words},
        ReasoningPart.CURATION: {"curation": turn.curate([words], reasons={words: words}).curation},
    }
    for part, change in conversation.items():
        if part not in node.conversation:
            yield evolve(now, conversation=evolve(memory, **change))
    for each, change in reasoning.items():
        if each not in node.reasoning:
            yield evolve(now, turn=evolve(turn, **change))
    if ReasoningPart.EARLIER not in node.reasoning:
        yield evolve(now, conversation=evolve(memory, reasoning_summary=words))
    if ReasoningPart.OWN_CURATION not in node.reasoning:
        yield evolve(now, conversation=evolve(memory, understand_decision_log=()))
    if node.entities is None:
        registry, _ = registry.read("things", f"{words}-0b5a4c1e", words, turn=turn.turn_num)
        yield evolve(now, conversation=memory.with_registry(registry))
    if not node.reads:
        yield evolve(now, shared=lambda path: [f"{path}: {words}"])


@law(_FORMS)
def reading_an_answer_again_changes_nothing(
    form: type[Form], answer: object, read: Callable[[type[Form], object], Any]
) -> None:
    """An answer that is read, written as data and read again is the same answer."""
    once = read(form, answer)
    agree(read(form, data_of(once)), once, form=form, answer=answer)
