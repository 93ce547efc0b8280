"""Erase words from a session's store: one turn's for ever, or those of turns that are too old or too many (docs/erasing.md)."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from polycontext.linearity import InvalidOptionError, UnknownResourceError
from polycontext.pressure import ConflictError
from polycontext.window import Turn

from ..journal.conversation import Conversation
from ..journal.erasure import expiring, forgetting
from ..journal.events import TurnEvent, is_erased
from ..stores.session_store import ErasingStore, Rewritten
from .options import is_whole, require
from .writer import TRIES, Writer

if TYPE_CHECKING:
    from .context_session import ContextSession


def forget(session: "ContextSession", resource_id: str, at: datetime) -> bool:
    """Erase the words of one turn from a store; tell whether there was anything left to erase."""
    writer = session._writer  # noqa: SLF001 - a part of it
    if not session.conversation.log.knows(resource_id) and not any(_brought(event, resource_id) for event in session.history.events()):
        # Says which ids are like it.
        session.conversation.log.place(resource_id)
        raise UnknownResourceError(resource_id)

    def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
        holders = store.holders(writer.session_id, (resource_id,))
        found = {name: forgetting(store.load(name).events, set(ids), writer.empty, writer.policy, at) for name, ids in holders.items()}
        return {name: journal for name, journal in found.items() if journal is not None}

    return _erase(writer, rewritten)


def retain(writer: Writer, days: float | None, max_bytes: int | None, at: datetime) -> int:
    """Erase the words of turns that are too old or too many; return of how many."""
    days_fit = days is None or (isinstance(days, int | float) and not isinstance(days, bool) and days >= 0)
    require("days", days, days_fit, "a number, at least 0")
    require("max_bytes", max_bytes, max_bytes is None or (is_whole(max_bytes) and max_bytes >= 0), "a whole number, at least 0")
    if days is None and max_bytes is None:
        raise InvalidOptionError("days", None, "days=, max_bytes= or both: how much is kept")
    count = 0

    def rewritten(store: ErasingStore) -> Mapping[str, Rewritten]:
        nonlocal count
        conversation = writer.caught_up()
        ids = _expired(conversation, days, max_bytes, at)
        count = len(ids)
        events = store.load(writer.session_id).events[: conversation.revision]
        return {writer.session_id: expiring(events, set(ids), conversation, writer.policy, at)} if ids else {}

    _erase(writer, rewritten)
    return count


def _erase(writer: Writer, rewritten: Callable[[ErasingStore], Mapping[str, Rewritten]]) -> bool:
    """Have words erased from the store, as `rewritten` says of it, and become what is left; tell whether anything was.

    Raises:
        InvalidOptionError: the store erases nothing. ConflictError: other writers were first too often.
    """
    store = writer.store
    if not isinstance(store, ErasingStore):
        raise InvalidOptionError("store", type(store).__name__, "a store with `holders` and `rewrite`, such as SQLiteStore")
    with writer.alone():
        for _ in range(TRIES):
            journals = rewritten(store)
            if not journals:
                return False
            with suppress(ConflictError):
                store.rewrite(journals)
                writer.caught_up()
                return True
    raise writer.outrun()


def _expired(conversation: Conversation, days: float | None, max_bytes: int | None, at: datetime) -> Sequence[str]:
    """Return the ids of the turns that have words, stand nowhere in the view, and are too old, or before the newest `max_bytes`."""
    standing = {turn.resource_id for turn in conversation.window.all_turns()}
    oldest = None if days is None else _before(at, days)
    found, room = list[str](), max_bytes
    for turn in reversed(conversation.log):
        if is_erased(turn):
            continue
        room = None if room is None else room - _bytes_of(turn)
        too_old = oldest is not None and turn.timestamp < oldest
        if turn.resource_id not in standing and (too_old or (room is not None and room < 0)):
            found.append(turn.resource_id)
    return found


def _before(at: datetime, days: float) -> datetime:
    """Return the time so many days before; of more days than there are, the first time."""
    try:
        return at - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _bytes_of(turn: Turn) -> int:
    words = (turn.text, *(call.arguments for call in turn.tool_calls), *(part.data for part in turn.parts))
    return sum(len(each.encode()) for each in words)


def _brought(event: object, resource_id: str) -> bool:
    return isinstance(event, TurnEvent) and event.turn.resource_id == resource_id
