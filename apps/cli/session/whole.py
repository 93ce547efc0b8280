"""The work of the commands for sessions as a whole: list, rewind, fork and delete them, and forget what was said in them or let it expire."""

from collections.abc import Sequence

from rich.text import Text

from polycontext.polynomial import ContextSession

from ..output import one_line, tell, write, write_json
from .opening import COMPANION, Told, Where, check_known, moment_of, opened_session, opened_store
from .told import tell_written
from .written import When


def list_sessions(where: Where, *, as_json: bool) -> int:
    """Print the ids of all sessions, one a line."""
    with opened_store(where) as store:
        ids = list(store.list_sessions())
    if as_json:
        write_json(ids)
    else:
        write("".join(f"{one_line(each)}\n" for each in ids))
    return 0


def delete_session(where: Where, *, as_json: bool) -> int:
    """Forget a session for ever."""
    with opened_store(where) as store:
        check_known(store, where.session)
        store.delete(where.session)
    if as_json:
        write_json({"session": where.session, "deleted": True})
    else:
        tell(Text(f"session {one_line(where.session)} is deleted, with all its words"))
    return 0


def rewind_session(where: Where, to: str | None, when: When, *, as_json: bool) -> int:
    """Go back to a moment, or without one to the last thing that the user said."""
    with opened_session(where) as session:
        before, revision = _ids(session), session.history.revision
        output = session.history.regenerate(**when) if to is None else session.history.rewind(moment_of(to), **when)
        after = _ids(session)
        gone, come = [each for each in before if each not in after], [each for each in after if each not in before]
        tell_written(session, where.session, output, as_json=as_json, taken_back=list(gone), brought_back=list(come))
        if not as_json and session.history.revision > revision:
            write(f"undone by: polycontext session rewind --session {one_line(where.session)} {revision}\n")
    return 0


def fork_session(where: Where, new_id: str, moment: str | None, *, as_json: bool) -> int:
    """Let another session branch off; it keeps what this one was told of its window."""
    with opened_session(where, sized=False) as session:
        other = forked(session, new_id, moment)
        told = {"session": new_id, "forked_from": where.session, "revision": other.history.revision}
    if as_json:
        write_json(told)
    else:
        write(one_line(f"session {new_id}: revision {told['revision']}, forked from {where.session}") + "\n")
    return 0


def forked(session: ContextSession, new_id: str, moment: str | None) -> ContextSession:
    """Return a session that branches off, as it was told to be opened."""
    other = session.history.fork(new_id, None if moment is None else moment_of(moment))
    told_once = Told.of(session.conversation.companions)
    # What accompanied the session at an earlier moment is not known any more.
    if told_once is not None and other.documents.get(COMPANION) is None:
        other.documents.accompany(COMPANION, told_once)
        other.documents.save()
    return other


def forget_turns(where: Where, ids: Sequence[str], *, as_json: bool) -> int:
    """Erase the words of turns from the store, for ever; ids that are not there are refused before anything is erased."""
    with opened_session(where) as session:
        for resource_id in ids:
            session.explain(resource_id)
        gone = [resource_id for resource_id in ids if session.history.forget(resource_id)]
        return tell_written(session, where.session, session.output, as_json=as_json, forgotten=gone)


def retain_turns(where: Where, days: float | None, max_bytes: int | None, *, as_json: bool) -> int:
    """Let the words of turns expire that are too old or too many, and say of how many."""
    with opened_session(where, sized=False) as session:
        expired = session.history.retain(days=days, max_bytes=max_bytes)
        told = {"session": where.session, "revision": session.history.revision, "expired": expired}
    if as_json:
        write_json(told)
    else:
        write(one_line(f"session {where.session}: revision {told['revision']}, expired: {expired:,} turn{'s' * (expired != 1)}") + "\n")
    return 0


def _ids(session: ContextSession) -> dict[str, None]:
    """Return the ids of the turns of the log, in order."""
    return dict.fromkeys(turn.resource_id for turn in session.conversation.log)
