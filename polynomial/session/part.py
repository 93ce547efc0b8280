"""The parts of a session: its history, usage, background summaries and documents.

A part refers to its session, but no module of this package imports `ContextSession`, which stands
above them.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar

from polycontext.base import guided, misused
from polycontext.base.effects import Steps
from polycontext.window import ContextWindow, Role, Turn

from ..inputs import ContextOutput
from ..journal.conversation import Conversation
from ..machine.step import ContextPolicy
from ..stores.session_store import SessionStore
from .commands import Command, WriteRequest
from .options import Place, Room
from .writer import Writer


class Session(Protocol):
    """A session as its parts see it; see `ContextSession`."""

    _writer: Writer
    _room: Room
    _reports: Any
    _opened: SessionStore | None
    _place: tuple[Place, float] | None
    _parent: Any
    _answer: Any
    _delivery: Any
    _log_index: Any
    _embeddings: Any
    _handles: Any

    @property
    def conversation(self) -> Conversation:
        """Return the whole session as one immutable value."""
        ...

    @property
    def window(self) -> ContextWindow:
        """Return the window."""
        ...

    @property
    def output(self) -> ContextOutput:
        """Return the output for readers."""
        ...

    @property
    def policy(self) -> ContextPolicy:
        """Return the policy of the machine."""
        ...

    @property
    def usage(self) -> Any:
        """Return the account of requests."""
        ...

    def _now(self) -> datetime: ...

    def close(self) -> None:
        """Close the store if the session opened it."""
        ...

    def _turn(self, role: Role, content: str | None, **fields: Any) -> Turn: ...

    def _request(self, command: Command) -> WriteRequest: ...

    def _write(
        self,
        command: Command | Callable[[], Command],
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Steps[ContextOutput]: ...


S = TypeVar("S", bound=Session)


@guided
class SessionPart:
    """The methods for one subject of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    __call__ = misused
