"""Streamed answers: readable in the output while open, one assistant turn when closed."""

from typing import Any, Self

from polycontext.base import require
from polycontext.base.effects import Steps, call, procedure, twin
from polycontext.window import Role, Turn
from polycontext.window.rules import is_rule

from ..errors import SessionWriteError
from .commands import Add, Command, Together
from .writer import Session


class Answer:
    """A streamed answer: `add` appends pieces, and `close` adds them as one assistant turn.

    Use it as a context manager, sync or async. After an exception, the text so far is kept and the
    exception propagates.
    """

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session
        self._pieces: list[str] = []
        self.metadata: dict[str, Any] = {}
        """The metadata that its turn will have."""

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Append a piece of text.

        Raises:
            InvalidOptionError: `piece` is not a string.
            SessionWriteError: the answer is closed.
        """
        require("piece", piece, isinstance(piece, str), "a text")
        if self._session is None:
            raise SessionWriteError("the answer has ended", "Open another one")
        self._pieces.append(piece)

    @procedure
    def close(self) -> Steps[None]:
        """Add the text as one assistant turn, in one commit.

        Closing a blank answer adds nothing, and neither does closing twice.
        """
        if session := self._ended():
            now, told = session._now(), self.metadata
            turn = Turn(Role.ASSISTANT, self.text, timestamp=now, metadata=told)
            yield call(session, "add", turn)

    aclose = twin(close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def check(self, command: Command) -> None:
        """Check a command that is given while the answer is open.

        Raises:
            SessionWriteError: it adds a turn of the user, which the answer would seem to follow.
        """
        if _adds_user_turn(command):
            raise _open_error()

    def _ended(self) -> Session | None:
        """Mark the answer as closed and return the session if a turn must be added."""
        session, self._session = self._session, None
        if session is not None:
            session._answer = None
        return session if self.text.strip() else None


def open_answer(session: Session) -> Answer:
    """Open and return a new answer of a session.

    Raises:
        SessionWriteError: an answer is already open.
    """
    if session._answer is not None:
        raise _open_error()
    session._answer = answer = Answer(session)
    return answer


def _adds_user_turn(command: Command) -> bool:
    match command:
        case Together(commands):
            return any(map(_adds_user_turn, commands))
        case Add(turn):
            return turn.role is Role.USER and not is_rule(turn)
        case _:
            return False


def _open_error() -> SessionWriteError:
    return SessionWriteError("an answer is being written", "Wait for it, or close it")
