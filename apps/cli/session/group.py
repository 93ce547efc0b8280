"""The group `polycontext session`: the options that its commands share, and what their errors come to."""

from typing import Annotated, Literal

import typer

from polycontext.linearity import InvalidDataError, InvalidOptionError, PolycontextError, UnknownNameError

from ..output import FAULT, USAGE

STORE = "POLYCONTEXT_STORE"
"""Environment variable that says where sessions are kept, where --store does not."""

StoreOption = Annotated[
    str, typer.Option("--store", envvar=STORE, metavar="URL", help="Where sessions are kept: the path of a SQLite file, or a URL.")
]
SessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="Which session of the store.")]
Timeout = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long to wait for a store that another process has open.")]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, metavar="TOKENS", help="How many tokens a request may have; as the session was told before."),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="MOMENT", help="As it stood then: a revision, a time with its zone, or the id of the turn that was the last one."
    ),
]
Provider = Literal["openai", "anthropic", "openai-responses"]
Key = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="TEXT", help="A name for this command: said again with it, it is done once."),
]
Revision = Annotated[
    int | None,
    typer.Option("--expected-revision", min=0, metavar="N", help="Refuse if the session does not stand at this revision."),
]

session = typer.Typer(
    name="session",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Keep conversations in a store: take messages in, hand out what a model is sent, see what became of each.",
)


def verdict(error: PolycontextError) -> tuple[int, str]:
    """Return the exit code of an error and its line, which begins with its type: what is wrong whatever is kept, or what this session refuses."""
    from polycontext.window import InvalidMessagesError, InvalidTurnError  # noqa: PLC0415 - for who has erred

    given = isinstance(error, InvalidDataError | InvalidOptionError | UnknownNameError | InvalidMessagesError | InvalidTurnError)
    return USAGE if given else FAULT, f"{type(error).__name__}: {error}"
