"""The rooms depend downward only, and the check that says so is able to say no."""

import os
import shutil
import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import pytest

from tests.house import APPLICATIONS, FRONT, ROOMS, ROOT, installed_path

LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def lint(cwd: Path, *search_first: Path) -> subprocess.CompletedProcess[str]:
    """Run the contract of pyproject.toml with `search_first` ahead of the installed rooms."""
    paths = os.pathsep.join(map(str, search_first))
    command = [
        sys.executable,
        str(LINT_IMPORTS),
        "--config",
        str(ROOT / "pyproject.toml"),
        "--no-cache",
    ]
    return subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_the_rooms(place: Path) -> Path:
    """Copy the front door, the rooms and the applications into `polycontext`, as installed."""
    shutil.copytree(
        ROOT / FRONT, place / "polycontext", ignore=shutil.ignore_patterns("__pycache__")
    )
    for room in (*ROOMS, *APPLICATIONS):
        shutil.copytree(
            ROOT / room,
            place / installed_path(Path(room)),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return place


@pytest.mark.gate
def test_the_rooms_keep_the_contract() -> None:
    """No module of a room imports from a room above it."""
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.gate
def test_an_upward_import_is_rejected(tmp_path: Path) -> None:
    """An import from any room to the next one above breaks the contract, which names both."""
    place = copy_of_the_rooms(tmp_path)
    pairs = [*pairwise(ROOMS), ("base", "nodes")]
    for lower, upper in pairs:
        file = place / "polycontext" / lower / f"upward_{upper}.py"
        file.write_text(f"import polycontext.{upper}\n")
    result = lint(tmp_path, place)
    assert result.returncode == 1, result.stdout + result.stderr
    told = " ".join(result.stdout.split())
    for lower, upper in pairs:
        assert f"polycontext.{lower} is not allowed to import polycontext.{upper}" in told
