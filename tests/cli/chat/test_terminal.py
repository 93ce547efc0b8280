"""The chat as a person has it: a process on a pseudo terminal, keys that are pressed, a screen, a store on the disk."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from polycontext import ContextSession
from polycontext.window import Role
from tests.cli.chat.slow_endpoint import WAIT, SlowEndpoint

pty = pytest.importorskip("pty", reason="there are no pseudo terminals here")

from tests.cli.chat.on_a_terminal import OnATerminal  # noqa: E402 - where there are


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file in it."""
    (tmp_path / "agent.py").write_text("def run():\n    return 1\n", encoding="utf-8")
    return tmp_path


def said(folder: Path) -> list[tuple[str, str]]:
    """Return what the store has of the session."""
    with ContextSession.open(folder / "chat.db", "s", max_tokens=2_000) as session:
        return [(str(turn.role), turn.text) for turn in session.log()]


def test_a_thread_from_the_first_key_to_the_next_day(folder: Path) -> None:
    """A pill by completion, an answer, the waffle, Ctrl+D; and another process goes on where this one ended."""
    where = ("chat", "--store", "chat.db", "--session", "s", "--max-tokens", 2_000)
    with OnATerminal(folder, *where) as chat:
        chat.see("session s: 0 messages so far", "EMPTY")
        chat.press("look at @agent.p")
        chat.see("agent.py", "file")
        chat.press("\t")
        chat.see("[@agent.py]")
        chat.press("\r!\r")
        chat.see("attached agent.py", "You said", "ACCUMULATING")
        chat.press("/context\r")
        chat.see("user · ", "assistant · ", "free", "of 2,000 tokens", "pressured above 1,940", "ACCUMULATING")
        chat.press("\x04")
        assert chat.end() == 0
        assert "polycontext chat --session s" in chat.screen
    log = said(folder)
    assert [role for role, _ in log] == ["user", "user", "assistant"]
    assert "def run()" in log[0][1]
    assert log[1][1] == "look at [@agent.py]!"
    with OnATerminal(folder, *where[:-2]) as chat:
        chat.see("session s: 3 messages so far", "of 2,000 tokens")
        chat.press("/history\r")
        chat.see("user: look at [@agent.py]!", "You said", "ACCUMULATING")
        chat.press("/quit\r")
        assert chat.end() == 0


def test_ctrl_c_ends_an_answer_and_keeps_what_was_said(folder: Path) -> None:
    """The conversation goes on with it."""
    slow = SlowEndpoint(["Plums", " and", WAIT], ["Pears."])
    with ExitStack() as stack:
        stack.enter_context(slow.serving())
        where = ("chat", "--store", "chat.db", "--session", "s", "--max-tokens", 2_000, "--model", slow.url, "--name", "m")
        chat = stack.enter_context(OnATerminal(folder, *where))
        chat.see("EMPTY")
        chat.press("What is there?\r")
        chat.see("Plums and")
        chat.press("\x03")
        chat.see("stopped; what was said is kept", "ACCUMULATING")
        chat.press("And else?\r")
        chat.see("Pears.", "ACCUMULATING")
        chat.press("\x03")
        chat.see("Ctrl+D leaves", "ACCUMULATING")
        chat.press("\x04")
        assert chat.end() == 0
    assert said(folder) == [("user", "What is there?"), ("assistant", "Plums and"), ("user", "And else?"), ("assistant", "Pears.")]
    assert [message["content"] for message in slow.asked[1]["messages"]] == ["What is there?", "Plums and", "And else?"]


def test_killed_in_the_middle_of_an_answer_it_goes_on(folder: Path) -> None:
    """What the user said is there; it is told that nobody answered, and /regenerate has it answered."""
    slow = SlowEndpoint(["Plums", WAIT], ["Plums and pears."])
    with slow.serving():
        where = ("chat", "--store", "chat.db", "--session", "s", "--max-tokens", 2_000, "--model", slow.url, "--name", "m")
        with OnATerminal(folder, *where) as chat:
            chat.see("EMPTY")
            chat.press("What is there?\r")
            chat.see("Plums")
            os.kill(chat.process.pid, signal.SIGKILL)
            chat.end()
        assert said(folder) == [("user", "What is there?")]
        with OnATerminal(folder, *where) as chat:
            chat.see("what was said last has no answer", "ACCUMULATING")
            chat.press("/regenerate\r")
            chat.see("Plums and pears.", "ACCUMULATING")
            chat.press("\x04")
            assert chat.end() == 0
    assert said(folder) == [("user", "What is there?"), (str(Role.ASSISTANT), "Plums and pears.")]


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_keeps_what_was_said(folder: Path, told: signal.Signals) -> None:
    """As where a terminal is closed in the middle of an answer."""
    slow = SlowEndpoint(["Plums", " and", WAIT])
    with slow.serving():
        where = ("chat", "--store", "chat.db", "--session", "s", "--max-tokens", 2_000, "--model", slow.url, "--name", "m")
        with OnATerminal(folder, *where) as chat:
            chat.see("EMPTY")
            chat.press("What is there?\r")
            chat.see("Plums and")
            os.kill(chat.process.pid, told)
            assert chat.end() == 128 + told
    assert said(folder) == [("user", "What is there?"), ("assistant", "Plums and")]


def test_what_is_refused_stands_in_the_input_again(folder: Path) -> None:
    """A pill whose file is gone is told, nothing is sent, and the message can be mended."""
    with OnATerminal(folder, "chat", "--store", "chat.db", "--session", "s", "--max-tokens", 2_000) as chat:
        chat.see("EMPTY")
        chat.press("see @agent.p")
        chat.see("file")
        chat.press("\t")
        chat.see("[@agent.py]")
        (folder / "agent.py").unlink()
        chat.press("\r\r")
        chat.see("Cannot attach context: file not found", "nothing was sent", "see [@agent.py]", "EMPTY")
        chat.press("\x7fnothing\r")
        chat.see("You said 2 words", "ACCUMULATING")
        chat.press("\x04")
        assert chat.end() == 0
    assert said(folder)[0] == ("user", "see nothing")
