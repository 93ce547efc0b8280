"""Fixtures for the tests of `polycontext session`: a store from the environment, and a session."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Command, Ran, assistant, user

Asked = Callable[..., Ran]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that POLYCONTEXT_STORE names; nothing is there yet."""
    file = tmp_path / "chat.db"
    monkeypatch.setenv("POLYCONTEXT_STORE", str(file))
    return file


@pytest.fixture
def ask(polycontext: Command, store: Path) -> Asked:
    """Return the command line of the session "s"; nothing is made yet."""

    def asked(command: str, *arguments: object, of: str = "s", **stdin: Any) -> Ran:
        return polycontext("session", command, of, *arguments, **stdin)

    return asked


@pytest.fixture
def small(ask: Asked) -> Asked:
    """Return the same, with a session of 400 tokens."""
    assert ask("new", "--max-tokens", "400").code == 0
    return ask


@pytest.fixture
def four(small: Asked) -> Asked:
    """Return a session in which four things were said."""
    small("append", stdin=json.dumps([user("a"), assistant("b"), user("c"), assistant("d")]))
    return small
