"""The parts of layer 2: who reads which (seed 003 layer 2, "Who Consumes What"), and how each is printed."""

from enum import StrEnum

import orjson
from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.nodes._parts import Entry, Part, filled, part
from polycontext.nodes._quoting import one_line, quoted, quoted_block
from polycontext.nodes._values import thawed
from polycontext.nodes.history.turns import ConversationHistory, ConversationTurn, PendingKind, PendingState

UNANSWERED = "(not answered yet)"

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

    Law: no line starts with anything that was said; what was said goes on behind ``> ``.
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
    lines.append(f"Assistant: {quoted(turn.assistant_summary) or UNANSWERED}")
    waits = ResourceClass.REQUIRED if turn.assistant_summary else ResourceClass.PRESERVED
    return Entry("\n".join(lines), resource_class=waits)


def _pending(pending: PendingState) -> str:
    lines = [f"Waiting for {_WAITS_FOR[pending.type]} ({pending.type}): {quoted(pending.context)}"]
    return "\n".join([*lines, *(f"- {one_line(question)}" for question in pending.questions)])
