"""Layer 2: the conversation of user and assistant, as each reader sees it (docs/nodes.md).

Its text is data: printed, it cannot pose as a part of the prompt.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import orjson
from attrs import Attribute, evolve, field, frozen

from polycontext.base import InvalidDataError, require
from polycontext.base.json_data import FrozenDict, check_text, thaw
from polycontext.linearity import ResourceClass
from polycontext.window import Role, Turn
from polycontext.window.filler import is_opening
from polycontext.window.items import attachment_of

from .checks import are_texts, is_text, object_or_none, parse_member, texts
from .prompt_text import (
    Entry,
    Part,
    drop_empty,
    indent_lines,
    one_line,
    part,
    quote,
    quote_block,
    render_parts,
)


class PendingKind(StrEnum):
    """The kind of answer that the assistant waits for."""

    PROPOSE = "propose"
    """The user's decision on a proposal."""
    CLARIFY = "clarify"
    """An answer that planning requires."""
    ASK_USER = "ask_user"
    """An answer that the next step requires."""


def routing_or_none(value: Mapping[str, Any] | None) -> FrozenDict[Any] | None:
    """Convert a router's decision, unless it is None."""
    return object_or_none(value, "routing")


def _pending_kind(value: PendingKind | str) -> PendingKind:
    return parse_member(PendingKind, "type", value)


def _is_moment(_turn: object, attribute: "Attribute[str]", value: object) -> None:
    try:
        known = (
            not check_text(value, attribute.name)
            or datetime.fromisoformat(str(value)).tzinfo is not None
        )
    except ValueError:
        known = False
    if not known:
        raise InvalidDataError(
            attribute.name, f"{value!r:.60} is not a time", "empty, or ISO 8601 with a time zone"
        )


@frozen
class ConversationTurn:
    """One exchange: the user's words, and the assistant's condensed answer (docs/nodes.md).

    `assistant_summary` is empty while there is no answer. `routing` is a router's decision, as JSON
    data. `timestamp` is when the user spoke, in ISO 8601 with a time zone, or empty.

    Raises:
        InvalidDataError: text that cannot be stored, routing that is not JSON, a bad timestamp.

    >>> ConversationTurn("Any soup?", "Three soups.").routing is None
    True
    """

    user: str = field(validator=is_text)
    assistant_summary: str = field(default="", validator=is_text)
    routing: Mapping[str, Any] | None = field(default=None, converter=routing_or_none, hash=False)
    timestamp: str = field(default="", validator=_is_moment)

    @property
    def lines(self) -> str:
        """Return the exchange as a summary prints it, further lines of a text after a space."""
        said = ((Role.USER, self.user), (Role.ASSISTANT, self.assistant_summary))
        return "\n".join(f"{role}: {indent_lines(text)}" for role, text in said if text.strip())


@frozen
class PendingState:
    """A proposal or question, in `context`, that waits for the user's answer (docs/nodes.md).

    Raises:
        InvalidDataError: an unknown kind, text that cannot be stored.

    >>> PendingState("clarify", "Two recipes fit.", ["The soup?", "The curry?"]).questions
    ('The soup?', 'The curry?')
    """

    type: PendingKind = field(converter=_pending_kind)
    context: str = field(validator=is_text)
    questions: tuple[str, ...] = field(default=(), converter=texts, validator=are_texts)


@frozen
class ConversationHistory:
    """Layer 2 as a node reads it: exchanges, summaries and the pending state (docs/nodes.md).

    `recent_turns` are oldest first, with an exchange under way; `engagement_summary` is the theme.
    """

    recent_turns: tuple[ConversationTurn, ...] = field(
        default=(), converter=tuple[ConversationTurn, ...]
    )
    history_summary: str = ""
    engagement_summary: str = ""
    pending: PendingState | None = None

    def limit_recent(self, recent: int) -> "ConversationHistory":
        """Return the history with at most `recent` recent exchanges; the others join the summary.

        Laws: nothing that was said is lost between the two; ``h.limit_recent(m).limit_recent(n) ==
        h.limit_recent(min(m, n))``.
        """
        # A negative index would count from the end.
        split = max(len(self.recent_turns) - recent, 0)
        summary = "\n".join(
            filter(
                None, (self.history_summary, *(turn.lines for turn in self.recent_turns[:split]))
            )
        )
        return evolve(self, recent_turns=self.recent_turns[split:], history_summary=summary)


ANSWER_TOKENS = 150
"""Maximum number of tokens of an answer in an exchange."""

Depth = Literal[2, 5, "full"]
DEPTHS: tuple[Depth, ...] = (2, 5, "full")
RECENT_ONLY, WITH_SUMMARY = 2, 5
"""The depths that show only the last exchanges: without and with a summary of the earlier ones."""


