"""Do harm to sessions, and print what became of them.

Usage: python -m tests.faults [--rounds SHARE] [--seed N] [--only STORE]
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.faults import machines, postgresql, sqlite
from tests.faults.numbered_commands import COUNTED, Tally
from tests.postgresql.server import running


def main() -> int:
    """Print the table; return 1 if a turn was lost, doubled or torn, or an error gave no hint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds",
        type=float,
        default=1.0,
        help="how many of the full run's rounds: 0.1 is a tenth",
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--only", choices=["sqlite", "postgresql"], help="those of one store (default: all)"
    )
    options = parser.parse_args()
    seed = Random().randrange(10**6) if options.seed is None else options.seed  # noqa: S311
    print(f"seed {seed}\n{'fault':<24}" + "".join(f"{name:>14}" for name in COUNTED))
    tallies: list[Tally] = []
    with ExitStack() as stack:
        for act, rounds in _asked(options.only, stack):
            tally = act(
                max(1, round(rounds * options.rounds)),
                Random(f"{seed} {len(tallies)}"),  # noqa: S311
            )
            print(row(tally), flush=True)
            tallies.append(tally)
    if postgresql.MISSING:
        print(f"PostgreSQL: {postgresql.MISSING}")
    return 0 if all(tally.ok for tally in tallies) else 1


def _asked(
    only: str | None, stack: ExitStack
) -> Iterator[tuple[Callable[[int, Random], Tally], int]]:
    """Yield each fault with its rounds: on SQLite files, and on a durable PostgreSQL server."""
    if only != "postgresql":
        folder = Path(stack.enter_context(TemporaryDirectory()))
        faults = (*sqlite.FAULTS, *machines.FAULTS)
        yield from ((partial(act, folder), rounds) for act, rounds in faults)
    if only != "sqlite" and postgresql.MISSING is None:
        server = stack.enter_context(running(durable=True))
        yield from (
            (partial(postgresql.done, harm, server), rounds) for harm, rounds in postgresql.FAULTS
        )


def row(tally: Tally) -> str:
    """Return a line of the table."""
    return f"{tally.fault:<24}" + "".join(f"{getattr(tally, name):>14}" for name in COUNTED)


if __name__ == "__main__":
    sys.exit(main())
