"""What the tests of the command line share."""

import pytest

from tests.cli.command import Command


@pytest.fixture
def polycontext(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return the command line, on paper of the usual width and without colour."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE", "POLYCONTEXT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return Command(capsys, monkeypatch)
