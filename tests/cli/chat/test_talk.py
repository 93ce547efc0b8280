"""What becomes of what is typed: messages, commands, answers that fail, and standard input that is no terminal."""

import asyncio
import io
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from polycontext import ContextSession
from polycontext.cli.chat import chatting
from polycontext.cli.chat.slash import COMMANDS, Outcome
from polycontext.cli.chat.talk import ANSWER, Talk
from polycontext.cli.output import shown
from polycontext.polynomial.stores import InMemoryStore
from polycontext.testing import FAST
from polycontext.testing.strict import StrictChat, StrictServer
from polycontext.window import Role
from polycontext.window.pills import PillDocument
from tests.cli.command import Command
from tests.house import ROOT, sizes

Piece = str | BaseException | Callable[[], object]


class Scripted:
    """Say these pieces, one script an answer; an exception is raised, a function called where it stands."""

    def __init__(self, *scripts: Sequence[Piece]) -> None:
        self.scripts = list(scripts)
        self.is_closed = False

    async def answer(self, session: ContextSession) -> AsyncIterator[str]:
        """Yield the next script."""
        for piece in self.scripts.pop(0) if self.scripts else ["Noted."]:
            await asyncio.sleep(0)
            if isinstance(piece, BaseException):
                raise piece
            if callable(piece):
                piece()
            else:
                yield piece

    async def aclose(self) -> None:
        """Tell that it is closed."""
        self.is_closed = True


class Chat:
    """Type lines into a talk, and see what is printed."""

    def __init__(self, capture: pytest.CaptureFixture[str], root: Path) -> None:
        self._capture = capture
        self._root = root
        self.out = self.err = ""
        self.begin()

    def begin(self, *scripts: Sequence[Piece], max_tokens: int = 2_000, system: str | None = None, **options: Any) -> None:
        """Begin a new talk, in which these are answered."""
        store = InMemoryStore()
        session = ContextSession.open(store, "s", max_tokens=max_tokens, counter=FAST, **options)
        if system:
            session.add_system(system)
        self.talk = Talk(session, Scripted(*scripts), store=store, name="s", roots=[self._root], system=system)

    def __call__(self, text: str) -> Outcome:
        """Take a line in."""
        return self.take(self.talk.typed(text))

    def take(self, document: PillDocument) -> Outcome:
        """Take a document in."""
        self._capture.readouterr()
        outcome = asyncio.run(self.talk.take(document))
        self.out, self.err = self._capture.readouterr()
        return outcome

    @property
    def session(self) -> ContextSession:
        """Return the session that is talked in."""
        return self.talk.session

    @property
    def log(self) -> list[tuple[str, str]]:
        """Return who said what."""
        return [(str(turn.role), turn.text) for turn in self.session.log()]


