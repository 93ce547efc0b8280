"""`polycontext pills`: what completion offers, and the messages that a text with pills becomes."""

import json
from pathlib import Path

import pytest

from polycontext.window.providers import get_format
from tests.cli.command import Command, spawn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small tree with something of everything."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/agent.py").write_text("class Agent:\n    def run(self):\n        return 1\n", encoding="utf-8")
    (tmp_path / "src/other.py").write_text("class Agent: ...\n", encoding="utf-8")
    (tmp_path / "long.txt").write_text("line\n" * 100, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "debug.log").write_text("", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    return tmp_path


def test_completion_prints_one_name_a_line(polycontext: Command, root: Path) -> None:
    """Type, name and place, the best first."""
    ran = polycontext("pills", "complete", "@agent", "--root", root)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["file", "src/agent.py"],
        ["symbol", "src.agent.Agent", "src/agent.py:1"],
        ["symbol", "src.other.Agent", "src/other.py:1"],
        ["symbol", "src.agent.Agent.run", "src/agent.py:2"],
    ]


def test_completion_prints_json(polycontext: Command, root: Path) -> None:
    """Types and limit are kept."""
    ran = polycontext("pills", "complete", "agent", "--root", root, "--type", "symbol", "--limit", 1, "--json")
    assert ran.json() == [{"name": "src.agent.Agent", "type": "symbol", "detail": "src/agent.py:1"}]


def test_completion_of_nothing_is_a_no(polycontext: Command, root: Path) -> None:
    """Exit code 1; what an ignore file names is not offered."""
    ran = polycontext("pills", "complete", "debug.log", "--root", root)
    assert (ran.code, ran.out, ran.err) == (1, "", "nothing completes 'debug.log'\n")
    ran = polycontext("pills", "complete", "zzz", "--root", root, "--json")
    assert (ran.code, ran.json(), ran.err) == (1, [], "")


