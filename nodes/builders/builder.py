"""Build the context of a node, or one layer of it, from the machine's output and what is remembered (docs/nodes.md).

The functions for one layer return data, by the same declaration as the node's builder: print it
with the `format_` function of its layer. They leave ids in what was said and done;
`SessionIdRegistry.hide_ids` replaces them, as the builders do.
"""

from collections.abc import Callable, Iterable
from typing import TypedDict, Unpack

from attrs import evolve, frozen

from polycontext.polynomial import ContextOutput

from ..checks import check_instance, texts
from ..entities import (
    ENTITY_TABLE,
    Detail,
    EntityContext,
    EntityMode,
    Tier,
    entity_parts,
    get_entity_context,
    visible_entities,
)
from ..history import (
    RECENT_ONLY,
    ConversationHistory,
    ConversationPart,
    Depth,
    conversation_parts,
    get_conversation_history,
    visible_conversation,
)
from ..memory import ConversationContext, CurrentTurn
from ..prompt_text import Entry, Part, drop_empty, pin
from ..reasoning import (
    CurationSummary,
    ReasoningTrace,
    get_reasoning_trace,
    reasoning_parts,
    visible_reasoning,
)
from .budget import Fitted, fit
from .declarations import ACT, REPLY, THINK, UNDERSTAND
from .node import Material, Node, Section


@frozen
class NodeContext:
    """Hold what one node reads: the layers, restricted to what it names, and their text within its budget.

    `str` of it is the prompt (docs/nodes.md).
    """

    node: Node
    entity: EntityContext
    conversation: ConversationHistory
    reasoning: ReasoningTrace
    fitted: Fitted

    @property
    def text(self) -> str:
        """Return the prompt: entities, conversation, what happened, the task."""
        return self.fitted.text

    def __str__(self) -> str:
        return self.text

    @property
    def tokens(self) -> int:
        """Return the tokens of the text."""
        return self.fitted.tokens


class BuildOptions(TypedDict, total=False):
    """What may be said beside the material; see `build_context`."""

    task: str
    budget: int | None
    active_turns: int


def build_context(
    node: Node,
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    *,
    task: str = "",
    budget: int | None = None,
    active_turns: int = 2,
) -> NodeContext:
    """Build what `node` reads, from the machine's output, what is remembered, and the exchange under way.

    `task` goes after the node's own instructions, `budget` replaces the node's (in tokens, as the
    window's counter counts them), `active_turns` is how long an entity stays active. Nothing
    changes by it.

    Laws: what the node does not name is neither in the data nor in the text; the text is within the
    budget, and shows no id that the registry knows, whoever said it.

    Raises:
        NodeBudgetError: what must stay takes more than the budget.
        InvalidDataError: a conversation or an exchange that is none.
    """
    check_instance(conversation, ConversationContext, "conversation")
    check_instance(turn, CurrentTurn, "turn")
    entities = get_entity_context(
        conversation.id_registry, turn.turn_num, active_turns=active_turns
    )
    entity = EntityContext() if node.entities is None else visible_entities(entities, node.entities)
    history = visible_conversation(
        get_conversation_history(output, conversation), node.conversation
    )
    trace = visible_reasoning(get_reasoning_trace(conversation, turn), node.reasoning)
    material = Material(output, conversation, turn, entities, node, history)
    layers = {
        Section.ENTITIES: () if node.entities is None else entity_parts(entity, node.entities),
        Section.CONVERSATION: conversation_parts(history),
        Section.REASONING: reasoning_parts(trace),
    }
    sections = {
        section: _write_entries(
            (*parts, *_write_additions(node, section, material)),
            _rewriter(node, section, conversation),
        )
        for section, parts in layers.items()
    }
    instructions = f"{node.task}\n{task}" if task else node.task
    fitted = fit(
        node.name,
        sections,
        instructions,
        node.budget if budget is None else budget,
        output.window.counter,
    )
    return NodeContext(node, entity, history, trace, fitted)


