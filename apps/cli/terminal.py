"""The terminal of a chat: reads typed or piped lines, and turns signals into an orderly exit."""

import asyncio
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NoReturn

from click.exceptions import Exit

from polycontext.base import PolycontextError
from polycontext.models.endings import ending_of
from polycontext.nodes.endings import keep_ending
from polycontext.polynomial import ContextSession

from .output import FAULT, CommandError

_SIGNALLED = 128
"""Shells report a program that a signal ended as this plus the signal's number."""


QUIT = "/quit"
"""The line that ends a conversation; also returned at the end of the input."""


def read_line(*, is_terminal: bool) -> str:
    """Return the next line, stripped, or `QUIT` at the end of the input.

    In a pipe, bytes that are not valid UTF-8 are replaced.
    """
    if not is_terminal:
        line = sys.stdin.buffer.readline()
        return line.decode(errors="replace").strip() if line else QUIT
    with suppress(ImportError):
        import_module("readline")  # gives `input` line editing and a history
    try:
        return input("> ").strip()
    except EOFError:
        return QUIT
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return ""


@contextmanager
def interruptible_runner() -> Generator[asyncio.Runner]:
    """Yield a runner whose loop wakes up for every signal.

    Otherwise a signal that comes just before the loop waits is seen only after it.
    """
    with asyncio.Runner() as runner:
        if hasattr(signal, "SIGURG"):  # Windows' loop wakes up by itself
            runner.get_loop().add_signal_handler(signal.SIGURG, lambda: None)
        yield runner


@contextmanager
def orderly_end() -> Generator[None]:
    """Raise SystemExit on SIGTERM and SIGHUP, so that the chat is saved before the process ends."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(_SIGNALLED + number)

    asked = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = [signal.signal(each, end) for each in asked]
    try:
        yield
    finally:
        for each, handler in zip(asked, before, strict=True):
            signal.signal(each, handler)


def _address(raised: BaseException | None) -> str:
    """Return the address that an SDK's error asked, without its query."""
    url = getattr(getattr(raised, "request", None), "url", None)
    return f" at {str(url).partition('?')[0]}" if url else ""


def end_answer(session: ContextSession, text: str, raised: BaseException | None = None) -> None:
    """Store how an answer with this text ended.

    Raises:
        CommandError: it is not done.
    """
    ending = ending_of(raised, text)
    keep_ending(session, ending)
    if raised is not None and (
        isinstance(raised, Exit | PolycontextError) or not isinstance(raised, Exception)
    ):
        raise raised
    if ending.text:
        detail = (
            f" ({type(raised).__name__}{_address(raised)}: {raised})" if str(raised or "") else ""
        )
        raise CommandError(ending.text + detail, FAULT) from raised
