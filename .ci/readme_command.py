"""Print a command of the README, so that CI runs exactly the documented command.

Usage: python3 .ci/readme_command.py NAME, where README.md holds ``<!-- command: NAME -->`` followed
by a fenced command.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def command(name: str, text: str) -> str:
    """Return the one fenced block after the marker `name`; raise `LookupError` if there is none."""
    found = re.search(rf"<!-- command: {re.escape(name)} -->\s*```\w*\n(.+?)\n```", text, re.DOTALL)
    if found is None:
        message = f"README.md has no command {name!r}"
        raise LookupError(message)
    return found[1]


if __name__ == "__main__":
    print(command(sys.argv[1], README.read_text(encoding="utf-8")))
