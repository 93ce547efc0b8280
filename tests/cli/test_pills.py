"""`polycontext pills` and `session append --root`: available and attached context."""

from collections.abc import Callable
from pathlib import Path

import pytest

from polycontext import ContextSession
from tests.cli.command import Command, Ran, spawn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small tree with something of everything."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/agent.py").write_text(
        "class Agent:\n    def run(self):\n        return 1\n", encoding="utf-8"
    )
    (tmp_path / "src/other.py").write_text("class Agent: ...\n", encoding="utf-8")
    (tmp_path / "long.txt").write_text("line\n" * 100, encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "debug.log").write_text("", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    return tmp_path


def test_completion_prints_one_name_a_line(polycontext: Command, root: Path) -> None:
    """Type, name and place, the best first."""
    ran = polycontext("pills", "@agent", "--root", root)
    assert (ran.code, ran.err) == (0, "")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["type", "name", "detail"],
        ["file", "src/agent.py"],
        ["symbol", "src.agent.Agent", "src/agent.py:1"],
        ["symbol", "src.other.Agent", "src/other.py:1"],
        ["symbol", "src.agent.Agent.run", "src/agent.py:2"],
    ]


def test_completion_prints_json(polycontext: Command, root: Path) -> None:
    """Types and limit are kept."""
    ran = polycontext("pills", "agent", "--root", root, "--type", "symbol", "--limit", 1, "--json")
    assert ran.json() == [{"name": "src.agent.Agent", "type": "symbol", "detail": "src/agent.py:1"}]


def test_completion_of_nothing_is_a_no(polycontext: Command, root: Path) -> None:
    """Exit code 1; what an ignore file names is not offered."""
    ran = polycontext("pills", "debug.log", "--root", root)
    assert (ran.code, ran.out, ran.err) == (1, "", "nothing begins with 'debug.log'\n")
    ran = polycontext("pills", "zzz", "--root", root, "--json")
    assert (ran.code, ran.json(), ran.err) == (1, [], "")


@pytest.fixture
def send(polycontext: Command, root: Path, tmp_path: Path) -> Callable[..., Ran]:
    """Return what a user says in a session of 2000 tokens, with what it names attached."""

    def say(text: str, *options: object, max_tokens: int = 2000) -> Ran:
        store = ("--store", tmp_path / "chat.db")
        polycontext("session", "new", "s", *store, "--max-tokens", max_tokens)
        return polycontext(
            "session", "append", "s", text, "--role", "user", "--root", root, *store, *options
        )

    return say


def words(tmp_path: Path) -> list[str]:
    """Return what was said."""
    with ContextSession.open(tmp_path / "chat.db", "s") as session:
        return [turn.text for turn in session.log()]


def test_what_a_message_names_is_attached(send: Callable[..., Ran], tmp_path: Path) -> None:
    """The content stands before the message; what was attached is told on standard error."""
    ran = send("explain [@src/agent.py]")
    assert ran.code == 0
    attached, said = words(tmp_path)
    assert attached.startswith("### File\n#### src/agent.py\n```python\nclass Agent:")
    assert said == "explain [@src/agent.py]"
    assert ran.err == "attached src/agent.py (file, 49 characters)\n"
    assert "added: t1, t2" in ran.out


def test_what_cannot_be_attached_is_told(send: Callable[..., Ran], tmp_path: Path) -> None:
    """Exit code 1, a line for each that cannot be attached, and nothing is added."""
    text = "[@long.txt] [@Agent.run] [@gone] [@picture.png] [@../x] [@Agent]"
    ran = send(text, "--json")
    assert (ran.code, ran.out, words(tmp_path)) == (1, "", [])
    assert [line.partition(" (")[0] for line in ran.err.splitlines()] == [
        "refused gone: Cannot attach context: file not found",
        "refused picture.png: Cannot attach context: binary file",
        "refused ../x: Invalid context name",
        "refused Agent: Cannot attach context: symbol is ambiguous",
        "error: nothing was added. Correct the names in brackets, or leave them out.",
    ]
    assert "Use the path of a file from a root, such as src/agent.py" in ran.err


def test_a_text_that_attaches_nothing_is_told(send: Callable[..., Ran], tmp_path: Path) -> None:
    """A root without a name in brackets: the text is added, and a line says how to attach."""
    ran = send("explain @long.txt")
    assert (ran.code, words(tmp_path)) == (0, ["explain @long.txt"])
    assert ran.err.startswith("the text attaches nothing. To attach a file, name it as [@")


def test_what_had_to_yield_is_told(send: Callable[..., Ran], root: Path) -> None:
    """If not everything fits, one line names the file that is only summarised."""
    (root / "notes.md").write_text("# Notes\n" + "a line of notes\n" * 60, encoding="utf-8")
    ran = send("[@notes.md] [@long.txt]", max_tokens=500)
    assert ran.code == 0
    assert ran.err.splitlines()[2:] == [
        "shortened notes.md: there is room for a summary of it only"
    ]


def test_a_name_cannot_command_the_terminal(
    polycontext: Command, send: Callable[..., Ran], root: Path
) -> None:
    """Control characters in a file's name never reach the terminal, nor do those that are typed."""
    (root / "\x1b[2Jgone").write_text("", encoding="utf-8")
    for ran in (
        polycontext("pills", "gone", "--root", root),
        polycontext("pills", "\x1b[2J", "--root", root),
        send("[@\x1b[2Jgone]"),
    ):
        assert "\x1b" not in ran.out + ran.err


def test_text_that_cannot_be_stored_is_a_fault(tmp_path: Path) -> None:
    """Bytes on the command line that are no UTF-8 end in one line, as a process of its own."""
    store = ("--store", tmp_path / "chat.db")
    assert spawn("session", "new", "s", *store).code == 0
    ran = spawn("session", "append", "s", "a\udcff", "--role", "user", *store)
    assert ran.code == 2
    assert "lone surrogate" in ran.complaint


def test_markup_in_a_name_is_shown(
    polycontext: Command, send: Callable[..., Ran], root: Path
) -> None:
    """A name with brackets reads as it is written."""
    (root / "[id]").mkdir()
    (root / "[id]/page.tsx").write_text("x", encoding="utf-8")
    assert "[id]/page.tsx" in polycontext("pills", "page", "--root", root).out
    assert send("[@[id]/page.tsx]").err == "attached [id]/page.tsx (file, 1 characters)\n"
