"""`polycontext pills`: complete a name, and resolve a message into what a provider gets."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from polycontext.nodes import SentMessage, send_message
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.window import FileResolver, PillDocument
from polycontext.window.pills import CannotAttachError, Completer, Pill, PillError, PillType, Resolvers, SymbolResolver
from polycontext.window.providers import Provider

from .output import FAULT, CommandError, existing_folders, one_line, tell, write_json, write_rich

ROOM = 100_000
"""Tokens that a message and what is attached to it may have, unless said otherwise."""


def complete_prefix(prefix: str, roots: Iterable[Path], *, kind: str | None = None, limit: int = 20, as_json: bool = False) -> int:
    """Print the files and symbols that `prefix` may stand for, the best first; exit code 1 says there is none.

    Raises:
        CommandError: a root is no folder.
    """
    folders = existing_folders(roots)
    found = Completer([FileResolver(folders), SymbolResolver(folders)]).candidates(prefix, kind and [kind], limit)
    if as_json:
        write_json([{"name": each.name, "type": each.type.value, "detail": each.detail} for each in found], indent=2)
    elif found:
        table = Table.grid(padding=(0, 2))
        for each in found:
            table.add_row(Text(each.type, style="dim"), Text(one_line(each.name)), Text(one_line(each.detail), style="dim"))
        write_rich(table)
    else:
        tell(Text(f"nothing completes {one_line(prefix)!r}"))
    return 0 if found else FAULT


def resolve_message(
    text: str,
    roots: Iterable[Path],
    *,
    limit: int,
    model: str | None = None,
    max_tokens: int | None = None,
    provider: Provider | None = None,
    as_json: bool = False,
) -> int:
    """Print the messages that `text` becomes with its pills attached, and say what was attached, truncated, had to yield, or was refused.

    Exit code 1 says that a pill was refused; the rest of the message is printed all the same.

    Raises:
        CommandError: a root is no folder, or the message does not fit.
    """
    folders = existing_folders(roots)
    resolvers = Resolvers([FileResolver(folders, limit), SymbolResolver(folders, limit)])
    session = ContextSession(model, max_tokens=ROOM if model is None and max_tokens is None else max_tokens)
    try:
        sent = send_message(session, typed(text, resolvers), resolvers)
        messages = session.messages(provider)
    except ContextOverflowError as error:
        raise CommandError(FAULT, str(error)) from None
    if as_json:
        write_json({"messages": messages, **report(sent)}, indent=2)
    else:
        write_json(messages, indent=2)
        for line in told(sent):
            tell(line)
    return FAULT if sent.problems else 0


def report(sent: SentMessage) -> dict[str, Any]:
    """Return what was attached, what of it was truncated or had to yield, and what was refused, as JSON data."""
    return {
        "attached": [
            {"name": each.name, "type": each.type.value, "path": each.path, "characters": len(each.content)} for each in sent.attached
        ],
        "truncated": [{"name": each.name, "notice": each.notice} for each in sent.attached if each.truncated],
        "yielded": [{"name": each.name} for each in sent.yielded],
        "refused": [{"name": each.pill.name, "warning": each.warning, "detail": each.detail} for each in sent.problems],
    }


def typed(text: str, resolvers: Resolvers) -> PillDocument:
    """Return the document of `text`, in which a name that is no file but a symbol is one."""

    def type_of(name: str) -> PillType:
        for pill_type in (PillType.FILE, PillType.SYMBOL):
            try:
                resolvers.resolve(Pill(name, pill_type))
            except CannotAttachError as error:
                if error.is_missing:
                    continue
            except PillError:
                pass  # it is one of these, and resolving it says what is the matter
            return pill_type
        return PillType.FILE

    return PillDocument.parse(text, type_of)


def told(sent: SentMessage) -> Iterator[Text]:
    """Yield what was attached, truncated or refused, and what had to yield, in lines for people."""
    for each in sent.attached:
        line = Text.assemble(("attached ", "green"), one_line(each.name), f" ({each.type}, {len(each.content):,} characters)")
        yield line.append(f" {each.notice}", "yellow") if each.notice else line
    for each in sent.yielded:
        yield Text.assemble(("shortened ", "yellow"), f"{one_line(each.name)}: there is room for a summary of it only")
    for problem in sent.problems:
        yield Text.assemble(("refused ", "red"), one_line(f"{problem.pill.name}: {problem.warning} ({problem.detail})"))
