"""`polycontext session export` and `import`: a session as lines of JSON.

An import either restores the whole session or changes nothing. The store is not locked while lines
are read or written, so `export | import` within one store makes a copy.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import Annotated

import click
import orjson

from polycontext.base import InvalidDataError
from polycontext.polynomial import ContextSession
from polycontext.polynomial.session import Imported, store_whole
from polycontext.transcripts import opened

from ..command import command, option
from ..options import FORMATS, File, Json, Output, SessionOptions, StoreOptions
from ..output import save, write, write_json, write_lines
from .settings import check_new


@command(
    "polycontext session export trip -o trip.jsonl",
    "polycontext session export trip --format log | jq -r .content",
    "polycontext session export trip --format openai > finetuning.jsonl",
)
def export(
    *,
    where: SessionOptions,
    form: Annotated[
        str,
        option(
            "The whole session, its log, or its messages in a provider's format.",
            "--format",
            type=click.Choice(["session", "log", *FORMATS]),
            default="session",
        ),
    ],
    output: Output,
) -> None:
    """Print a session as lines of JSON for `session import`, or its messages."""
    with where.open() as session:
        lines = list(_lines(session, form))
    if output is None:
        write_lines(lines)
    else:
        save(output, lambda path: path.write_text("".join(lines), encoding="utf-8"))


def _lines(session: ContextSession, form: str) -> Iterable[str]:
    match form:
        case "session":
            return session.history.export()
        case "log":
            return session.history.export_turns()
        case provider:
            found = session.history.messages(provider)
            return (orjson.dumps(message).decode() + "\n" for message in found)


@command(
    "polycontext session import trip.jsonl --store other.db",
    "polycontext session export trip | polycontext session import - --as copy",
    name="import",
)
def import_(
    *,
    where: StoreOptions,
    file: File,
    name: Annotated[
        str | None,
        option(
            "The name of the imported session; by default the exported name.",
            "--as",
            metavar="SESSION",
        ),
    ],
    as_json: Json,
) -> None:
    """Import a session from a file that `session export` wrote; - reads standard input.

    Creates the store if it does not exist. Refuses a name that is taken; --as gives another.
    """
    with opened(file) as (source, stream):
        lines = [line.removeprefix(BOM_UTF8) for line in stream]
    try:
        imported = Imported(lines)
        session_id = imported.header.session_id if name is None else name
        # Replay before the store is opened: an invalid import creates no file.
        empty = ContextSession(session_id=session_id)
        journal = imported.replayed(empty.conversation)
    except InvalidDataError as error:
        legal = f"{error.legal}, as `polycontext session export` prints it"
        raise InvalidDataError(f"{source}, {error.path}", error.what, legal) from None
    with where.open_store(create=True) as store:
        check_new(store, session_id)
        store_whole(store, imported.header, session_id, journal, empty.policy)
    last = journal[1][-1]
    revision, turns = last.revision, len(last.log)
    if as_json:
        write_json({"session": session_id, "revision": revision, "turns": turns})
    else:
        write(f"session {session_id}: revision {revision}, imported: {turns:,} turns\n")
