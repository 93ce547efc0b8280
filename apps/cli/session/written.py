"""The work of the commands that write: make a session, take messages in, close calls, compress, bring back."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import Oversize, utc_now
from polycontext.window import InvalidMessagesError, Turn

from ..output import USAGE, CommandError, progress
from .opening import COMPANION, ROOM, Told, Where, check_new, opened_session, opened_store
from .reading_in import read_messages, read_text, reading
from .told import tell_written

MANY = 1_000
"""Messages from which on one is shown while they are taken in."""

When = Mapping[str, Any]
"""The revision and the key that a write was given."""


@frozen
class Said:
    """Hold who says a plain text, and the text, or the file where it stands.

    Raises:
        CommandError: a result does not say of which call it is, or what is no result does.
    """

    role: str
    text: str | None
    source: str
    tool_call_id: str | None

    def __attrs_post_init__(self) -> None:
        if (self.role == "tool") is (self.tool_call_id is None):
            found = "--role tool without --tool-call-id" if self.tool_call_id is None else f"--tool-call-id with --role {self.role}"
            raise CommandError(USAGE, f"{found}; legal: both --role tool and the id of the call that it answers, or neither")


@frozen
class Taking:
    """Hold how messages are taken in: whose format they are in, what becomes of what cannot fit, and what every write is given."""

    provider: str
    oversize: Oversize
    when: When


def new_session(where: Where, key: str | None, *, as_json: bool) -> int:
    """Make a session that is not there yet; with the key of the command that made it, it may be."""
    told = where.told if where.told.model or where.told.max_tokens else Told(None, ROOM, where.told.reserve, where.told.provider)
    # What cannot be opened is refused before a file is made for it.
    ContextSession(session_id=where.session, **told.options())
    with opened_store(where, create=True) as store:
        if key is None or store.committed(where.session, key) is None:
            check_new(store, where.session)
        session = ContextSession.open(store, where.session, **told.options())
        session.documents.accompany(COMPANION, told)
        return tell_written(session, where.session, session.extend([], idempotency_key=key), as_json=as_json)


def append_text(where: Where, said: Said, taking: Taking, *, as_json: bool) -> int:
    """Take in what somebody says."""
    text = read_text(said.source) if said.text is None else said.text
    turn = Turn(said.role, text, timestamp=utc_now(), tool_call_id=said.tool_call_id)
    with opened_session(where) as session:
        return _taken(session, where, [turn], taking, as_json=as_json)


def append_messages(where: Where, source: str, taking: Taking, *, as_json: bool) -> int:
    """Take in the messages of the file `source`, all or none; nobody waits for the store while they are read."""
    with reading(source) as advance:
        given = read_messages(source, advance)
    with opened_session(where) as session:
        try:
            return _taken(session, where, given.messages, taking, as_json=as_json)
        except InvalidMessagesError as error:
            raise given.refused(error) from None


def _taken(session: ContextSession, where: Where, messages: Sequence[Any], taking: Taking, *, as_json: bool) -> int:
    since = len(session.conversation.log)
    # They are one step, of which nobody knows how far it is.
    with progress(f"taking {len(messages)} messages in", None, shown=len(messages) >= MANY):
        output = session.extend(messages, taking.provider, oversize=taking.oversize, **taking.when)
    added = [turn.resource_id for turn in session.conversation.log[since:]]
    return tell_written(session, where.session, output, as_json=as_json, added=added)


def close_calls(where: Where, reason: str, when: When, *, as_json: bool) -> int:
    """Answer every call that waits by a marked result."""
    with opened_session(where) as session:
        return tell_written(session, where.session, session.close_open_calls(reason, **when), as_json=as_json)


def compress_session(where: Where, target: float | None, query: str | None, when: When, *, as_json: bool) -> int:
    """Shorten what the model sees."""
    with opened_session(where) as session:
        return tell_written(session, where.session, session.compress(target, query=query, **when), as_json=as_json)


def recall_turns(where: Where, ids: Sequence[str], when: When, *, as_json: bool) -> int:
    """Bring turns back word for word."""
    with opened_session(where) as session:
        stood = {turn.resource_id for turn in session.window.all_turns()}
        output = session.recall(ids, **when)
        back = [turn.resource_id for turn in session.window.all_turns() if turn.resource_id not in stood]
        return tell_written(session, where.session, output, as_json=as_json, brought_back=back)


def when_of(expected_revision: int | None, key: str | None) -> When:
    """Return what a write is given besides."""
    return {"expected_revision": expected_revision, "idempotency_key": key}
