"""The settings that a session remembers for the command line, and the parsing of moments."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Self, TypeVar

import orjson
from attrs import asdict, evolve, frozen

from polycontext.base import InvalidDataError, UnknownNameError, similar
from polycontext.linearity import UnknownResourceError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import SessionStore
from polycontext.window import find_model

from ..errors import command_line
from ..output import FAULT, CommandError

R = TypeVar("R")

COMPANION = "command-line"
"""The name under which a session keeps its settings."""

ROOM = 8000
"""Default size of a window, in tokens, if neither a number nor a model is given."""

_NO_EVENTS = 2**31 - 1
"""A revision that no session reaches: loading from it returns only companions."""
_FEW = 10


@frozen
class Settings:
    """The settings with which a session is opened; stored with it, so they need not be repeated."""

    model: str | None = None
    max_tokens: int | None = None
    reserve: int | None = None
    provider: str | None = None

    @classmethod
    def of(cls, companions: Mapping[str, str]) -> Self | None:
        """Return the settings a session stores, or None if another program created it.

        Raises:
            InvalidDataError: another program stored something else under that name.
        """
        text = companions.get(COMPANION)
        if text is None:
            return None
        try:
            return cls(**orjson.loads(text))
        except (TypeError, ValueError) as error:
            raise InvalidDataError(
                f"companion {COMPANION!r}", str(error), "what `polycontext session new` wrote"
            ) from None

    def to_data(self) -> dict[str, Any]:
        """Return the settings as JSON data, which are also keyword arguments of a session."""
        return asdict(self)

    def under(self, said: "Settings") -> "Settings":
        """Return these settings overridden by `said`.

        If `said` names another model, the remembered size and reserve no longer apply.
        """
        is_other = said.model is not None and said.model != self.model
        known = Settings(provider=self.provider) if is_other else self
        return evolve(
            known, **{name: value for name, value in asdict(said).items() if value is not None}
        )


def session_of(
    store: SessionStore, name: str, said: Settings | None, **options: Any
) -> ContextSession:
    """Open a session of the store with the settings it remembers, overridden by `said`.

    With `said` None, the window's size need not be known. `options` are the session's own.

    Raises:
        CommandError: the size of the window is not known.
    """
    kept = Settings.of(store.load(name, _NO_EVENTS).companions)
    settings = (kept or Settings()).under(said or Settings())
    if said is not None and kept is None and settings == Settings():
        raise CommandError(
            f"session {name!r} was not made by this program, which cannot know its window. "
            "Pass --max-tokens or --model.",
        )
    session = ContextSession.open(store, name, **settings.to_data(), **options)
    if settings not in (kept, Settings()):
        session.documents.accompany(COMPANION, settings)
    return session


def session_for(
    store: SessionStore, name: str, said: Settings, system: str | None, **options: Any
) -> ContextSession:
    """Return the session of a chat, creating it if it does not exist.

    A new session gets the window of its model if the model is known.
    """
    if name in store.list_sessions():
        return session_of(store, name, Settings(max_tokens=said.max_tokens), **options)
    known = None
    if said.model is not None and said.max_tokens is None:
        with suppress(UnknownNameError):
            known = find_model(said.model).name
    settings = Settings(known, None if known else said.max_tokens or ROOM)
    session = session_of(store, name, settings, **options)
    if system:
        session.add_system(system)
    return session


def moment_of(text: str) -> int | datetime | str:
    """Parse a moment: a revision, a time, or the id of a turn.

    >>> moment_of("7"), moment_of("t7"), moment_of("2026-11-23T10:00Z").year
    (7, 't7', 2026)

    Raises:
        CommandError: it is a time without a time zone.
    """
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.utcoffset() is None:
        local = moment.isoformat(timespec="minutes")
        raise CommandError(f"{text} has no time zone. Write {local}Z for UTC, or {local}+01:00.")
    return moment


def at_moment(text: str, use: Callable[[int | datetime | str], R]) -> R:
    """Call `use` with a moment, and return its result.

    Raises:
        CommandError: it is no moment.
    """
    try:
        return use(moment_of(text))
    except UnknownResourceError as error:
        if error.near:
            raise
        raise CommandError(
            f"{text!r} is not a moment of the session. Use a revision such as 7, a time such as "
            "2026-11-23T10:00Z, or the id of a message that polycontext session show lists.",
            FAULT,
        ) from None


def session_at(session: ContextSession, moment: str | None) -> ContextSession:
    """Return the session now, or as it was at `moment`."""
    return session if moment is None else at_moment(moment, session.history.at)


def find_session(store: SessionStore, session_id: str) -> str:
    """Return the session with this name, or the only one whose name begins so.

    Raises:
        CommandError: there is none, or several; the error suggests names.
    """
    if not session_id:
        raise CommandError("no session was given. Pass SESSION or set POLYCONTEXT_SESSION.")
    ids = store.list_sessions()
    if session_id in ids:
        return session_id
    begun = [each for each in ids if each.startswith(session_id)]
    if len(begun) > 1:
        shown = ", ".join(begun[:_FEW])
        raise CommandError(f"{session_id!r} is the beginning of several sessions: {shown}.", FAULT)
    if not begun:
        known = tuple(ids) if len(ids) <= _FEW else ()
        near = similar(session_id, ids)
        error = UnknownNameError("session", session_id, known, near)
        create = command_line("session", "new", session_id)
        raise CommandError(f"{error} To create it: {create}", FAULT)
    return begun[0]


def check_new(store: SessionStore, session_id: str) -> None:
    """Refuse an id that the store already has."""
    if session_id in store.list_sessions():
        raise CommandError(
            f"session {session_id!r} already exists. Choose another name.",
            FAULT,
        )
