"""The stores of sessions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from polycontext.polynomial.stores import InMemoryStore, SessionStore, SQLiteStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    """Return an empty store of each kind."""
    is_file = request.param == "sqlite"
    kept: SessionStore = SQLiteStore(tmp_path / "sessions.db") if is_file else InMemoryStore()
    yield kept
    kept.close()
