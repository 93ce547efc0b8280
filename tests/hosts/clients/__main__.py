"""Drive real clients of three hosts on loopback, and print what their models were sent.

Usage: ``python -m tests.hosts.clients [--prompts N] [--only NAME]``, or ``just hosts``. The clients
are installed from npm into `build/hosts`; each has an empty home, a strict stand-in of its model
and a restart half way. Exit code 1 if something was refused, lost or left to the host.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polycontext.testing.strict import StrictServer

from .claude_code import ClaudeCode
from .host import Host
from .model import RULE, TASK, is_whole, prompt
from .opencode import OpenCode
from .pi import Pi

HOSTS: Sequence[type[Host]] = (ClaudeCode, OpenCode, Pi)
CLIENTS = Path(__file__).parents[3] / "build" / "hosts"
COMPACTIONS = 6
"""The compactions that a conversation of 60 prompts must have."""


def converse(host: Host, prompts: int) -> dict[str, object]:
    """Hold a conversation, with a restart half way and a compaction as a user asks for it."""
    with StrictServer((host.provider(),)) as server:
        host.set_up(server.url)
        try:
            for numbers in (range(prompts // 2), range(prompts // 2, prompts)):
                host.start()
                for number in numbers:
                    host.prompt(prompt(number))
                host.stop()
            host.start()
            host.compact()
            host.prompt(prompt(prompts))
        finally:
            host.stop()
    sent = [json.dumps(request["messages"]) for request in host.script.sent]
    return {
        "host": host.name,
        "version": host.version(),
        "prompts": prompts + 1,
        "requests": len(sent),
        "compactions": len(host.shortened),
        "refused": len(host.script.refused),
        "without a whole pair": sum(not is_whole(each) for each in host.script.sent),
        "without task or rule": sum(TASK not in text or RULE not in text for text in sent),
        "left to the host": len(host.left),
        "summaries by its model": host.script.own,
        "largest, characters": max(map(len, sent)),
        "tickets in the last": sum(
            f"ticket {n} costs {n * 37 + 5}" in sent[-1] for n in range(prompts)
        ),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the clients, print what was counted, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=60)
    parser.add_argument("--only", choices=[host.name for host in HOSTS])
    options = parser.parse_args(arguments)
    is_bad = False
    for kind in HOSTS:
        if options.only not in (None, kind.name):
            continue
        with tempfile.TemporaryDirectory() as place:
            host = kind(CLIENTS / kind.name, Path(place))
            host.home.mkdir()
            host.work.mkdir()
            host.install()
            told = converse(host, options.prompts)
        print(json.dumps(told, indent=1), *host.left[:2], *host.script.refused[:2], sep="\n")  # noqa: T201 - the report
        is_bad |= any(told[name] for name in BAD) or len(host.shortened) < options.prompts // 10
    return int(is_bad)


BAD = (
    "refused",
    "without a whole pair",
    "without task or rule",
    "left to the host",
    "summaries by its model",
)
"""What must not be."""

if __name__ == "__main__":
    sys.exit(main())
