"""Folders that the tests of pills resolve in."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from tests.pills.hostile_names import SECRET

SECRET_TEXT = "the key under the mat"  # noqa: S105 - what no test may read


def planted(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files beneath `root`, and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def besieged(outside: Path) -> Path:
    """Return a root beside a secret, with links and special files that lead out or nowhere."""
    planted(outside, {SECRET: SECRET_TEXT, "sécret/secret.txt": SECRET_TEXT})
    root = planted(outside / "root", {"src/agent.py": "def run():\n    return 1\n"})
    links = {
        "link-out": f"../{SECRET}",
        "link-absolute": str(outside / SECRET),
        "link-chain": "link-out",
        "link-folder": "..",
        "link-absolute-folder": str(outside),
        "link-deep": "src/../..",
        "src/link-up": "../..",
        "src/link-root": "..",
        "link-self": ".",
        "link-loop": "link-loop",
        "link-dangling": "../nothing",
        "link-proc": "/proc/self/environ",
        "link-null": "/dev/zero",
        "link-past-root": f"src/../../root/../{SECRET}",
        "link-fifo": "fifo",
        "link-in": "src/agent.py",
        "link-src": "src",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    here = os.open(".", os.O_RDONLY)
    os.chdir(root)  # a socket's path may only have 108 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    os.fchdir(here)
    os.close(here)
    return root
