"""The front door: what is handed out, lazily, and how the package runs as a program."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import polycontext
from polycontext import testing
from polycontext.__main__ import main as program
from polycontext.base import MissingExtraError
from polycontext.polynomial import CONTEXT_POLYNOMIAL
from polycontext.window import TiktokenCounter
from tests.house import APPLICATIONS, ROOMS, ROOT, installed_path

STUBS = sorted(
    path for room in (*ROOMS, *APPLICATIONS) for path in (ROOT / room).rglob("__init__.pyi")
)
"""The public APIs below the front door."""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run this Python with these arguments, away from the tree."""
    return subprocess.run(
        [sys.executable, *arguments], cwd="/", capture_output=True, text=True, check=False
    )


def test_the_version_is_that_of_the_installed_package() -> None:
    """It is read out of the metadata when it is asked for, and is what pyproject.toml says."""
    assert (
        polycontext.__version__
        == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "version"
        ]
    )


def test_importing_reads_no_metadata() -> None:
    """The version costs those who ask for it."""
    code = (
        "import sys, polycontext; print('importlib.metadata' in sys.modules); "
        "polycontext.__version__; print('importlib.metadata' in sys.modules)"
    )
    assert run("-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}").stdout.split() == [
        "False",
        "True",
    ]


def test_every_name_of_the_front_door_is_there() -> None:
    """Each is loaded when it is asked for; one that is none is an attribute error."""
    for name in polycontext.__all__:
        value = getattr(polycontext, name)
        assert value is CONTEXT_POLYNOMIAL if name.isupper() else value.__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        _ = polycontext.nothing  # type: ignore[attr-defined]
    assert TiktokenCounter.__module__.startswith("polycontext.")


def test_what_is_elsewhere_is_named() -> None:
    """Importing it from here says where it is."""
    told = run("-c", "from polycontext import Agent").stderr
    assert told.endswith("Agent is not in polycontext. Import it from polycontext.agents.\n")
    for name, place in (("FixedThreshold", "pressure"), ("SQLiteStore", "polynomial.stores")):
        assert hasattr(import_module(f"polycontext.{place}"), name)
        with pytest.raises(AttributeError, match=f"Import it from polycontext.{place}"):
            getattr(polycontext, name)


def test_a_name_that_is_nowhere_is_answered_with_a_similar_one() -> None:
    """If it looks like a class."""
    with pytest.raises(AttributeError, match=r"Did you mean 'ContextSession'\?"):
        _ = polycontext.ContextSesion  # type: ignore[attr-defined]
    told = run("-c", "from polycontext import ContextSesion").stderr
    assert told.endswith("ContextSesion is not in polycontext. Did you mean 'ContextSession'?\n")


MODULE = "python -m polycontext"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, f"Usage: {MODULE} [OPTIONS] COMMAND"),
        (["replay", "--help"], 0, f"Usage: {MODULE} replay [OPTIONS]"),
        (["--version"], 0, f"polycontext {polycontext.__version__}"),
        (["dance"], 2, f"Try {MODULE} --help"),
        (["replay"], 2, f"Try {MODULE} replay --help"),
        (["replay", "gone.json"], 2, "error: gone.json: cannot be read"),
    ],
)
def test_the_package_runs_as_a_program(arguments: Sequence[str], code: int, said: str) -> None:
    """`python -m polycontext` is the command line, and calls itself what its user called it."""
    done = run("-m", "polycontext", *arguments)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
    assert "\n polycontext " not in done.stdout


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_every_name_of_a_public_api_is_there(stub: Path) -> None:
    """Every public name exists, also after its module was imported, and no unlisted one does."""
    package = installed_path(stub.parent.relative_to(ROOT)).replace("/", ".")
    door = import_module(package)
    for module in stub.parent.glob("[a-z]*.py"):
        import_module(f"{package}.{module.stem}")
    listed = ast.parse(stub.read_text(encoding="utf-8")).body
    modules = {
        name.name
        for node in listed
        if isinstance(node, ast.ImportFrom) and not node.module
        for name in node.names
    }
    for name in door.__all__:
        assert isinstance(getattr(door, name), ModuleType) == (name in modules), name
    assert set(door.__all__) <= set(dir(door))
    assert not hasattr(door, "no_such_name")


def test_the_program_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is called, with its arguments."""
    monkeypatch.setattr(sys, "argv", ["polycontext", "--version"])
    assert program() == 0
    assert capsys.readouterr().out == f"polycontext {polycontext.__version__}\n"


def test_the_program_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its extra it ends as for wrong usage."""
    for name in ("polycontext.cli", "polycontext.cli.app"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("polycontext.base.errors.find_spec", lambda name: None)
    assert program("demo") == 2
    assert capsys.readouterr().err.startswith("demo: the command line needs click. Run pip install")


def test_strategies_without_their_library_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing Hypothesis names the extra; other missing modules raise as usual."""

    def missing(name: str) -> object:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("polycontext.testing._load", missing)
    with pytest.raises(ModuleNotFoundError):
        vars(testing)["__getattr__"]("another")
    monkeypatch.setattr("polycontext.base.errors.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .\.\[laws\]."):
        vars(testing)["__getattr__"]("hypothesis")
