"""Where the stores of these tests are."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be."""
    return tmp_path / "sessions.db"
