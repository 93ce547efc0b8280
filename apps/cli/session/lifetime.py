"""`polycontext session new`, `forget` and `delete`: creation and permanent erasure."""

import sys
from collections.abc import Sequence
from typing import Annotated

import click

from polycontext.polynomial import ContextSession

from ..command import NUMBER, argument, command, option
from ..options import (
    FORMATS,
    Json,
    NamedSession,
    WindowOptions,
    WriteOptions,
    Yes,
)
from ..output import CommandError, tell, write, write_json
from .settings import COMPANION, ROOM, Settings, check_new, find_session
from .standing import print_write


@command(
    "polycontext session new trip --store chat.db --model claude-sonnet-4-5",
    "polycontext session new trip --max-tokens 4000 --reserve 500",
)
def new(
    *,
    where: NamedSession,
    reserve: Annotated[
        int | None,
        option("Tokens to keep free for the reply and for tools.", type=NUMBER, metavar="TOKENS"),
    ],
    form: Annotated[
        str | None, option("The model's message format.", "--format", type=click.Choice(FORMATS))
    ],
    write: WriteOptions,
) -> None:
    """Create a session, and the store if it does not exist.

    The window comes from --max-tokens or --model; the default is 8000 tokens. The session remembers
    it, so you need not repeat it.
    """
    size = write.max_tokens if write.max_tokens or write.model else ROOM
    settings = Settings(write.model, size, reserve, form)
    # Refuse invalid settings before a file is created.
    ContextSession(session_id=where.session, **settings.to_data())
    with where.open_store(create=True) as store:
        key = write.idempotency_key
        if key is None or store.committed(where.session, key) is None:
            check_new(store, where.session)
        session = ContextSession.open(store, where.session, **settings.to_data())
        session.documents.accompany(COMPANION, settings)
        output = session.extend([], **write.guards)
        print_write(session, output, as_json=write.as_json)


@command(
    "polycontext session forget trip t3",
    "polycontext session forget trip --older-than 30 --yes",
    "polycontext session forget trip --max-bytes 1000000 --yes",
)
def forget(
    *,
    where: NamedSession,
    ids: Annotated[Sequence[str], argument(nargs=-1, metavar="[ID...]")],
    days: Annotated[
        float | None,
        option(
            "Erase messages that are older.",
            "--older-than",
            type=click.FloatRange(min=0),
            metavar="DAYS",
        ),
    ],
    max_bytes: Annotated[
        int | None,
        option(
            "Keep this many bytes of the newest messages and erase the rest.",
            type=NUMBER,
            metavar="BYTES",
        ),
    ],
    window: WindowOptions,
    yes: Yes,
    as_json: Json,
) -> None:
    """Permanently erase messages, also from forks and summaries.

    Name messages by id, age or size. --older-than and --max-bytes never erase messages
    that the model still sees. The places of erased messages stay, marked [forgotten].
    """
    by_age = days is not None or max_bytes is not None
    if bool(ids) is by_age:
        raise CommandError(
            "nothing to forget was given. Pass either ids, or --older-than or --max-bytes."
        )
    confirm(f"Permanently erase messages of session {where.session}?", yes=yes)
    if by_age:
        with where.open() as session:
            expired = session.history.retain(days=days, max_bytes=max_bytes)
            revision = session.history.revision
        if as_json:
            write_json({"session": where.session, "revision": revision, "expired": expired})
        else:
            write(f"session {where.session}: revision {revision}, erased: {expired:,} messages\n")
        return
    with where.open(window) as session:
        # Refuse unknown ids before anything is erased.
        for resource_id in ids:
            session.explain(resource_id)
        gone = [resource_id for resource_id in ids if session.history.forget(resource_id)]
        print_write(session, session.output, as_json=as_json, forgotten=gone)


@command("polycontext session delete trip", "polycontext session delete trip --yes")
def delete(
    *,
    where: NamedSession,
    yes: Yes,
    as_json: Json,
) -> None:
    """Permanently delete a session."""
    with where.open_store() as store:
        where.session = find_session(store, where.session)
        confirm(f"Permanently delete session {where.session}?", yes=yes)
        store.delete(where.session)
    if as_json:
        write_json({"session": where.session, "deleted": True})
    else:
        tell(f"deleted session {where.session}")


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation of an operation that cannot be undone.

    Raises:
        CommandError: there is no terminal to ask on.
        click.Abort: the answer is no.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(
            "this cannot be undone, and there is no terminal to confirm on. Add --yes."
        )
    click.confirm(question, abort=True, err=True)
