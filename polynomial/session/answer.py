"""An answer that is streamed in: part of the output while it is written, and one turn of the conversation once it ends."""

from typing import Any, Self

from polycontext.linearity import InvalidOptionError
from polycontext.linearity.effects import Steps, call, procedure, twin
from polycontext.polynomial.errors import SessionWriteError


class Answer:
    """Take the pieces of an answer in; `close` adds what was said as one assistant turn.

    It is a context manager, for tasks as well. What was said until an error is kept, and the error is raised.
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
        if not isinstance(piece, str):
            raise InvalidOptionError("piece", piece, "a text")
        if self._session is None:
            raise SessionWriteError("the answer has ended", "opening another one")
        self._pieces.append(piece)

    @procedure
    def close(self) -> Steps[None]:
        """Add what was said as an assistant turn, in one commit; nothing happens for blanks, or the second time."""
        if session := self._ended():
            yield call(session, "add_assistant_turn", self.text)

    aclose = twin(close)

    def _ended(self) -> Any:
        """Return the session if it has to be told what was said."""
        session, self._session = self._session, None
        if session is not None:
            session._answer = None  # noqa: SLF001 - a part of it, loaded when it is wanted
        return session if self.text.strip() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


def opened(session: Any) -> Answer:
    """Return a new answer of a session, which is told what it says; raise `SessionWriteError` where one is open already."""
    if session._answer is not None:  # noqa: SLF001 - a part of it
        raise SessionWriteError("an answer is being written", "wait for it, or close it")
    session._answer = Answer(session)  # noqa: SLF001 - as above
    answer: Answer = session._answer  # noqa: SLF001 - as above
    return answer
