"""Every benchmark runs through one command, which lists them."""

import sys
from importlib.util import find_spec

import pytest

from benchmarks.__main__ import BENCHMARKS, command, main


def test_without_a_name_the_benchmarks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is listed with what it measures, and has a module that can be run."""
    assert main([]) == 0
    listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in listed] == sorted(BENCHMARKS)
    assert all(find_spec(module) for module, _ in BENCHMARKS.values())


def test_arguments_go_to_the_benchmark() -> None:
    """A benchmark of other libraries runs beside them, in an environment of its own."""
    assert command("budget", ["turns"]) == [sys.executable, "-m", "benchmarks.budget", "turns"]
    alone = command("retention_peer", ["langchain-core", "--set", "tau"])
    assert alone[:3] == ["uv", "run", "--isolated"]
    assert alone[-7:] == [
        *("langchain-core", "python", "-m", "benchmarks.retention"),
        *("peers", "--set", "tau"),
    ]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The error lists the names."""
    assert main(["speed"]) == 2
    assert "unknown benchmark 'speed'. Use agent_context, " in capsys.readouterr().err
