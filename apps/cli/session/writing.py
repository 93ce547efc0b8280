"""The commands that write to a session: new, append, close-open-calls, compress, recall."""

# Commands load what they need (PLC0415), and an option is a parameter with a default (FBT002, PLR0917).
# ruff: noqa: FBT002, PLC0415, PLR0917
from typing import Annotated, Literal

import typer

from ..output import USAGE, CommandError
from ..registering import AsJson, ModelOption, command
from .group import (
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
    "polycontext session new --store chat.db --session s --model claude-sonnet-4-5",
    "polycontext session new --store chat.db --session s --max-tokens 4000 --reserve 500",
    verdict=verdict,
)
def new(
    store: StoreOption,
    name: SessionOption,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="How many tokens a request may have; 8000 unless this or --model is given.")
    ] = None,
    model: ModelOption = None,
    reserve: Annotated[
        int | None, typer.Option(min=0, metavar="TOKENS", help="How many of them are kept free for the reply and for tools.")
    ] = None,
    provider: Annotated[Provider | None, typer.Option(help="For whom messages are printed where nothing is said.")] = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Make a session; the store is made with it where there is none.

    What is said of its window is kept with it, so that the other commands need not be told.
    """
    from .opening import Told, Where
    from .written import new_session

    return new_session(Where(store, timeout, name, Told(model, max_tokens, reserve, provider)), key, as_json=as_json)


@command(
    session,
    'polycontext session append --store chat.db --session s --role user "Hello"',
    "polycontext session append --store chat.db --session s --from messages.json",
    "curl ... | polycontext session append --store chat.db --session s --provider anthropic",
    verdict=verdict,
)
def append(
    store: StoreOption,
    name: SessionOption,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What is said, with --role; otherwise it is read.")] = None,
    role: Annotated[Literal["system", "user", "assistant", "tool"] | None, typer.Option(help="Who says a plain text.")] = None,
    tool_call_id: Annotated[str | None, typer.Option(metavar="ID", help="Which call a text of the role tool answers.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Where messages, or a text, are read from; - for standard input, as if not said."),
    ] = None,
    provider: Annotated[
        Literal["auto", "openai", "anthropic", "openai-responses"],
        typer.Option(help="Whose message format the input is in; auto finds out."),
    ] = "auto",
    oversize: Annotated[
        Literal["truncate", "error"],
        typer.Option(help="What to do with what the user says and cannot fit: let the model see it truncated, or refuse it."),
    ] = "truncate",
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    expected_revision: Revision = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Take messages into a session, all or none; older ones are summarised or dropped where room is needed.

    Reads JSON: a message, a list of messages, one message a line, a request, or the whole answer of a provider, from
    standard input or a file; with --role a plain text. Results of calls go in as they came.
    """
    from .opening import Told, Where
    from .written import Said, Taking, append_messages, append_text, when_of

    if role is None and (text is not None or tool_call_id is not None):
        raise CommandError(USAGE, "a text without --role; legal: --role user, or messages from standard input or --from FILE")
    if text is not None and source is not None:
        raise CommandError(USAGE, "a text and --from; legal: one of them")
    where = Where(store, timeout, name, Told(model, max_tokens))
    taking = Taking(provider, oversize, when_of(expected_revision, key))
    if role is None:
        return append_messages(where, source or "-", taking, as_json=as_json)
    return append_text(where, Said(role, text, source or "-", tool_call_id), taking, as_json=as_json)


@command(session, 'polycontext session close-open-calls --store chat.db --session s "the process was stopped"', verdict=verdict)
def close_open_calls(
    store: StoreOption,
    name: SessionOption,
    reason: Annotated[str, typer.Argument(metavar="REASON", help="Why there is no result; the model reads it.")],
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    expected_revision: Revision = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Answer every call that waits for its result by a marked one, so that the conversation can go on; without such a call nothing happens."""
    from .opening import Told, Where
    from .written import close_calls, when_of

    where = Where(store, timeout, name, Told(model, max_tokens))
    return close_calls(where, reason, when_of(expected_revision, key), as_json=as_json)


@command(session, "polycontext session compress --store chat.db --session s --target 0.4", verdict=verdict)
def compress(
    store: StoreOption,
    name: SessionOption,
    target: Annotated[
        float | None, typer.Option(metavar="SHARE", help="How full the window is to be at most, 0 to 1.", show_default=False)
    ] = None,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="What the next answer is about; summaries prefer it.")] = None,
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    expected_revision: Revision = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Summarise or drop older messages now, without a model; all of them stay in the log."""
    from .opening import Told, Where
    from .written import compress_session, when_of

    where = Where(store, timeout, name, Told(model, max_tokens))
    return compress_session(where, target, query, when_of(expected_revision, key), as_json=as_json)


@command(session, "polycontext session recall --store chat.db --session s t3 t5", verdict=verdict)
def recall(
    store: StoreOption,
    name: SessionOption,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of turns, or of a summary, as `session show` prints them.")],
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    expected_revision: Revision = None,
    key: Key = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Bring turns back word for word, where the window has room for them."""
    from .opening import Told, Where
    from .written import recall_turns, when_of

    return recall_turns(Where(store, timeout, name, Told(model, max_tokens)), ids, when_of(expected_revision, key), as_json=as_json)
