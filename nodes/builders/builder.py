"""Build the context of a node, or one layer of it (docs/nodes.md).

The input is the machine's output and the memory of the conversation. The functions for one layer
return data according to the declaration of the node's builder; print it with the layer's `format_`
function. They leave entity ids in texts and results; `SessionIdRegistry.hide_ids` replaces them, as
the builders do.
"""

from collections.abc import Callable, Iterable
from typing import TypedDict, Unpack

from attrs import evolve, frozen

from polycontext.polynomial import ContextOutput

from ..checks import check_instance, texts
from ..condensation import condense
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
    ANSWER_TOKENS,
    RECENT_ONLY,
    ConversationHistory,
    ConversationPart,
    ConversationTurn,
    Depth,
    check_depth,
    conversation_parts,
    open_exchange,
    visible_conversation,
)
from ..memory import ConversationContext, CurrentTurn
from ..prompt_text import Entry, Part, drop_empty, pin
from ..reasoning import (
    CurationSummary,
    ReasoningTrace,
    reasoning_parts,
    visible_reasoning,
)
from .budget import Fitted, fit
from .node import ACT, REPLY, THINK, UNDERSTAND, Material, Node, Section


@frozen
class NodeContext:
    """The layers that one node reads, restricted by its declaration, and their text in its budget.

    `str()` of it is the prompt (docs/nodes.md).
    """

    node: Node
    entity: EntityContext
    conversation: ConversationHistory
    reasoning: ReasoningTrace
    fitted: Fitted

    @property
    def text(self) -> str:
        """Return the prompt: entities, conversation, reasoning trace and task."""
        return self.fitted.text

    def __str__(self) -> str:
        return self.text

    @property
    def tokens(self) -> int:
        """Return the token count of the text."""
        return self.fitted.tokens


class BuildOptions(TypedDict, total=False):
    """Options of a node builder beside its material; see `build_context`."""

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
    """Build the context of `node` from the output, the memory and the exchange under way.

    It changes nothing.

    Args:
        node: The node that reads the context.
        output: The output of the machine.
        conversation: The memory of the closed exchanges.
        turn: The exchange under way.
        task: Instructions to append to the node's own.
        budget: Tokens to use instead of the node's budget, as the window's counter counts them.
        active_turns: For how many exchanges an entity stays active.

    Laws: a layer that the node does not name is neither in the data nor in the text; the text is
    within the budget and shows no id that the registry knows, in any role's text.

    Raises:
        NodeBudgetError: The entries that must stay take more than the budget.
        InvalidDataError: `conversation` or `turn` is not an instance of its class.
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
    """Return the node's additions for a section, which go beside its layer."""
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
    """Return the function that rewrites the texts of a section for `node`.

    It hides ids. Outside the entities section it also replaces refs by labels, if the node sees
    entities by label only.
    """
    registry = conversation.id_registry
    labels_alone = (
        node.entities is not None and ENTITY_TABLE[node.entities][Tier.ACTIVE] is Detail.LABELS
    )
    # Hide ids first, so that the refs that replace them are named as well.
    if labels_alone and section is not Section.ENTITIES:
        return lambda text: registry.name_refs(registry.hide_ids(text))
    return registry.hide_ids


def _write_entries(parts: Iterable[Part], say: Callable[[str], str]) -> list[Entry]:
    """Return headings and entries in order, with `say` applied to each entry's texts."""
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
    """Build Understand's context: all entities with ages and reasons, history, its own decisions.

    See docs/nodes.md.
    """
    return build_context(UNDERSTAND, output, conversation, turn, **options)


def build_think_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build Think's context: refs and labels, history, the last exchanges, known entities.

    See docs/nodes.md.
    """
    return build_context(THINK, output, conversation, turn, **options)


def build_act_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build Act's context: full entity data, the last exchanges, and this exchange's steps.

    The steps come with their results and the note of the previous one (docs/nodes.md).
    """
    return build_context(ACT, output, conversation, turn, **options)


def build_reply_context(
    output: ContextOutput,
    conversation: ConversationContext,
    turn: CurrentTurn,
    **options: Unpack[BuildOptions],
) -> NodeContext:
    """Build Reply's context: labels, the last exchanges, theme, outcomes and phase.

    It also shows what the user expressed (docs/nodes.md).
    """
    return build_context(REPLY, output, conversation, turn, **options)


