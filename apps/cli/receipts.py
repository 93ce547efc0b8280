"""`polycontext receipts`: what the compressions of a session took, and whether that is so."""

from collections.abc import Sequence
from typing import Annotated

from polycontext.polynomial.journal import CompressionReceipt, Verdict

from .command import Group, command, option
from .options import Json, SessionOptions
from .output import FAULT, one_line, percent, tell, write, write_columns, write_json

receipts = Group(
    "receipts",
    "Show and check what the compressions of a session did.",
    {
        "list": ("receipts", "List the compressions of a session."),
        "check": ("receipts", "Make extractive summaries again and compare them."),
    },
)


@command("polycontext receipts list trip", "polycontext receipts list trip --json", name="list")
def list_(
    *,
    where: SessionOptions,
    as_json: Json,
) -> None:
    """List the compressions of a session: tokens, what became of its messages, and the summariser.

    A call and its results count as one. With --json, whole receipts are printed,
    without any text of the conversation.
    """
    with where.open() as session:
        found = session.history.receipts()
    if as_json:
        write_json([each.to_data() for each in found], indent=2)
    elif found:
        columns = "receipt", "time", "tokens", "kept", "shortened", "dropped", "by", "stands"
        write_columns(columns, [_row(each) for each in found], whole="receipt")
    else:
        tell(f"session {where.session} was never compressed")


def _row(receipt: CompressionReceipt) -> Sequence[str]:
    fates = [str(atom.fate) for atom in receipt.atoms]
    kept, dropped = fates.count("kept") + fates.count("bared"), fates.count("dropped")
    before, after = receipt.before.tokens, receipt.after.tokens
    return (
        receipt.id,
        receipt.at.isoformat(timespec="seconds"),
        f"{before:,} -> {after:,} ({percent(after / before if before else None)})",
        str(kept),
        str(len(fates) - kept - dropped),
        str(dropped),
        "-" if receipt.summariser is None else receipt.summariser.name,
        "yes" if receipt.stands else "no",
    )


@command("polycontext receipts check trip", "polycontext receipts check trip --json")
def check(
    *,
    where: SessionOptions,
    show_all: Annotated[bool, option("Also list those without a fault.", "--all")],
    as_json: Json,
) -> int:
    """Make every extractive summary again from the log, and compare it byte for byte.

    What the model saw before and after each compression is compared with the digests stored then.
    Exits with 1 if anything differs.
    """
    with where.open() as session:
        found = session.history.check_receipts()
    differ = [each for each in found if each.verdict is Verdict.DIFFERS]
    if as_json:
        rows = [{"id": each.id, "verdict": each.verdict, "what": each.what} for each in found]
        write_json(rows, indent=2)
        return FAULT if differ else 0
    write("".join(f"{one_line(str(each))}\n" for each in (found if show_all else differ)))
    counts = {verdict: sum(each.verdict is verdict for each in found) for verdict in Verdict}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    noun = "compression" if len(found) == 1 else "compressions"
    write(f"{len(found)} {noun}{told and ': '}{told}\n")
    return FAULT if differ else 0
