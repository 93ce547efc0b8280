"""Open stores and their sessions for one command, each session with what it was told when it was made."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Self

import orjson
from attrs import asdict, evolve, frozen

from polycontext.linearity import InvalidDataError, PolycontextError, UnknownNameError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore, store_at

from ..output import FAULT, USAGE, CommandError

COMPANION = "command-line"
"""The name under which a session keeps what it was told."""

ROOM = 8000
"""Tokens of a window where neither a number nor a model is said."""

_NO_EVENTS = 2**31 - 1
"""A revision that no session reaches: who asks for what is behind it gets companions alone."""
_FEW = 10


@frozen
class Told:
    """Hold how a session is opened, as its commands were told: kept with it, so that it need not be said again."""

    model: str | None = None
    max_tokens: int | None = None
    reserve: int | None = None
    provider: str | None = None

    @classmethod
    def of(cls, companions: Mapping[str, str]) -> Self | None:
        """Return what a session keeps; None for one that no command has made.

        Raises:
            InvalidDataError: another program keeps something else there.
        """
        text = companions.get(COMPANION)
        if text is None:
            return None
        try:
            return cls(**orjson.loads(text))
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"companion {COMPANION!r}", str(error), "what `polycontext session new` has written") from None

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)

    def options(self) -> dict[str, Any]:
        """Return the options of a session."""
        return self.to_data()


@frozen
class Where:
    """Hold which store is meant, and which session of it; `told` is what this command says of its window."""

    store: str
    timeout: float
    session: str = ""
    told: Told = Told()


def refused(error: PolycontextError) -> CommandError:
    """Return what ends a command to which the store or the session says no."""
    return CommandError(FAULT, f"{type(error).__name__}: {error}")


@contextmanager
def opened_store(where: Where, *, create: bool = False) -> Generator[SessionStore]:
    """Hand out the store, and close it; without `create`, no file is made."""
    store = store_at(where.store, where.timeout, create=create)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_session(where: Where, *, sized: bool = True) -> Generator[ContextSession]:
    """Hand out the session as it was told to be opened, and let go of its store at the end.

    What `where` says goes before what was said earlier, and is kept with the next commit. Where a command need not know how
    large the window is (`sized`), nobody has to have said so.

    Raises:
        CommandError: there is no such session, or nothing says how large its window is.
    """
    with opened_store(where) as store:
        check_known(store, where.session)
        yield session_of(store, where.session, where.told, sized=sized)


def session_of(store: SessionStore, name: str, said: Told, *, sized: bool = True) -> ContextSession:
    """Return a session of the store as it was told to be opened; what is `said` goes before what was said earlier, as in `opened_session`."""
    kept = Told.of(store.load(name, _NO_EVENTS).companions)
    told = _joined(kept, said)
    if sized and kept is None and told == Told():
        problem = f"nothing says how large the window of session {name!r} is: no command has made it"
        raise CommandError(USAGE, f"{problem}; legal: --max-tokens, or --model")
    session = ContextSession.open(store, name, **told.options())
    if told not in (kept, Told()):
        session.documents.accompany(COMPANION, told)
    return session


def moment_of(text: str) -> int | datetime | str:
    """Return the moment that a text names: a revision, a time, or the id of a turn.

    >>> moment_of("7"), moment_of("t7"), moment_of("2026-11-23T10:00Z").year
    (7, 't7', 2026)
    """
    if text.isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def seen_at(session: ContextSession, moment: str | None) -> ContextSession:
    """Return the session as it stands, or as it stood at a moment."""
    return session if moment is None else session.history.at(moment_of(moment))


def _joined(kept: Told | None, said: Told) -> Told:
    """Return what holds: what is said now, and what was said before of the rest; a number said before does not outlive another model."""
    known = kept or Told()
    if said.model is not None and said.model != known.model:
        known = Told(provider=known.provider)
    return evolve(known, **{name: value for name, value in said.to_data().items() if value is not None})


def check_known(store: SessionStore, session_id: str) -> None:
    """Refuse a session that the store does not have; names those like it."""
    ids = store.list_sessions()
    if session_id not in ids:
        known = tuple(ids) if len(ids) <= _FEW else ()
        raise refused(UnknownNameError("session", session_id, known, tuple(get_close_matches(session_id, ids))))


def check_new(store: SessionStore, session_id: str) -> None:
    """Refuse an id that a session of the store has."""
    if session_id in store.list_sessions():
        raise CommandError(FAULT, f"session {session_id!r} is there already; legal: an id that no session of the store has")
