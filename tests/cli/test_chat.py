"""`polycontext chat` in a pipe: each line is a message or a command; stdout holds only answers."""

import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from polycontext import ContextSession
from polycontext.cli import options as shared
from polycontext.testing.strict import StrictChat, StrictServer
from tests.cli.command import Command, Ran

Piece = str | BaseException | Callable[[], object]
Talk = Callable[..., Ran]


class Scripted:
    """An answering that yields one script per answer; exceptions are raised, functions called."""

    def __init__(self, *scripts: Sequence[Piece]) -> None:
        self.scripts = list(scripts)

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the next script."""
        for piece in self.scripts.pop(0) if self.scripts else ["Noted."]:
            if isinstance(piece, BaseException):
                raise piece
            if callable(piece):
                piece()
            else:
                yield piece

    async def aclose(self) -> None:
        """Close nothing."""


@pytest.fixture
def talk(polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Return a chat of a 2000-token session, in a folder with one file, with a scripted model."""
    (tmp_path / "agent.py").write_text("def run():\n    return 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def say(typed: str, *scripts: Sequence[Piece]) -> Ran:
        monkeypatch.setattr(shared, "make_answering", lambda *_: Scripted(*scripts))
        where = ("chat", "s", "--store", tmp_path / "chat.db")
        return polycontext(*where, "--max-tokens", 2_000, stdin=typed)

    return say


def log(tmp_path: Path, size: int = 2_000) -> list[tuple[str, str]]:
    """Return who said what."""
    with ContextSession.open(tmp_path / "chat.db", "s", max_tokens=size) as session:
        return [(str(turn.role), turn.text) for turn in session.log()]


def test_each_line_is_a_message(talk: Talk, tmp_path: Path) -> None:
    """Empty lines are none; the answers stand one below the other, and the session is kept."""
    ran = talk("Hello there\r\n\nAnd now?", ["Good", " day."], ["Fine.\r\n"])
    assert (ran.code, ran.out, ran.err) == (0, "Good day.\nFine.\n", "")
    assert log(tmp_path) == [
        ("user", "Hello there"),
        ("assistant", "Good day."),
        ("user", "And now?"),
        ("assistant", "Fine.\r\n"),
    ]


def test_a_file_is_attached_to_the_next_message(talk: Talk, tmp_path: Path) -> None:
    """A file is attached by the command or by its name in the message, once."""
    ran = talk("/attach agent.py\nWhat is this?\nAnd [@agent.py] again?")
    assert (ran.code, ran.err) == (0, "attached agent.py (file, 24 characters)\n")
    said = log(tmp_path)
    assert "def run()" in said[0][1]
    assert said[1] == ("user", "What is this?\n[@agent.py]")
    assert said[-2] == ("user", "And [@agent.py] again?")


def test_what_is_refused_changes_nothing_and_the_rest_goes_on(talk: Talk, tmp_path: Path) -> None:
    """Each refusal is one line on standard error, and makes exit code 1."""
    ran = talk("see [@gone.py]\n/nope\n/rewind 99\n//nope\n")
    assert ran.code == 1
    first, second, third = ran.err.splitlines()
    assert "gone.py: Cannot attach context: file not found" in first
    assert second == "'/nope' is not a command. Type /help."
    assert "a revision from 0 to 0" in third
    assert log(tmp_path) == [("user", "/nope"), ("assistant", "Noted.")]


def test_it_is_shortened_and_goes_back(talk: Talk, tmp_path: Path) -> None:
    """`/compress` and `/rewind` do what the commands of a session do."""
    ran = talk("One\nTwo\n/compress\n/rewind t2\n/help\n/quit\nNever")
    assert ran.code == 0
    assert "compressed: 24 -> 24 tokens\n" in ran.out
    assert "revision 6, ACCUMULATING" in ran.out
    assert ran.out.endswith("/quit           leave (or press Ctrl+D)\n")
    assert log(tmp_path) == [("user", "One"), ("assistant", "Noted.")]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            [ConnectionError("away")],
            "No answer: the service cannot be reached. Your message is kept.",
        ),
        (
            ["Plums", ConnectionError("away")],
            "The answer is cut off: the connection to the model broke.",
        ),
    ],
)
def test_a_model_that_fails_is_told_of(
    talk: Talk, tmp_path: Path, script: Sequence[Piece], told: str
) -> None:
    """The message stays, and what was said of the answer."""
    ran = talk("What?", script)
    assert (ran.code, ran.err) == (1, f"{told} (ConnectionError: away)\n")
    assert log(tmp_path)[0] == ("user", "What?")
    assert [text for _, text in log(tmp_path)[1:]] == ["Plums"] * (len(script) - 1)


@pytest.mark.usefixtures("interrupts")
def test_interrupted_it_ends_as_commands_do(talk: Talk, tmp_path: Path) -> None:
    """With exit code 130, and what was said of the answer kept."""
    script = ["Plums", lambda: os.kill(os.getpid(), signal.SIGINT), *[" and"] * 200]
    ran = talk("What?\nNever\n", script)
    assert ran.code == 130
    assert [text[:5] for _, text in log(tmp_path)] == ["What?", "Plums"]


def test_an_endpoint_answers_and_a_known_model_has_its_window(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint streams without a key, and a known model sets the window, unless a flag does."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("POLYCONTEXT_STORE", str(tmp_path / "chat.db"))
    with StrictServer((StrictChat(lambda _: "Plums and pears."),)) as server:
        model = ("--model", "gpt-5", "--base-url", f"{server.url}/v1")
        ran = polycontext("chat", "large", *model, stdin="What is there?\n")
        polycontext("chat", "small", *model, "--max-tokens", 900, stdin="What is there?\n")
    assert (ran.code, ran.out) == (0, "Plums and pears.\n")
    sizes = [
        polycontext("session", "show", name, "--json").json()["max_tokens"]
        for name in ("large", "small")
    ]
    assert sizes[0] > 100_000
    assert sizes[1] == 900


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("s",), 2, "the session has no store. Pass --store."),
        (("--base-url", "http://localhost"), 2, "the name of the model at that address"),
        (("--model", "gpt-5"), 1, "the model cannot be called"),
    ],
)
def test_options_that_cannot_be_are_refused_in_one_line(
    polycontext: Command,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    """With what to do; nobody is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("POLYCONTEXT_STORE", raising=False)
    ran = polycontext("chat", *options, stdin="Hello\n")
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.complaint
