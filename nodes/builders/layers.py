"""One layer by itself, as one node reads it, for those who write the prompt around it (see docs/nodes.md).

Each is what the node's builder holds, by the same declaration. It is data: print it with the `format_` function of its
layer. In what was said and done, ids stand as they came; `SessionIdRegistry.hide_ids` takes them out, as the builders do.
"""

from polycontext.polynomial import ContextOutput

from ..entities import EntityContext, EntityMode, get_entity_context
from ..history import ConversationHistory, ConversationPart, get_conversation_history, visible_conversation
from ..history.construction import RECENT_ONLY, Depth
from ..memory import ConversationContext, CurrentTurn
from ..reasoning import CurationSummary, ReasoningTrace, get_reasoning_trace, visible_reasoning
from .declarations import ACT, REPLY, UNDERSTAND


def build_act_entity_context(conversation: ConversationContext, turn: CurrentTurn, *, active_turns: int = 2) -> EntityContext:
    """Return the entities that Act works with, active and generated, with full data.

    Raises:
        InvalidDataError: `active_turns` below 0.
    """
    return get_entity_context(conversation.id_registry, turn.turn_num, EntityMode.FULL, active_turns=active_turns)


def get_recent_conversation(output: ContextOutput, conversation: ConversationContext, depth: Depth = 2) -> ConversationHistory:
    """Return what Act reads of what was said: the last exchanges; from depth 5 on, the summary of those before them as well.

    Raises:
        InvalidOptionError: a depth that is none of 2, 5, ``'full'``.
    """
    history = get_conversation_history(output, conversation, depth)
    return visible_conversation(history, ACT.conversation | (set() if depth == RECENT_ONLY else {ConversationPart.SUMMARY}))


def get_conversation_with_engagement(output: ContextOutput, conversation: ConversationContext) -> ConversationHistory:
    """Return what Reply reads of what was said: the last exchanges, the theme, and what waits for the user."""
    return visible_conversation(get_conversation_history(output, conversation), REPLY.conversation)


def get_own_decision_history(conversation: ConversationContext) -> ReasoningTrace:
    """Return what Understand decided about entities, exchange by exchange."""
    return visible_reasoning(get_reasoning_trace(conversation), UNDERSTAND.reasoning)


def get_current_curation(turn: CurrentTurn) -> CurationSummary:
    """Return what Understand decided about entities in the exchange under way."""
    return turn.curation


def get_current_turn_steps(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the steps of the exchange under way with their notes, as Act reads them; their results are `turn.steps`."""
    return visible_reasoning(get_reasoning_trace(conversation, turn), ACT.reasoning)


def get_execution_outcomes(conversation: ConversationContext, turn: CurrentTurn) -> ReasoningTrace:
    """Return the outcomes of the last exchanges and of the one under way, the phase, and what the user expressed, as Reply reads them."""
    return visible_reasoning(get_reasoning_trace(conversation, turn), REPLY.reasoning)
