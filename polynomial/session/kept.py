"""Open sessions where they are kept, and let go of them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict

from polycontext.polynomial.session.readable import ReadableSession
from polycontext.polynomial.stores.session_store import SessionStore

if TYPE_CHECKING:
    from polycontext.window.model_profiles import ModelProfile

Place = str | Path | SessionStore
"""Where sessions are kept: the path of a SQLite file, the URL of a store, or a store itself."""


class When(TypedDict, total=False):
    """Hold what every write can be given: the revision it was made for, and the key under which it happens once."""

    expected_revision: int | None
    idempotency_key: str | None


class KeptSession(ReadableSession):
    """Open a session of a store, list and delete those that are there; a session is a context manager that closes itself."""

    _opened: SessionStore | None = None

    @classmethod
    def open(
        cls,
        url: Place,
        session_id: str = "session",
        model: "int | str | ModelProfile | None" = None,
        *,
        timeout: float = 5.0,
        **options: Any,
    ) -> Self:
        """Return the session of that id, as its last writer left it, or a new one; options are those of a session.

        `url` is the path of a SQLite file, or ``sqlite:///`` with a path behind it (a fourth slash begins an absolute one), or a store.
        Close the session, or use it in a `with`; sessions of one file share it within a process. See `open_calls` for what a
        writer that is gone has left in the middle.

        Raises:
            StoreBusyError: another process has the file open for longer than `timeout` seconds; names it.
            StoreError: the store cannot be opened, or is damaged; says what to do.
            InvalidOptionError: no store can be at `url`, or an option is out of its range.

        >>> from tempfile import mkdtemp
        >>> from polycontext import ContextSession
        >>> file = Path(mkdtemp()) / "sessions.db"
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     _ = session.add_user_turn("Where is my parcel?")
        >>> with ContextSession.open(file, "customer-17", max_tokens=8000) as session:
        ...     [turn.text for turn in session.log()]
        ['Where is my parcel?']
        >>> ContextSession.list_sessions(file), ContextSession.delete(file, "customer-17"), ContextSession.list_sessions(file)
        (('customer-17',), True, ())
        """
        store = _store_at(url, timeout)
        try:
            session = cls(model, store=store, session_id=session_id, **options)  # type: ignore[call-arg]  # that of a ContextSession
        except BaseException:
            _let_go(url, store)
            raise
        session._opened = None if store is url else store
        return session

    @classmethod
    async def aopen(
        cls,
        url: Place,
        session_id: str = "session",
        model: "int | str | ModelProfile | None" = None,
        *,
        timeout: float = 5.0,  # noqa: ASYNC109 - how long to wait for another process, not for this task
        **options: Any,
    ) -> Self:
        """Open a session without blocking the event loop; see `open`."""
        return await asyncio.to_thread(cls.open, url, session_id, model, timeout=timeout, **options)

    @classmethod
    def list_sessions(cls, url: Place, *, timeout: float = 5.0) -> Sequence[str]:
        """Return the ids of all sessions at `url`, in alphabetical order; raises what `open` raises of stores."""
        store = _store_at(url, timeout)
        try:
            return store.list_sessions()
        finally:
            _let_go(url, store)

    @classmethod
    def delete(cls, url: Place, session_id: str, *, timeout: float = 5.0) -> bool:
        """Forget a session with all its words, for ever; tell whether there was one. Raises what `open` raises of stores."""
        store = _store_at(url, timeout)
        try:
            return store.delete(session_id)
        finally:
            _let_go(url, store)

    def close(self) -> None:
        """Let go of the store if this session has opened it; closing it twice is closing it once. What was read stays readable."""
        if self._opened is not None:
            self._opened.close()

    async def aclose(self) -> None:
        """Let go of the store without blocking the event loop; see `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def _store_at(url: Place, timeout: float) -> SessionStore:
    from polycontext.polynomial.stores.places import store_at  # noqa: PLC0415 - for those who keep sessions somewhere

    return store_at(url, timeout)


def _let_go(url: Place, store: SessionStore) -> None:
    if store is not url:
        store.close()
