"""`polycontext compress`: every conversation of a data set shortened to a budget."""

import json
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Annotated

import click

from polycontext.bulk import Engine, Figures, RayEngine, RowCompressor, compress_file
from polycontext.bulk.run import Progress, Report

from .command import COUNT, argument, command, option
from .options import (
    Json,
    WindowOptions,
    complete_file,
)
from .output import FAULT, CommandError, progress, tell, write, write_json
from .rows import RowOptions, pool_of


@command(
    "polycontext compress runs.jsonl short.jsonl --max-tokens 4000",
    "polycontext compress runs.parquet short.parquet --max-tokens 4000 --keep loss_mask",
    "polycontext compress runs.jsonl.gz short.jsonl.zst --model gpt-5 --messages conversation",
)
def compress(
    *,
    source: Annotated[str, argument(metavar="IN", shell_complete=complete_file)],
    output: Annotated[str, argument(metavar="OUT", shell_complete=complete_file)],
    window: WindowOptions,
    messages: Annotated[
        str,
        option(
            "The column of messages: a list, or its JSON text.",
            default="messages",
            metavar="COLUMN",
        ),
    ],
    keep: Annotated[
        str | None,
        option(
            "Columns, separated by commas, with one number for each message; summaries get 0.",
            metavar="COLUMNS",
        ),
    ],
    rows: RowOptions,
    workers: Annotated[
        int | None,
        option("The number of processes; by default one for each core.", type=COUNT, metavar="N"),
    ],
    engine: Annotated[
        str,
        option(
            "Processes of this machine, or a Ray cluster (needs polycontext[ray]).",
            type=click.Choice(["pool", "ray"]),
            default="pool",
        ),
    ],
    address: Annotated[
        str | None,
        option(
            "The address of the Ray cluster; by default one is started on this machine.",
            metavar="ADDRESS",
        ),
    ],
    as_json: Json,
) -> int:
    """Shorten every conversation of a data set to a number of tokens, on all cores.

    IN and OUT are JSONL (.jsonl, .jsonl.gz, .jsonl.zst) or Parquet (.parquet). Rows that cannot be
    shortened go to OUT.rejected.jsonl with the reason. If the command is interrupted, the same
    command goes on where it stopped. Prints a report, which OUT.report.json holds, too. Exits with
    1 if rows were rejected.
    """
    if window.max_tokens is None and window.model is None:
        raise CommandError("the budget has no size. Pass --max-tokens or --model.")
    compressor = rows.compressor(
        window.max_tokens, model=window.model, messages=messages, keep=_names(keep)
    )
    started = monotonic()
    report = _run(Path(source), Path(output), compressor, _engine(engine, workers, address))
    figures = report.figures
    if report.was_complete:
        tell(f"{output} was complete before: nothing was done")
    if as_json:
        write_json(figures.as_json(), indent=2)
    else:
        write(_as_text(figures))
        if not report.was_complete:
            tell(f"wrote {output} in {monotonic() - started:.0f} s")
    if figures.rejected:
        were = "row was" if figures.rejected == 1 else "rows were"
        beside = Path(f"{output}.rejected.jsonl")
        tell(f"{figures.rejected:,} {were} rejected: {beside}{_first_reason(beside)}", "yellow")
    return FAULT if figures.rejected else 0


def _first_reason(beside: Path) -> str:
    if not beside.exists():
        return ""
    with beside.open(encoding="utf-8") as lines:
        first = json.loads(next(lines))
    return f"; row {first['number']}: {first['reason']}"


def _names(columns: str | None) -> Sequence[str]:
    return [name.strip() for name in (columns or "").split(",") if name.strip()]


def _engine(name: str, workers: int | None, address: str | None) -> Engine:
    if name == "ray":
        if workers is not None:
            raise CommandError("--workers is for the engine pool. Ray uses the whole cluster.")
        return RayEngine(address)
    if address is not None:
        raise CommandError("--address is that of a Ray cluster. Pass --engine ray, too.")
    return pool_of(workers)


def _run(source: Path, output: Path, compressor: RowCompressor, engine: Engine) -> Report:
    try:
        with progress("compressing", 1.0) as update:

            def advance(now: Progress) -> None:
                update(now.share, f"{now.rows:,} rows, {now.figures.tokens_before:,} tokens")

            return compress_file(source, output, compressor, engine=engine, advance=advance)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        what = f"{output}: cannot be written: {reason}. Finished rows are kept:"
        raise CommandError(f"{what} run the same command again to go on.", FAULT) from None
    except KeyboardInterrupt:
        tell("interrupted. Finished rows are kept: run the same command again to go on.", "yellow")
        raise


def _as_text(figures: Figures) -> str:
    told = figures.as_json()
    tokens, rules = told["tokens"], told["rules"]
    lines = [
        f"rows      {figures.rows:,}, {figures.shortened:,} shortened",
        f"tokens    {tokens['in']:,} -> {tokens['out']:,}",
        *(
            f"{kind:<9} " + ", ".join(f"{count:,} {fate}" for fate, count in fates.items())
            for kind, fates in told["messages"].items()
        ),
        f"rules     {rules['stated']:,} stated, {rules['kept']:,} kept",
        *(f"rejected  {count:,} {error}" for error, count in told["rejected"].items()),
    ]
    return "".join(f"{line}\n" for line in lines)
