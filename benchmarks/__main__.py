"""Run benchmarks: ``python -m benchmarks`` for all, or by name."""

import sys

from rich.console import Console

from benchmarks import agent_context, large_window, pills, summariser_quality, turn_cost

NAMES = {
    "turn_cost": turn_cost.run,
    "large_window": large_window.run,
    "summariser_quality": summariser_quality.run,
    "agent_context": agent_context.run,
    "pills": pills.run,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them without names."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}. Use {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    for name in names or NAMES:
        NAMES[name](Console(width=150))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
