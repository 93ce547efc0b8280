"""Build layer 2 from the machine's output and what is remembered (seed 003 layer 2)."""

from collections.abc import Sequence
from typing import Literal, Protocol

from attrs import evolve

from polycontext.linearity import InvalidOptionError
from polycontext.nodes.fitting import condense
from polycontext.nodes.history.exchanges import ConversationHistory, ConversationTurn, PendingState
from polycontext.nodes.history.under_way import open_exchange
from polycontext.polynomial import ContextOutput

ANSWER_TOKENS = 150
"""How many tokens of an answer stay in an exchange."""

Depth = Literal[2, 5, "full"]
DEPTHS: tuple[Depth, ...] = (2, 5, "full")
RECENT_ONLY = 2
"""The depth at which there is no summary."""


def check_depth(depth: object) -> None:
    """Raise `InvalidOptionError` unless `depth` is one of the three; ``True`` and ``2.0`` are not."""
    # By type: a bool or a float that equals 2 would be found among the depths.
    if type(depth) not in (int, str) or depth not in DEPTHS:
        raise InvalidOptionError("depth", depth, ", ".join(map(repr, DEPTHS)))


class RemembersConversation(Protocol):
    """Stand for whatever remembers the closed exchanges: `ConversationContext`, or a store of your own."""

    @property
    def recent_turns(self) -> Sequence[ConversationTurn]:
        """Return the exchanges closed last, oldest first."""
        ...

    @property
    def history_summary(self) -> str:
        """Return what is left of the exchanges before them."""
        ...

    @property
    def engagement_summary(self) -> str:
        """Return the theme of the whole conversation."""
        ...

    @property
    def pending(self) -> PendingState | None:
        """Return what waits for the user's answer."""
        ...

    @property
    def closed_id(self) -> str:
        """Return the resource id of the last user turn that was closed."""
        ...

    @property
    def closed_at(self) -> str:
        """Return when the exchange closed last began, empty before the first."""
        ...


def get_conversation_history(
    output: ContextOutput, conversation: RemembersConversation, depth: Depth = "full", *, recent: int | None = None
) -> ConversationHistory:
    """Build conversation history from the machine's output and the memory of closed exchanges (seed 003 layer 2).

    `depth` 2 holds the last two exchanges only, 5 the last five and the summary of earlier ones,
    ``'full'`` all that is remembered; `recent` asks for fewer exchanges. The one under
    way is the last of them. Where there is a summary, it speaks of every exchange that is not among the recent.

    Raises:
        InvalidOptionError: another depth.
    """
    check_depth(depth)
    under_way = exchange_under_way(output, conversation)
    full = depth == "full"
    history = ConversationHistory(
        recent_turns=(*conversation.recent_turns, *([] if under_way is None else [under_way])),
        history_summary=conversation.history_summary,
        engagement_summary=conversation.engagement_summary if full else "",
        pending=conversation.pending if full else None,
    )
    history = history.narrowed(min(most for most in (depth, recent, len(history.recent_turns)) if isinstance(most, int)))
    return evolve(history, history_summary="") if depth == RECENT_ONLY else history


def exchange_under_way(output: ContextOutput, conversation: RemembersConversation) -> ConversationTurn | None:
    """Return the exchange that is in the output and not closed yet: the user's words as they are, the answer condensed."""
    found = open_exchange(output.window, conversation.closed_id, conversation.closed_at)
    if found is None:
        return None
    answer = condense(found.answer, ANSWER_TOKENS, counter=output.window.counter)
    return ConversationTurn(found.user, answer, timestamp=found.timestamp)
