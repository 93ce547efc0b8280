"""How the last answer of a session ended: one record and one sentence for every reader.

See docs/server.md, "Endings".
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from polycontext.polynomial import ContextSession
from polycontext.window import Role, Turn
from polycontext.window.items import attachment_of
from polycontext.window.rules import is_rule

ENDING = "ending"
"""The document in which a session keeps how its last unfinished answer ended."""


class EndingKind(StrEnum):
    """How an answer ended."""

    DONE = "done"
    STOPPED = "stopped"
    CUT_OFF = "cut_off"
    REFUSED = "refused"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DIED = "died"


_TEXTS = {
    EndingKind.DONE: "",
    EndingKind.STOPPED: "You stopped this answer. Its text so far is kept.",
    EndingKind.CUT_OFF: "The answer is cut off: {}.",
    EndingKind.REFUSED: "The model refused to answer.",
    EndingKind.EMPTY: "The model sent an empty answer. Ask again.",
    EndingKind.TOO_LONG: "No answer: the conversation is too long for the model. Compress it.",
    EndingKind.FAILED: "No answer: {}. Your message is kept.",
    EndingKind.TIMED_OUT: "No answer: the model was silent for too long. Your message is kept.",
    EndingKind.DIED: "No answer: the server stopped while writing it. Your message is kept.",
}


@frozen
class Ending:
    """How an answer ended: the cause, and when it is worth to ask again, if the service says so."""

    kind: EndingKind = EndingKind.DONE
    cause: str = ""
    retry_at: datetime | None = None

    @property
    def text(self) -> str:
        """Return what to tell the user."""
        return _TEXTS[self.kind].format(self.cause)

    def to_data(self, message_id: str) -> dict[str, Any]:
        """Return the ending of a message as props have it."""
        at = None if self.retry_at is None else self.retry_at.isoformat()
        return {"kind": str(self.kind), "messageId": message_id, "text": self.text, "retryAt": at}


def last_said(session: ContextSession) -> Turn | None:
    """Return the last turn that is an answer, a step towards one, or a question."""
    said = (
        turn
        for turn in reversed(session.conversation.log)
        if turn.role is not Role.SYSTEM and not attachment_of(turn) and not is_rule(turn)
    )
    return next(said, None)


def keep_ending(session: ContextSession, ending: Ending) -> None:
    """Store how an answer ended with its last message; one that is done needs no record."""
    turn = last_said(session)
    if turn is None or ending.kind is EndingKind.DONE:
        return
    mark = {"op": "add", "path": "", "value": ending.to_data(turn.resource_id)}
    session.documents.patch(ENDING, lambda _: [mark])


def kept_ending(session: ContextSession) -> dict[str, Any] | None:
    """Return how the last answer ended; None if it has no record and no text."""
    turn = last_said(session)
    if turn is None:
        return None
    known = session.documents.get(ENDING)
    if isinstance(known, dict) and known.get("messageId") == turn.resource_id:
        return dict(known)
    is_answer = turn.role is Role.ASSISTANT and not turn.tool_calls
    return Ending().to_data(turn.resource_id) if is_answer else None