def build_act_entity_context(
    conversation: ConversationContext, turn: CurrentTurn, *, active_turns: int = 2
) -> EntityContext:
    """Return the active and generated entities with full data, as Act reads them.

    Raises:
        InvalidDataError: `active_turns` is below 0.
    """
    return get_entity_context(
        conversation.id_registry, turn.turn_num, EntityMode.FULL, active_turns=active_turns
    )


def get_conversation_history(
    output: ContextOutput,
    conversation: ConversationContext,
    depth: Depth = "full",
    *,
    recent: int | None = None,
) -> ConversationHistory:
    """Return the conversation history from a session's output and the memory (docs/nodes.md).

    `depth` 2 has the last two exchanges only, 5 the last five and a summary of earlier ones,
    ``'full'`` everything that is remembered; `recent` requests fewer exchanges. An exchange under
    way is the last. A summary covers every exchange that is not among the recent ones.

    Raises:
        InvalidOptionError: another depth.
    """
    check_depth(depth)
    full = depth == "full"
    history = ConversationHistory(
        recent_turns=(*conversation.recent_turns, *_under_way(output, conversation)),
        history_summary=conversation.history_summary,
        engagement_summary=conversation.engagement_summary if full else "",
        pending=conversation.pending if full else None,
    )
    history = history.limit_recent(
        min(most for most in (depth, recent, len(history.recent_turns)) if isinstance(most, int))
    )
    return evolve(history, history_summary="") if depth == RECENT_ONLY else history


def _under_way(output: ContextOutput, conversation: ConversationContext) -> list[ConversationTurn]:
    """Return the open exchange, if any: the user's words verbatim, the answer condensed."""
    found = open_exchange(output.window, conversation.closed_id, conversation.closed_at)
    if found is None:
        return []
    answer = condense(found.answer, ANSWER_TOKENS, counter=output.window.counter)
    return [ConversationTurn(found.user, answer, timestamp=found.timestamp)]


def get_reasoning_trace(
    conversation: ConversationContext, turn: CurrentTurn | None = None
) -> ReasoningTrace:
    """Return the trace from the memory and `turn`, unless that was closed (docs/nodes.md)."""
    recent = conversation.turn_summaries
    current = (
        None
        if turn is None or any(each.turn_num == turn.turn_num for each in recent)
        else turn.summary
    )
    return ReasoningTrace(
        recent, conversation.reasoning_summary, current, conversation.understand_decision_log
    )


def get_recent_conversation(
    output: ContextOutput, conversation: ConversationContext, depth: Depth = 2
) -> ConversationHistory:
    """Return the last exchanges, as Act reads them.

    From depth 5 on, include the summary of the earlier exchanges.

    Raises:
        InvalidOptionError: `depth` is not 2, 5 or ``'full'``.
    """
    history = get_conversation_history(output, conversation, depth)
    return visible_conversation(
        history, ACT.conversation | (set() if depth == RECENT_ONLY else {ConversationPart.SUMMARY})
    )


def get_conversation_with_engagement(
    output: ContextOutput, conversation: ConversationContext
) -> ConversationHistory:
    """Return the last exchanges, the theme and what awaits the user, as Reply reads them."""
    return visible_conversation(get_conversation_history(output, conversation), REPLY.conversation)


def get_own_decision_history(conversation: ConversationContext) -> ReasoningTrace:
    """Return Understand's decisions about entities, exchange by exchange."""
    return visible_reasoning(get_reasoning_trace(conversation), UNDERSTAND.reasoning)


def get_current_curation(turn: CurrentTurn) -> CurationSummary:
    """Return Understand's decisions about entities in the exchange under way."""
    return turn.curation


def get_current_turn_steps(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the steps of the exchange under way with their notes, as Act reads them.

    Their results are in `turn.steps`.
    """
    return visible_reasoning(get_reasoning_trace(conversation, turn), ACT.reasoning)


def get_execution_outcomes(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the outcomes of the last exchanges and of the one under way, as Reply reads them.

    The trace also holds the phase and what the user expressed.
    """
    return visible_reasoning(get_reasoning_trace(conversation, turn), REPLY.reasoning)
