"""`polycontext session compress`, `recall`, `rewind` and `fork`: changes to a session's history."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import click

from polycontext.polynomial import ContextSession

from ..command import COUNT, argument, command, option
from ..errors import command_line
from ..options import (
    Json,
    Moment,
    NamedSession,
    Query,
    SessionOptions,
    WriteOptions,
)
from ..output import CommandError, write_json
from ..output import write as print_text
from .settings import COMPANION, Settings, at_moment
from .standing import print_write


@command("polycontext session compress trip --target 0.4")
def compress(
    *,
    where: SessionOptions,
    target: Annotated[
        float | None,
        option(
            "How full the window may be afterwards, 0 to 1; by default the session's own setting.",
            type=click.FloatRange(0, 1),
            metavar="SHARE",
        ),
    ],
    query: Query,
    write: WriteOptions,
) -> None:
    """Summarise or drop older messages now, without a model; the log keeps them."""
    with where.open(write) as session:
        output = session.compress(target, query=query, **write.guards)
        print_write(session, output, as_json=write.as_json)


@command("polycontext session recall trip t3 t5")
def recall(
    *,
    where: NamedSession,
    ids: Annotated[Sequence[str], argument(nargs=-1, required=True, metavar="ID...")],
    write: WriteOptions,
) -> None:
    """Bring messages back verbatim, if the window has room.

    ID is that of a message or a summary, as `session show` prints it.
    """
    with where.open(write) as session:
        before = {turn.resource_id for turn in session.window.all_turns()}
        output = session.recall(ids, **write.guards)
        after = [turn.resource_id for turn in session.window.all_turns()]
        back = [resource_id for resource_id in after if resource_id not in before]
        print_write(session, output, as_json=write.as_json, brought_back=back)


@command(
    "polycontext session rewind trip --back 1",
    "polycontext session rewind trip t5",
    "polycontext session rewind trip 2026-11-23T10:00Z",
    "polycontext session rewind trip --regenerate",
)
def rewind(
    *,
    where: NamedSession,
    moment: Annotated[str | None, argument(required=False)],
    back: Annotated[int | None, option("Go back N messages.", type=COUNT, metavar="N")],
    regenerate: Annotated[bool, option("Go back to the last user message.")],
    write: WriteOptions,
) -> None:
    """Go back to an earlier state of the session.

    MOMENT is the id of the message to end on, a revision, or a time with a time zone. To undo,
    rewind to the revision before.
    """
    if (moment is not None) + (back is not None) + regenerate != 1:
        raise CommandError("how far to go back is not given. Pass MOMENT, --back or --regenerate.")
    with where.open(write) as session:
        before, revision = _ids(session), session.history.revision
        if regenerate:
            output = session.history.regenerate(**write.guards)
        else:
            to = moment or _id_back(list(before), back or 1)
            output = at_moment(to, lambda to: session.history.rewind(to, **write.guards))
        after = _ids(session)
        print_write(
            session,
            output,
            as_json=write.as_json,
            taken_back=[each for each in before if each not in after],
            brought_back=[each for each in after if each not in before],
        )
        if not write.as_json and session.history.revision > revision:
            undo = command_line("session", "rewind", where.session, revision)
            print_text(f"to undo: {undo}\n")


def _id_back(ids: Sequence[str], back: int) -> str:
    """Return the id of the message to end on when going `back` messages back, 0 for none."""
    return ids[-back - 1] if back < len(ids) else "0"


def _ids(session: ContextSession) -> dict[str, None]:
    """Return the ids of the turns of the log, in order."""
    return dict.fromkeys(turn.resource_id for turn in session.conversation.log)


@command("polycontext session fork trip what-if --at t5")
def fork(
    *,
    where: NamedSession,
    new: Annotated[str, argument()],
    moment: Moment,
    as_json: Json,
) -> None:
    """Copy a session, now or at an earlier moment, under the name NEW."""
    with where.open() as session:
        make = partial(session.history.fork, new)
        other = make() if moment is None else at_moment(moment, make)
        settings = Settings.of(session.conversation.companions)
        # An earlier moment does not include the settings, so copy them.
        if settings is not None and other.documents.get(COMPANION) is None:
            other.documents.accompany(COMPANION, settings)
            other.documents.save()
        revision = other.history.revision
    if as_json:
        write_json({"session": new, "forked_from": where.session, "revision": revision})
    else:
        print_text(f"session {new}: revision {revision}, forked from {where.session}\n")
