"""`polycontext session show`, `search`, `explain` and `list`: read-only commands."""

from typing import Annotated, Any

import click
from attrs import asdict

from polycontext.nodes.fates import fates
from polycontext.nodes.waffles import waffle
from polycontext.polynomial import ContextSession
from polycontext.polynomial.stores import Found
from polycontext.window import Turn

from ..command import argument, command, option
from ..options import (
    Json,
    Moment,
    NamedSession,
    SessionOptions,
    StoreOptions,
    WindowOptions,
)
from ..output import (
    FAULT,
    one_line,
    paper_width,
    progress,
    tell,
    write,
    write_columns,
    write_json,
    write_rich,
)
from .page import page
from .settings import session_at, session_of
from .standing import standing

_TABLE = 80
"""The width in columns below which sessions are listed without a table."""


@command("polycontext session show trip", "polycontext session show trip --json | jq .pressure")
def show(
    *,
    where: SessionOptions,
    show_all: Annotated[bool, option("Show every message.", "--all")],
    moment: Moment,
    window: WindowOptions,
    as_json: Json,
) -> None:
    """Show what fills the window and which messages are verbatim, summarised or dropped."""
    with where.open(window) as opened:
        session = session_at(opened, moment)
        if as_json:
            told = {**standing(session), **waffle(session).as_json()}
            turns = [each.as_json() for each in fates(session)]
            write_json({**told, "epoch": session.window.epoch.number, "turns": turns}, indent=2)
        else:
            write_rich(page(session, show_all=show_all, width=paper_width()))


@command(
    "polycontext session search trip 'night train'",
    """polycontext session search trip '"night train" Vienna' --json | jq -r '.[0].id'""",
)
def search(
    *,
    where: NamedSession,
    text: Annotated[str, argument()],
    limit: Annotated[
        int,
        option(
            "The maximum number of messages.", type=click.IntRange(1, 1000), default=10, metavar="N"
        ),
    ],
    as_json: Json,
) -> int:
    """Search all messages, even those that the model no longer sees; best match first.

    Finds any of the words, or an exact phrase in double quotes. Exits with 1 if nothing matches.
    """
    with where.open() as session:
        found = session.history.search(text, limit)
    if as_json:
        write_json([_as_json(each) for each in found], indent=2)
    elif found:
        write(
            "".join(
                f"{one_line(f'{each.resource_id} {each.role}: {each.snippet}')}\n" for each in found
            )
        )
    else:
        tell(f"no message of session {where.session} contains {text!r}")
    return 0 if found else FAULT


def _as_json(found: Found) -> dict[str, Any]:
    told = asdict(found)
    return {"id": told.pop("resource_id"), **told}


@command("polycontext session explain trip t3")
def explain(
    *,
    where: NamedSession,
    resource_id: Annotated[str, argument(metavar="ID")],
    as_json: Json,
) -> None:
    """Explain whether a message is verbatim, summarised or dropped, and print its text.

    ID is that of a message or a summary, as `session show` prints it.
    """
    with where.open() as session:
        explained, turn = session.explain(resource_id), _turn_of(session, resource_id)
    if as_json:
        fate = {"resource_class": explained.resource_class.name, "at": explained.at.isoformat()}
        write_json({**asdict(explained), **fate, **(words_of(turn) if turn else {})}, indent=2)
        return
    calls = [f"-> {call.name}({call.arguments})" for call in turn.tool_calls] if turn else []
    lines = [*(turn.text.splitlines() if turn else ()), *calls]
    write("\n".join([one_line(str(explained)), *(f"  {one_line(line)}" for line in lines), ""]))


def _turn_of(session: ContextSession, resource_id: str) -> Turn | None:
    """Return a turn of the log or a gist of the view; None for a gist no longer in the view."""
    log = session.conversation.log
    if log.knows(resource_id):
        return log[log.place(resource_id)]
    turns = session.window.all_turns()
    return next((turn for turn in turns if turn.resource_id == resource_id), None)


def words_of(turn: Turn) -> dict[str, Any]:
    """Return what a turn says, and what it stands for, as JSON data."""
    return {
        "role": turn.role,
        "content": turn.content,
        "tool_calls": [asdict(call) for call in turn.tool_calls],
        "sources": list(turn.sources),
    }


@command(
    "polycontext session list", "polycontext session list --json | jq -r '.[].session'", name="list"
)
def list_(
    *,
    where: StoreOptions,
    as_json: Json,
) -> None:
    """List the sessions of a store with state, size and the time of the last message."""
    rows = list[dict[str, Any]]()
    with where.open_store() as store:
        names = store.list_sessions()
        with progress("reading sessions", len(names)) as update:
            for name in names:
                rows.append(_row(session_of(store, name, None), name))
                update(len(rows), name)
    if as_json:
        write_json(rows, indent=2)
    else:
        columns = ("session", "state", "messages", "tokens", "last message")
        cells = [[str(row[key] or "-") for key in row] for row in rows]
        if paper_width() < _TABLE:
            for name, *about in cells:
                write(f"{one_line(name)}\n  {', '.join(about)}\n")
        else:
            write_columns(columns, cells, whole="session")


def _row(session: ContextSession, name: str) -> dict[str, Any]:
    log = session.conversation.log
    last = log[-1].timestamp.isoformat(timespec="seconds") if len(log) else None
    return {
        "session": name,
        "state": session.state,
        "messages": len(log),
        "tokens": session.window.total_tokens,
        "last_message": last,
    }
