"""`polycontext pills`: files and symbols that a message can attach, and reports on attachments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click

from polycontext.pills import (
    Completer,
    FileResolver,
    PillDocument,
    Resolvers,
    SymbolResolver,
    resolve_document,
)
from polycontext.pills.errors import CannotAttachError, PillError
from polycontext.pills.message import SentMessage
from polycontext.pills.pill import Pill, PillType
from polycontext.pills.resolution import PillProblem, ResolvedMessage

from .command import COUNT, argument, command, option
from .options import Json, Roots
from .output import FAULT, tell, write_columns, write_json


@command("polycontext pills @src/ag", "polycontext pills Agent --type symbol --json")
def pills(
    *,
    prefix: Annotated[str, argument()],
    roots: Roots,
    kind: Annotated[
        str | None, option("List only this type.", "--type", type=click.Choice(["file", "symbol"]))
    ],
    limit: Annotated[
        int, option("The maximum number of results.", type=COUNT, default=20, metavar="N")
    ],
    as_json: Json,
) -> int:
    """List files and Python symbols that begin with PREFIX, to attach as [@src/agent.py].

    Skips files that .gitignore excludes. Exits with 1 if nothing matches.
    """
    found = Completer(resolvers_of(roots)).candidates(prefix, kind and [kind], limit)
    columns = ("type", "name", "detail")
    rows = [(each.type.value, each.name, each.detail) for each in found]
    if as_json:
        write_json([dict(zip(columns, row, strict=True)) for row in rows], indent=2)
    elif rows:
        write_columns(columns, rows)
    else:
        tell(f"nothing begins with {prefix!r}")
    return 0 if rows else FAULT


def resolvers_of(roots: Sequence[Path]) -> tuple[FileResolver, SymbolResolver]:
    """Return resolvers of files and symbols below `roots`, by default the working directory."""
    folders = roots or [Path()]
    return FileResolver(folders), SymbolResolver(folders)


def resolve_text(text: str, roots: Sequence[Path] = ()) -> ResolvedMessage:
    """Return a user's text with the files and symbols it names, as `resolvers_of` finds them."""
    resolvers = Resolvers(resolvers_of(roots))
    return resolve_document(typed(text, resolvers), resolvers)


def typed(text: str, resolvers: Resolvers) -> PillDocument:
    """Return the document of `text`; a name that matches no file but a symbol becomes a symbol."""

    def type_of(name: str) -> PillType:
        for pill_type in (PillType.FILE, PillType.SYMBOL):
            try:
                resolvers.resolve(Pill(name, pill_type))
            except CannotAttachError as error:
                if error.is_missing:
                    continue
            except PillError:
                pass  # the name exists; resolving it later reports the problem
            return pill_type
        return PillType.FILE

    return PillDocument.parse(text, type_of)


def print_attachments(sent: SentMessage) -> None:
    """Print what was attached or truncated, and what was shortened to make room."""
    for each in sent.attached:
        size = f"{each.type}, {len(each.content):,} characters"
        tell(f"attached {each.name} ({size}){f' {each.notice}' if each.notice else ''}")
    for each in sent.yielded:
        tell(f"shortened {each.name}: there is room for a summary of it only", "yellow")


def describe(problem: PillProblem) -> str:
    """Return the name that could not be attached, and the reason."""
    return f"{problem.pill.name}: {problem.warning} ({problem.detail})"
