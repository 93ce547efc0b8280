"""The room of the nodes opens name by name, and the program starts by its module's name too."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from polycontext import nodes

LIBRARIES = ("hypothesis", "obstore", "rich", "click")
"""Libraries that only a command, an extra or a user's test needs."""


def loaded_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after `code`."""
    ask = f"import json, sys\n{code}\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_room_itself_loads_nothing() -> None:
    """Importing the package loads no other module; a name loads only its own layer."""
    bare = {
        name for name in loaded_after("import polycontext.nodes") if name.startswith("polycontext.")
    }
    assert bare == {"polycontext.nodes"}
    asked = loaded_after("from polycontext.nodes import ComponentRenderer")
    assert "polycontext.nodes.props.component_renderer" in asked
    assert (
        not {
            "polycontext.nodes.prompts",
            "polycontext.nodes.builders",
            "polycontext.agent_context",
        }
        & asked
    )


def test_no_name_of_the_room_loads_what_only_a_command_needs() -> None:
    """With every name taken, neither the command line nor a library of an extra is loaded."""
    everything = loaded_after("from polycontext.nodes import *")
    assert "polycontext.nodes.prompts.builder" in everything
    assert sorted({*LIBRARIES, "polycontext.cli"} & everything) == []


def test_the_help_of_the_commands_loads_no_room() -> None:
    """The help of a group names its commands without loading any."""
    helps = "; ".join(f"main({arguments})" for arguments in (["--help"], ["session", "--help"]))
    start = (
        "from polycontext.cli.app import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    {helps}"
    )
    ran = loaded_after(f"import contextlib, io\n{start}")
    assert "polycontext.cli.output" in ran
    assert (
        sorted(
            {
                "hypothesis",
                "polycontext.polynomial",
                "polycontext.window",
                "polycontext.nodes.builders",
            }
            & ran
        )
        == []
    )


def test_the_lists_of_names_agree() -> None:
    """Exactly the exported names can be imported, and there are at most forty."""
    assert sorted(nodes.__all__) == sorted(dir(nodes))
    assert [name for name in nodes.__all__ if getattr(nodes, name, None) is None] == []
    assert len(nodes.__all__) <= 40
    with pytest.raises(AttributeError, match="Nobody"):
        _ = getattr(nodes, "Nobody")  # noqa: B009 - a type checker knows that it is not there


def test_the_program_starts_by_its_name() -> None:
    """`python -m polycontext` is the command line: its name, its version, its exit codes."""
    told, refused = (
        subprocess.run(
            [sys.executable, "-m", "polycontext", *more],
            capture_output=True,
            text=True,
            check=False,
        )
        for more in (["--version"], ["dance"])
    )
    assert (told.returncode, told.stdout, told.stderr) == (
        0,
        f"polycontext {version('polycontext')}\n",
        "",
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: No such command 'dance'")
