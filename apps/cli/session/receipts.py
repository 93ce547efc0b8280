"""`polycontext session undo` and `diff`: take a compression back, and show what it changed."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated, Any

from polycontext.polynomial import ContextSession
from polycontext.polynomial.journal import CompressionReceipt
from polycontext.window import Turn

from ..command import argument, command
from ..errors import command_line
from ..options import Json, NamedSession, WriteOptions
from ..output import one_line, plain_table, write_json, write_rich
from ..output import write as print_text
from .standing import print_write
from .view import words_of

if TYPE_CHECKING:
    from rich.table import Table

_Receipt = Annotated[str | None, argument(required=False, metavar="[RECEIPT]")]


@command("polycontext session undo trip", "polycontext session undo trip c12")
def undo(
    *,
    where: NamedSession,
    receipt: _Receipt,
    write: WriteOptions,
) -> None:
    """Take the last compression back; messages that were added since stay.

    RECEIPT is the id of an earlier compression, as `receipts list` prints it: it is taken back with
    all later ones. Undoing the same compression again makes it again.
    """
    with where.open(write) as session:
        before, revision = _shown(session), session.history.revision
        output = session.history.undo(receipt, **write.guards)
        back = [each for each in _shown(session) if each not in before]
        print_write(session, output, as_json=write.as_json, brought_back=back)
        if not write.as_json and session.history.revision > revision:
            named = [] if receipt is None else [receipt]
            print_text(f"to undo: {command_line('session', 'undo', where.session, *named)}\n")


def _shown(session: ContextSession) -> dict[str, None]:
    """Return the ids of the turns of the view, in order."""
    return dict.fromkeys(turn.resource_id for turn in session.window.all_turns())


@command("polycontext session diff trip", "polycontext session diff trip c12 --json")
def diff(
    *,
    where: NamedSession,
    receipt: _Receipt,
    as_json: Json,
) -> None:
    """Show what the model saw before and after a compression, side by side.

    RECEIPT is the id of the compression, as `receipts list` prints it; by default the last one.
    """
    with where.open() as session:
        told = session.history.receipt(receipt)
        before, after = (
            session.history.at(revision).window.all_turns()
            for revision in (told.revision - 1, told.revision)
        )
    if as_json:
        views = {"before": [*map(_data, before)], "after": [*map(_data, after)]}
        write_json({"receipt": told.to_data(), **views}, indent=2)
    else:
        print_text(f"{one_line(str(told))}\n\n")
        write_rich(_table(told, before, after))


def _data(turn: Turn) -> dict[str, Any]:
    """Return a turn of the view as JSON data."""
    return {"id": turn.resource_id, **words_of(turn), "tokens": turn.tokens}


def _table(receipt: CompressionReceipt, before: Sequence[Turn], after: Sequence[Turn]) -> "Table":
    table = plain_table(2)
    for name, view in (("before", receipt.before), ("after", receipt.after)):
        table.add_column(f"{name}: {view.tokens:,} tokens", ratio=1, overflow="fold")
    for row in _rows(before, after):
        table.add_row(*row)
    return table


def _rows(before: Sequence[Turn], after: Sequence[Turn]) -> Iterator[tuple[Any, Any]]:
    """Yield the cells of each row: turns that stay on one line, and what changed as a whole."""
    from rich.text import Text  # noqa: PLC0415  slow to load, rarely needed

    ids, others = ([turn.resource_id for turn in turns] for turns in (before, after))
    matcher = SequenceMatcher(None, ids, others, autojunk=False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        left, right = before[start:stop], after[first:last]
        if kind == "equal":
            for same in zip(left, right, strict=True):
                one, other = (
                    Text(_line(turn), no_wrap=True, overflow="ellipsis", style="dim")
                    for turn in same
                )
                yield one, other
        else:
            yield Text("\n".join(map(_whole, left))), Text("\n".join(map(_whole, right)))


def _line(turn: Turn) -> str:
    calls = [f"-> {call.name}({call.arguments})" for call in turn.tool_calls]
    return one_line(" ".join((f"{turn.resource_id} {turn.role}:", turn.text, *calls)))


def _whole(turn: Turn) -> str:
    lines = [one_line(line) for line in turn.text.split("\n")]
    return "\n".join([f"{turn.resource_id} {turn.role}:", *(f"  {line}" for line in lines)])
