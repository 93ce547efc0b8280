"""The records of layer 2: exchanges, and what the assistant waits for (docs/memory.md)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import Attribute, evolve, field, frozen

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import FrozenDict, check_text
from polycontext.window import Role

from ..checks import are_texts, chosen, is_text, object_or_none, texts
from ..prompt_text import continued


class PendingKind(StrEnum):
    """Say what the assistant waits for."""

    PROPOSE = "propose"
    """The user's word on a proposal."""
    CLARIFY = "clarify"
    """An answer without which there is no plan."""
    ASK_USER = "ask_user"
    """An answer without which a step cannot go on."""


def routing_or_none(value: Mapping[str, Any] | None) -> FrozenDict[Any] | None:
    """Convert what a router decided, where it did."""
    return object_or_none(value, "routing")


def _pending_kind(value: PendingKind | str) -> PendingKind:
    return chosen(PendingKind, "type", value)


def _is_moment(_turn: object, attribute: "Attribute[str]", value: object) -> None:
    try:
        known = not check_text(value, attribute.name) or datetime.fromisoformat(str(value)).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise InvalidDataError(attribute.name, f"{value!r:.60} is no moment", "empty, or ISO 8601 with a time zone")


@frozen
class ConversationTurn:
    """Hold one exchange: what the user said and what the assistant answered, condensed (docs/memory.md).

    `assistant_summary` is empty while there is no answer. `routing` is what a router
    decided, JSON data. `timestamp` is when the user spoke, in ISO 8601 with a time zone, or empty.

    Raises:
        InvalidDataError: text that cannot be stored, routing that is no JSON data, a timestamp that is no moment.

    >>> ConversationTurn("Any soup?", "Three soups.").routing is None
    True
    """

    user: str = field(validator=is_text)
    assistant_summary: str = field(default="", validator=is_text)
    routing: Mapping[str, Any] | None = field(default=None, converter=routing_or_none, hash=False)
    timestamp: str = field(default="", validator=_is_moment)

    @property
    def lines(self) -> str:
        """Return the exchange as a summary prints it; what was said goes on in lines that start with a space."""
        said = ((Role.USER, self.user), (Role.ASSISTANT, self.assistant_summary))
        return "\n".join(f"{role}: {continued(text)}" for role, text in said if text.strip())


@frozen
class PendingState:
    """Hold what waits for the user's answer: the kind, what was proposed or asked, and the questions (docs/memory.md).

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
    """Hold layer 2 as a node reads it (docs/memory.md): recent exchanges, what came earlier, the theme, what is pending.

    `recent_turns` stand oldest first; one under way is the last of them.
    """

    recent_turns: tuple[ConversationTurn, ...] = field(default=(), converter=tuple[ConversationTurn, ...])
    history_summary: str = ""
    engagement_summary: str = ""
    pending: PendingState | None = None

    def narrowed(self, recent: int) -> "ConversationHistory":
        """Return the same history with at most so many recent exchanges; those before them join the summary.

        Laws: nothing that was said is lost between the two; ``h.narrowed(m).narrowed(n) == h.narrowed(min(m, n))``.
        """
        # A negative index would count from the end.
        split = max(len(self.recent_turns) - recent, 0)
        summary = "\n".join(filter(None, (self.history_summary, *(turn.lines for turn in self.recent_turns[:split]))))
        return evolve(self, recent_turns=self.recent_turns[split:], history_summary=summary)
