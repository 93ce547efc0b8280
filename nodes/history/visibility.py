"""Who reads what of layer 2, and how it is printed: what is said there is data, and cannot pose as a part of the prompt (docs/memory.md)."""

from enum import StrEnum

import orjson
from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.linearity.json_data import thawed

from ..prompt_text import Entry, Part, filled, one_line, part, printed, quoted, quoted_block
from .construction import Depth, check_depth
from .exchanges import ConversationHistory, ConversationTurn, PendingKind, PendingState

_WAITS_FOR = {
    PendingKind.PROPOSE: "the user's word on a proposal",
    PendingKind.CLARIFY: "an answer before planning",
    PendingKind.ASK_USER: "an answer before the next step",
}


class ConversationPart(StrEnum):
    """Name a part of layer 2."""

    RECENT = "recent"
    """The last two exchanges; the last five for whoever reads the summary of those before as well."""
    SUMMARY = "summary"
    ENGAGEMENT = "engagement"
    PENDING = "pending"
    ROUTING = "routing"
    """What a router decided, with each exchange."""


_FEW, _MORE = 2, 5
Said = ConversationPart

_PARTS = {2: frozenset({Said.RECENT}), 5: frozenset({Said.RECENT, Said.SUMMARY})}
"""What the depths show that do not show everything."""


def visible_conversation(history: ConversationHistory, parts: frozenset[ConversationPart]) -> ConversationHistory:
    """Return `history` with the named parts alone, so that printing has nothing to hide."""
    history = history.narrowed(_MORE if Said.SUMMARY in parts else _FEW)
    recent = history.recent_turns if Said.RECENT in parts else ()
    return ConversationHistory(
        recent_turns=recent if Said.ROUTING in parts else [evolve(turn, routing=None) for turn in recent],
        history_summary=history.history_summary if Said.SUMMARY in parts else "",
        engagement_summary=history.engagement_summary if Said.ENGAGEMENT in parts else "",
        pending=history.pending if Said.PENDING in parts else None,
    )


def conversation_parts(history: ConversationHistory) -> tuple[Part, ...]:
    """Return all that is in `history` as parts; what the user says now, and what is asked, may not yield.

    The summary goes first where room is short, line by line, the oldest first: it was condensed once.

    Law: no line starts with anything that was said; what was said goes on behind ``>`` and a blank.
    """
    return filled(
        (
            part("Engagement", [quoted_block(history.engagement_summary)]),
            part("Earlier", map(quoted_block, history.history_summary.splitlines()), ResourceClass.DROPPABLE),
            Part("Recent turns", map(_exchange, history.recent_turns)),
            part("Pending", [_pending(history.pending)] if history.pending else (), ResourceClass.PRESERVED),
        )
    )


def _exchange(turn: ConversationTurn) -> Entry:
    lines = [f"User: {quoted(turn.user)}"]
    if turn.routing:
        lines.append(f"Routed: {one_line(orjson.dumps(thawed(turn.routing)).decode())}")
    lines.append(f"Assistant: {quoted(turn.assistant_summary) or '(not answered yet)'}")
    waits = ResourceClass.REQUIRED if turn.assistant_summary else ResourceClass.PRESERVED
    return Entry("\n".join(lines), resource_class=waits)


def _pending(pending: PendingState) -> str:
    lines = [f"Waiting for {_WAITS_FOR[pending.type]} ({pending.type}): {quoted(pending.context)}"]
    return "\n".join([*lines, *(f"- {one_line(question)}" for question in pending.questions)])


def format_conversation_for_prompt(history: ConversationHistory, depth: Depth = "full") -> str:
    r"""Print `history` for injection into a prompt (docs/memory.md).

    `depth` 2 prints the last two exchanges only, 5 the last five and the summary of
    earlier ones, ``'full'`` everything, engagement and pending state included. A part that is
    empty is left out.

    Law: no line starts with anything that was said; what was said goes on behind ``>`` and a blank.

    Raises:
        InvalidOptionError: another depth.

    >>> from polycontext.nodes.history import ConversationTurn
    >>> history = ConversationHistory([ConversationTurn("Any soup?", "Three soups."), ConversationTurn("The\n## second")])
    >>> print(format_conversation_for_prompt(history, 2))
    ### Recent turns
    User: Any soup?
    Assistant: Three soups.
    User: The
    > ## second
    Assistant: (not answered yet)
    """
    check_depth(depth)
    if depth != "full":
        history = visible_conversation(history.narrowed(depth), _PARTS[depth])
    return printed(conversation_parts(history), "(nothing was said yet)")
