"""Lines from a terminal, an orderly end, and what a shell completes, in this process."""

import asyncio
import os
import signal
from collections.abc import Generator
from pathlib import Path
from threading import Timer, get_ident

import click
import pytest

from polycontext import ContextSession
from polycontext.cli.options import complete_file, complete_session
from polycontext.cli.terminal import QUIT, interruptible_runner, orderly_end, read_line
from tests.cli.command import Command

pty = pytest.importorskip("pty", reason="there are no pseudo terminals here")


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """Return the end of a pseudo terminal to type into; the other one is standard input."""
    keys, screen = pty.openpty()
    with os.fdopen(keys, "wb", buffering=0), os.fdopen(screen, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield keys


def test_a_line_is_read_without_its_blanks_and_the_end_means_quit(keyboard: int) -> None:
    """Ctrl+D is the end."""
    os.write(keyboard, b"  Hello \n\x04")
    assert read_line(is_terminal=True) == "Hello"
    assert read_line(is_terminal=True) == QUIT


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_empties_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The conversation goes on."""

    def interrupt(_: str) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
        raise AssertionError

    monkeypatch.setattr("builtins.input", interrupt)
    assert read_line(is_terminal=True) == ""
    assert capsys.readouterr().err == "\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_with_the_code_that_shells_expect(number: int) -> None:
    """A signal exits with 128 plus its number, and the previous handler is restored."""

    def run() -> None:
        with orderly_end():
            os.kill(os.getpid(), number)
            signal.pause()

    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as end:
        run()
    assert end.value.code == 128 + number
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_names_the_program(polycontext: Command, shell: str) -> None:
    """The shell asks the program for completions through a variable."""
    ran = polycontext("completion", shell)
    assert ran.code == 0
    assert "_POLYCONTEXT_COMPLETE" in ran.out


def test_sessions_are_completed_from_the_store(tmp_path: Path) -> None:
    """Session names are completed from the store, and a missing store gives none.

    The shell would run what stands in a name such as the last one.
    """
    for name in ("first", "second", "f$(touch${IFS}here)"):
        with ContextSession.open(tmp_path / "chat.db", name, max_tokens=2_000) as session:
            session.add_user_turn("Hello")
    context, parameter = click.Context(click.Command("chat")), click.Argument(["session"])
    context.params["store"] = str(tmp_path / "chat.db")
    assert [each.value for each in complete_session(context, parameter, "f")] == ["first"]
    context.params["store"] = str(tmp_path / "missing.db")
    assert complete_session(context, parameter, "f") == []
    assert [each.type for each in complete_file(context, parameter, "no")] == ["file"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals reach one thread here")
def test_a_loop_that_waits_hears_a_signal_that_another_thread_got() -> None:
    """As where it comes just before the loop waits."""
    heard: list[int] = []

    def end(number: int, _: object) -> None:
        heard.append(number)
        raise SystemExit

    async def waits() -> None:
        await asyncio.sleep(120)

    here, before = get_ident(), signal.signal(signal.SIGTERM, end)
    try:
        Timer(0.2, lambda: signal.pthread_kill(here, signal.SIGTERM)).start()
        with pytest.raises(SystemExit), interruptible_runner() as runner:
            runner.run(asyncio.wait_for(waits(), 60))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
