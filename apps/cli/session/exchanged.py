"""The work of `session export` and `import`: a session goes out as lines, and comes in elsewhere as it was, or not at all.

Nobody waits for the store while lines are read or written: `export | import` within one store is a copy.
"""

from collections.abc import Iterator
from typing import Any, Literal

import orjson

from polycontext.linearity import InvalidDataError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import Imported, store_whole

from ..output import one_line, write, write_json, write_lines
from ..recordings.documents import opened
from .opening import Where, check_new, opened_session, opened_store
from .reading_in import reading

Form = Literal["whole", "log", "openai", "anthropic", "openai-responses"]
"""What goes out: the whole session, its log, or messages in a provider's format."""


def export_session(where: Where, form: Form) -> int:
    """Print a session as lines of JSON."""
    with opened_session(where, sized=False) as session:
        lines = list(_lines(session, form))
    write_lines(lines)
    return 0


def _lines(session: ContextSession, form: Form) -> Iterator[str]:
    match form:
        case "whole":
            return session.history.export()
        case "log":
            return session.history.export_turns()
        case provider:
            return (orjson.dumps(message).decode() + "\n" for message in session.history.messages(provider))


def import_session(where: Where, new_id: str | None, source: str, *, as_json: bool) -> int:
    """Keep the session that is exported in the file `source`, all or nothing; under its own id, unless there is a new one."""
    name, lines = _read(source)
    try:
        imported = Imported(lines)
        session_id = imported.header.session_id if new_id is None else new_id
        # Replayed before the store is opened: what cannot come in makes no file.
        empty = ContextSession(session_id=session_id)
        journal = imported.replayed(empty.conversation)
    except InvalidDataError as error:
        legal = f"{error.legal}; such lines are printed by polycontext session export"
        raise InvalidDataError(f"{name}, {error.path}", error.what, legal) from None
    with opened_store(where, create=True) as store:
        check_new(store, session_id)
        store_whole(store, imported.header, session_id, journal, empty.policy)
    last = journal[1][-1]
    _tell({"session": session_id, "revision": last.revision, "turns": len(last.log)}, as_json=as_json)
    return 0


def _read(source: str) -> tuple[str, list[bytes]]:
    """Return what a file is called in a complaint, and its lines."""
    with reading(source) as advance, opened(source) as (name, stream):
        lines = list[bytes]()
        for line in stream:
            advance(len(line))
            lines.append(line)
    return name, lines


def _tell(told: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(told)
    else:
        write(one_line(f"session {told['session']}: revision {told['revision']}, imported: {told['turns']:,} turns") + "\n")
