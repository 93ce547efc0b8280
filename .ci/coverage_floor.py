"""Fail when any single file is covered less than the floor, however good the average.

Usage: python .ci/coverage_floor.py COVERAGE_JSON PERCENT
"""

import json
import sys
from pathlib import Path


def below(report: Path, floor: float) -> dict[str, float]:
    """Return the files of a `coverage json` report whose percentage is under `floor`."""
    files = json.loads(report.read_text())["files"]
    covered = {name: float(facts["summary"]["percent_covered"]) for name, facts in files.items()}
    return {name: percent for name, percent in covered.items() if percent < floor}


def main(report: str, floor: str) -> int:
    """Print the offenders to standard error and return 1 if there are any."""
    offenders = below(Path(report), float(floor))
    for name, percent in sorted(offenders.items(), key=lambda item: item[1]):
        print(f"{name}: {percent:.1f}% is under the floor of {floor}%", file=sys.stderr)
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
