"""The commands for a session as a whole: rewind, fork, export, import, delete, forget, retain."""

# Commands load what they need (PLC0415), and an option is a parameter with a default (FBT002, PLR0917).
# ruff: noqa: FBT002, PLC0415, PLR0917
from typing import Annotated

import typer

from ..output import USAGE, CommandError
from ..registering import AsJson, ModelOption, command
from .group import (
    At,
    Key,
    MaxTokens,
    Provider,
    Revision,
    SessionOption,
    StoreOption,
    Timeout,
    session,
    verdict,
)


@command(
    session,
    "polycontext session rewind --store chat.db --session s t5",
    "polycontext session rewind --session s 2026-11-23T10:00Z",
    "polycontext session rewind --session s --regenerate",
    verdict=verdict,
)
def rewind(
    store: StoreOption,
    name: SessionOption,
    to: Annotated[
        str | None,
        typer.Argument(metavar="MOMENT", help="A revision, a time with its zone, or the id of the turn that is to be the last one."),
    ] = None,
    regenerate: Annotated[bool, typer.Option("--regenerate", help="Go back to the last thing that the user said.")] = False,
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    expected_revision: Revision = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Go back to where the session stood; what came since is kept, and going back to before the rewind undoes it."""
    from .opening import Told, Where
    from .whole import rewind_session
    from .written import when_of

    if (to is None) is not regenerate:
        raise CommandError(USAGE, "one of MOMENT and --regenerate is wanted; legal: where to go back to, or --regenerate")
    where = Where(store, timeout, name, Told(model, max_tokens))
    return rewind_session(where, to, when_of(expected_revision, key), as_json=as_json)


@command(session, "polycontext session fork --store chat.db --session s what-if --at t5", verdict=verdict)
def fork(
    store: StoreOption,
    name: SessionOption,
    new_id: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new session.")],
    at: At = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Let another session branch off, in which all stands as it does here, or did; neither sees what becomes of the other."""
    from .opening import Where
    from .whole import fork_session

    return fork_session(Where(store, timeout, name), new_id, at, as_json=as_json)


@command(
    session,
    "polycontext session export --store chat.db --session s > s.jsonl",
    "polycontext session export --session s --log | jq -r .content",
    "polycontext session export --session s --messages openai > finetuning.jsonl",
    verdict=verdict,
)
def export(
    store: StoreOption,
    name: SessionOption,
    log: Annotated[bool, typer.Option("--log", help="Print the turns of the log alone, one a line.")] = False,
    messages: Annotated[
        Provider | None,
        typer.Option("--messages", metavar="PROVIDER", help="Print the log as messages of openai, anthropic or openai-responses."),
    ] = None,
    timeout: Timeout = 5.0,
) -> int:
    """Print a session as lines of JSON: whole, so that `import` goes on with it elsewhere, or what was said alone, for other programs."""
    from .exchanged import export_session
    from .opening import Where

    if log and messages is not None:
        raise CommandError(USAGE, "--log and --messages; legal: one of them, or none for the whole session")
    return export_session(Where(store, timeout, name), "log" if log else messages or "whole")


@command(
    session,
    "polycontext session import --store other.db --from s.jsonl",
    "polycontext session export --session s | polycontext session import --session copy",
    verdict=verdict,
)
def import_(
    store: StoreOption,
    name: Annotated[str | None, typer.Option("--session", metavar="ID", help="Under which id to keep it; its own unless said.")] = None,
    source: Annotated[str, typer.Option("--from", metavar="FILE", help="What `session export` printed; - for standard input.")] = "-",
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Keep a session that `export` printed, as it was, all or nothing; the store is made with it where there is none.

    An id that is there is refused. What `new` was told of the window comes along.
    """
    from .exchanged import import_session
    from .opening import Where

    return import_session(Where(store, timeout), name, source, as_json=as_json)


@command(session, "polycontext session delete --store chat.db --session s", verdict=verdict)
def delete(store: StoreOption, name: SessionOption, timeout: Timeout = 5.0, as_json: AsJson = False) -> int:
    """Forget a session for ever, with all its words; nothing brings it back."""
    from .opening import Where
    from .whole import delete_session

    return delete_session(Where(store, timeout, name), as_json=as_json)


@command(session, "polycontext session forget --store chat.db --session s t3", verdict=verdict)
def forget(
    store: StoreOption,
    name: SessionOption,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of turns, as `session show` prints them.")],
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Erase the words of turns for ever: from the session, from every fork of it, and from every summary that tells of them.

    Their places are left. Nothing brings them back.
    """
    from .opening import Told, Where
    from .whole import forget_turns

    return forget_turns(Where(store, timeout, name, Told(model, max_tokens)), ids, as_json=as_json)


@command(
    session,
    "polycontext session retain --store chat.db --session s --days 30",
    "polycontext session retain --session s --max-bytes 1000000",
    verdict=verdict,
)
def retain(
    store: StoreOption,
    name: SessionOption,
    days: Annotated[float | None, typer.Option(min=0, metavar="DAYS", help="Keep what is younger than this.")] = None,
    max_bytes: Annotated[int | None, typer.Option(min=0, metavar="BYTES", help="Keep the newest words, so many bytes of them.")] = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Let words of older turns expire, for ever, except for those that the model sees, and tell of how many turns; their places are left."""
    from .opening import Where
    from .whole import retain_turns

    if days is None and max_bytes is None:
        raise CommandError(USAGE, "neither --days nor --max-bytes; legal: one of them or both, which say how much is kept")
    return retain_turns(Where(store, timeout, name), days, max_bytes, as_json=as_json)
