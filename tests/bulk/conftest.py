"""What the tests of bulk compression share: pieces of a few rows."""

import pytest

from polycontext.bulk import lines


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces hold a few rows."""
    monkeypatch.setattr(lines, "PIECE_BYTES", 8_000)
