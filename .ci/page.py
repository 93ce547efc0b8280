"""Build the page from `web/`, check its format and types, run its tests and check its size.

Usage: python .ci/page.py [--write]

Without --write, the build is compared with the committed page; exit code 1 means that they differ.
Without Node.js the script reports that it was skipped, because the committed page needs no build.
"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB, PAGE = ROOT / "web", ROOT / "apps" / "server" / "page"
NODE = (20, 19)
"""The lowest Node.js version that builds the page."""


def main(*arguments: str) -> int:
    """Build the page, and compare or write it; return the exit code."""
    missing = without_node()
    if missing:
        print(f"skipped: {missing}; the committed page stays as it is")
        return 0
    npm("ci", "--no-audit", "--no-fund")
    for script in ("format", "types", "test"):
        npm("run", "--silent", script)
    with tempfile.TemporaryDirectory() as folder:
        built = PAGE if arguments == ("--write",) else Path(folder) / "page"
        npm(
            "run",
            "--silent",
            "build",
            "--",
            "--logLevel",
            "warn",
            "--outDir",
            str(built),
            "--emptyOutDir",
        )
        npm("run", "--silent", "size", "--", str(built))
        different = differing(built, PAGE)
    if different:
        print(
            (
                f"differs from what web/ builds: {', '.join(different)}; `just page-build` writes "
                "it anew"
            ),
            file=sys.stderr,
        )
    return 1 if different else 0


def without_node() -> str:
    """Return why the page cannot be built here, or an empty text if it can."""
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        return "Node.js and its npm are not here"
    said = subprocess.run(  # noqa: S603 - a tool
        [node, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    version = tuple(int(part) for part in said.removeprefix("v").split(".")[:2])
    return "" if version >= NODE else f"Node.js {said} is older than {NODE[0]}.{NODE[1]}"


def npm(*arguments: str) -> None:
    """Run npm in `web/`; if it fails, exit with its code."""
    environment = {**os.environ, "NO_UPDATE_NOTIFIER": "1"}
    code = subprocess.run(  # noqa: S603 - as above
        [shutil.which("npm") or "npm", *arguments], cwd=WEB, env=environment, check=False
    ).returncode
    if code:
        sys.exit(code)


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of the files that are not identical in both folders."""
    names = sorted({path.name for folder in (one, other) for path in folder.iterdir()})
    _, mismatch, errors = filecmp.cmpfiles(one, other, names, shallow=False)
    return sorted([*mismatch, *errors])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
