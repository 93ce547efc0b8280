"""The room of the nodes opens name by name."""

import json
import subprocess
import sys

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
