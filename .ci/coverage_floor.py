"""Fail if the coverage of any file is below the floor, whatever the average.

Usage: python .ci/coverage_floor.py COVERAGE_JSON PERCENT

Modules that stand on a package that is not installed are skipped. `just adapters` runs the tests of
adapters beside their framework, with a floor of its own.
"""

import json
import re
import sys
from pathlib import Path

from polycontext.base.errors import is_installed

ASKS = re.compile(r'^\s*require_extra\(\s*"([\w.]+)"', re.MULTILINE)
OPTIONAL = ("adapters", "bulk", "models")
"""The folders of modules that need an extra."""


def below(report: Path, floor: float) -> dict[str, float]:
    """Return the files of a `coverage json` report below the floor, with their percentage."""
    files = json.loads(report.read_text())["files"]
    covered = {name: float(facts["summary"]["percent_covered"]) for name, facts in files.items()}
    return {
        name: percent
        for name, percent in covered.items()
        if percent < floor and not is_left_out(Path(name))
    }


def is_left_out(module: Path) -> bool:
    """Return whether a module stands on a package that is not installed."""
    asked = ASKS.search(module.read_text()) if module.parent.name in OPTIONAL else None
    return asked is not None and not is_installed(asked[1])


def main(report: str, floor: str) -> int:
    """Print the files below the floor to standard error; return 1 if there are any."""
    offenders = below(Path(report), float(floor))
    for name, percent in sorted(offenders.items(), key=lambda item: item[1]):
        print(f"{name}: {percent:.1f}% is under the floor of {floor}%", file=sys.stderr)
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
