"""Run a benchmark: ``python -m benchmarks NAME [ARGUMENT ...]``; without a name they are listed."""

import subprocess
import sys
from collections.abc import Sequence

BENCHMARKS = {
    "agent_context": (
        "benchmarks.agent_context",
        "time and memory of an AgentContext's operations",
    ),
    "agent_cost": ("benchmarks.agent_cost", "calls and tokens of an agent beside a plain loop"),
    "background": ("tests.background_runs", "10,000 summaries in the background while turns come"),
    "boards": ("benchmarks.boards", "public benchmarks of compaction, beside their own methods"),
    "budget": ("benchmarks.budget", "each limit of speed and size beside its measurement"),
    "bulk": ("benchmarks.bulk", "data sets on all cores: throughput, scaling, kills, memory"),
    "cache_peers": ("benchmarks.budget", "what a prompt cache keeps of other libraries' lists"),
    "erasing": ("benchmarks.erasing", "erasures in a file of 1 GB beside two writers"),
    "fuzz": ("benchmarks.fuzz_agent_context", "100,000 mutated documents for the AgentContext"),
    "gateway": ("benchmarks.gateway", "cost and values in view of compressed rows of agents"),
    "idle": ("benchmarks.idle", "recorded agents whose users pause, priced with idle compression"),
    "long_session": ("benchmarks.long_session", "one durable session of 400,000 turns"),
    "margins": ("benchmarks.margins", "tokenizers of open models beside what a session counts"),
    "page_speed": ("tests.server.browser.speed", "opening and scrolling a long chat in Chromium"),
    "retention": ("benchmarks.retention", "what is left of recordings where it is needed"),
    "retention_peer": ("benchmarks.retention", "the same of the library that is named first"),
    "rules": ("benchmarks.rules", "training and measuring the classifier of rules"),
    "search": ("benchmarks.search", "evidence that a search of a log finds"),
    "server_load": ("tests.server_load", "500 listeners of 50 chats for a minute"),
}
"""The module of each benchmark, and what it measures. Most accept ``--help``."""

ALONE = ("uv", "run", "--isolated")
"""The start of a command that runs in an environment of its own, beside other libraries."""

BOARDS = (
    "--no-dev",
    "--with",
    "compaction-conformance-kit==0.8.0",
    "--with",
    "compactbench==0.1.0",
)
CACHE_PEERS = ("--with", "langchain")
RETENTION_PEER = ("--no-dev", "--extra", "cli", "--with")


def command(name: str, arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that runs a benchmark.

    >>> command("retention_peer", ["langchain-core", "--set", "tau"])[-4:]
    ['benchmarks.retention', 'peers', '--set', 'tau']
    """
    run = ("python", "-m", BENCHMARKS[name][0])
    match name, *arguments:
        case "boards", *_:
            return [*ALONE, *BOARDS, *run, *arguments]
        case "cache_peers", *_:
            return [*ALONE, *CACHE_PEERS, *run, "cache", *arguments]
        case "rules", "train":
            return [*ALONE, "--with", "scikit-learn", *run, "train"]
        case "retention_peer", peer, *rest:
            return [*ALONE, *RETENTION_PEER, peer, *run, "peers", *rest]
        case _:
            return [sys.executable, *run[1:], *arguments]


def main(arguments: Sequence[str]) -> int:
    """Run the named benchmark and return its exit code, or list all of them."""
    match arguments:
        case [name, *rest] if name in BENCHMARKS:
            return subprocess.run(command(name, rest), check=False).returncode  # noqa: S603
        case [name, *_] if name not in ("list", "--help", "-h"):
            print(f"unknown benchmark {name!r}. Use {', '.join(BENCHMARKS)}.", file=sys.stderr)
            return 2
        case _:
            for name, (_, measured) in BENCHMARKS.items():
                print(f"{name:<20}{measured}")
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
