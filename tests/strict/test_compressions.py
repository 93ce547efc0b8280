"""Sessions with compressions of all kinds pass strict providers, and their receipts check."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polycontext.polynomial.stores import SQLiteStore
from tests.strict import compressions

SEEDS = [
    *range(12),
    *(pytest.param(seed, marks=pytest.mark.gate) for seed in range(12, 48)),
    *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(48, 2_000)),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_compression_has_a_receipt_that_checks(seed: int) -> None:
    """No provider refuses a request behind an undo, and every extract is made again."""
    loop = compressions.run_changed(seed)
    checked = loop.session.history.check_receipts()
    assert [*loop.found.wrong, *compressions.findings(loop.session, checked)] == []


@pytest.mark.gate
def test_another_process_makes_the_same_gists(tmp_path: Path) -> None:
    """With other hash seeds, from the store."""
    file = tmp_path / "sessions.db"
    store = SQLiteStore(file)
    for seed in (0, 1, 8):
        compressions.run_changed(seed, store)
    names = store.list_sessions()
    store.close()
    for name in names:
        command = [sys.executable, "-m", "polycontext", "receipts", "check", name, "--json"]
        ran = subprocess.run(
            [*command, "--store", str(file)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "1"},
        )
        assert {row["verdict"] for row in json.loads(ran.stdout)} <= {"same", "signed"}