def _write_additions(node: Node, section: Section, material: Material) -> tuple[Part, ...]:
    """Return what the node must be told in a section beside its layer."""
    entries = [
        Entry(text, resource_class=each.resource_class)
        for each in node.additions
        if each.section is section
        for text in texts(each.write(material))
        if text.strip()
    ]
    return drop_empty([Part("Critical", entries)])


def _rewriter(
    node: Node, section: Section, conversation: ConversationContext
) -> Callable[[str], str]:
    """Return how a section is told to `node`: without ids, and what was said and done with names for refs where it sees labels alone."""
    registry = conversation.id_registry
    labels_alone = (
        node.entities is not None and ENTITY_TABLE[node.entities][Tier.ACTIVE] is Detail.LABELS
    )
    # Ids first: a ref that stands for one is then named as well.
    if labels_alone and section is not Section.ENTITIES:
        return lambda text: registry.name_refs(registry.hide_ids(text))
    return registry.hide_ids


def _write_entries(parts: Iterable[Part], say: Callable[[str], str]) -> list[Entry]:
    """Return headings and entries one after the other, each entry as it is told."""
    entries: list[Entry] = []
    for part in parts:
        entries.append(pin(f"### {part.heading}"))
        entries += (
            evolve(each, text=say(each.text), short=say(each.short)) for each in part.entries
        )
    return entries


def build_understand_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build what Understand reads: all entities with ages and reasons, the whole history, its own decisions (docs/nodes.md)."""
    return build_context(UNDERSTAND, output, conversation, turn, **options)


def build_think_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build what Think reads: refs and labels, the history, the last exchanges in full, and what needs no reading again (docs/nodes.md)."""
    return build_context(THINK, output, conversation, turn, **options)


def build_act_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build what Act reads: full data of the work at hand, the last exchanges, this exchange's steps, results and note (docs/nodes.md)."""
    return build_context(ACT, output, conversation, turn, **options)


def build_reply_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build what Reply reads: labels alone, the last exchanges, the theme, outcomes, phase and what was expressed (docs/nodes.md)."""
    return build_context(REPLY, output, conversation, turn, **options)


def build_act_entity_context(
    conversation: ConversationContext, turn: CurrentTurn, *, active_turns: int = 2
) -> EntityContext:
    """Return the entities that Act works with, active and generated, with full data.

    Raises:
        InvalidDataError: `active_turns` below 0.
    """
    return get_entity_context(
        conversation.id_registry, turn.turn_num, EntityMode.FULL, active_turns=active_turns
    )


def get_recent_conversation(
    output: ContextOutput, conversation: ConversationContext, depth: Depth = 2
) -> ConversationHistory:
    """Return what Act reads of what was said: the last exchanges.

    From depth 5 on, the summary of those before them as well.

    Raises:
        InvalidOptionError: a depth that is none of 2, 5, ``'full'``.
    """
    history = get_conversation_history(output, conversation, depth)
    return visible_conversation(
        history, ACT.conversation | (set() if depth == RECENT_ONLY else {ConversationPart.SUMMARY})
    )


def get_conversation_with_engagement(
    output: ContextOutput, conversation: ConversationContext
) -> ConversationHistory:
    """Return what Reply reads of what was said: the last exchanges, the theme, and what waits for the user."""
    return visible_conversation(get_conversation_history(output, conversation), REPLY.conversation)


def get_own_decision_history(conversation: ConversationContext) -> ReasoningTrace:
    """Return what Understand decided about entities, exchange by exchange."""
    return visible_reasoning(get_reasoning_trace(conversation), UNDERSTAND.reasoning)


def get_current_curation(turn: CurrentTurn) -> CurationSummary:
    """Return what Understand decided about entities in the exchange under way."""
    return turn.curation


def get_current_turn_steps(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the steps of the exchange under way with their notes, as Act reads them.

    Their results are `turn.steps`.
    """
    return visible_reasoning(get_reasoning_trace(conversation, turn), ACT.reasoning)


def get_execution_outcomes(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the outcomes of the last exchanges and of the one under way, the phase, and what the user expressed, as Reply reads them."""
    return visible_reasoning(get_reasoning_trace(conversation, turn), REPLY.reasoning)
