"""The input: a pill is one thing in it, whatever key is pressed, and the document is the text that stands there."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.clipboard import ClipboardData
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from polycontext.cli.chat.pill_buffer import InputCompleter, PillBuffer, PillLexer
from polycontext.cli.chat.screen import Screen, status_of
from polycontext.polynomial import ContextSession
from polycontext.window.pills import (
    BufferResolver,
    Candidate,
    Completer,
    DuplicatePillError,
    FileResolver,
    PillDocument,
    PillType,
    SymbolResolver,
)

NAMES = ("a.py", "src/agent.py", "a[0].py", "*answer*", "文脈.md", "👩.txt")
EMPTY = Completer([])


def buffer_with(*parts: str, completer: Completer = EMPTY) -> PillBuffer:
    """Return a buffer in which texts and pills stand; a pill is written ``@name``."""
    buffer = PillBuffer(completer)
    for part in parts:
        if part.startswith("@"):
            buffer.insert_pill(part[1:])
        else:
            buffer.insert_text(part)
    return buffer


def is_sound(buffer: PillBuffer) -> bool:
    """Tell whether text and document are one, its pills are sound and the cursor stands in none of them."""
    document, here = buffer.pills, buffer.cursor_position
    assert document.text == buffer.text
    assert all(pill.is_sound for pill in document.pills)
    return not any(pill.start < here < pill.end for pill in document.pills)


# --- one thing ------------------------------------------------------------------------


def test_backspace_behind_a_pill_takes_all_of_it() -> None:
    """And nothing else."""
    buffer = buffer_with("see ", "@a.py", " now")
    buffer.cursor_position = 12
    assert buffer.delete_before_cursor() == " "
    assert buffer.delete_before_cursor() == "[@a.py]"
    assert (buffer.text, buffer.pills.context, buffer.cursor_position) == ("see now", (), 4)


def test_delete_before_a_pill_takes_all_of_it() -> None:
    """With the first of its brackets."""
    buffer = buffer_with("see ", "@a.py", "!")
    buffer.cursor_position = 4
    assert buffer.delete() == "[@a.py]"
    assert (buffer.text, buffer.pills.context) == ("see !", ())


@pytest.mark.parametrize("typed", ["]", "x", "[", "@", "[@", "py", "👍", "\n"])
def test_typing_on_either_side_never_extends_a_pill(typed: str) -> None:
    """Not even with the very characters that it ends on."""
    buffer = buffer_with("@a.py")
    buffer.insert_text(typed)
    assert buffer.pills.pill("a.py").end == 7
    buffer.cursor_position = 0
    buffer.insert_text(typed)
    assert buffer.pills.pill("a.py").start == len(typed)
    assert buffer.text == f"{typed}[@a.py]{typed}"


def test_a_pill_is_refused_twice_in_the_words_of_pills() -> None:
    """Nothing has changed then."""
    buffer = buffer_with("@a.py", " and ")
    with pytest.raises(DuplicatePillError, match="Context already attached"):
        buffer.insert_pill("a.py")
    assert buffer.text == "[@a.py] and "


def test_the_cursor_passes_over_a_pill() -> None:
    """From either side, and lands behind or before it."""
    buffer = buffer_with("see ", "@a.py", "!")
    buffer.cursor_position = 11
    buffer.cursor_left()
    assert buffer.cursor_position == 4
    buffer.cursor_right()
    assert buffer.cursor_position == 11


def test_what_is_typed_by_hand_is_text() -> None:
    """Until it is completed."""
    buffer = PillBuffer(EMPTY)
    for char in "see [@a.py]":
        buffer.insert_text(char)
    assert buffer.pills.context == ()


def test_undo_and_redo_keep_text_and_pills_in_step() -> None:
    """What is undone is no pill any more; what is redone is one again."""
    buffer = buffer_with("see ")
    buffer.save_to_undo_stack()
    buffer.insert_pill("a.py")
    buffer.save_to_undo_stack()
    buffer.delete_before_cursor()
    buffer.undo()
    assert (buffer.text, buffer.pills.context) == ("see [@a.py]", ("a.py",))
    buffer.undo()
    assert (buffer.text, buffer.pills.context) == ("see ", ())
    buffer.redo()
    assert buffer.pills.context == ("a.py",)


def test_undoing_what_was_typed_before_a_pill_leaves_it() -> None:
    """Though the same characters stand in it."""
    buffer = buffer_with("@a.py")
    buffer.save_to_undo_stack()
    buffer.cursor_position = 0
    buffer.insert_text("[")
    buffer.undo()
    assert (buffer.text, buffer.pills.context) == ("[@a.py]", ("a.py",))


def test_a_text_that_is_put_there_leaves_the_cursor_outside_of_pills() -> None:
    """Wherever it stood."""
    buffer = buffer_with("aa", "@a.py")
    buffer.cursor_position = 2
    buffer.text = "b[@a.py]"
    assert is_sound(buffer)
    assert buffer.pills.context == ("a.py",)


def test_what_is_cut_comes_back_as_the_pill_that_it_was() -> None:
    """Of the type that it had; what was attached meanwhile stays one."""
    buffer = PillBuffer(EMPTY)
    buffer.insert_pill("Agent.run", PillType.SYMBOL)
    cut = buffer.delete_before_cursor()
    assert buffer.text == ""
    buffer.paste_clipboard_data(ClipboardData(f"run {cut} and {cut}"))
    assert [(pill.name, pill.type) for pill in buffer.pills.pills] == [("Agent.run", PillType.SYMBOL)]
    assert is_sound(buffer)


def test_a_document_is_shown_with_its_pills() -> None:
    """As what was refused stands in the input again."""
    document = PillDocument("see ").insert_pill("a.py").insert_pill("m.f", type="symbol")
    buffer = PillBuffer(EMPTY)
    buffer.show(document)
    assert (buffer.pills, buffer.cursor_position) == (document, len(document.text))


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "文脈👩‍👩‍👧" * 2_000, "", "\x00\x1b[2J", "a\n" * 3_000], ids=["long", "astral", "empty", "control", "lines"]
)
def test_whatever_is_pasted_stands_there(text: str) -> None:
    """Long, of many signs, of many lines, nothing at all."""
    buffer = buffer_with("@a.py")
    buffer.insert_text(text)
    assert buffer.text == f"[@a.py]{text}"
    assert is_sound(buffer)


def test_half_a_character_is_replaced() -> None:
    """What could not be stored would be refused when it is too late."""
    buffer = PillBuffer(EMPTY)
    buffer.insert_text("a\ud800b")
    assert buffer.text == buffer.pills.text == "a?b"


Edit = Callable[[PillBuffer], Any]
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.sampled_from(["a", "]", "[", "@", "[@a.py]", "[@", "two words", "\n", "👍", "y]"]).map(
        lambda text: lambda buffer: buffer.insert_text(text)
    ),
    st.sampled_from(NAMES).map(lambda name: lambda buffer: _attach(buffer, name)),
    st.integers(1, 6).map(lambda count: lambda buffer: buffer.delete_before_cursor(count)),
    st.integers(1, 6).map(lambda count: lambda buffer: buffer.delete(count)),
    st.integers(-9, 9).map(
        lambda by: lambda buffer: setattr(buffer, "cursor_position", min(len(buffer.text), max(0, buffer.cursor_position + by)))
    ),
    st.just(lambda buffer: buffer.undo()),
    st.just(lambda buffer: buffer.redo()),
    st.just(lambda buffer: buffer.save_to_undo_stack()),
    st.just(lambda buffer: buffer.swap_characters_before_cursor()),
    st.just(lambda buffer: buffer.transform_current_line(str.upper)),
    st.text(max_size=5).map(lambda text: lambda buffer: setattr(buffer, "text", text + buffer.text[2:])),
)


def _attach(buffer: PillBuffer, name: str) -> None:
    if name in buffer.pills.context:
        with pytest.raises(DuplicatePillError):
            buffer.insert_pill(name)
    else:
        buffer.insert_pill(name)
        assert name in buffer.pills.context


@given(edits=st.lists(EDITS, max_size=40))
def test_text_and_pills_are_one_after_any_edits(edits: list[Edit]) -> None:
    """And a pill stands in its brackets, under its name, with no cursor inside."""
    buffer = PillBuffer(EMPTY)
    for edit in edits:
        edit(buffer)
        assert is_sound(buffer)


# --- completion -----------------------------------------------------------------------


@pytest.fixture
def completer(tmp_path: Path) -> Completer:
    """Return a completer over a file, its symbols and a buffer."""
    (tmp_path / "agent.py").write_text("class Agent:\n    def run(self): ...\n", encoding="utf-8")
    return Completer([FileResolver([tmp_path]), SymbolResolver([tmp_path]), BufferResolver({"*answer*": "Forty."})])


def offered(buffer: PillBuffer, completer: Completer) -> list[tuple[str, str]]:
    """Return what is offered where the cursor stands, and what is said of it."""
    found = InputCompleter(completer, buffer).get_completions(buffer.document, CompleteEvent())
    return [(each.display_text, each.display_meta_text) for each in found]


def test_an_at_completes_files_symbols_and_buffers(completer: Completer) -> None:
    """By a few characters, at the start of a word; an address of mail offers nothing."""
    assert offered(buffer_with("see "), completer) == []
    assert ("agent.py", "file") in offered(buffer_with("see @"), completer)
    assert offered(buffer_with("see @Agent.r"), completer) == [("agent.Agent.run", "symbol agent.py:2")]
    assert offered(buffer_with("(@answ"), completer) == [("*answer*", "buffer")]
    assert offered(buffer_with("ann@answer"), completer) == []


def test_a_slash_completes_commands(completer: Completer) -> None:
    """At the very beginning alone."""
    assert [name for name, _ in offered(buffer_with("/re"), completer)] == ["/recall ID ...", "/rewind MOMENT", "/regenerate"]
    assert offered(buffer_with("see /re"), completer) == []
    assert offered(buffer_with("/recall t"), completer) == []


def test_what_is_attached_is_offered_as_attached(completer: Completer) -> None:
    """With the words of pills."""
    buffer = buffer_with("@agent.py", " @agent.py")
    (found, *_) = InputCompleter(completer, buffer).get_completions(buffer.document, CompleteEvent())
    assert (found.display_text, found.display_meta_text, found.text) == ("agent.py", "Context already attached", "")


def test_pills_have_a_look_of_their_own() -> None:
    """On every line; the text around has none."""
    buffer = buffer_with("see ", "@a.py", " and\n", "@b.py", "!")
    line = PillLexer(buffer).lex_document(Document(buffer.text))
    assert line(0) == [("", "see "), ("class:pill", "[@a.py]"), ("", " and")]
    assert line(1) == [("", ""), ("class:pill", "[@b.py]"), ("", "!")]


# --- the screen -----------------------------------------------------------------------


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    """Return what keys are pressed into."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield pipe


