"""Give hostile texts to everything that reads from outside, and print what each costs a megabyte; exit code 1 where it is over the bound.

What a small text shows to be far over the bound is not tried at full size; the memory of the process is limited.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence

from polycontext.nodes.laws.costs import Cost, cost_of
from polycontext.nodes.testing.hostile import KINDS, hostile_text
from tests.attack.readers import READERS, Reader

MOST_SECONDS, MOST_MEGABYTES = 1.0, 300.0
"""What reading one megabyte may take."""

FULL, PROBE = 1_000_000, 20_000
_MEMORY = 6_000_000_000
_SHORT_SECONDS = 110.0
_GENEROUS = 30
"""How many times the bound the short form allows: it finds what is quadratic, on machines that are busy as well."""


def _attacked(read: Reader, kinds: Sequence[str], *, short: bool) -> Iterator[tuple[str, Cost]]:
    """Yield what each kind costs; what a smaller text shows to be far over the bound is not tried at full size."""
    for kind in kinds:
        size = FULL // 20 if short else FULL
        probe = cost_of(read, hostile_text(kind, PROBE), memory=False)
        if probe.seconds > 20 * MOST_SECONDS * PROBE / FULL:
            size = PROBE
        cost = cost_of(read, hostile_text(kind, size), memory=not short)
        yield kind, Cost(cost.seconds * FULL / size, cost.megabytes * FULL / size)


def main() -> int:
    """Run the attacks and return how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a twentieth of the size, a quarter of the kinds, two minutes at most")
    parser.add_argument("--only", choices=READERS, help="one reader")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    started, over = time.process_time(), 0
    slack = _GENEROUS if asked.short else 1
    print(f"{'reader':20} {'kind':26} {'CPU s/MB':>9} {'MB/MB':>7}")
    for number, name in enumerate([asked.only] if asked.only else READERS):
        # In the short form every fourth kind, other ones for the next reader.
        kinds = [*KINDS][number % 4 :: 4] if asked.short else [*KINDS]
        worst: list[tuple[float, str]] = []
        for kind, cost in _attacked(READERS[name], kinds, short=asked.short):
            is_over = cost.seconds > slack * MOST_SECONDS or cost.megabytes > slack * MOST_MEGABYTES
            over += is_over
            worst.append((cost.seconds, kind))
            if is_over or not asked.short:
                print(f"{name:20} {kind:26} {cost.seconds:9.2f} {cost.megabytes:7.0f}{'  over' if is_over else ''}", flush=True)
            if time.process_time() - started > _SHORT_SECONDS and asked.short:
                print(f"{name:20} the rest and what follows was not tried: the short form has used its time", flush=True)
                return 1 if over else 0
        print(f"{name:20} worst: {', '.join(f'{kind} {seconds:.2f} s' for seconds, kind in sorted(worst, reverse=True)[:3])}", flush=True)
    measured = "" if asked.short else f" and {slack * MOST_MEGABYTES:.0f} MB"
    print(f"{over} over {slack * MOST_SECONDS:.0f} s{measured} a megabyte; the bound is {MOST_SECONDS:.0f} s and {MOST_MEGABYTES:.0f} MB")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