@pytest.fixture
def chat(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chat:
    """Return a talk over a folder with one file."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "agent.py").write_text("def run():\n    return 1\n", encoding="utf-8")
    return Chat(capsys, tmp_path)


# --- messages and answers ---------------------------------------------------------------


def test_a_message_is_answered_and_both_are_kept(chat: Chat) -> None:
    """The answer as it came, to standard output."""
    chat.begin(["Plums", " and ", "pears."])
    assert chat("What is there?") is Outcome.DONE
    assert (chat.out, chat.err) == ("Plums and pears.\n", "")
    assert chat.log == [("user", "What is there?"), ("assistant", "Plums and pears.")]


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_nothing_is_sent_where_nothing_is_said(chat: Chat, text: str) -> None:
    """An empty line is no message."""
    assert chat(text) is Outcome.DONE
    assert chat.log == []


def test_pills_are_fetched_when_it_is_sent_and_attached(chat: Chat) -> None:
    """As they are then; what stands in the view is not attached twice."""
    chat("look at [@agent.py] and [@agent.run]")
    assert [role for role, _ in chat.log] == ["user", "user", "user", "assistant"]
    assert "attached agent.py (file" in chat.err
    chat("again [@agent.py]")
    assert len(chat.log) == 6


def test_what_cannot_be_attached_is_told_and_nothing_is_sent(chat: Chat) -> None:
    """In the words of pills, each of them."""
    assert chat("see [@gone.py] and [@../agent.py] and [@agent.py]") is Outcome.REFUSED
    assert "[@gone.py]: Cannot attach context: file not found" in chat.err
    assert "[@../agent.py]: Invalid context name" in chat.err
    assert "nothing was sent" in chat.err
    assert chat.log == []


def test_files_that_came_meanwhile_are_offered(chat: Chat, tmp_path: Path) -> None:
    """They are looked for anew behind every answer."""
    assert [each.name for each in chat.talk.completer.candidates("@later", types=["file"])] == []
    (tmp_path / "later.py").write_text("x = 1\n", encoding="utf-8")
    chat("Write a file.")
    assert [each.name for each in chat.talk.completer.candidates("@later", types=["file"])] == ["later.py"]


def test_the_last_answer_is_a_buffer(chat: Chat) -> None:
    """Whole, whatever the view has of it; there is none before the first."""
    assert [each.name for each in chat.talk.completer.candidates("@*a", types=["buffer"])] == []
    assert chat.take(PillDocument("explain ").insert_pill(ANSWER, type="buffer")) is Outcome.REFUSED
    assert "Cannot attach context: buffer not found" in chat.err
    chat.begin(["Forty-two."])
    chat("How many?")
    chat.session.clear()
    assert [each.name for each in chat.talk.completer.candidates("@*a", types=["buffer"])] == [ANSWER]
    chat.take(PillDocument("explain ").insert_pill(ANSWER, type="buffer"))
    assert "Forty-two." in chat.session.window.all_turns()[0].text


def test_a_message_that_cannot_fit_is_cut_for_the_model_alone(chat: Chat) -> None:
    """It is answered, the log has all of it, and what is sent fits."""
    said = "word " * 5_000
    assert chat(said) is Outcome.DONE
    assert chat.log == [("user", said), ("assistant", "Noted.")]
    assert len(chat.session.messages()[0]["content"]) < len(said)
    assert chat.session.pressure <= 1


def test_a_model_that_fails_is_told_and_the_message_stays(chat: Chat) -> None:
    """With what was said of the answer until then; /regenerate asks again."""
    chat.begin(["Plums", ConnectionError("refused\nby the \x1b[31mnetwork")], ["Pears."])
    assert chat("What is there?") is Outcome.UNANSWERED
    assert "no answer: ConnectionError: refused by the \\x1b[31mnetwork" in chat.err
    assert chat.log[-1] == ("assistant", "Plums")
    assert chat("/regenerate") is Outcome.DONE
    assert chat.log == [("user", "What is there?"), ("assistant", "Pears.")]


@pytest.mark.parametrize("pieces", [[], [""], [" ", "\n"]])
def test_a_model_that_says_nothing_is_told(chat: Chat, pieces: list[str]) -> None:
    """An empty answer is none."""
    chat.begin(pieces)
    assert chat("What is there?") is Outcome.UNANSWERED
    assert "the model said nothing" in chat.err
    assert len(chat.log) == 1


def test_cancelled_in_the_middle_it_keeps_what_was_said(chat: Chat) -> None:
    """And whoever cancelled hears of it."""

    async def cancelled() -> None:
        task = asyncio.current_task()
        assert task is not None
        chat.begin(["Plums", lambda: asyncio.get_running_loop().call_soon(task.cancel), "", *[" and"] * 5, *[""] * 50, "never"])
        with pytest.raises(asyncio.CancelledError):
            await chat.talk.take(PillDocument("What is there?"))
        task.uncancel()

    asyncio.run(cancelled())
    (_, (role, text)) = chat.log
    assert role == "assistant"
    assert text.startswith("Plums")
    assert "never" not in text


def test_halves_of_a_character_are_joined_and_what_controls_a_terminal_is_shown(chat: Chat) -> None:
    """Neither is a reason to lose an answer."""
    chat.begin(["Apple: \ud83c", "\udf4f \x1b[2J\ud800", "\u202e.\r\n"])
    assert chat("What?") is Outcome.DONE
    assert chat.log[-1][1] == "Apple: 🍏 \x1b[2J\ufffd\u202e.\r\n"
    assert "\x1b" not in chat.out
    assert "\u202e" not in chat.out
    assert shown("文脈 👩‍👩‍👧\tא\n") == "文脈 👩‍👩‍👧\tא\n"


def test_a_reader_that_goes_away_loses_nothing(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said until then is kept, and the command ends quietly."""
    from typer import Exit  # noqa: PLC0415 - what `write` raises there

    def closed(text: str) -> None:
        raise Exit(141)

    chat.begin(["Plums", " and pears."])
    monkeypatch.setattr("polycontext.cli.chat.talk.write", closed)
    with pytest.raises(Exit):
        asyncio.run(chat.talk.take(PillDocument("What?")))
    assert chat.log[-1] == ("assistant", "Plums")


@pytest.mark.parametrize("messages", sizes(200, 1_000))
def test_many_messages_and_the_number_still_holds(chat: Chat, messages: int) -> None:
    """Room is made as it goes; the log has every word."""
    for number in range(messages):
        assert asyncio.run(chat.talk.take(PillDocument(f"Fact {number} is {number * 7}."))) is Outcome.DONE
    assert len(chat.session.log()) == 2 * messages
    chat("/context")
    used, room = re.findall(r"([\d,]+) of ([\d,]+) tokens", chat.out)[0]
    assert (int(used.replace(",", "")), int(room.replace(",", ""))) == (chat.session.window.total_tokens, chat.session.window.max_tokens)
    assert "shortened" in chat.out
    chat("/search 1001")
    assert "Fact 143" in chat.out


# --- commands -------------------------------------------------------------------------


def test_help_names_every_command(chat: Chat) -> None:
    """And what it takes."""
    assert chat("/help") is Outcome.DONE
    assert all(command.usage in chat.out for command in COMMANDS.values())


def test_the_page_tells_every_command() -> None:
    """As it is written."""
    page = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(/.+?)` \|", page, re.MULTILINE) == [command.usage for command in COMMANDS.values()]


@pytest.mark.parametrize("typed", ["/nope", "/", "/HELP", "/ help", "/usr/bin/env fails"])
def test_an_unknown_command_says_what_is_legal(chat: Chat, typed: str) -> None:
    """Nothing is sent; two slashes send a message that begins with one."""
    assert chat(typed) is Outcome.DONE if typed == "/ help" else chat(typed) is Outcome.REFUSED
    if typed != "/ help":
        assert "unknown command" in chat.err
        assert all(f"/{name}" in chat.err for name in COMMANDS)
    assert chat.log == []


def test_two_slashes_are_one_that_is_sent(chat: Chat) -> None:
    """Pills stand where they stood."""
    assert chat("//usr/bin/env fails, see [@agent.py]") is Outcome.DONE
    assert chat.log[1] == ("user", "/usr/bin/env fails, see [@agent.py]")


@pytest.mark.parametrize(
    ("typed", "legal"),
    [
        ("/recall", "/recall ID ..."),
        ("/rewind", "/rewind MOMENT"),
        ("/help me", "/help"),
        ("/compress half", "a share of the window"),
        ("/compress 2", "0"),
        ("/history many", "a whole number"),
        ("/history 0", "at least 1"),
        ("/pin t99", "t99"),
        ("/recall t99", "t99"),
        ("/rewind nowhere", "nowhere"),
        ("/fork s", "s"),
    ],
)
def test_a_command_that_cannot_be_says_what_is_legal(chat: Chat, typed: str, legal: str) -> None:
    """And nothing has changed."""
    chat("Hello")
    before = chat.session.conversation
    assert chat(typed) is Outcome.REFUSED
    assert legal in chat.err
    assert chat.session.conversation is before


def test_compress_recall_and_pin(chat: Chat) -> None:
    """What was shortened comes back by its id, and stays where it is pinned."""
    for number in range(12):
        chat(f"Fact {number}: " + f"the box {number} stands in hall {number}, " * 8)
    assert chat("/compress 0.1") is Outcome.DONE
    assert "compressed: " in chat.out
    gone = next(turn.resource_id for turn in chat.session.log() if turn not in chat.session.window.all_turns() and turn.role is Role.USER)
    assert chat(f"/recall {gone}") is Outcome.DONE
    assert f"brought back: {gone}" in chat.out
    assert chat(f"/pin {gone} it is the task") is Outcome.DONE
    assert chat.session.window.linearity.get(gone).name == "PRESERVED"


def test_clear_begins_anew_under_the_same_system(chat: Chat) -> None:
    """The log keeps all of it."""
    chat.begin(system="Answer in German.")
    chat("Hello")
    assert chat("/clear") is Outcome.DONE
    assert [turn.text for turn in chat.session.window.all_turns()] == ["Answer in German."]
    assert len(chat.log) == 4


def test_history_tells_ids_and_beginnings(chat: Chat) -> None:
    """The last so many."""
    for number in range(4):
        chat(f"Fact {number}\x1b[2J\nmore")
    chat("/history 3")
    assert chat.out.splitlines() == ["t6 assistant: Noted.", "t7 user: Fact 3\\x1b[2J more", "t8 assistant: Noted."]
    chat("/history")
    assert len(chat.out.splitlines()) == 8


def test_rewind_and_undo(chat: Chat) -> None:
    """What is printed takes it back."""
    chat("Red?")
    chat("Blue?")
    assert chat("/rewind t2") is Outcome.DONE
    assert [text for _, text in chat.log] == ["Red?", "Noted."]
    (undo,) = re.findall(r"undone by: (/rewind \d+)", chat.out)
    chat(undo)
    assert [text for _, text in chat.log] == ["Red?", "Noted.", "Blue?", "Noted."]


def test_fork_goes_on_in_the_new_session(chat: Chat) -> None:
    """The former one stays as it is; both are listed."""
    chat("Red?")
    former = chat.session
    assert chat("/fork what-if t1") is Outcome.DONE
    chat("Blue?")
    assert [text for _, text in chat.log] == ["Red?", "Blue?", "Noted."]
    assert len(former.log()) == 2
    chat("/sessions")
    assert chat.out == "  s\n* what-if\n"


def test_search_finds_what_was_said(chat: Chat) -> None:
    """Or says that nobody did."""
    chat("The night train to Vienna")
    chat("/search Vienna")
    assert chat.out.startswith("t1 user: ")
    chat("/search Graz")
    assert chat.out == "nobody speaks of that\n"


def test_regenerate_without_anything_said_is_refused(chat: Chat) -> None:
    """There is nothing to answer."""
    assert chat("/regenerate") is Outcome.REFUSED


# --- standard input ---------------------------------------------------------------------


def test_each_line_of_standard_input_is_a_message(polycontext: Command, tmp_path: Path) -> None:
    """Answers alone go to standard output, one after the other; the session is kept."""
    where = ("--store", tmp_path / "chat.db", "--session", "s")
    ran = polycontext("chat", *where, "--max-tokens", 3_000, "--system", "Be brief.", stdin="Hello there\r\n\nAnd now?")
    assert (ran.code, ran.err) == (0, "")
    assert [line[:16] for line in ran.out.splitlines()] == ["You said 2 words", "You said 2 words"]
    assert "\x1b" not in ran.out
    assert polycontext("chat", *where, "--system", "Be long.", stdin="/history 9").out.count("system: Be") == 1
    shown = polycontext("session", "show", *where, "--json").json()
    assert (shown["max_tokens"], len(shown["turns"])) == (3_000, 5)


def test_what_is_refused_makes_exit_code_1_and_the_rest_goes_on(polycontext: Command, tmp_path: Path) -> None:
    """Each refusal is one line on standard error."""
    ran = polycontext("chat", "--root", tmp_path, stdin="see [@gone.py]\n/nope\nHello\n")
    assert ran.code == 1
    assert ran.out.startswith("You said 1 words")
    assert "file not found" in ran.err
    assert "unknown command '/nope'" in ran.err
    assert polycontext("chat", stdin="/quit\nHello").out == ""
    assert polycontext("chat", stdin="").code == 0


def test_bytes_that_are_no_text_and_lines_without_end(polycontext: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first are replaced, the second refused unread; what comes after is taken in."""
    monkeypatch.setattr(chatting, "MOST_TYPED", 50)
    ran = polycontext("chat", stdin=b"\xff\xfe\x00 caf\xc3\xa9\n" + b"x" * 200 + b"\nHello\n" + b"y" * 50 + b"\n" + b"z" * 300)
    assert ran.code == 1
    assert ran.err.count("a line of more than 50 characters") == 2
    assert [line[:16] for line in ran.out.splitlines()] == ["You said 2 words", "You said 1 words", "You said 1 words"]
    assert list(chatting.lines(io.StringIO("a\r\nb"))) == ["a", "b"]


def test_an_endpoint_answers_and_a_known_model_has_its_window(
    polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamed over loopback, without a key; its name says how large the window is, unless a number does."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    where = ("chat", "--store", tmp_path / "chat.db", "--name", "gpt-5", "--model")
    with StrictServer((StrictChat(lambda _: "Plums and pears."),)) as server:
        ran = polycontext(*where, f"{server.url}/v1", "--session", "s", stdin="What is there?\n")
        assert (ran.code, ran.out) == (0, "Plums and pears.\n")
        polycontext(*where, f"{server.url}/v1", "--session", "small", "--max-tokens", 900, stdin="What is there?\n")
    rooms = [
        polycontext("session", "context", "--store", tmp_path / "chat.db", "--session", name, "--json").json()["max_tokens"]
        for name in ("s", "small")
    ]
    assert rooms[0] > 100_000
    assert rooms[1] == 900


def test_nobody_there_to_ask_is_told(polycontext: Command) -> None:
    """The message stays; exit code 1."""
    ran = polycontext("chat", "--model", "http://127.0.0.1:9/v1", "--name", "m", stdin="Hello\n")
    assert ran.code == 1
    assert "no answer: APIConnectionError" in ran.err


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--session", "s"), 2, "--session without --store"),
        (("--model", "ftp://host", "--name", "m"), 2, "beginning with http://"),
        (("--model", "http://localhost"), 2, "what the endpoint calls its model"),
        (("--root", "/nowhere/at/all"), 2, "no folder"),
        (("--max-tokens", "0"), 2, "max-tokens"),
        (("--name", "gpt-5"), 1, "nobody can be asked"),
    ],
)
def test_options_that_cannot_be_are_refused_in_one_line(
    polycontext: Command, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int, told: str
) -> None:
    """With what would be legal; nobody is asked."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("POLYCONTEXT_STORE", raising=False)
    ran = polycontext("chat", *options, stdin="Hello\n")
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.complaint


def test_a_session_of_another_program_wants_to_be_told_its_size(polycontext: Command, tmp_path: Path) -> None:
    """As other commands have it; nothing of it is compressed by mistake."""
    with ContextSession.open(tmp_path / "chat.db", "s", max_tokens=50_000) as session:
        session.add_user_turn("Hello")
    where = ("chat", "--store", tmp_path / "chat.db", "--session", "s")
    assert "nothing says how large" in polycontext(*where, stdin="Hello").complaint
    assert polycontext(*where, "--max-tokens", 50_000, stdin="Hello").code == 0


def test_interrupted_it_ends_as_commands_do(polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit code 130, and what was said of the answer kept."""
    scripted = Scripted(["Plums", lambda: os.kill(os.getpid(), signal.SIGINT), *[" and"] * 200])
    monkeypatch.setattr(chatting, "answering", lambda url, name: scripted)
    where = ("--store", tmp_path / "chat.db", "--session", "s")
    # Tests that run in the background of a script are told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ran = polycontext("chat", *where, "--max-tokens", 3_000, stdin="What?\nNever\n")
    finally:
        signal.signal(signal.SIGINT, before)
    assert ran.code == 130
    with ContextSession.open(tmp_path / "chat.db", "s", max_tokens=3_000) as session:
        assert [turn.text[:5] for turn in session.log()] == ["What?", "Plums"]


# --- a terminal without one ---------------------------------------------------------------


class Keys:
    """Stand for a screen: documents, or what is raised in place of one."""

    def __init__(self, *typed: str | BaseException) -> None:
        self.typed = list(typed)
        self.begun: list[str] = []

    async def ask(self, document: PillDocument) -> PillDocument:
        """Return the next."""
        self.begun.append(document.text)
        found = self.typed.pop(0)
        if isinstance(found, BaseException):
            raise found
        return PillDocument.parse(found)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Return a runner."""
    with asyncio.Runner() as made:
        yield made


def test_at_a_terminal_what_is_refused_stands_in_the_input_again(chat: Chat, runner: asyncio.Runner) -> None:
    """What was given up or sent does not."""
    keys = Keys("see [@gone.py]", KeyboardInterrupt(), "Hello", EOFError())
    chatting.hold(runner, chat.talk, keys)
    assert keys.begun == ["", "see [@gone.py]", "", ""]
    assert [text for _, text in chat.log] == ["Hello", "Noted."]


def test_at_a_terminal_an_interrupt_ends_the_answer_alone(chat: Chat, runner: asyncio.Runner) -> None:
    """The next message is taken in."""
    chat.begin(["Plums", lambda: os.kill(os.getpid(), signal.SIGINT), *[" and"] * 200])
    chatting.hold(runner, chat.talk, Keys("What?", "And?", "/quit"))
    assert [text[:5] for _, text in chat.log] == ["What?", "Plums", "And?", "Noted"]


def test_at_a_terminal_all_of_it_in_one_process(polycontext: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A welcome, a message, a status; what goes on is told at the beginning and at the end."""
    monkeypatch.setattr(chatting, "is_at_terminal", lambda: True)
    where = ("--store", tmp_path / "chat.db", "--max-tokens", 900)

    def typed(keys: str, *options: object) -> str:
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(keys)
            ran = polycontext("chat", *options)
        assert ran.code == 0
        return ran.err

    (name,) = re.findall(r"polycontext chat --session (\w+)", typed("Hello\r/quit\r", *where))
    assert f"session {name}: 2 messages so far" in typed("\x04", *where, "--session", name)
    with ContextSession.open(tmp_path / "chat.db", name, max_tokens=900) as session:
        session.add_user_turn("And now?")
    assert "no answer: /regenerate" in typed("\x04", *where, "--session", name)
    assert "nothing of this is kept" in typed("\x04")


def test_a_terminal_without_the_extra_is_told_what_to_install(polycontext: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is opened."""
    monkeypatch.setattr("polycontext.linearity.errors.find_spec", lambda name: None)
    monkeypatch.setattr(chatting, "is_at_terminal", lambda: True)
    ran = polycontext("chat")
    assert ran.code == 1
    assert 'legal: pip install ".[chat]"' in ran.complaint
