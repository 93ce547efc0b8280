"""The parts of a session: its history, usage, background summaries and documents.

A part refers to its session, but no module of this package imports `ContextSession`, which stands
above them.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Never, Protocol, TypeVar

from polycontext.base import lookup_error
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


class SessionPart:
    """The methods for one subject of a session; errors name those in `_places` (`lookup_error`)."""

    _places: ClassVar[Mapping[str, str]] = {}

    def __init__(self, session: Session) -> None:
        self._session = session

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            lookup_error(self._places)(self, name)

        def __getitem__(self, *_: object) -> Never:
            names = [name for name in dir(type(self)) if name[0] != "_"]
            listed = ", ".join(name for name in names if name[1:] not in names)
            name = type(self).__name__
            raise TypeError(f"{name} is neither a list nor a dict. Use its {listed}.")

        __setitem__ = __getitem__
