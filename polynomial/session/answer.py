"""An answer that is streamed in: part of the output while it is written, and one turn of the conversation once it ends."""

from typing import Any, Self

from polycontext.linearity.effects import Steps, call, procedure, twin

from ..errors import SessionWriteError
from .options import check_arguments


class Answer:
    """Take the pieces of an answer in; `close` adds what was said as one assistant turn.

    It is a context manager, for tasks as well. What was said until an error is kept, and the error
    is raised.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """Return what has been said so far."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Add a piece.

        Raises:
            InvalidOptionError: `piece` is no text. SessionWriteError: the answer has ended.
        """
        check_arguments(piece=piece)
        if self._session is None:
            raise SessionWriteError("the answer has ended", "Open another one")
        self._pieces.append(piece)

    @procedure
    def close(self) -> Steps[None]:
        """Add what was said as an assistant turn, in one commit.

        Nothing happens for blanks, or the second time.
        """
        if session := self._ended():
            yield call(session, "add_assistant_turn", self.text)

    aclose = twin(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def _ended(self) -> Any:
        """Return the session if it has to be told what was said."""
        session, self._session = self._session, None
        if session is not None:
            session._answer = None
        return session if self.text.strip() else None


def open_answer(session: Any) -> Answer:
    """Return a new answer of a session, which is told what it says.

    Raise `SessionWriteError` where one is open already.
    """
    if session._answer is not None:
        raise SessionWriteError("an answer is being written", "Wait for it, or close it")
    answer = session._answer = Answer(session)
    return answer
