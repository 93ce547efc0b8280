"""Run the command line: ``polycontext``, or ``python -m polycontext``."""

import sys

from polycontext.linearity import MissingExtraError


def main(program: str = "polycontext") -> int:
    """Run the command line and return its exit code: 2 where the extra `cli` is not installed."""
    try:
        from polycontext.cli.app import main as run  # noqa: PLC0415 - an extra
    except MissingExtraError as missing:
        sys.stderr.write(f"{program}: {missing}\n")
        return 2
    return run(program=program)


if __name__ == "__main__":
    sys.exit(main("python -m polycontext"))
