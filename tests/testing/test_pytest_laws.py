"""The laws about a user's object as tests of pytest, switched on by a line."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import ROOT


def run(folder: Path, subject: str) -> str:
    """Return what pytest prints for the laws about a subject, in a project of its own."""
    (folder / "conftest.py").write_text('pytest_plugins = ["polycontext.testing.pytest_laws"]\n')
    (folder / "pytest.ini").write_text(
        f"[pytest]\npolycontext_subjects = {subject}\npolycontext_examples = 5\n"
        f"pythonpath = {ROOT}\n"
    )
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def test_each_law_about_an_object_is_a_test(tmp_path: Path) -> None:
    """A summariser that ignores its allowance fails one of two, with the smallest counterexample."""
    printed = run(tmp_path, "tests.testing.law_subjects:Chatty")
    assert "1 failed, 2 passed" in printed
    assert "pressure.summaries_keep_to_their_allowance" in printed
    assert "found: " in printed
    assert "Traceback" not in printed


def test_a_sound_object_passes(tmp_path: Path) -> None:
    """Beside the tests that are there."""
    assert "3 passed" in run(tmp_path, "tests.testing.law_subjects:Silent")


@pytest.mark.parametrize("subject", ["no.such.module:thing", "tests.testing.law_subjects:number"])
def test_what_is_no_subject_is_refused(tmp_path: Path, subject: str) -> None:
    """By its name, before any test is run."""
    printed = run(tmp_path, subject)
    assert f"subject '{subject}'" in printed
    assert "passed" not in printed
