"""Conversations are read in the shapes that people store them in."""

import errno
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import ContextSession
from polycontext.base import InvalidDataError
from polycontext.transcripts import Conversation, read_conversations
from polycontext.transcripts.conversation import conversations
from polycontext.transcripts.documents import Document, read_documents
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import Provider
from tests.cli.command import as_lines, assistant, result, saved, user

CHAT = [user("a"), assistant("b")]


def read(folder: Path, data: object, name: str = "chat.json") -> list[Conversation]:
    """Return the conversations of a file that holds `data`."""
    return list(read_conversations([str(saved(folder, name, data))]))


def test_several_in_one_document_or_one_a_line(tmp_path: Path) -> None:
    """A list of conversations and JSONL give the same, numbered from 1, each with its line."""
    several = [CHAT, {"messages": [user("c")], "id": "second"}]
    listed = read(tmp_path, "[\n" + ",\n".join(map(json.dumps, several)) + "]")
    lined = read(tmp_path, "\n" + as_lines(several), "chat.jsonl")
    assert [(c.number, c.line, c.messages, c.id) for c in listed] == [
        (c.number, c.line, c.messages, c.id) for c in lined
    ]
    assert [(c.number, c.line, c.id) for c in lined] == [(1, 2, None), (2, 3, "second")]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    """In lines of messages, of conversations and of an export; a warning names it."""
    session, told = ContextSession(max_tokens=4_000), list[str]()
    for said in ("a", "b", "c"):
        session.add_user_turn(said)
    for lines, left in (
        (as_lines([user("a"), user("b"), user("Süß")]), [[user("a"), user("b")]]),
        (as_lines([CHAT, CHAT, CHAT]), [CHAT, CHAT]),
        ("".join(session.history.export()), [[user("a"), user("b")]]),
    ):
        path = tmp_path / "torn.jsonl"
        path.write_bytes(lines.strip().encode()[:-3] + bytes(3))
        found = read_conversations([str(path)], notify=told.append)
        assert [each.messages for each in found] == left
    assert [line.partition("torn.jsonl")[2] for line in told] == [
        ", line 3: cut off, and left out"
    ] * 2
    with pytest.warns(UserWarning, match="cut off"):
        list(read_conversations([str(saved(tmp_path, "torn.jsonl", as_lines([CHAT]) + "\n["))]))


@pytest.mark.parametrize(
    "text", ['{"role": "user", "con', "[]\n{'role': 1}", '[]\n{"a": tru}', '[]\n{"a": "b\n[]']
)
def test_other_damage_is_refused(tmp_path: Path, text: str) -> None:
    """A single line that is cut off, a last line that no JSON begins with, one in the middle."""
    with pytest.raises(InvalidDataError, match="not JSON"):
        read(tmp_path, text, "chat.jsonl")


def test_a_stream_is_answered_line_by_line() -> None:
    """The first conversation is there before the second line is asked for."""

    def lines() -> object:
        yield (json.dumps(CHAT) + "\n").encode()
        raise AssertionError

    documents = read_documents("stream", lines())  # type: ignore[arg-type]
    assert next(documents).value == CHAT


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Editors put one in front of UTF-8."""
    (conversation,) = read(tmp_path, b"\xef\xbb\xbf" + json.dumps(CHAT).encode())
    assert conversation.messages == CHAT


def test_a_system_beside_the_messages_leads_them(tmp_path: Path) -> None:
    """The top-level system of a request body becomes the first turn, and says Anthropic."""
    (conversation,) = read(
        tmp_path,
        {"system": "Be brief.", "messages": CHAT, "tools": [{"name": "look", "input_schema": {}}]},
    )
    assert conversation.provider is Provider.ANTHROPIC
    assert [(turn.role, turn.content) for turn in conversation.parse().turns][:2] == [
        ("system", "Be brief."),
        ("user", "a"),
    ]
    assert len(conversation.tools) == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda deeper: st.lists(deeper) | st.dictionaries(st.text(), deeper),
    )
)
def test_no_json_breaks_the_reader(value: object) -> None:
    """Any JSON value is a conversation or is refused with a place; nothing else is raised."""
    document = Document("any", 1, value, json.dumps(value))
    try:
        for conversation in conversations(document):
            conversation.parse()
    except InvalidDataError as error:
        assert str(error).startswith("any")


@given(
    st.lists(st.sampled_from(["message", "[", '"', "{}", ",", "\\"]), min_size=1, max_size=8),
    st.sampled_from([None, 0, 1, 2]),
)
def test_a_message_is_found_on_its_line(texts: list[str], indent: int | None) -> None:
    """However a document is laid out, the line named is the one on which the message begins."""
    messages = [user(text) for text in texts]
    text = json.dumps({"x": [{"messages": 1}, "}"], "messages": messages, "y": {}}, indent=indent)
    document = Document("any", 1, json.loads(text), text)
    lines = text.splitlines()
    for index in range(len(messages)):
        line = document.line_of(("messages", index))
        ends = [number for number, content in enumerate(lines, 1) if '"role"' in content]
        assert line == (1 if indent is None else ends[index] - 1)


def test_a_refused_system_is_called_system(tmp_path: Path) -> None:
    """Errors count the messages of the file, whether or not a system leads them."""
    (conversation,) = read(tmp_path, {"system": "s", "messages": [user("a")]})
    named = [
        conversation.refused(InvalidMessagesError("anthropic", index, "rule", "p", "l")).path
        for index in (None, 0, 1)
    ]
    assert named == [
        f"{tmp_path}/chat.json, line 1, {field}" for field in ("messages", "system", "messages[0]")
    ]


def test_a_disk_that_fails_midway_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while reading is refused like one at opening."""

    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", lambda *_: Failing())
    with pytest.raises(InvalidDataError, match=r"chat.json: cannot be read: input/output error"):
        list(read_conversations(["chat.json"]))


def test_where_a_turn_stands(tmp_path: Path) -> None:
    """A turn's number leads back to its line and message, over results that `repair` added."""
    messages = [user("a"), assistant(None, "x", "y"), result("x", "1"), user("b")]
    (conversation,) = read(tmp_path, "[\n" + ",\n".join(map(json.dumps, messages)) + "\n]")
    assert conversation.where(5, repair=True) == "line 5, messages[3]"


def test_messages_of_a_host_alone_are_refused_by_name(tmp_path: Path) -> None:
    """An export is read; a part of it is refused, and the error names the message and the host."""
    said = {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Fix the price."}]}
    with pytest.raises(InvalidMessagesError, match=r"messages\[0\] .* an OpenCode export"):
        read(tmp_path, {"messages": [said]})


def test_the_line_of_a_place_that_is_not_there_is_that_of_what_holds_it() -> None:
    """A missing key is reported where the object begins."""
    assert Document("any", 5, {"a": {}}, '{\n"a": {}}').line_of(("a", "b", 3)) == 6
