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
        "cut short in a line",
        '{"messages": [\n[]\n',
        "chat.jsonl, line 1",
        "not JSON",
        "chat.jsonl",
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
    Bad("wrong shape: null", "null", "chat.json, line 1", "null is not a conversation"),
    Bad("wrong shape: true", "true", "chat.json, line 1", "true or false is not a conversation"),
    Bad("wrong shape: text", '"hi"', "chat.json, line 1", "text is not a conversation"),
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
        "unknown role below blank lines",
        '[\n\n\n{"role": "poet", "content": "b"}]',
        "line 4, messages[0]",
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
        "second result",
        [user("a"), assistant(None, "x"), result("x", "1"), result("x", "2")],
        "messages[3]",
        "duplicate-result",
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
        "infinity",
        '[{"role": "user", "content": "a", "x": 1e999}]',
        "line 1, messages[0]",
        "x: inf is not JSON data",
    ),
    Bad("binary", bytes(range(256)), "chat.json, line 2", "not text: byte 0x80"),
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
    Bad(
        "cut short in a text",
        '[{"role": "user", "content": "a',
        "chat.json, line 1",
        "not JSON: Unterminated string starting at column 30.",
    ),
    Bad("no role", [{"content": "a"}], "messages[0]", "role is missing or null. Use assistant"),
    Bad("empty", "", "chat.json", "the file is empty"),
    Bad("blank", "\n \n", "chat.json", "the file is empty"),
    Bad("no messages", "[]", "chat.json, line 1, messages", "there is no message"),
    Bad(
        "no messages in an object",
        {"messages": []},
        "chat.json, line 1, messages",
        "there is no message",
    ),
    Bad("nested without end", "[" * 100_000, "chat.json, line 1", "nested too deeply"),
    Bad(
        "nested deeply",
        [user("a"), {"role": "user", "content": "b", "x": [json.loads("[" * 400 + "]" * 400)]}],
        "messages[1]",
        "nested too deep",
    ),
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
    Bad(
        "the second of two",
        [[user("a")], [user("a"), result("x", "b")]],
        "chat.json, line 1, messages[1]",
        "orphan-result",
    ),
]


@pytest.mark.parametrize(
    "command", [("replay",), ("project", "--max-tokens", "1000")], ids=["replay", "project"]
)
@pytest.mark.parametrize("bad", FAULTS, ids=[bad.name for bad in FAULTS])
def test_a_fault_is_named(
    polycontext: Command, tmp_path: Path, bad: Bad, command: tuple[str, ...]
) -> None:
    """The error names the file, the line and the field, the problem, and a valid value."""
    ran = polycontext(*command, saved(tmp_path, bad.file, bad.data), "--json")
    complaint = ran.err.splitlines()[-1]
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert bad.place + ": " in complaint
    assert bad.words in complaint
    assert ". Use " in complaint


USAGE: dict[str, tuple[tuple[object, ...], ...]] = {
    "replay": ((EXAMPLE, "--max-tokens", "many"), (EXAMPLE, "--only", "0")),
    "project": ((EXAMPLE, "--max-tokens", "0"), (EXAMPLE, "--format", "x")),
    "check": ((), (EXAMPLE, "--format", "x")),
    "diagram": (("--notation", "x"),),
    "verify": ((), ("x:Y",), ("x:Y", "--never", "a", "--before", "b", "--depth", "0")),
    "laws": (("--room", "x"), ("--examples", "0")),
    "pills": ((), ("x", "--root", "/gone"), ("x", "--type", "y")),
    "chat": (("--max-tokens", "0"), ("a", "b")),
    "serve": (("--port", "-1"),),
    "completion": ((), ("tcsh",)),
    **{
        f"session {name}": (("s",), ("s", "x", "--store", "a.db", "--timeout", "x"))
        for name in ("recall", "explain", "search", "fork")
    },
    **{
        f"session {name}": (("s", "--store", "a.db", "--timeout", "x"),)
        for name in (
            *("append", "rewind", "forget", "new", "messages", "show", "compress", "export"),
            *("import", "delete"),
        )
    },
    "session list": (("--store", "a.db", "s"),),
    "models": (("a", "b"),),
    "demo": (("a",),),
    "session": (("dance",),),
    "": (("dance",),),
}