async def until(is_so: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end, "it did not happen"
        await asyncio.sleep(0.005)


def asked(
    keys: PipeInput, completer: Completer, *steps: str | Callable[[PillBuffer], object], document: PillDocument | None = None
) -> Screen:
    """Return the screen after steps: keys that are pressed, and what is waited for between them."""
    screen = Screen(completer, lambda: [("", "status")], input=keys, output=DummyOutput())

    async def pressed() -> None:
        task = asyncio.ensure_future(screen.ask(document))
        for step in steps:
            if isinstance(step, str):
                keys.send_text(step)
            else:
                await until(lambda step=step: step(screen.buffer) or task.done())  # type: ignore[misc]
        screen.answer = await task  # type: ignore[attr-defined]

    asyncio.run(pressed())
    return screen


def has_menu(buffer: PillBuffer) -> bool:
    """Tell whether something is offered."""
    return bool(buffer.complete_state and buffer.complete_state.completions)


def answer(screen: Screen) -> PillDocument:
    """Return what was typed."""
    found: PillDocument = screen.answer  # type: ignore[attr-defined]
    return found


def test_the_terminal_goes_on_while_names_are_read(keys: PipeInput) -> None:
    """The first completion may read a whole project: what is typed meanwhile is there, and a line says what is being done."""
    begun, may_end = threading.Event(), threading.Event()

    class Slow:
        type = PillType.FILE

        def entries(self) -> Iterator[Candidate]:
            begun.set()
            assert may_end.wait(60)
            yield Candidate("notes.txt", PillType.FILE)

    async def run() -> str:
        screen = Screen(Completer([Slow()]), lambda: [("", "status")], input=keys, output=DummyOutput())
        task = asyncio.ensure_future(screen.ask())
        keys.send_text("@notes")
        await until(begun.is_set)
        keys.send_text(" and")
        await until(lambda: screen.buffer.text == "@notes and")
        below = "".join(part[1] for part in screen._below())
        may_end.set()
        keys.send_text("\r")
        assert (await task).text == "@notes and"
        return below

    assert asyncio.run(run()) == "reading names…"


def test_a_pill_comes_by_tab_and_is_sent_with_enter(keys: PipeInput, completer: Completer) -> None:
    """The first Enter takes what is chosen, the second sends."""
    screen = asked(
        keys, completer, "see @ag", has_menu, "\t", lambda buffer: buffer.pills.context, "\r", lambda buffer: not has_menu(buffer), "!\r"
    )
    assert answer(screen) == PillDocument("see ").insert_pill("agent.py").insert_text(15, "!")


def test_tab_goes_on_to_the_next(keys: PipeInput, completer: Completer) -> None:
    """What was chosen before is no pill any more, and going back brings it again."""
    second = lambda buffer: buffer.pills.context == ("agent.Agent",)  # noqa: E731
    screen = asked(keys, completer, "@agen", has_menu, "\t", lambda buffer: buffer.pills.context, "\t", second, "\x1b[Z", "\r\r")
    assert answer(screen).context == ("agent.py",)


def test_a_second_time_is_refused_in_words(keys: PipeInput, completer: Completer) -> None:
    """Below the input, until something is typed."""
    said: list[str] = []
    base = PillDocument().insert_pill("agent.py").insert_text(11, " ")

    def warned(buffer: PillBuffer) -> bool:
        said.extend([screens[0].warning] if screens else [])
        return "Context already attached" in said

    screens: list[Screen] = []
    screen = Screen(completer, lambda: [("", "status")], input=keys, output=DummyOutput())
    screens.append(screen)

    async def pressed() -> PillDocument:
        task = asyncio.ensure_future(screen.ask(base))
        keys.send_text("@agent.p")
        await until(lambda: has_menu(screen.buffer))
        keys.send_text("\t")
        await until(lambda: screen.buffer.complete_state and screen.buffer.complete_state.current_completion)
        keys.send_text("\r")
        await until(lambda: warned(screen.buffer))
        keys.send_text(" \r")
        return await task

    assert asyncio.run(pressed()).text == "[@agent.py]  "
    assert screen.warning == ""


def test_backspace_and_lines_by_keys(keys: PipeInput) -> None:
    """Alt+Enter breaks a line; Backspace behind a pill takes it."""
    document = PillDocument("see ").insert_pill("a.py")
    assert answer(asked(keys, EMPTY, "\x7fit\x1b\rnow\r", document=document)).text == "see it\nnow"


@pytest.mark.parametrize(("key", "raised"), [("\x04", EOFError), ("x\x03", KeyboardInterrupt)])
def test_how_it_is_left(keys: PipeInput, key: str, raised: type[BaseException]) -> None:
    """Ctrl+D in an empty input ends, Ctrl+C gives up what was typed."""
    with pytest.raises(raised):
        asked(keys, EMPTY, key)


def test_ctrl_d_within_a_text_deletes(keys: PipeInput) -> None:
    """As shells have it; a pill goes whole."""
    assert answer(asked(keys, EMPTY, "\x01\x04\r", document=PillDocument().insert_pill("a.py").insert_text(7, "!"))).text == "!"


def test_the_status_tells_state_pressure_and_session() -> None:
    """In a bar and in tokens."""
    session = ContextSession(max_tokens=1_000)
    session.add_user_turn("word " * 480)
    (part,) = status_of(session, "s\x1b[2J")
    look, told = part[:2]
    assert look == "class:status"
    assert told.startswith("ACCUMULATING  █████░░░░░ ")
    assert f"{session.window.total_tokens:,} of 1,000 tokens  session s\\x1b[2J" in told
    session = ContextSession(max_tokens=100, auto=False)
    session.add_user_turn("task")
    session.add_assistant_turn("word " * 200)
    assert status_of(session, None)[0][0] == "class:status.pressured"
