"""`polycontext session export` and `import`: a session is copied completely or not at all."""

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.cli.app import main
from tests.cli.command import Command, assistant, chat, result, user
from tests.cli.session.conftest import Asked


@pytest.fixture
def lived(small: Asked) -> Asked:
    """Return a session with a compression, a rewind, an erased turn, and hostile characters."""
    small("append", stdin=json.dumps(chat(12)))
    odd = "naïve 日本語\r\nline\u2028line \x1b[2J"
    small(
        "append",
        stdin=json.dumps(
            [user(odd), assistant(None, "c1"), result("c1", "Found."), assistant("Yes.")]
        ),
    )
    small("rewind", "--regenerate")
    small("append", "--role", "assistant", "No.")
    small("forget", "t2", "--yes")
    return small


def everything(ask: Asked, *options: object, name: str = "s") -> list[Any]:
    """Return what can be seen of a session, apart from its name."""
    shown, sent = (
        ask("show", "--json", *options, of=name).json(),
        ask("messages", *options, of=name).json(),
    )
    return [{**shown, "session": ""}, sent]


def test_a_session_goes_to_another_store_as_it_was(
    lived: Asked, polycontext: Command, store: Path
) -> None:
    """State, view, log, classes and the window size are the same in the other store."""
    before, lines, file = everything(lived), lived("export").out, store.with_name("s.jsonl")
    file.write_bytes(lines.encode())
    store.unlink()
    ran = polycontext("session", "import", file)
    assert ran.out == (
        f"session s: revision {before[0]['revision']}, imported: {len(before[0]['turns'])} turns\n"
    )
    assert everything(lived) == before
    assert lived("export").out == lines
    assert lived("append", "--role", "user", "And now?", "--json").json()["max_tokens"] == 400


def test_a_session_is_copied_within_its_store(lived: Asked) -> None:
    """From standard input, under an id that is said; a fork goes out whole, too."""
    told = lived("import", "--as", "copy", "--json", of="-", stdin=lived("export").out).json()
    assert told == {"session": "copy", "revision": told["revision"], "turns": 14}
    assert everything(lived, name="copy") == everything(lived)
    lived("fork", "branch", "--at", "t4")
    lived("import", "--as", "leaf", of="-", stdin=lived("export", of="branch").out)
    assert everything(lived, name="leaf") == everything(lived, name="branch")


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_messages_go_out_in_the_format_that_is_named(
    lived: Asked, store: Path, provider: str
) -> None:
    """The whole log, a message a line: `append` takes it in again."""
    out = lived("export", "--format", provider).out
    with ContextSession.open(store, "s", max_tokens=400) as session:
        assert [json.loads(line) for line in out.split("\n")[:-1]] == session.history.messages(
            provider
        )
    lived("new", "--max-tokens", "9000", of="again")
    assert lived("append", "--format", provider, of="again", stdin=out).code == 0
    assert lived("search", "日本語", of="again").code == 0


def test_a_request_of_gemini_has_its_own_fields(small: Asked) -> None:
    """`contents` and `systemInstruction`, from contents as the vendor's SDK writes them."""
    small("new", "--format", "gemini", "--max-tokens", "3000", of="g")
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {"result": "Plums."}}}],
        },
    ]
    assert small("append", "--role", "system", "Be brief.", of="g").code == 0
    assert small("append", of="g", stdin=json.dumps(contents)).code == 0
    assert small("messages", of="g").json() == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": contents,
    }


DAMAGED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "no header": (lambda lines: lines[1:], "<stdin>, line 1.format: is missing"),
    "cut short": (
        lambda lines: lines[:-2],
        "<stdin>, the last line: 1 events are missing behind it",
    ),
    "no event": (lambda lines: [*lines[:3], "{}", *lines[4:]], "<stdin>, line 4.event: is missing"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_comes_in_nowhere(lived: Asked, store: Path, name: str) -> None:
    """Exit code 2 and a line that names the place; no file is made, and no session."""
    damage, words = DAMAGED[name]
    lines = "\n".join(damage(lived("export").out.split("\n")))
    other = store.with_name("other.db")
    for place in (store, other):
        ran = lived("import", "--as", "t", "--store", place, of="-", stdin=lines)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.complaint
        assert ran.complaint.endswith("as `polycontext session export` prints it.")
    assert not other.exists()
    assert ContextSession.history.list_sessions(store) == ("s",)


def test_an_id_that_is_there_is_refused(lived: Asked, polycontext: Command) -> None:
    """Nothing is put over a session, its own twin neither."""
    before, lines = everything(lived), lived("export").out
    for name in ((), ("--as", "s")):
        ran = polycontext("session", "import", "-", *name, stdin=lines)
        assert (ran.code, ran.complaint) == (
            1,
            "session 's' already exists. Choose another name.",
        )
    assert everything(lived) == before


def test_lines_are_utf_8_wherever_they_are_printed(
    lived: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exported lines are UTF-8, whatever the encoding and the newline of the terminal."""
    expected = lived("export").out
    ascii_only = TextIOWrapper(BytesIO(), encoding="ascii", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    assert main(["session", "export", "s"]) == 0
    ascii_only.seek(0)
    assert ascii_only.buffer.read().decode() == expected
    assert "日本語" in expected
