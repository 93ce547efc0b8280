"""Run the measuring command: ``python -m benchmarks.retention --help``."""

import sys

from benchmarks.retention.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
