"""The data sets that are measured are valid, and differ from each other."""

import json
from pathlib import Path

import pytest

from benchmarks import bulk, long_session
from polycontext.window.providers import check


def test_rows_differ_and_are_valid(tmp_path: Path) -> None:
    """Recordings with other digits are still conversations that the provider accepts."""
    if not bulk.DATA.exists():
        pytest.skip("no recordings here")
    path = bulk.generate(tmp_path / "a.jsonl", 205)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == 205
    for line in lines[100:110]:
        check(json.loads(line)["messages"], "openai", allow_open_tail=True)


@pytest.mark.gate
@pytest.mark.no_cover
def test_a_long_session_is_driven_continued_and_opened(tmp_path: Path) -> None:
    """Each call goes on where the file ends; every view is valid."""
    file = tmp_path / "s.db"
    first, second = (long_session.drive(file, last) for last in (1_000, 2_000))
    assert first["invalid"] == second["invalid"] == 0
    assert second["judged"] == 1
    assert long_session.reopened(file)["turns"] == 2_000
