"""Run the command line: ``python -m polycontext``."""

import sys

from polycontext.cli.app import main

if __name__ == "__main__":
    sys.exit(main(program="python -m polycontext"))
