"""Control characters in a conversation are shown by a terminal, not interpreted."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import Command, as_lines, assistant, result, saved, system, user

CONTROLS = (
    "\x1b[2J \x1b]0;t\x07 \x9b31m \x9d0;t\x9c \x85 \x7f \u061c\u200e\u200f "
    "\u202a\u202e\u2066\u2069 \u200b\u2060\ufeff\xad \u2028\u2029 a\u200db \U000e0041"
)
LETTERS = "\u05d0\u05d1 \u0627\u0644 \u0645\u06cc\u200c\u062e 👩\u200d💻 é"
OBEYED = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]|a\u200d"
)
SAID = f"{LETTERS} x {CONTROLS}"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return where the session is kept."""
    return tmp_path / "sessions.db"


def test_no_command_lets_a_conversation_command_the_terminal(
    polycontext: Command, tmp_path: Path, store: Path
) -> None:
    """Text and JSON output hold no control characters, while letters and emoji stay."""
    messages = [
        system(SAID),
        user(SAID),
        assistant(SAID, "c"),
        result("c", SAID),
        user("x"),
    ]
    arguments = json.dumps({"a": SAID}, ensure_ascii=False)
    messages[2]["tool_calls"][0]["function"]["arguments"] = arguments
    chat = saved(tmp_path, "chat.json", messages)
    bad = saved(tmp_path, "bad.json", [{"role": SAID, "content": "x"}])
    titled = saved(
        tmp_path, "titled.jsonl", as_lines([{"id": SAID, "title": SAID, "messages": messages}] * 2)
    )
    session = (SAID, "--store", store)
    runs = [
        polycontext("session", "new", *session, "--max-tokens", 4000),
        polycontext("session", "append", *session, "--from", chat),
    ]
    assert [ran.code for ran in runs] == [0, 0], runs
    for name, *rest in (
        ("show",),
        ("show", "--json"),
        ("search", "x"),
        ("search", "x", "--json"),
        ("search", SAID + "zz"),
        ("messages",),
        ("export",),
        ("export", "--format", "log"),
        ("explain", "t1"),
        ("explain", SAID),
        ("recall", SAID),
        ("rewind", "999"),
        ("compress",),
    ):
        runs.append(polycontext("session", name, *session, *rest))
    runs += [
        polycontext("session", "list", "--store", store),
        polycontext("session", "list", "--store", store, "--json"),
    ]
    for path in (chat, bad, titled):
        runs += [
            polycontext("replay", path, "--all"),
            polycontext("replay", path, "--json"),
            polycontext("project", path, "--max-tokens", 900),
        ]
        runs += [polycontext("check", path), polycontext("check", path, "--json")]
    for ran in runs:
        assert not OBEYED.search(ran.out)
        assert not OBEYED.search(ran.err)
    told = "".join(ran.out for ran in runs)
    assert LETTERS in told
    found = polycontext("session", "messages", *session).json()["messages"][0]
    assert found["content"] == SAID
