"""A program on a pseudo terminal: it receives typed keys and returns the screen output."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

PATIENCE = 60.0
"""Seconds that a screen may take to show what is waited for."""

_SEQUENCES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_=>])|\r")
_ON_ITS_OWN = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # what runs in the background of a script is told \
to ignore it
os.execv(sys.executable, [sys.executable, "-m", "polycontext", *sys.argv[1:]])
"""
"""Make the terminal the controlling one, so that keys such as Ctrl+C send signals."""

_WHERE_IS_THE_CURSOR, _THERE = b"\x1b[6n", b"\x1b[1;1R"


class OnATerminal:
    """`polycontext` with these arguments on a pseudo terminal, killed when the context ends."""

    def __init__(self, folder: Path, *arguments: object, **environment: str) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, 120))
        command = [sys.executable, "-S", "-c", _ON_ITS_OWN, *map(str, arguments)]
        env = os.environ | {"TERM": "xterm"} | environment
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        os.close(slave)
        self._raw = b""
        self._seen = 0

    @property
    def screen(self) -> str:
        """Return what was shown so far, without the sequences that colour and move."""
        return _SEQUENCES.sub("", self._raw.decode(errors="replace"))

    def press(self, text: str) -> None:
        """Press these keys."""
        os.write(self._master, text.encode())

    def see(self, *wanted: str) -> str:
        """Wait until these texts appear in order, and return the output up to the last."""
        start = self._seen
        for text in wanted:
            until = monotonic() + PATIENCE
            while (found := self.screen.find(text, self._seen)) < 0:
                assert self._read(until), f"{text!r} is not shown: {self.screen[self._seen :]!r}"
            self._seen = found + len(text)
        return self.screen[start : self._seen]

    def end(self) -> int:
        """Wait until the program has ended, and return its exit code."""
        until = monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, until - monotonic()))
        try:
            data = os.read(self._master, 65_536) if ready else b""
        except OSError:  # the other end is closed
            data = b""
        if _WHERE_IS_THE_CURSOR in data:
            os.write(self._master, _THERE)
        self._raw += data
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._master)
