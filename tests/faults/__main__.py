"""Do harm to sessions, and print what became of them.

Usage: python -m tests.faults [--rounds N] [--seed N]
"""

import argparse
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.faults.sqlite import FAULTS
from tests.faults.talking import COUNTED, Tally


def main() -> int:
    """Print the table; return 1 where anything was lost, there twice, there in part, or refused without a word on what to do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=float, default=1.0, help="how many of the full run's rounds: 0.1 is a tenth")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = Random().randrange(10**6) if options.seed is None else options.seed  # noqa: S311 - nothing here is a secret
    print(f"seed {seed}\n{'fault':<24}" + "".join(f"{name:>14}" for name in COUNTED))
    tallies = []
    with TemporaryDirectory() as folder:
        for act, rounds in FAULTS:
            tally = act(Path(folder), max(1, round(rounds * options.rounds)), Random(f"{seed} {act.__name__}"))  # noqa: S311
            print(row(tally), flush=True)
            tallies.append(tally)
    return 0 if all(tally.ok for tally in tallies) else 1


def row(tally: Tally) -> str:
    """Return a line of the table."""
    return f"{tally.fault:<24}" + "".join(f"{getattr(tally, name):>14}" for name in COUNTED)


if __name__ == "__main__":
    sys.exit(main())
