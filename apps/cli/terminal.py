"""A conversation's terminal: lines that are typed or piped in, and an end that keeps what was said."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NoReturn

_SIGNALLED = 128
"""What shells add to the number of the signal that has ended a program."""


QUIT = "/quit"
"""The line that ends a conversation, as the end of the input does."""


def read_line(*, is_terminal: bool) -> str:
    """Return the next line without blanks around it, `QUIT` behind the last.

    Bytes that are no UTF-8 are replaced.
    """
    if not is_terminal:
        line = sys.stdin.buffer.readline()
        return line.decode(errors="replace").strip() if line else QUIT
    with suppress(ImportError):
        import_module("readline")  # gives `input` a history and its editing
    try:
        return input("> ").strip()
    except EOFError:
        return QUIT
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return ""


@contextmanager
def orderly_end() -> Generator[None]:
    """Let a process that is told to end, or whose terminal is closed, keep what was said first."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(_SIGNALLED + number)

    asked = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = [signal.signal(each, end) for each in asked]
    try:
        yield
    finally:
        for each, handler in zip(asked, before, strict=True):
            signal.signal(each, handler)
