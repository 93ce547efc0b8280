"""Read the exchange under way out of the machine's output."""

from collections.abc import Iterator
from datetime import UTC, datetime

from attrs import frozen

from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.items import attachment_of

_FIRST = datetime.min.replace(tzinfo=UTC)


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
    for turn in _backwards(window):
        if turn.resource_id == closed_id or turn.timestamp < start or (turn.is_gist and asked):
            break
        if turn.role is Role.USER and not turn.is_gist:
            asked.append(turn)
        elif _is_answer(turn):
            if asked:
                break
            answers.append(turn)
    if not asked:
        return None
    return Exchange(_said(asked), _said(answers), asked[-1].timestamp.isoformat(), asked[0].resource_id)


def _backwards(window: ContextWindow) -> Iterator[Turn]:
    turns = (window.peek(position) for position in range(window.last, 0, -1))
    return (turn for turn in turns if turn is not None)


def _is_answer(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and not turn.tool_calls and bool(turn.text.strip())


def _said(newest_first: list[Turn]) -> str:
    return "\n".join(map(_words, reversed(newest_first)))


def _words(turn: Turn) -> str:
    attachment = attachment_of(turn)
    return attachment.mention if attachment else turn.text.strip()
