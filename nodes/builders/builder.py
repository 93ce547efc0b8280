"""Build the context of a node, or one layer of it (docs/nodes.md).

The functions for one layer return data according to the declaration of the node's builder; print it
with the layer's `format_` function. They leave entity ids in texts and results;
`SessionIdRegistry.hide_ids` replaces them, as the builders do.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from attrs import evolve, frozen

from polycontext.base import is_whole, require
from polycontext.window import Role, Turn

from ..checks import texts
from ..condensation import condense, share_out
from ..entities.presentation import (
    ENTITY_TABLE,
    Detail,
    EntityMode,
    Tier,
    entity_parts,
    visible_entities,
)
from ..entities.records import EntityContext
from ..entities.registry import get_entity_context
from ..history import (
    RECENT_ONLY,
    ConversationHistory,
    ConversationPart,
    Depth,
    check_depth,
    conversation_parts,
    exchange_of,
    spoken_text,
    visible_conversation,
)
from ..memory.conversation import ConversationContext
from ..prompt_text import Entry, Part, drop_empty, pin, quote
from ..prompts import Template
from ..prompts.builder import PromptBuilder, package_prompts
from ..reasoning import CurationSummary, ReasoningTrace, reasoning_parts, visible_reasoning
from .budget import NodeBudgetError, fit
from .node import Material, Node, Now, Section
from .standard_nodes import ACT, REPLY, SHARED, SITUATION, THINK, UNDERSTAND

_LEAST_SAID = 8
"""The least tokens of each unanswered message that a context may have, unless it is shorter."""


@frozen
class NodeContext:
    """The layers that one node reads, restricted by its declaration, and their text in its budget.

    `text`, which is also its `str()`, is the prompt: entities, conversation, reasoning trace and
    task (docs/nodes.md).
    """

    node: Node
    entity: EntityContext
    conversation: ConversationHistory
    reasoning: ReasoningTrace
    text: str
    tokens: int

    def __str__(self) -> str:
        return self.text


def build_context(
    node: Node,
    now: Now,
    *,
    task: str = "",
    prompts: PromptBuilder | None = None,
    budget: int | None = None,
    active_turns: int = 2,
) -> NodeContext:
    """Build the context of `node` at a moment of the conversation.

    It changes nothing.

    Args:
        node: The node that reads the context.
        now: What there is to read, such as `Agent.now`.
        task: Instructions to append to the node's own.
        prompts: The templates of the prompt instead of the package's (docs/nodes.md).
        budget: Tokens to use instead of the node's budget, as the window's counter counts them.
        active_turns: For how many exchanges an entity stays active.

    If the entries that must stay take more than the budget, the user's unanswered messages are
    condensed to what is left: standing instructions first.

    Laws: a layer that the node does not name is neither in the data nor in the text; the text is
    within the budget and shows no id that the registry knows, in any role's text.

    Raises:
        NodeBudgetError: The other entries that must stay take more than the budget, or nothing of
            an unanswered message fits beside them.
        InvalidOptionError: The node has neither a task nor a template.
    """
    limit = node.budget if budget is None else budget
    require("budget", limit, is_whole(limit, 1), "a number of tokens, at least 1")

    prompts = prompts or package_prompts()
    told = f"{node.task}\n{task}".strip() if node.task else prompts.instructions(node.name, task)
    node = evolve(node, task=told)

    def build(limit: int) -> NodeContext:
        return _build_within(node, now, prompts.frame, limit, active_turns)

    try:
        return build(limit)
    except NodeBudgetError:
        raise NodeBudgetError(node.name, _least(build, limit), limit) from None


def _least(build: Callable[[int], NodeContext], limit: int) -> int:
    """Return the least budget that suffices, above one that does not.

    Additions take a share of the budget, so it is not what a smaller budget lacks.
    """

    def suffices(budget: int) -> bool:
        with suppress(NodeBudgetError):
            return bool(build(budget))
        return False

    most = 2 * limit
    while not suffices(most):
        limit, most = most, 2 * most
    tried = range(limit + 1, most)
    return limit + 1 + bisect_left(tried, 1, key=suffices)


def _build_within(
    node: Node, now: Now, frame: Template, limit: int, active_turns: int
) -> NodeContext:
    """Build a context within `limit` tokens, with as much of the unanswered messages as fits."""
    counter = now.output.window.counter
    said = [text for turn in now.asked if (text := spoken_text([turn]).strip())]
    sizes = [counter.count(quote(text)) for text in said]
    room = whole = least = sum(sizes)
    if ConversationPart.RECENT in node.conversation:
        room, least = min(whole, limit), _LEAST_SAID * len(said)
    while True:
        asked = now.asked if room >= whole else _condense_asked(now, share_out(room, sizes))
        try:
            return _build(node, evolve(now, asked=asked), frame, limit, active_turns)
        except NodeBudgetError as error:
            if room <= least:
                raise
            room -= error.needed - limit
            # In coarse steps, so that nodes with about the same room share what is condensed.
            room = max(least, room - room % (1 << max(0, room.bit_length() - 5)))


def _condense_asked(now: Now, shares: Iterable[int]) -> tuple[Turn, ...]:
    counter, left = now.output.window.counter, iter(shares)
    return tuple(
        Turn(
            Role.USER,
            condense(text, next(left), counter=counter),
            resource_id=turn.resource_id,
            timestamp=turn.timestamp,
        )
        for turn in now.asked
        if (text := spoken_text([turn]).strip())
    )


def _build(node: Node, now: Now, frame: Template, budget: int, active_turns: int) -> NodeContext:
    entities = get_entity_context(
        now.conversation.id_registry, now.turn.turn_num, active_turns=active_turns
    )
    entity = EntityContext() if node.entities is None else visible_entities(entities, node.entities)
    history, trace = _read_conversation(node, now), _read_reasoning(node, now)
    material = Material(now, entities, evolve(node, budget=budget), history)
    layers = {
        Section.ENTITIES: () if node.entities is None else entity_parts(entity, node.entities),
        Section.CONVERSATION: conversation_parts(history),
        Section.REASONING: reasoning_parts(trace, now.output.window.counter),
    }
    sections = {
        section: _write_entries(
            (*parts, *_write_additions(node, section, material)),
            _rewriter(node, section, now.conversation),
        )
        for section, parts in layers.items()
    }
    counter = now.output.window.counter
    text, tokens = fit(node.name, sections, node.task, budget, counter, frame=frame)
    return NodeContext(node, entity, history, trace, text, tokens)


def _write_additions(node: Node, section: Section, material: Material) -> tuple[Part, ...]:
    """Return the node's additions for a section, which go beside its layer."""
    entries = [
        Entry(text, resource_class=each.resource_class)
        for each in (*node.additions, SHARED, SITUATION)
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


def get_conversation_history(now: Now, depth: Depth = "full") -> ConversationHistory:
    """Return the conversation history at a moment (docs/nodes.md).

    `depth` 2 has the last two exchanges only, 5 the last five and a summary of earlier ones,
    ``'full'`` everything that is remembered. An exchange under way is the last. A summary covers
    every exchange that is not among the recent ones.

    Raises:
        InvalidOptionError: another depth.
    """
    check_depth(depth)
    conversation, full = now.conversation, depth == "full"
    under_way = [exchange_of(now.asked)] if now.asked else []
    history = ConversationHistory(
        recent_turns=(*conversation.recent_turns, *under_way),
        history_summary=conversation.history_summary,
        engagement_summary=conversation.engagement_summary if full else "",
        pending=conversation.pending if full else None,
    )
    if depth == "full":
        return history
    history = history.limit_recent(depth)
    return evolve(history, history_summary="") if depth == RECENT_ONLY else history


def get_reasoning_trace(now: Now) -> ReasoningTrace:
    """Return the trace of the last exchanges and of the one under way (docs/nodes.md)."""
    recent = now.conversation.turn_summaries
    is_closed = any(each.turn_num == now.turn.turn_num for each in recent)
    return ReasoningTrace(
        recent,
        now.conversation.reasoning_summary,
        None if is_closed else now.turn.summary,
        now.conversation.understand_decision_log,
    )


def _read_conversation(node: Node, now: Now) -> ConversationHistory:
    """Return the part of the conversation that `node` reads at a moment."""
    return visible_conversation(get_conversation_history(now), node.conversation)


def _read_reasoning(node: Node, now: Now) -> ReasoningTrace:
    """Return the part of the reasoning trace that `node` reads at a moment."""
    return visible_reasoning(get_reasoning_trace(now), node.reasoning)


def build_act_entity_context(now: Now, *, active_turns: int = 2) -> EntityContext:
    """Return the active and generated entities with full data, as Act reads them.

    Raises:
        InvalidDataError: `active_turns` is below 0.
    """
    registry, number = now.conversation.id_registry, now.turn.turn_num
    return get_entity_context(registry, number, EntityMode.FULL, active_turns=active_turns)


def get_current_curation(now: Now) -> CurationSummary:
    """Return Understand's decisions about entities in the exchange under way."""
    return now.turn.curation


# What each of the four nodes reads, and single layers of it.
build_understand_context = partial(build_context, UNDERSTAND)
build_think_context = partial(build_context, THINK)
build_act_context = partial(build_context, ACT)
build_reply_context = partial(build_context, REPLY)
get_recent_conversation = partial(_read_conversation, ACT)
get_conversation_with_engagement = partial(_read_conversation, REPLY)
get_own_decision_history = partial(_read_reasoning, UNDERSTAND)
get_current_turn_steps = partial(_read_reasoning, ACT)
get_execution_outcomes = partial(_read_reasoning, REPLY)
for _bound in [each for each in vars().values() if isinstance(each, partial) and each.args]:
    _bound.__doc__ = str(_bound.func.__doc__).replace("`node`", _bound.args[0].name.title())
