"""Where the stores of these tests are."""

from pathlib import Path

import pytest

from polycontext.polynomial.journal import snapshots


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be."""
    return tmp_path / "sessions.db"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let snapshots be made after 64 events."""
    monkeypatch.setattr(snapshots, "EVERY", 64)