def check_depth(depth: object) -> None:
    """Raise `InvalidOptionError` unless `depth` is one of the three (``2.0`` is not)."""
    # Check the type, because a bool or a float may equal one of the depths.
    require(
        "depth", depth, type(depth) in (int, str) and depth in DEPTHS, ", ".join(map(repr, DEPTHS))
    )


def exchange_of(asked: Sequence[Turn], answer: str = "") -> ConversationTurn:
    """Return the exchange in which the user said `asked` and was answered."""
    timestamp = asked[0].timestamp.isoformat()
    return ConversationTurn(spoken_text(asked), answer.strip(), timestamp=timestamp)


def spoken_text(turns: Iterable[Turn]) -> str:
    """Return the text of turns, with attachments by name and without the opening line."""
    named = ((turn, attachment_of(turn)) for turn in turns if not is_opening(turn))
    return "\n".join(
        attachment.mention if attachment else turn.text.strip() for turn, attachment in named
    )


_WAITS_FOR = {
    PendingKind.PROPOSE: "the user's word on a proposal",
    PendingKind.CLARIFY: "an answer before planning",
    PendingKind.ASK_USER: "an answer before the next step",
}


class ConversationPart(StrEnum):
    """A part of layer 2."""

    RECENT = "recent"
    """The last two exchanges, or the last five together with `SUMMARY`."""
    SUMMARY = "summary"
    ENGAGEMENT = "engagement"
    PENDING = "pending"
    ROUTING = "routing"
    """A router's decision for each exchange."""


_PARTS = {
    RECENT_ONLY: frozenset({ConversationPart.RECENT}),
    WITH_SUMMARY: frozenset({ConversationPart.RECENT, ConversationPart.SUMMARY}),
}
"""The parts that each depth shows, except for the full one."""


def visible_conversation(
    history: ConversationHistory, parts: frozenset[ConversationPart]
) -> ConversationHistory:
    """Return `history` with the named parts only, so that printing has nothing to hide."""
    history = history.limit_recent(
        WITH_SUMMARY if ConversationPart.SUMMARY in parts else RECENT_ONLY
    )
    recent = history.recent_turns if ConversationPart.RECENT in parts else ()
    return ConversationHistory(
        recent_turns=recent
        if ConversationPart.ROUTING in parts
        else [evolve(turn, routing=None) for turn in recent],
        history_summary=history.history_summary if ConversationPart.SUMMARY in parts else "",
        engagement_summary=history.engagement_summary
        if ConversationPart.ENGAGEMENT in parts
        else "",
        pending=history.pending if ConversationPart.PENDING in parts else None,
    )


def conversation_parts(history: ConversationHistory) -> tuple[Part, ...]:
    """Return everything in `history` as parts of a prompt.

    The current message and pending state are preserved. The oldest summary lines are dropped first.

    Law: no line starts with text that was said; further lines of it start with ``>`` and a space.
    """
    return drop_empty(
        (
            part("Engagement", [quote_block(history.engagement_summary)]),
            part(
                "Earlier",
                map(quote_block, history.history_summary.splitlines()),
                ResourceClass.DROPPABLE,
            ),
            Part("Recent turns", map(_turn_entry, history.recent_turns)),
            part(
                "Pending",
                [_format_pending(history.pending)] if history.pending else (),
                ResourceClass.PRESERVED,
            ),
        )
    )


def _turn_entry(turn: ConversationTurn) -> Entry:
    lines = [f"User: {quote(turn.user)}"]
    if turn.routing:
        lines.append(f"Routed: {one_line(orjson.dumps(thaw(turn.routing)).decode())}")
    lines.append(f"Assistant: {quote(turn.assistant_summary) or '(not answered yet)'}")
    waits = ResourceClass.REQUIRED if turn.assistant_summary else ResourceClass.PRESERVED
    return Entry("\n".join(lines), resource_class=waits)


def _format_pending(pending: PendingState) -> str:
    lines = [f"Waiting for {_WAITS_FOR[pending.type]} ({pending.type}): {quote(pending.context)}"]
    return "\n".join([*lines, *(f"- {one_line(question)}" for question in pending.questions)])


def format_conversation_for_prompt(history: ConversationHistory, depth: Depth = "full") -> str:
    r"""Return `history` as text for a prompt (docs/nodes.md).

    `depth` 2 prints the last two exchanges only, 5 the last five and the summary of earlier ones,
    ``'full'`` everything, including engagement and pending state. Empty parts are left out.

    Law: no line starts with text that was said; further lines of it start with ``>`` and a space.

    Raises:
        InvalidOptionError: another depth.

    >>> from polycontext.nodes.history import ConversationTurn
    >>> turns = [ConversationTurn("Any soup?", "Three soups."), ConversationTurn("The\n## second")]
    >>> history = ConversationHistory(turns)
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
        history = visible_conversation(history, _PARTS[depth])
    return render_parts(conversation_parts(history), "(nothing was said yet)")
