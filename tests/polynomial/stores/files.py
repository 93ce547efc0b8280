"""Sessions in SQLite files, and what these files hold."""

import sqlite3
from pathlib import Path
from typing import Any

from polycontext.polynomial import ContextSession
from tests.polynomial.conversations import WORDS


def opened(path: Path | str, session_id: str = "s", **options: Any) -> ContextSession:
    """Return a session in a file, with room for 10,000 words."""
    given: dict[str, Any] = {"max_tokens": 10_000, "counter": WORDS, **options}
    return ContextSession.open(path, session_id, **given)


def raw(path: Path) -> bytes:
    """Return all bytes of a file and of those beside it."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def change(path: Path, code: str) -> None:
    """Change a file past every store."""
    db = sqlite3.connect(path)
    db.executescript(code)
    db.close()


def is_whole(path: Path) -> bool:
    """Return whether SQLite finds nothing wrong in a file."""
    db = sqlite3.connect(path)
    try:
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    finally:
        db.close()
