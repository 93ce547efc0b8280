"""The laws of the nodes: each reads what it declares, within its budget, and sees no id."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from polycontext.base.law import agree, holds, law

from ..builders import Node, NodeContext
from ..builders.budget import NodeBudgetError
from ..builders.node import ConversationPart, EntityMode, Now, ReasoningPart
from ..builders.standard_nodes import NODES
from ..history import PendingState

_NODES = 'docs/nodes.md, "What each node reads"'
_BUDGETS = 'docs/nodes.md, "Budgets"'
_IDS = 'docs/nodes.md, "Ids"'

_ROOMY = 20_000
_READ, _KEPT, _REMOVED = "0b5a4c1e-read", "0b5a4c1e-kept", "0b5a4c1e-removed"
_DATA = {EntityMode.FULL, EntityMode.CURATION}
"""The modes in which data is read."""

_LAYERS = ("text", "reasoning", "conversation", "entity")

Build = Callable[[Node, Now], NodeContext]


@law(_NODES)
def a_node_reads_only_its_cells(node: Node, now: Now, content: str, build: Build) -> None:
    """The context of a node is the same whatever is in the parts that it does not declare."""
    known = _knowing(now)
    entities = ((known, _knowing(now, **hidden)) for hidden in _hidden(node.entities, content))
    for here, other in (*((now, each) for each in _changed(node, now, content)), *entities):
        agree(_read(build, node, other), _read(build, node, here), other=other)


@law(_NODES)
def data_is_read_where_it_is_needed(now: Now, content: str, build: Build) -> None:
    """Of the four nodes, Understand and Act alone read the data of entities."""
    plain, told = _knowing(now), _knowing(now, data=content)
    for node in NODES.values():
        if node.name not in ("understand", "act"):
            agree(_read(build, node, told), _read(build, node, plain), node=node)


def _read(build: Build, node: Node, now: Now) -> dict[str, Any]:
    """Return the layers of a node's context, which has room for all of them."""
    made = build(evolve(node, budget=_ROOMY), now)
    return {layer: getattr(made, layer) for layer in _LAYERS}


def _changed(node: Node, now: Now, words: str) -> Iterator[Now]:
    """Yield the moment with each part changed that the node does not declare."""
    memory, turn = now.conversation, now.turn
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
        yield _knowing(now)
    if not node.reads:
        yield evolve(now, shared=lambda path: [f"{path}: {words}"])


def _knowing(now: Now, label: str = "Lamp", data: str = "plain", reason: str = "sold") -> Now:
    """Return the moment with a read, a generated, a retained and a removed entity.

    Only the node that curates reads the words of the last two, which are those of `reason`.
    """
    memory, turn, held = now.conversation, now.turn.turn_num, {"note": data}
    why, told = f"because {reason}", {"note": reason}
    registry, _ = memory.id_registry.read("things", _READ, label, turn=turn, data=held)
    registry, _ = registry.generate("things", label, turn=turn, data=held)
    registry, kept = registry.read("things", _KEPT, reason, turn=turn, data=told)
    registry = registry.demote(kept).retain(kept, why)
    registry, gone = registry.read("things", _REMOVED, reason, turn=turn, data=told)
    registry = registry.delete(gone, why, turn=turn)
    return evolve(now, conversation=memory.with_registry(registry))


def _hidden(mode: EntityMode | None, words: str) -> Iterator[dict[str, str]]:
    """Yield what a mode does not show, changed."""
    if mode not in _DATA:
        yield {"data": words}
    if mode is not EntityMode.CURATION:
        yield {"reason": words}
    if mode in (None, EntityMode.DO_NOT_READ):
        yield {"label": words}


@law(_BUDGETS)
def a_context_is_within_its_budget(node: Node, now: Now, max_tokens: int, build: Build) -> None:
    """A context takes at most the node's budget, or is refused with the least that suffices."""
    try:
        made, budget = build(evolve(node, budget=max_tokens), now), max_tokens
    except NodeBudgetError as error:
        holds(error.needed > max_tokens, f"more than {max_tokens}", error.needed)
        made, budget = build(evolve(node, budget=error.needed), now), error.needed
    agree(made.tokens, now.output.window.counter.count(made.text))
    holds(made.tokens <= budget, f"at most {budget} tokens", made.tokens, node=node)


@law(_IDS)
def a_context_shows_no_id(node: Node, now: Now, content: str, build: Build) -> None:
    """No id that the registry knows stands in the prompt, whatever names it."""
    words = f"{content} {_READ} {_KEPT}"
    known = _knowing(now, label=words, data=words, reason=words)
    memory = evolve(known.conversation, history_summary=words, reasoning_summary=words)
    told = evolve(known.turn, user_expressed=words)
    shown = build(evolve(node, budget=_ROOMY), evolve(known, conversation=memory, turn=told)).text
    holds(_READ not in shown and _KEPT not in shown, "no id", shown, node=node)
