"""The commands that read a session and change nothing: show, context, messages, explain, search, list."""

# Commands load what they need (PLC0415), and an option is a parameter with a default (FBT002, PLR0917).
# ruff: noqa: FBT002, PLC0415, PLR0917
from typing import Annotated

import typer

from ..registering import AsJson, ModelOption, command
from .group import At, MaxTokens, Provider, SessionOption, StoreOption, Timeout, session, verdict


@command(
    session,
    "polycontext session show --store chat.db --session s",
    "polycontext session show --session s --json | jq .pressure",
    verdict=verdict,
)
def show(
    store: StoreOption,
    name: SessionOption,
    show_all: Annotated[bool, typer.Option("--all", help="Show every turn of a long conversation.")] = False,
    at: At = None,
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Show how full the window is and of what, what became of every turn, and where the words are that the model does not see."""
    from .looked import show_session
    from .opening import Told, Where

    return show_session(Where(store, timeout, name, Told(model, max_tokens)), at, show_all=show_all, as_json=as_json)


@command(session, "polycontext session context --store chat.db --session s", verdict=verdict)
def context(
    store: StoreOption,
    name: SessionOption,
    at: At = None,
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Show what the window is filled with, as a grid of cells: by class, by who speaks, and whether word for word or shortened."""
    from .filled import context_session
    from .opening import Told, Where

    return context_session(Where(store, timeout, name, Told(model, max_tokens)), at, as_json=as_json)


@command(
    session,
    "polycontext session messages --store chat.db --session s | jq .messages",
    """polycontext session messages --session s --body '{"model": "claude-sonnet-5", "max_tokens": 500}' | curl --json @- ...""",
    verdict=verdict,
)
def messages(
    store: StoreOption,
    name: SessionOption,
    provider: Annotated[Provider | None, typer.Option(help="Whose message format to print; the session's own unless said.")] = None,
    body: Annotated[str | None, typer.Option(metavar="JSON", help="An object whose fields stand in the request besides.")] = None,
    allow_open: Annotated[bool, typer.Option("--allow-open", help="Print them even while calls wait for their results.")] = False,
    at: At = None,
    max_tokens: MaxTokens = None,
    model: ModelOption = None,
    timeout: Timeout = 5.0,
) -> int:
    """Print what a model is sent, as the body of a request: valid for the provider and within the window, or exit code 1.

    An object with "messages", for Anthropic "system" too, for OpenAI's Responses "input".
    """
    from .looked import print_messages
    from .opening import Told, Where

    return print_messages(Where(store, timeout, name, Told(model, max_tokens)), at, provider, body, allow_open=allow_open)


@command(session, "polycontext session explain --store chat.db --session s t3", verdict=verdict)
def explain(
    store: StoreOption,
    name: SessionOption,
    resource_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a turn, as `session show` prints it.")],
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Tell what became of one turn and why, with its words: they are in the log, whatever the model sees of them."""
    from .looked import explain_turn
    from .opening import Where

    return explain_turn(Where(store, timeout, name), resource_id, as_json=as_json)


@command(
    session,
    "polycontext session search --store chat.db --session s 'night train'",
    """polycontext session search --session s '"night train" Vienna' --json | jq -r '.[0].id'""",
    verdict=verdict,
)
def search(
    store: StoreOption,
    name: SessionOption,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Words, of which one at least is said, and phrases in double quotes, which all are.")
    ],
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="TURNS", help="How many turns at most.")] = 10,
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> int:
    """Find what was said, whatever the model sees of it: the turns that speak most of it first, with ids for `recall` and `explain`.

    Exit code 1 says that nobody spoke of it.
    """
    from .looked import search_session
    from .opening import Where

    return search_session(Where(store, timeout, name), text, limit, as_json=as_json)


@command(session, "polycontext session list --store chat.db", verdict=verdict)
def list_(store: StoreOption, timeout: Timeout = 5.0, as_json: AsJson = False) -> int:
    """Print the ids of all sessions of a store, in alphabetical order."""
    from .opening import Where
    from .whole import list_sessions

    return list_sessions(Where(store, timeout), as_json=as_json)
