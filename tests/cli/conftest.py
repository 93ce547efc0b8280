"""Fixtures for the tests of the command line."""

import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from polycontext.cli.app import app
from tests.cli.command import Command

# Commands are imported when they are called. A test that is not traced must not be the first.
for _module, _ in app.modules.values():
    import_module(f"polycontext.cli.{_module}")


@pytest.fixture
def polycontext(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    """Return the command line, on paper of the usual width and without colour."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE", "POLYCONTEXT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    # Sessions of a test that names no store are not those of who runs it.
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Command(capsys, monkeypatch)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let SIGINT interrupt this process, as in a terminal, wherever the tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
