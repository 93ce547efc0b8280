"""`polycontext certify`: what a budget loses, shown on recorded conversations with a bound."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
from attrs import asdict

from polycontext.bulk import certify_file
from polycontext.bulk.certificate import Certificate

from .command import COUNT, argument, command, option
from .options import Json, complete_file
from .output import FAULT, CommandError, tell, write, write_columns, write_json
from .rows import RowOptions, pool_of

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@command(
    "polycontext certify runs.jsonl --max-tokens 4000",
    "polycontext certify runs.jsonl --max-tokens 16000,8000,4000 --at-most 0.05",
)
def certify(
    *,
    source: Annotated[str, argument(metavar="DATA", shell_complete=complete_file)],
    budgets: Annotated[
        str,
        option(
            "The sizes to test, in tokens, separated by commas.",
            "--max-tokens",
            required=True,
            metavar="TOKENS",
        ),
    ],
    model: Annotated[
        str | None,
        option("The model: sets how tokens are counted.", "-m", "--model", metavar="NAME"),
    ],
    messages: Annotated[
        str, option("The column of messages in a row.", default="messages", metavar="COLUMN")
    ],
    at_most: Annotated[
        float,
        option(
            "The share of arguments that may vanish.",
            type=_SHARE,
            default=0.05,
            metavar="SHARE",
        ),
    ],
    level: Annotated[
        float,
        option(
            "The confidence of the bounds.",
            type=_SHARE,
            default=0.95,
            metavar="SHARE",
        ),
    ],
    rows: RowOptions,
    workers: Annotated[int | None, option("The number of processes.", type=COUNT, metavar="N")],
    as_json: Json,
) -> int:
    """Show how many arguments of the next tool call vanish at a budget, with a bound.

    DATA is JSONL of recorded conversations that are independent of each other. An argument counts
    if it stood in the messages before its call; it vanishes if it does not stand in their
    projection, character for character. The bounds hold for any distribution, but only if you leave
    out near-copies: they are not detected. Exits with 1 if no budget passes --at-most.
    """
    first, *others = (
        rows.compressor(budget, model=model, messages=messages) for budget in _falling(budgets)
    )
    found, rejected = certify_file(
        Path(source), [first, *others], at_most=at_most, level=level, engine=pool_of(workers)
    )
    if rejected:
        hold, are = ("row holds", "is") if rejected == 1 else ("rows hold", "are")
        tell(f"{rejected:,} {hold} no valid conversation and {are} skipped", "yellow")
    if as_json:
        write_json(asdict(found), indent=2)
    else:
        _print(found)
    return FAULT if found.smallest is None else 0


def _falling(budgets: str) -> Sequence[int]:
    try:
        return sorted({int(each) for each in budgets.split(",")}, reverse=True)
    except ValueError:
        what = f"--max-tokens {budgets} is not a list of numbers"
        raise CommandError(f"{what}. Use one number, or several with commas.") from None


def _print(found: Certificate) -> None:
    percent = f"{found.level:.0%}"
    write_columns(
        ("budget", "vanish", f"at most, {percent}", "affected", f"at most, {percent}"),
        [
            (
                f"{each.max_tokens:,}",
                f"{each.lost:.2%}",
                f"{each.bound:.2%}",
                f"{each.affected:,} of {found.conversations:,}",
                f"{each.affected_bound:.2%}",
            )
            for each in found.budgets
        ],
    )
    write(f"{found.arguments:,} arguments in {found.conversations:,} conversations\n")
    share = f"at most {found.at_most:.1%} vanish, with {percent} confidence"
    smallest = (
        "no budget passes" if found.smallest is None else f"from {found.smallest:,} tokens on"
    )
    write(f"{share}: {smallest}\n")
