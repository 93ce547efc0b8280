"""What the package ships for hosts: each is there, and passes the tests in its own language."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polycontext.hosts import HOSTS, host_path

HERE, NODE = Path(__file__).parent, shutil.which("node")
LINES = 120


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_is_shipped_and_short(name: str) -> None:
    """Its path exists, and its code is read in a few minutes."""
    path = host_path(name)
    (code,) = [path] if path.is_file() else path.glob("hooks/*.ts")
    assert 20 < len(code.read_text().splitlines()) <= LINES


@pytest.mark.gate
@pytest.mark.parametrize("name", ["opencode", "pi"])
def test_a_host_passes_its_own_tests(name: str) -> None:
    """Node.js runs them; those of Claude Code need its program and are run by `just hosts`."""
    if NODE is None:
        pytest.skip("Node.js is not on the PATH")
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (20, 3):
        pytest.skip("the hosts need Node.js 20.3 or newer")
    done = subprocess.run(
        [NODE, "--test", HERE / f"{name}.test.mjs"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE)
