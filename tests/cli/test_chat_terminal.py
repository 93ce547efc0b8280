"""The interactive chat: a process on a pseudo terminal, real key presses, and a store on disk."""

import os
import signal
from pathlib import Path

import pytest

from polycontext import ContextSession
from polycontext.testing.strict import StrictServer
from tests.cli.slow_endpoint import LONG, Halting

pty = pytest.importorskip("pty", reason="there are no pseudo terminals here")

from tests.cli.pseudo_terminal import OnATerminal  # noqa: E402 - where there are

WHERE = ("chat", "s", "--store", "chat.db", "--max-tokens", 2_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file in it."""
    (tmp_path / "agent.py").write_text("def run():\n    return 1\n", encoding="utf-8")
    return tmp_path


def answered_by(server: StrictServer) -> tuple[object, ...]:
    """Return the arguments of a chat with a server's model."""
    return (*WHERE, "--base-url", f"{server.url}/v1", "--model", "gpt-5")


def said(folder: Path) -> list[tuple[str, str]]:
    """Return what the store has of the session."""
    with ContextSession.open(folder / "chat.db", "s", max_tokens=2_000) as session:
        return [(str(turn.role), turn.text) for turn in session.log()]


def test_a_conversation_from_the_first_key_to_the_next_day(folder: Path) -> None:
    """A file, an answer, a bar, Ctrl+D; and another process goes on where this one ended."""
    with OnATerminal(folder, *WHERE) as chat:
        chat.see("session s: 0 messages so far", "> ")
        chat.press("/attach agent.py\n")
        chat.see("> ")
        chat.press("What is thid\x7fs?\n")
        chat.see("attached agent.py", "You said", "░", "of 2,000 tokens", "ACCUMULATING", "> ")
        chat.press("/nope\n")
        chat.see("Type /help", "> ")
        chat.press("\x04")
        assert chat.end() == 0
        assert "continue with: polycontext chat s --store chat.db" in chat.screen
    assert [role for role, _ in said(folder)] == ["user", "user", "assistant"]
    assert said(folder)[1][1] == "What is this?\n[@agent.py]"
    with OnATerminal(folder, *WHERE[:-2]) as chat:
        chat.see("session s: 3 messages so far", "> ")
        # The line editor of the terminal has a history.
        chat.press("Hello\n")
        chat.see("You said", "> ")
        chat.press("\x1b[A\n")
        chat.see("You said", "> ")
        chat.press("/quit\n")
        assert chat.end() == 0
    assert [text for role, text in said(folder) if role == "user"][2:] == ["Hello", "Hello"]


def test_ctrl_c_ends_an_answer_and_keeps_what_was_said(folder: Path) -> None:
    """The conversation goes on with it; where nothing is answered, it gives up the line."""
    slow = Halting(LONG, "Pears.")
    with StrictServer((slow,)) as server, OnATerminal(folder, *answered_by(server)) as chat:
        chat.see("> ")
        chat.press("What is there?\n")
        chat.see("Plums and")
        chat.press("\x03")
        chat.see("stopped; the partial answer is kept", "> ")
        # An interrupt that comes before the line editor waits again is seen at the end of the line.
        chat.press("gone\x03")
        chat.press("\n")
        chat.see("> ")
        chat.press("And else?\n")
        chat.see("Pears.", "> ")
        chat.press("\x04")
        assert chat.end() == 0
        slow.over.set()
    kept = said(folder)[1][1]
    assert kept
    assert LONG.startswith(kept)
    assert said(folder) == [
        ("user", "What is there?"),
        ("assistant", kept),
        ("user", "And else?"),
        ("assistant", "Pears."),
    ]
    asked = [message["content"] for message in slow.asked[1]["messages"]]
    assert asked == ["What is there?", kept, "And else?"]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("sign", "told"),
    [
        (signal.SIGHUP, "You stopped this answer. Its text so far is kept."),
        (signal.SIGKILL, "session s: 1 messages so far"),
    ],
)
def test_ended_in_the_middle_of_an_answer_it_goes_on(
    folder: Path, sign: signal.Signals, told: str
) -> None:
    """If its terminal is closed, the partial answer is kept; after a kill, the message is."""
    is_killed, slow = sign is signal.SIGKILL, Halting(LONG, "Quinces.")
    with StrictServer((slow,)) as server:
        with OnATerminal(folder, *answered_by(server)) as chat:
            chat.see("> ")
            chat.press("What is there?\n")
            chat.see("Plums and")
            os.kill(chat.process.pid, sign)
            assert chat.end() == (-sign if is_killed else 128 + sign)
        slow.over.set()
        first, *kept = (text for _, text in said(folder))
        assert first == "What is there?"
        assert len(kept) == (not is_killed)
        assert all(text and LONG.startswith(text) for text in kept)
        with OnATerminal(folder, *answered_by(server)) as chat:
            chat.see(told, "> ")
            chat.press("Well?\n")
            chat.see("Quinces.", "> ")
            chat.press("\x04")
            assert chat.end() == 0
    assert [text for _, text in said(folder)] == [first, *kept, "Well?", "Quinces."]
