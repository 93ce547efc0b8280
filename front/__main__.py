"""Run the command line: ``polycontext``, or ``python -m polycontext``."""

import sys
from importlib.util import find_spec

import polycontext


def main(program: str = "polycontext") -> int:
    """Run the command line; return its exit code, or 2 if the extra `cli` is not installed."""
    # Scripts and prompts ask for the version, which needs no other module.
    if sys.argv[1:] == ["--version"] and find_spec("click"):
        sys.stdout.write(f"polycontext {polycontext.__version__}\n")
        return 0
    try:
        from polycontext.cli import main as run  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as missing:
        sys.stderr.write(f"{program}: {missing}\n")
        return 2
    return run(program=program)


if __name__ == "__main__":
    sys.exit(main("python -m polycontext"))