def test_the_current_folder_is_the_root(polycontext: Command, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless another is said; several may be."""
    monkeypatch.chdir(root / "src")
    assert [each["name"] for each in polycontext("pills", "complete", "agent", "--type", "file", "--json").json()] == ["agent.py"]
    ran = polycontext("pills", "complete", "agent", "--type", "file", "--json", "--root", root, "--root", ".")
    assert [each["name"] for each in ran.json()] == ["agent.py", "src/agent.py"]
    assert polycontext("pills", "resolve", "[@agent.py]").code == 0


def test_resolving_prints_the_messages(polycontext: Command, root: Path) -> None:
    """Ready for a provider; what was attached stands on standard error."""
    ran = polycontext("pills", "resolve", "explain [@src/agent.py]", "--root", root)
    assert ran.code == 0
    attached, words = ran.json()
    assert attached["content"].startswith("### File\n#### src/agent.py\n```python\nclass Agent:")
    assert words == {"role": "user", "content": "explain [@src/agent.py]"}
    get_format("openai").check(ran.json())
    assert ran.err == "attached src/agent.py (file, 49 characters)\n"


def test_resolving_says_what_was_truncated_and_refused(polycontext: Command, root: Path) -> None:
    """Exit code 1 for a refusal, with the message printed all the same; symbols are found where no file is."""
    text = "[@long.txt] [@Agent.run] [@gone] [@picture.png] [@../x] [@Agent]"
    ran = polycontext("pills", "resolve", text, "--root", root, "--limit", 52)
    assert ran.code == 1
    assert ran.json()[-1]["content"] == text
    lines = ran.err.splitlines()
    notice = "[truncated at the limit of 52 characters: 50 of 500 characters, lines 1-10 of 100]"
    assert lines[0] == f"attached long.txt (file, 50 characters) {notice}"
    assert lines[1] == "attached Agent.run (symbol, 36 characters)"
    assert [line.partition(" (")[0] for line in lines[2:]] == [
        "refused gone: Cannot attach context: file not found",
        "refused picture.png: Cannot attach context: binary file",
        "refused ../x: Invalid context name",
        "refused Agent: Cannot attach context: symbol is ambiguous",
    ]
    report = polycontext("pills", "resolve", text, "--root", root, "--limit", 52, "--json").json()
    assert report["messages"] == ran.json()
    assert [each["name"] for each in report["attached"]] == ["long.txt", "Agent.run"]
    assert report["truncated"] == [{"name": "long.txt", "notice": notice}]
    assert [each["name"] for each in report["refused"]] == ["gone", "picture.png", "../x", "Agent"]
    assert report["refused"][0]["warning"] == "Cannot attach context: file not found"
    assert report["refused"][3]["detail"] == "2 definitions end so; legal: src.agent.Agent, src.other.Agent"


def test_what_had_to_yield_is_told(polycontext: Command, root: Path) -> None:
    """Where the window has no room for all, one line says of which file the model only gets a gist."""
    (root / "notes.md").write_text("# Notes\n" + "a line of notes\n" * 60, encoding="utf-8")
    arguments = ("resolve", "[@notes.md] [@long.txt]", "--root", root, "--max-tokens", 500)
    ran = polycontext("pills", *arguments)
    assert ran.code == 0
    assert ran.err.splitlines()[2:] == ["shortened notes.md: there is room for a summary of it only"]
    assert polycontext("pills", *arguments, "--json").json()["yielded"] == [{"name": "notes.md"}]


def test_resolving_for_anthropic(polycontext: Command, root: Path) -> None:
    """The messages pass that provider's rules."""
    ran = polycontext("pills", "resolve", "explain [@src/agent.py]", "--root", root, "--provider", "anthropic")
    get_format("anthropic").check(ran.json())


def test_a_message_that_does_not_fit_is_a_no(polycontext: Command, root: Path) -> None:
    """The answer is no, and one line says how much there is and how much may be."""
    ran = polycontext("pills", "resolve", "[@long.txt]", "--root", root, "--max-tokens", 40)
    assert (ran.code, ran.out) == (1, "")
    assert "40" in ran.complaint


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("complete", "a", "--root", "nowhere"), "--root nowhere: no folder; legal: a folder that may be read"),
        (("complete", "a", "--type", "poem"), "'poem' is not one of"),
        (("complete", "a", "--limit", "0"), "--limit"),
        (("resolve", "a", "--limit", "0"), "--limit"),
        (("resolve", "a", "--max-tokens", "-1"), "--max-tokens"),
        (("resolve",), "TEXT"),
        (("complete",), "PREFIX"),
        (("dance",), "dance"),
    ],
)
def test_a_bad_option_is_named(polycontext: Command, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2, one line."""
    ran = polycontext("pills", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.complaint


def test_a_name_cannot_command_the_terminal(polycontext: Command, root: Path) -> None:
    """Control characters in a file's name never reach the terminal, nor do those that are typed."""
    (root / "\x1b[2Jgone").write_text("", encoding="utf-8")
    for arguments in (("complete", "gone"), ("complete", "\x1b[2J"), ("resolve", "[@\x1b[2Jgone]")):
        ran = polycontext("pills", *arguments, "--root", root)
        assert "\x1b" not in ran.out + ran.err


def test_text_that_cannot_be_stored_is_a_fault(root: Path) -> None:
    """Bytes on the command line that are no UTF-8 end in one line, as a process of its own."""
    ran = spawn("pills", "resolve", "a\udcff", "--root", root)
    assert ran.code == 2
    assert "lone surrogate" in ran.complaint


def test_markup_in_a_name_is_shown(polycontext: Command, root: Path) -> None:
    """A name with brackets reads as it is written."""
    (root / "[id]").mkdir()
    (root / "[id]/page.tsx").write_text("x", encoding="utf-8")
    assert "[id]/page.tsx" in polycontext("pills", "complete", "page", "--root", root).out
    ran = polycontext("pills", "resolve", "[@[id]/page.tsx]", "--root", root)
    assert ran.err == "attached [id]/page.tsx (file, 1 characters)\n"
    assert json.loads(ran.out)[1]["content"] == "[@[id]/page.tsx]"
