"""Run the tests and the example of each framework adapter in an environment of its own.

Usage: python .ci/adapters.py [NAME ...] [--some N] [--exchanges N] [--table]

Without names, all adapters run. `--some 3` picks three by the commit, so that all of them get their
turn. An adapter has an extra of its name, and tests in `tests/adapters/frameworks/`. `--table`
writes the results into docs/adapters.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coverage_floor import below

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "adapters.md"
BEGIN, END = "<!-- table: just adapters --table -->", "<!-- /table -->"
FLOOR = 90.0
UV, GIT = shutil.which("uv") or "uv", shutil.which("git") or "git"

COLUMNS = {
    "framework": "framework",
    "version": "version",
    "requests": "requests",
    "refused": "refused",
    "largest": "largest, tokens",
    "demand": "first instruction",
    "history": "history",
    "breaks": "breaks of 59",
    "restart": "restart",
    "retries": "retries",
    "streaming": "streaming",
}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def adapters() -> dict[str, str]:
    """Return the extra of each adapter by the adapter's name."""
    extras = PROJECT["project"]["optional-dependencies"]
    return {
        name: extra
        for extra in sorted(extras)
        if tests_of(name := extra.replace("-", "_")).exists()
    }


def is_held_by_all_tests(extra: str) -> bool:
    """Return whether the dev environment has an adapter's packages, so that all tests cover it."""
    return set(PROJECT["project"]["optional-dependencies"][extra]) <= set(
        PROJECT["dependency-groups"]["dev"]
    )


def tests_of(name: str) -> Path:
    """Return the path of an adapter's tests."""
    return ROOT / "tests" / "adapters" / "frameworks" / f"test_{name}.py"


def run(name: str, extra: str, rows: Path, exchanges: int) -> bool:
    """Run the tests of one adapter; return whether they pass and reach the coverage floor."""
    print(f"\n-- {name} ({extra})", flush=True)
    started, report = time.monotonic(), rows / f"{name}.coverage"
    tests = [
        str(tests_of(name).relative_to(ROOT)),
        "-q",
        "-m",
        "not deep",
        "-p",
        "no:cacheprovider",
        "--cov",
    ]
    told = ["--cov-branch", f"--cov-report=json:{report}", "--cov-fail-under=0"]
    environment = ["--isolated", "--no-default-groups", "--group", "adapters", "--extra", extra]
    done = subprocess.run(  # noqa: S603 - our own tests
        [UV, "run", "--quiet", *environment, "pytest", *tests, *told],
        cwd=ROOT,
        env={**os.environ, "POLYCONTEXT_ROWS": str(rows), "POLYCONTEXT_EXCHANGES": str(exchanges)},
        check=False,
    )
    if done.returncode:
        return False
    # Coverage is measured for the whole package, but these tests count only for the adapter.
    low = {} if is_held_by_all_tests(extra) else below(report, FLOOR)
    offenders = {file: percent for file, percent in low.items() if f"adapters/{name}" in file}
    for file, percent in offenders.items():
        print(f"{file}: {percent:.1f}% is under the floor of {FLOOR:.0f}%", file=sys.stderr)
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return not offenders


def some(names: Sequence[str], number: int) -> list[str]:
    """Return `number` of the names, rotating with each commit."""
    told = subprocess.run(  # noqa: S603 - git
        [GIT, "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first = int(told.stdout) * number
    return [names[(first + step) % len(names)] for step in range(min(number, len(names)))]


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the results as a Markdown table."""
    head = [f"| {' | '.join(COLUMNS.values())} |", f"|{'---|' * len(COLUMNS)}"]
    return "\n".join(
        [*head, *(f"| {' | '.join(str(row.get(name, '–')) for name in COLUMNS)} |" for row in rows)]
    )


def write_table(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows into the page; rows of other frameworks stay unchanged."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    known, _, after = rest.partition(END)
    lines = {
        line.split("|")[1].strip(): line for line in known.splitlines() if line.startswith("| ")
    }
    lines.pop(COLUMNS["framework"], None)
    head, rule, *seen = table(rows).splitlines()
    lines |= {line.split("|")[1].strip(): line for line in seen}
    PAGE.write_text(
        "\n".join(
            [f"{before}{BEGIN}\n", head, rule, *(lines[name] for name in sorted(lines)), f"\n{END}"]
        )
        + after
    )


def main(arguments: Sequence[str]) -> int:
    """Run the requested adapters; return 1 if any of them failed."""
    parser = argparse.ArgumentParser(
        description="Run each adapter's tests beside its framework, alone."
    )
    known = adapters()
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument("--some", type=int, metavar="N", help="take N of them by the commit")
    parser.add_argument(
        "--exchanges", type=int, default=60, metavar="N", help="how long conversations are (60)"
    )
    parser.add_argument(
        "--table", action="store_true", help="write what was seen into docs/adapters.md"
    )
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(known):
        parser.error(f"no adapter {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    names = asked.names or [*known]
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder)
        failed = [
            name
            for name in (some(names, asked.some) if asked.some else names)
            if not run(name, known[name], rows, asked.exchanges)
        ]
        if asked.table:
            write_table(json.loads(row.read_text()) for row in sorted(rows.glob("*.json")))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
