"""The installed program where it is narrow, where the disk is full, and where nobody reads on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import EXAMPLE, Ran, spawn
from tests.house import gated

COMMANDS = {
    "help": ("--help",),
    "show": ("session", "show", "trip"),
    "list": ("session", "list"),
    "export": ("session", "export", "trip"),
    "replay": ("replay", EXAMPLE, "--max-tokens", "1200"),
}
GATED = gated(COMMANDS, "show")
"""Each is a process: without the gate, one will do."""
NARROW = ("help", "show", "list", "replay")
PROGRAM = "import sys; from polycontext.cli.app import main; sys.exit(main())"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store with a conversation."""
    path = tmp_path_factory.mktemp("store") / "chats.db"
    for command in (("new", "--max-tokens", "600"), ("append", "--from", EXAMPLE)):
        name, *more = command
        ran = spawn("session", name, "trip", *more, POLYCONTEXT_STORE=str(path))
        assert ran.code == 0, ran.err
    return path


@pytest.mark.parametrize("name", [each for each in GATED if each.values[0] in NARROW])
def test_it_fits_a_narrow_terminal(store: Path, name: str) -> None:
    """No line for people is longer than 60 columns."""
    ran = spawn(*COMMANDS[name], POLYCONTEXT_STORE=str(store), COLUMNS="60", PYTHONUTF8="1")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 60


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk")
@pytest.mark.parametrize("name", GATED)
def test_a_full_disk_is_said_to_be_full(store: Path, name: str) -> None:
    """Exit code 1, and one line that says what to do."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, COMMANDS[name])],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"POLYCONTEXT_STORE": str(store)},
            check=False,
        )
    *_, complaint = Ran(done.returncode, "", done.stderr.decode()).err.splitlines()
    assert (done.returncode, complaint) == (
        1,
        "error: the output cannot be written: the disk is full. Make room and try again.",
    )


@pytest.mark.parametrize("name", GATED)
def test_nobody_has_to_read_to_the_end(store: Path, name: str) -> None:
    """A reader that goes after a byte, as `head` does, ends the program without a word."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, COMMANDS[name])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"POLYCONTEXT_STORE": str(store)},
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.read(1)
        program.stdout.close()
        said = program.stderr.read().decode()
    assert program.returncode in (0, 141)
    assert "error" not in said
    assert "Traceback" not in said


@pytest.mark.gate
@pytest.mark.parametrize("words", [("check", ""), ("session", "append", "trip", "--from", "")])
def test_the_shell_completes_the_names_of_files(store: Path, words: tuple[str, ...]) -> None:
    """The completion of a file is left to the shell."""
    ran = spawn(
        POLYCONTEXT_STORE=str(store),
        _POLYCONTEXT_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(("polycontext", *words)),
        COMP_CWORD=str(len(words)),
    )
    assert "file," in ran.out
