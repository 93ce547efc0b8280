"""Invalid input gives one line that names file, line and field, exit code 2, and no traceback."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from attrs import frozen

from polycontext import ContextSession
from polycontext.cli.options import FORMATS
from polycontext.transcripts import documents
from tests.cli.command import (
    EXAMPLE,
    Command,
    all_commands,
    as_lines,
    assistant,
    result,
    saved,
    user,
)


@frozen
class Bad:
    """Hold an input, the place that the complaint must name, and words that it must use."""

    name: str
    data: Any
    place: str
    words: str
    file: str = "chat.json"


FAULTS = [
    Bad("not JSON", "hello there", "chat.json, line 1", "not JSON: Expecting value at column 1"),
    Bad(
        "cut short",
        '[\n {"role": "user",\n  "content": "hi"\n',
        "chat.json, line 3",
        "not JSON: Expecting ',' delimiter at column 18",
    ),
    Bad(
        "a bad line among good ones",
        as_lines([[user("a")]]) + "\n[nonsense]\n",
        "chat.jsonl, line 3",
        "not JSON",
        "chat.jsonl",
    ),
    Bad(
        "wrong shape: an object",
        {"a": 1},
        "chat.json, line 1",
        "an object without \"messages\", its keys: 'a'",
    ),
    Bad("wrong shape: a number", "42", "chat.json, line 1", "a number is not a conversation"),
    Bad(
        "messages are no list",
        '{\n"messages": {}}',
        "chat.json, line 2, messages",
        "an object is not a list",
    ),
    Bad(
        "a message is not an object",
        '[{"role": "user", "content": "a"},\n 3]',
        "chat.json, line 2, messages[1]",
        "not-an-object",
    ),
    Bad(
        "unknown role",
        '[\n{"role": "user", "content": "a"},\n{"role": "poet", "content": "b"}]',
        "line 3, messages[1]",
        "'poet'",
    ),
    Bad(
        "orphan tool result",
        [user("a"), result("x", "b")],
        "chat.json, line 1, messages[1]",
        "orphan-result: no call 'x'",
    ),
    Bad(
        "unanswered call",
        [user("a"), assistant(None, "x"), user("b")],
        "chat.json, line 1, messages[1]",
        "unanswered-call",
    ),
    Bad(
        "lone surrogate",
        r'[{"role": "user", "content": "a\ud800b"}]',
        "line 1, messages[0]",
        "content: lone surrogate U+D800",
    ),
    Bad(
        "NaN",
        '[{"role": "user", "content": "a", "x": [NaN]}]',
        "line 1, messages[0]",
        "x[0]: nan is not JSON data",
    ),
    Bad(
        "invalid UTF-8",
        '[{"role": "user",\n"content": "é"}]'.encode("latin-1"),
        "chat.json, line 2",
        "byte 0xe9 at byte 13 is not UTF-8",
    ),
    Bad(
        "UTF-16",
        '[{"role": "user", "content": "a"}]'.encode("utf-16"),
        "chat.json, line 1",
        "UTF-16, not UTF-8. Use text in UTF-8, such as iconv -f UTF-16",
    ),
    Bad("packed", b"\x1f\x8b\x08\0", "chat.json, line 1", "compressed with gzip. Use what gunzip"),
    Bad("empty", "", "chat.json", "the file is empty"),
    Bad("no messages", "[]", "chat.json, line 1, messages", "there is no message"),
    Bad("nested without end", "[" * 100_000, "chat.json, line 1", "nested too deeply"),
    Bad(
        "a huge number",
        '[{"role": "user", "content": ' + "9" * 5000 + "}]",
        "chat.json, line 1",
        "too many digits",
    ),
    Bad(
        "system is a number",
        '{"system": 5,\n"messages": [{"role": "user", "content": "a"}]}',
        "line 1, system",
        "content is a number. Use text",
    ),
    Bad(
        "tools are no objects",
        '{"messages": [{"role": "user", "content": "a"}],\n"tools": [3]}',
        "line 2, tools",
        "holds no tools",
    ),
]


@pytest.mark.parametrize("bad", FAULTS, ids=[bad.name for bad in FAULTS])
def test_a_fault_is_named(polycontext: Command, tmp_path: Path, bad: Bad) -> None:
    """The error names the file, the line and the field, the problem, and a valid value."""
    ran = polycontext("replay", saved(tmp_path, bad.file, bad.data), "--json")
    complaint = ran.err.splitlines()[-1]
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert bad.place + ": " in complaint
    assert bad.words in complaint
    assert ". Use " in complaint


def test_a_mistake_points_to_the_help_of_its_command(polycontext: Command) -> None:
    """An unknown option ends with the help command to try, which has an example of the command."""
    for words, each in all_commands():
        path = " ".join(("polycontext", *words))
        ran = polycontext(*words, "--dance")
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint.endswith(f" Try {path} --help.")
        told = polycontext(*words, "-h").out
        assert f"Usage: {path}" in told
        assert isinstance(each, click.Group) or path in told.partition("Examples")[2]


def test_the_same_option_has_the_same_name_everywhere() -> None:
    """The same name means the same, with the same choices, everywhere; each option is explained."""
    declared: dict[str, set[tuple[Any, ...]]] = {}
    taken: dict[str, set[str]] = {}
    for words, each in all_commands():
        for parameter in each.params:
            if isinstance(parameter, click.Option):
                assert parameter.help
                assert not re.search(
                    r"\b(atom|gist|ledger|yield|fidelity|budget)s?\b", parameter.help
                )
                name = max(parameter.opts, key=len)
                choices = getattr(parameter.type, "choices", ())
                declared.setdefault(name, set()).add((parameter.metavar, tuple(choices)))
                taken.setdefault(name, set()).add(" ".join(words))
    # What `export` prints may be more than messages.
    declared["--format"].discard((None, ("session", "log", *FORMATS)))
    # A number of things, and of what, is each command's own.
    assert {name: found for name, found in declared.items() if len(found) > 1} == {}
    assert "--budget" not in taken
    assert "--provider" not in taken
    assert taken["--max-tokens"] == taken["--model"]
    assert taken["--timeout"] < taken["--store"]
    everywhere = {
        " ".join(words) for words, each in all_commands() if not isinstance(each, click.Group)
    }
    assert taken["--quiet"] == taken["--verbose"] == everywhere
    # What a request holds is JSON anyhow, and what goes out as lines.
    text = {"chat", "serve", "demo", "diagram", "completion", "session messages", "session export"}
    text |= {"compact", "inspect"}
    assert everywhere - taken["--json"] == text


@pytest.mark.parametrize("name", ["missing.json", ".", "a\0b", "\x1b[2J"])
def test_a_file_that_cannot_be_read_is_named(polycontext: Command, name: str) -> None:
    """A missing file, a directory and an impossible name are refused by name, shown as text."""
    ran = polycontext("replay", name)
    assert (ran.code, "\x1b" in ran.err) == (2, False)
    assert ran.complaint.startswith(repr(name)[1:-1] + ": cannot be read: ")
    assert ran.complaint.endswith(". Use a readable file, or - for standard input.")


def test_the_server_says_which_extra_it_needs(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without FastAPI, one line says what to install."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "polycontext.cli.serve", raising=False)
    ran = polycontext("serve")
    assert (ran.code, ran.out) == (2, "")
    assert 'polycontext serve needs fastapi. Run pip install ".[server]"' in ran.complaint


OPTIONS = [
    (("project", EXAMPLE, "--max-tokens", "0"), "'--max-tokens': 0 is not in the range x>=1. Try"),
    (("project", EXAMPLE, "--max-tokens", "many"), "'many' is not a valid integer range. Try"),
    (("completion", "tcsh"), "'tcsh' is not one of 'bash', 'zsh', 'fish'. Try"),
    (("chat", "--base-url", "nope"), "Invalid value for --base-url: 'nope'. Use the address of"),
    (("session", "list", "--store", ""), 'or "postgresql://" with a server behind it.'),
    (("session", "show", "a", "--max-tokens", "9", "--reserve", "9"), "--reserve"),
    (("project", EXAMPLE), "Pass --max-tokens or --model."),
    (("--store", "a.db", "models"), "No such option '--store'. Use --version. Try"),
    (("project", EXAMPLE, "--budget", "9"), "No such option '--budget'. Use --max-tokens. Try"),
    (("session", "append", "a", "--pin"), "'--pin'. Use --store, --timeout, --role, "),
    (("session", "add"), "No such command 'add'. Use polycontext session append. Try"),
    (("version",), "No such command 'version'. Use polycontext --version. Try"),
    (("sesion", "list"), "No such command 'sesion'. Did you mean 'session'?"),
    (("dance",), "No such command 'dance'. Use session, receipts, chat, "),
    (("compress", "a.jsonl", "b.jsonl", "c.jsonl"), "unexpected extra argument (c.jsonl)"),
    (("session", "fork", "a"), "Missing argument 'NEW'. Try"),
    (("replay",), "FILE"),
    (("replay", EXAMPLE, "--threshold", "0"), "is not a share. Use more than 0, at most 1."),
    (("replay", EXAMPLE, "--threshold", "nan"), "--threshold nan is not"),
    (("replay", EXAMPLE, "--low", "0.98"), "--low 0.98 is not below the threshold. Use 0 to 0.97."),
    (("replay", EXAMPLE, "--only", "2"), "--only 2 is too large. Use 1 to 1."),
]


@pytest.mark.parametrize(
    ("arguments", "words"),
    OPTIONS,
    ids=[" ".join(map(str, arguments[:1] + arguments[2:])) for arguments, _ in OPTIONS],
)
def test_a_bad_option_is_named(
    polycontext: Command, arguments: tuple[object, ...], words: str
) -> None:
    """Options outside of their range are refused in one line, before anything is read."""
    ran = polycontext(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.complaint


def test_a_fault_of_the_program_is_no_traceback_either(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that nobody foresaw is one line that says so; with -v it shows where."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("polycontext.cli.replay.replay_conversation", fail)
    ran = polycontext("replay", EXAMPLE)
    assert ran.code == 70
    assert "internal error: ZeroDivisionError: by nothing" in ran.complaint
    with pytest.raises(ZeroDivisionError):
        polycontext("replay", EXAMPLE, "-v")


@pytest.mark.parametrize(
    "arguments",
    [
        ("project", "--max-tokens", "100"),
        ("check",),
        ("session", "append", "long", "--role", "user", "--from"),
    ],
)
def test_an_input_that_never_ends_is_refused(
    polycontext: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    """No newline ever comes: reading stops at the size of the longest document."""
    monkeypatch.setattr(documents, "MOST_BYTES", 2**20)
    with ContextSession.open(tmp_path / "s.db", "long", max_tokens=8000) as session:
        session.add_user_turn("Read it.")
    monkeypatch.setenv("POLYCONTEXT_STORE", str(tmp_path / "s.db"))
    complaint = polycontext(*arguments, "/dev/zero").complaint
    assert complaint.startswith("/dev/zero: longer than 1,048,576 bytes. Use a smaller file, or")


def test_a_document_of_too_many_objects_is_refused(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Parsed, they would take many times the memory of their text."""
    monkeypatch.setattr(documents, "MOST_CONTAINERS", 100)
    path = saved(tmp_path, "chat.json", json.dumps([{}] * 100))
    told = "more than 100 objects and lists. Use a smaller file, or JSONL with one conversation"
    assert told in polycontext("project", path, "--max-tokens", 100).complaint
