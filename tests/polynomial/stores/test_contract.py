"""Every store that ships passes the contract that users can run on their own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from polycontext.nodes.testing.store_contract import STORE_CHECKS, OpenStore
from polycontext.polynomial.stores import InMemoryStore, SQLiteStore

checks = pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)


@checks
def test_the_store_in_memory(check: Callable[[OpenStore], None]) -> None:
    """It lives as long as its process: it is opened once."""
    store = InMemoryStore()
    check(lambda: store)


@checks
def test_the_store_in_a_sqlite_file(check: Callable[[OpenStore], None], tmp_path: Path) -> None:
    """It is opened anew from its file."""
    check(lambda: SQLiteStore(tmp_path / "sessions.db"))