@pytest.mark.parametrize("command", USAGE, ids=lambda command: command or "polycontext")
def test_a_mistake_points_to_the_help_of_its_command(polycontext: Command, command: str) -> None:
    """An invalid option or a missing argument ends with the help command to try."""
    path = " ".join(filter(None, ("polycontext", command)))
    for arguments in (*USAGE[command], ("--dance",)):
        ran = polycontext(*command.split(), *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint.endswith(f" Try {path} --help.")
    assert f"Usage: {path}" in polycontext(*command.split(), "-h").out


def test_a_no_points_to_nothing(polycontext: Command) -> None:
    """A negative result of valid input does not mention the help."""
    ran = polycontext("project", EXAMPLE, "--max-tokens", "20")
    assert ran.code == 1
    assert "--help" not in ran.complaint


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


def test_the_help_speaks_no_inside_word(polycontext: Command) -> None:
    """The help texts use no word that only the project's own documents explain."""
    for command in USAGE:
        text = polycontext(*command.split(), "--help").out
        assert not re.search(
            r"\b(atom|gist|ledger|comonad|eigenvector|seed \d|design)s?\b|§", text, re.IGNORECASE
        )


@pytest.mark.parametrize(
    "command", [("replay",), ("project", "--max-tokens", "1000")], ids=["replay", "project"]
)
def test_a_file_that_cannot_be_read_is_named(
    polycontext: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A missing file, a directory and an impossible name are refused by name."""
    missing = polycontext(*command, tmp_path / "missing.json")
    assert (missing.code, missing.complaint.partition(";")[0]) == (
        2,
        (
            f"{tmp_path}/missing.json: cannot be read: no such file or directory. Use a readable "
            "file, or - for standard input."
        ),
    )
    folder = polycontext(*command, tmp_path)
    assert (folder.code, folder.complaint.partition(";")[0]) == (
        2,
        (
            f"{tmp_path}: cannot be read: is a directory. Use a readable file, or - for standard "
            "input."
        ),
    )
    assert polycontext(*command, "a\0b").code == 2


def test_standard_input_is_named(polycontext: Command) -> None:
    """A fault in what is piped in says so."""
    assert polycontext("replay", "-", stdin="{").complaint.startswith("<stdin>, line 1: not JSON")


def test_a_name_cannot_command_the_terminal(polycontext: Command) -> None:
    """Control characters in a file's name are shown, not obeyed."""
    ran = polycontext("replay", "\x1b[2Jgone\nx.json")
    assert "\x1b" not in ran.err
    assert r"\x1b[2Jgone" in ran.complaint


def test_the_server_says_which_extra_it_needs(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without FastAPI, one line says what to install."""
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "polycontext.cli.serve", raising=False)
    ran = polycontext("serve")
    assert (ran.code, ran.out) == (2, "")
    assert 'polycontext serve needs fastapi. Run pip install ".[server]"' in ran.complaint


def test_what_came_before_the_fault_is_shown(polycontext: Command, tmp_path: Path) -> None:
    """Conversations in front of a faulty one are replayed and printed."""
    path = saved(tmp_path, "chat.jsonl", as_lines([[user("a")], [user("b")], {"no": "messages"}]))
    printed = polycontext("replay", path, "--json")
    assert printed.code == 2
    assert [line["line"] for line in printed.lines()] == [1, 2]
    assert "chat.jsonl, line 3:" in printed.complaint
    assert "2 in all" in polycontext("replay", path).out


OPTIONS = [
    (
        ("project", EXAMPLE, "--max-tokens", "0"),
        "Invalid value for --max-tokens: 0. Use a whole number, at least 1. Try",
    ),
    (("project", EXAMPLE, "--max-tokens", "-5"), "--max-tokens"),
    (
        ("project", EXAMPLE, "--max-tokens", "many"),
        "Invalid value for --max-tokens: 'many'. Use a whole number, at least 1. Try",
    ),
    (
        ("certify", EXAMPLE, "--max-tokens", "9", "--at-most", "1"),
        "Invalid value for --at-most: 1.0. Use a number, above 0 and below 1. Try",
    ),
    (("completion", "tcsh"), "{bash|zsh|fish}: 'tcsh'. Use bash, zsh, fish. Try"),
    (("chat", "--base-url", "nope"), "Invalid value for --base-url: 'nope'. Use the address of"),
    (("session", "list", "--store", ""), 'or "postgresql://" with a server behind it.'),
    (("project", EXAMPLE), "Pass --max-tokens or --model."),
    (("replay", EXAMPLE, "--max-tokens", "0"), "--max-tokens"),
    (
        ("replay", EXAMPLE, "--format", "poet"),
        "Invalid value for --format: 'poet'. Use openai, anthropic, openai-responses, gemini.",
    ),
    (("project", EXAMPLE, "--budget", "9"), "No such option '--budget'. Use --max-tokens. Try"),
    (("--store", "a.db", "models"), "No option '--store' here. Write it after the command. Try"),
    (("session", "add"), "No such command 'add'. Use polycontext session append. Try"),
    (("list",), "No such command 'list'. Use polycontext session list. Try"),
    (("version",), "No such command 'version'. Use polycontext --version. Try"),
    (("search", "word"), "No such command 'search'. Use polycontext session search. Try"),
    (("session", "pin", "a", "t1"), "No such command 'pin'. Use polycontext session rules "),
    (("session", "rules", "a", "--delete", "t1:1"), "'--delete'. Use --remove. Try"),
    (("session", "append", "a", "--pin"), "'--pin'. Use --store, --timeout, --role, "),
    (("session", "search", "a", "x", "--top-k", "3"), "'--top-k'. Use --limit. Try"),
    (
        ("compress", "a.jsonl", "b.jsonl", "c.jsonl"),
        "(c.jsonl). Use polycontext compress [OPTIONS]",
    ),
    (("compress", "a.jsonl", "b.jsonl", "--jobs", "2"), "'--jobs'. Use --workers. Try"),
    (("session", "fork", "a"), "'NEW'. Use polycontext session fork [OPTIONS] SESSION NEW. Try"),
    (("replay", EXAMPLE, "--format", "opnai"), "'opnai'. Did you mean 'openai'? Use openai,"),
    (
        ("replay", EXAMPLE, "--threshold", "0"),
        "--threshold 0 is not a share. Use more than 0, at most 1.",
    ),
    (("replay", EXAMPLE, "--threshold", "1.5"), "--threshold 1.5 is not"),
    (("replay", EXAMPLE, "--threshold", "nan"), "--threshold nan is not"),
    (("replay", EXAMPLE, "--low", "0.98"), "--low 0.98 is not below the threshold. Use 0 to 0.97."),
    (("replay", EXAMPLE, "--low", "-1"), "--low -1 is not"),
    (("replay", EXAMPLE, "--low", "nan"), "--low nan is not"),
    (("replay", EXAMPLE, "--keep-recent", "-1"), "--keep-recent"),
    (("replay", EXAMPLE, "--only", "2"), "--only 2 is too large. Use 1 to 1."),
    (("replay", EXAMPLE, "--plot", "out.svg"), "--plot"),
    (("replay",), "FILE"),
    (("dance",), "dance"),
    (("replay", EXAMPLE, "--dance"), "--dance"),
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


def test_a_document_of_too_many_lines_is_refused(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each of them is short."""
    monkeypatch.setattr(documents, "MOST_BYTES", 1000)
    path = saved(tmp_path, "chat.json", "[\n" * 600)
    assert "longer than 1,000 bytes" in polycontext("check", path).complaint
