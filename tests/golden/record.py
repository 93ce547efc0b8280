"""The golden record: what 10,000 sessions did before the inside of the session was written anew.

    python -m tests.golden.record                    play all 10,000 and compare
    python -m tests.golden.record --check 0-499      play some of them and compare
    python -m tests.golden.record --show 42          print what becomes of one, a step a line
    python -m tests.golden.record --write            write the record anew, from the code as it is

``digests.txt`` has one line a seed: the digest of its session, and the session's trail,
one digit a step, which tells where another session parts from it. ``sessions.json`` has
fifty of them in full. To see what a step of any other did, run ``--show`` on a version of the
code that keeps the record and compare the two prints.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from difflib import unified_diff
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen

from tests.golden.sessions import DIFFERENT, SEEDS, Record, digest, play, trail

T = TypeVar("T")

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.txt"
SESSIONS = FOLDER / "sessions.json"
FULL_SEEDS = range(0, SEEDS, 200)
_MOST_SHOWN = 20


@frozen
class Print:
    """Know a session by its digest and its trail."""

    digest: str
    trail: str

    def __str__(self) -> str:
        return f"{self.digest} {self.trail}"


def print_of(record: Record) -> Print:
    """Return the print of a session."""
    return Print(digest(record), trail(record))


@cache
def recorded_prints() -> tuple[Print, ...]:
    """Return the print of every seed, as it was recorded."""
    return tuple(Print(*line.split()) for line in DIGESTS.read_text(encoding="ascii").splitlines())


@cache
def recorded_sessions() -> dict[int, Record]:
    """Return the sessions that were recorded in full."""
    return {int(seed): record for seed, record in json.loads(SESSIONS.read_text(encoding="utf-8")).items()}


def difference(seed: int, found: Record) -> str | None:
    """Return in words where a session first parts from the one recorded for `seed`; None where it does not, or as listed."""
    expected, now = recorded_prints()[seed], print_of(found)
    if now == expected or seed in DIFFERENT:
        return None
    if seed in recorded_sessions():
        return first_difference(seed, recorded_sessions()[seed], found)
    pairs = enumerate(zip_longest(expected.trail, now.trail))
    parted = next((number for number, (one, other) in pairs if one != other), None)
    if parted is None:
        return f"seed {seed}: the digest is {now.digest}, expected {expected.digest}; every digit of the trail is the same"
    step = _pretty(found[parted]) if parted < len(found) else ["(no more steps)"]
    where = f"seed {seed}, step {parted} of {len(expected.trail) - 1} or shortly before"
    return "\n".join([f"{where}: not what was recorded; found", *step, f"see `python -m tests.golden.record --show {seed}`"])


def first_difference(seed: int, expected: Record, found: Record) -> str | None:
    """Return in words the first step at which two records of `seed` part; None where they are equal."""
    for number, (old, new) in enumerate(zip_longest(expected, found)):
        if old != new:
            command = json.dumps((old or new or {})["command"], ensure_ascii=False)
            diff = unified_diff(_pretty(old), _pretty(new), "expected", "found", lineterm="", n=100)
            return "\n".join([f"seed {seed}, step {number}: {command}", *diff])
    return None


def _pretty(step: dict[str, Any] | None) -> list[str]:
    return [] if step is None else json.dumps(step, ensure_ascii=False, indent=1).splitlines()


def _play_print(seed: int) -> Print:
    return print_of(play(seed))


def _play_difference(seed: int) -> str | None:
    return difference(seed, play(seed))


def write(jobs: int) -> None:
    """Write the record anew."""
    with ProcessPoolExecutor(jobs) as pool:
        prints = list(_telling(pool.map(_play_print, range(SEEDS), chunksize=50), SEEDS))
    DIGESTS.write_text("".join(f"{found}\n" for found in prints), encoding="ascii")
    sessions = (
        f'"{seed}": [\n' + ",\n".join(json.dumps(step, ensure_ascii=False, separators=(",", ":")) for step in play(seed)) + "]"
        for seed in FULL_SEEDS
    )
    SESSIONS.write_text("{\n" + ",\n".join(sessions) + "\n}\n", encoding="utf-8")


def check(seeds: Sequence[int], jobs: int) -> int:
    """Play `seeds` and print every difference, the first ones in full; return how many there are."""
    differences = 0
    with ProcessPoolExecutor(jobs) as pool:
        for found in _telling(pool.map(_play_difference, seeds, chunksize=50), len(seeds)):
            if found is not None:
                differences += 1
                if differences <= _MOST_SHOWN:
                    print(found if differences == 1 else found.splitlines()[0], flush=True)
    listed = sum(seed in DIFFERENT for seed in seeds)
    print(f"{len(seeds):,} sessions played, {listed:,} differ as listed, {differences:,} otherwise")
    return differences


def _telling(results: Iterator[T], total: int) -> Iterator[T]:
    for number, result in enumerate(results, 1):
        if number % 1000 == 0 and number < total:
            print(f"{number:,} of {total:,}", file=sys.stderr, flush=True)
        yield result


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if not seeds or seeds[-1] >= SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds; legal: N or N-M within 0-{SEEDS - 1}")
    return seeds


def main(arguments: Sequence[str]) -> int:
    """Write, show or check; return 1 where a session does not do what was recorded."""
    parser = argparse.ArgumentParser(description="Compare what sessions do with what they did when the record was made.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", type=_seeds, default=range(SEEDS), metavar="N[-M]", help="play these seeds (default: all)")
    what.add_argument("--show", type=int, metavar="N", help="print the session of a seed, a step a line")
    what.add_argument("--write", action="store_true", help="write the record anew")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes play")
    options = parser.parse_args(arguments)
    if options.write:
        write(options.jobs)
        return 0
    if options.show is not None:
        for step in play(options.show):
            print(json.dumps(step, ensure_ascii=False))
        return 0
    return 1 if check(options.check, options.jobs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
