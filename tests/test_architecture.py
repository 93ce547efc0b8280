"""The map of the code: generated blocks are current, and handwritten file names exist."""

import re
import subprocess
import sys

import pytest

from tests.house import ROOT, script

PAGE = ROOT / "docs" / "architecture.md"


@pytest.mark.gate
@pytest.mark.no_cover
def test_the_generated_blocks_are_up_to_date() -> None:
    """The check runs in its own process, because cached imports change the traced turn."""
    done = subprocess.run(
        [sys.executable, ".ci/pages.py", "architecture", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_file_that_the_page_names_exists() -> None:
    """A file that moves takes its name on the page along."""
    named = {
        name.split()[0]
        for name in re.findall(r"`([\w./<>-]+(?:\.pyi?|/))`", PAGE.read_text(encoding="utf-8"))
    }
    missing = {
        name for name in named if "/" in name and "<" not in name and not (ROOT / name).exists()
    }
    assert not missing


def test_a_page_without_markers_for_a_block_is_refused() -> None:
    """Nothing is written beside its markers."""
    with pytest.raises(ValueError, match="no markers for folders"):
        script("pages").architecture("no markers")
