"""Small data sets for the tests of bulk compression."""

import json
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import assistant, chat, result, user

BUDGET = 600


def rows(number: int, turns: int = 12) -> list[dict[str, Any]]:
    """Return so many rows; every third fits into `BUDGET`, and two are in other formats."""
    made = [
        {"id": index, "messages": chat(4 if index % 3 == 0 else turns), "label": f"l{index}é"}
        for index in range(number)
    ]
    made[1]["messages"] = [
        user("Look."),
        *[
            each
            for n in range(8)
            for each in (assistant(None, f"c{n}"), result(f"c{n}", "w " * 160))
        ],
        user("And now?"),
    ]
    made[2] |= {"system": "Be brief."}
    return made


def as_lines(values: Sequence[Any]) -> bytes:
    """Return values as JSONL."""
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def saved(path: Path, data: bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(data)
    return path


def read(path: Path) -> list[Any]:
    """Return the values in a file of JSONL."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@contextmanager
def little_space(size: int) -> Generator[None]:
    """Let no file of this process grow beyond `size` bytes; skip the test where that is not known.

    Python then raises OSError, as on a full disk.
    """
    resource = pytest.importorskip("resource")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
