"""The examples run as a user runs them, and print what they say they print."""

import ast
import doctest
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.house import ROOT, gated

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def announced(example: Path) -> str:
    """Return what an example's docstring says that it prints: the block below ``Prints::``."""
    docstring = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    block = docstring.partition("Prints::\n")[2]
    assert block, (
        f"{example.name} does not say what it prints: end its docstring on 'Prints::' and the "
        "output"
    )
    return textwrap.dedent(block).strip() + "\n"


@pytest.mark.parametrize("example", gated(EXAMPLES, EXAMPLES[0]), ids=lambda path: path.name)
def test_an_example_prints_what_it_says(example: Path) -> None:
    """An example exits cleanly and prints its docstring's block (``...`` stands for anything)."""
    check_example(example)


def check_example(example: Path) -> None:
    """Run an example, and compare what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert doctest.OutputChecker().check_output(
        announced(example), done.stdout, doctest.ELLIPSIS
    ), done.stdout


def test_there_are_examples() -> None:
    """The soul and the builder are among them."""
    assert {"soul.py", "builder.py"} <= {example.name for example in EXAMPLES}
