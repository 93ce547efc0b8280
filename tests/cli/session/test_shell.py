"""A shell keeps a conversation: the example, the documentation page, and typed input."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.testing.strict import RequestRefusedError, StrictChat, StrictServer
from tests.house import ROOT, script

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # the commands run in other processes

PAGE = ROOT / "docs" / "command-line.md"


def talk(folder: Path, said: str, url: str) -> subprocess.CompletedProcess[str]:
    """Run the example where the installed `polycontext` is found, and bytecode once compiled."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "NO_PROXY": "*"}
    return subprocess.run(
        [ROOT / "examples" / "talk.sh", said],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("jq")), reason="the example needs curl and jq"
)
def test_the_example_keeps_a_conversation(tmp_path: Path) -> None:
    """A second request holds the first question and its answer, and an error is no answer."""
    asked: list[list[str]] = []

    def model(request: Mapping[str, Any]) -> str:
        asked.append([message["content"] for message in request["messages"]])
        if len(asked) > 1:
            raise RequestRefusedError(
                503, "server_error", "There are too many questions", "scripted-fault"
            )
        return "It is on its way."

    with StrictServer((StrictChat(model),)) as server:
        done = talk(tmp_path, "Where is my parcel?", f"{server.url}/v1")
        assert (done.returncode, done.stdout) == (0, "It is on its way.\n"), done.stderr
        failed = talk(tmp_path, "And my other one?", f"{server.url}/v1")
    assert asked[1] == [
        "You answer in one sentence.",
        "Where is my parcel?",
        "It is on its way.",
        "And my other one?",
    ]
    assert (failed.returncode, failed.stdout) == (2, "")
    assert (
        'an error instead of an answer: {"message": "There are too many questions"' in failed.stderr
    )
    with ContextSession.open(tmp_path / "talk.db", "talk", "gpt-5") as session:
        assert [turn.text for turn in session.log()] == asked[1]


def test_the_page_shows_what_is_printed() -> None:
    """The page shows its commands' output and reference (`just write pages command-line`)."""
    page = PAGE.read_text(encoding="utf-8")
    assert plain(script("pages").command_line(page)) == plain(page)


def plain(text: str) -> list[str]:
    """Return lines without what differs from run to run: the time."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "(time)", text).splitlines()
