"""Build layer 2 from the machine's output and what is remembered (docs/memory.md)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from attrs import evolve, frozen

from polycontext.linearity import InvalidOptionError
from polycontext.polynomial import ContextOutput
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.filler import is_opening
from polycontext.window.items import attachment_of

from ..condensation import condense
from .exchanges import ConversationHistory, ConversationTurn

if TYPE_CHECKING:
    from ..memory import ConversationContext

ANSWER_TOKENS = 150
"""How many tokens of an answer stay in an exchange."""

Depth = Literal[2, 5, "full"]
DEPTHS: tuple[Depth, ...] = (2, 5, "full")
RECENT_ONLY = 2
"""The depth at which there is no summary."""

_FIRST = datetime.min.replace(tzinfo=UTC)


def check_depth(depth: object) -> None:
    """Raise `InvalidOptionError` unless `depth` is one of the three; ``True`` and ``2.0`` are not."""
    # By type: a bool or a float that equals 2 would be found among the depths.
    if type(depth) not in (int, str) or depth not in DEPTHS:
        raise InvalidOptionError("depth", depth, ", ".join(map(repr, DEPTHS)))


def get_conversation_history(
    output: ContextOutput, conversation: "ConversationContext", depth: Depth = "full", *, recent: int | None = None
) -> ConversationHistory:
    """Build conversation history from the machine's output and the memory of closed exchanges (docs/memory.md).

    `depth` 2 holds the last two exchanges only, 5 the last five and the summary of earlier ones,
    ``'full'`` all that is remembered; `recent` asks for fewer exchanges. The one under
    way is the last of them. Where there is a summary, it speaks of every exchange that is not among the recent.

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
    history = history.narrowed(min(most for most in (depth, recent, len(history.recent_turns)) if isinstance(most, int)))
    return evolve(history, history_summary="") if depth == RECENT_ONLY else history


def _under_way(output: ContextOutput, conversation: "ConversationContext") -> list[ConversationTurn]:
    """Return the exchange that is not closed yet, if there is one: the user's words as they are, the answer condensed."""
    found = open_exchange(output.window, conversation.closed_id, conversation.closed_at)
    if found is None:
        return []
    answer = condense(found.answer, ANSWER_TOKENS, counter=output.window.counter)
    return [ConversationTurn(found.user, answer, timestamp=found.timestamp)]


@frozen
class Exchange:
    """Hold what user and assistant said since the last exchange was closed; `answer` is empty while there is none.

    What the user attached is mentioned by name. `last_id` is the resource id of the newest user turn: whoever closes the exchange remembers it.
    """

    user: str
    answer: str
    timestamp: str
    last_id: str


def open_exchange(window: ContextWindow, closed_id: str = "", closed_at: str = "") -> Exchange | None:
    """Return the exchange that is not closed yet, None where there is none.

    `closed_id` and `closed_at` are the `last_id` and `timestamp` of the exchange closed last:
    its turn may have left the window, so whatever is older ends the search as well. Gists, system turns, tool
    results and what an assistant said while calling tools are no part of an exchange. Of a long one, gists may stand
    between the question, which never yields, and the answer; gists before the question end the search.
    Reads backwards from the end, no further than the exchange reaches.
    """
    start = datetime.fromisoformat(closed_at) if closed_at else _FIRST
    # Newest first: answers are collected until a question is found, questions until what came before them.
    asked: list[Turn] = []
    answers: list[Turn] = []
    for turn in filter(None, map(window.peek, range(window.last, 0, -1))):
        if turn.resource_id == closed_id or turn.timestamp < start or (turn.is_gist and asked):
            break
        if turn.role is Role.USER and not turn.is_gist:
            asked.append(turn)
        elif _answers(turn):
            if asked:
                break
            answers.append(turn)
    return _exchange(asked[::-1], answers[::-1]) if asked else None


def exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """Yield the exchanges of `turns` in order; the answer of the last may be empty.

    Law: those that `open_exchange` finds where each is closed once it is answered.
    """
    asked: list[Turn] = []
    answers: list[Turn] = []
    for turn in turns:
        if turn.role is Role.USER and not turn.is_gist:
            if answers:
                yield _exchange(asked, answers)
                asked, answers = [], []
            asked.append(turn)
        elif asked and _answers(turn):
            answers.append(turn)
    if asked:
        yield _exchange(asked, answers)


def _answers(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and not turn.tool_calls and bool(turn.text.strip())


def _exchange(asked: Sequence[Turn], answers: Sequence[Turn]) -> Exchange:
    return Exchange(_said(asked), _said(answers), asked[0].timestamp.isoformat(), asked[-1].resource_id)


def _said(turns: Sequence[Turn]) -> str:
    """Return what was said; what was attached by its name, and nothing for the line that opens where the assistant spoke first."""
    named = ((turn, attachment_of(turn)) for turn in turns if not is_opening(turn))
    return "\n".join(attachment.mention if attachment else turn.text.strip() for turn, attachment in named)
