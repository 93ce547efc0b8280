"""Print every limit of speed and size with its measurement: ``python -m benchmarks.budget``."""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.budget.caching import cache_rows
from benchmarks.budget.reading import reading_rows
from benchmarks.budget.row import Measure, Row, Scale
from benchmarks.budget.server import server_rows
from benchmarks.budget.sizes import (
    agent_rows,
    command_rows,
    import_rows,
    projection_rows,
    session_rows,
    window_rows,
)
from benchmarks.budget.stores import store_rows
from benchmarks.budget.turns import peer_rows, served_rows, turn_rows
from benchmarks.retention.command import progress

ROWS: dict[str, Measure] = {
    "turns": turn_rows,
    "served": served_rows,
    "reading": reading_rows,
    "peer": peer_rows,
    "projection": projection_rows,
    "window": window_rows,
    "cache": cache_rows,
    "import": import_rows,
    "command": command_rows,
    "bytes": session_rows,
    "agent": agent_rows,
    "journal": store_rows,
    "server": server_rows,
}


LEAST_TURNS = 2_000


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 1 if a limit is missed, so that a pipeline can stop."""
    asked = _parser().parse_args(arguments)
    console = Console(width=170)
    rows: list[Row] = []
    with progress(quiet=asked.quiet) as tell:
        for name in asked.rows or ROWS:
            rows += ROWS[name](Scale(asked.turns, tell))
    console.print(_table(rows))
    return int(any(row.ok is False for row in rows))


def _table(rows: Sequence[Row]) -> Table:
    made = Table(
        title="speed and size: measured now (limit)", title_justify="left", show_lines=True
    )
    for column in ("work", "measured", "notes"):
        made.add_column(column)
    for row in rows:
        made.add_row(row.work, "\n".join(map(str, row.found)) or "-", "\n".join(row.notes))
    return made


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="just bench budget",
        description="Measure what was promised of speed and size. All rows take some minutes.",
    )
    made.add_argument(
        "rows",
        nargs="*",
        type=_row,
        metavar="ROW",
        help=f"which rows: {', '.join(ROWS)} (default: all)",
    )
    made.add_argument(
        "--turns",
        type=_turns,
        default=100_000,
        help="of the longest session and window, at least 2000 (default: 100000)",
    )
    made.add_argument("--quiet", action="store_true", help="no progress")
    return made


def _row(name: str) -> str:
    if name not in ROWS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ROWS)}")
    return name


def _turns(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_TURNS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of turns, at least {LEAST_TURNS}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
