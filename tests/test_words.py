"""The limits of the docs are met, and each kind of violation is found; see `just house`."""

from pathlib import Path

import pytest

from tests.house import ROOT, script

words = script("words")


def test_the_docs_are_within_their_limits() -> None:
    """Pages, words, lines and messages are as agreed."""
    assert list(words.faults(ROOT)) == []


@pytest.mark.parametrize(
    ("page", "code", "says"),
    [
        ("word " * 32_001, "", "32,001 words"),
        ("Here: " + "long " * 30, "", "a line of 156 characters"),
        ("Fine.\n\nWhoever writes this is wrong.", "", "begins with Whoever"),
        ("Fine.", 'raise ValueError("x; legal: y")', "says legal:"),
    ],
    ids=["too many words", "a long line", "an opening", "a message"],
)
def test_what_does_not_belong_there_is_named(
    tmp_path: Path, page: str, code: str, says: str
) -> None:
    """One fault of each kind, in a house that has nothing else."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "window").mkdir()
    (tmp_path / "README.md").write_text("# It\n", encoding="utf-8")
    (tmp_path / "docs" / "page.md").write_text(page, encoding="utf-8")
    (tmp_path / "window" / "code.py").write_text(code, encoding="utf-8")
    assert any(says in fault for fault in words.faults(tmp_path))


def test_generated_parts_are_not_counted(tmp_path: Path) -> None:
    """Text inside of a generated block is not counted."""
    (tmp_path / "docs").mkdir()
    made = "<!-- table: just adapters --table -->\n" + "word " * 99 + "\n<!-- /table -->\nOne.\n"
    (tmp_path / "docs" / "page.md").write_text(made, encoding="utf-8")
    assert words.pages(tmp_path)["page"].split() == ["One."]
