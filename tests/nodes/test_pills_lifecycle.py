"""The life of a pill, end to end: typed, completed, inserted, sent, resolved, attached, in the window, out to a provider (seed 001, Lifecycle)."""

from pathlib import Path

import pytest

from polycontext.linearity import ResourceClass
from polycontext.nodes.pills import item_of, send_message
from polycontext.polynomial import ContextOverflowError, ContextSession
from polycontext.window import ItemType, PillDocument
from polycontext.window.items import attachment_of
from polycontext.window.pills import BufferResolver, Completer, FileResolver, Resolved, Resolver, SymbolResolver
from polycontext.window.providers import Provider, get_format

AGENT = "def run():\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with two files."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "notes.md").write_text("Be brief.\n", encoding="utf-8")
    return tmp_path


def typed(text: str, root: Path) -> PillDocument:
    """Return the document after the user typed `text` and took the first completion of what stands behind its last ``@``."""
    document = PillDocument(text)
    start = text.rindex("@")
    best = Completer([FileResolver([root])]).candidates(text[start:])[0]
    return document.delete_range(start, len(text)).insert_pill(best.name, type=best.type)


def test_a_pill_goes_all_the_way(root: Path) -> None:
    """What the file holds at send stands in front of the user's words, in a message list that both providers accept."""
    session = ContextSession(max_tokens=8000)
    session.add_system("You explain code.")
    document = typed("explain @src/ag", root)
    assert document.to_text() == "explain [@src/agent.py]"
    sent = send_message(session, document, [FileResolver([root])])
    assert [each.name for each in sent.attached] == ["src/agent.py"]
    assert (sent.held, sent.problems) == ((), ())
    system, file, words = session.window.all_turns()
    assert file.text == f"### File\n#### src/agent.py\n```python\n{AGENT}```"
    attachment = attachment_of(file)
    assert attachment is not None
    assert (attachment.type, attachment.source) == (ItemType.FILE, "src/agent.py")
    assert words.text == sent.text == "explain [@src/agent.py]"
    assert [session.window.class_of(turn) for turn in (system, file, words)] == [
        ResourceClass.PRESERVED,
        ResourceClass.REQUIRED,
        ResourceClass.PRESERVED,
    ]
    for provider in Provider:
        get_format(provider).check(session.messages(provider))
    assert session.messages()[1:] == [{"role": "user", "content": file.text}, {"role": "user", "content": words.text}]


def test_a_second_message_does_not_send_it_twice(root: Path) -> None:
    """While it stands in the view; content that changed is attached anew, and supersedes the old."""
    session = ContextSession(max_tokens=8000)
    resolvers = [FileResolver([root])]
    document = typed("explain @src/ag", root)
    send_message(session, document, resolvers)
    session.add_assistant_turn("It returns one.")
    again = send_message(session, PillDocument.parse("why [@src/agent.py]? and [@notes.md]"), resolvers)
    assert [[each.name for each in group] for group in (again.attached, again.held)] == [["notes.md"], ["src/agent.py"]]
    assert sum(AGENT in message["content"] for message in session.messages()) == 1
    session.add_assistant_turn("Because.")
    (root / "src/agent.py").write_text("def run():\n    return 2\n", encoding="utf-8")
    changed = send_message(session, document, resolvers)
    assert [each.content for each in changed.attached] == ["def run():\n    return 2\n"]
    get_format("openai").check(session.messages())


def test_what_left_the_view_is_attached_again(root: Path) -> None:
    """A gist does not hold the file word for word: the next message that names it brings it back."""
    session = ContextSession(max_tokens=8000)
    resolvers = [FileResolver([root])]
    (root / "src/agent.py").write_text("".join(f"def run_{number}():\n    return {number}\n" for number in range(40)), encoding="utf-8")
    send_message(session, typed("explain @src/ag", root), resolvers)
    for number in range(8):
        session.add_assistant_turn(f"Function run_{number} returns {number}.")
        session.add_user_turn(f"And the one after number {number}?")
    session.compress(0.0)
    assert "return 39" not in str(session.messages())
    sent = send_message(session, PillDocument.parse("again [@src/agent.py]"), resolvers)
    assert [each.name for each in sent.attached] == ["src/agent.py"]
    assert "return 39" in str(session.messages())


def test_a_refused_pill_loses_nothing_of_the_message(root: Path) -> None:
    """The words are sent as they are, the other pills are attached, the problem is told."""
    session = ContextSession(max_tokens=8000)
    sent = send_message(session, PillDocument.parse("explain [@gone.py] and [@notes.md]"), [FileResolver([root])])
    assert [problem.warning for problem in sent.problems] == ["Cannot attach context: file not found"]
    assert [each.name for each in sent.attached] == ["notes.md"]
    assert session.messages()[-1]["content"] == "explain [@gone.py] and [@notes.md]"


def test_a_message_without_pills_is_a_plain_turn() -> None:
    """Nothing is attached."""
    session = ContextSession(max_tokens=8000)
    sent = send_message(session, PillDocument("hello"), [])
    assert sent.output.window.all_turns()[-1].text == "hello"
    assert session.messages() == [{"role": "user", "content": "hello"}]


def test_symbols_and_buffers_are_attached_as_what_they_are(root: Path) -> None:
    """A symbol as code with its lines, a buffer as text under its name; a symbol that moved supersedes itself."""
    session = ContextSession(max_tokens=8000)
    resolvers: list[Resolver] = [SymbolResolver([root]), BufferResolver({"*scratch*": "notes"})]
    document = PillDocument("compare ").insert_pill("src.agent.run", type="symbol").insert_pill("*scratch*", type="buffer")
    send_message(session, document, resolvers)
    symbol, buffer, _ = session.window.all_turns()
    assert symbol.text == f"### Code\n#### src/agent.py:1-2\n```python\n{AGENT}```"
    assert buffer.text.startswith("### Text\n#### *scratch*\n")
    (root / "src/agent.py").write_text(f"\n\n{AGENT}", encoding="utf-8")
    session.add_assistant_turn("They differ.")
    send_message(session, document, resolvers)
    attachments = [attachment for turn in session.window.all_turns() if (attachment := attachment_of(turn))]
    assert [each.source for each in attachments] == ["symbol src.agent.run", "buffer *scratch*", "symbol src.agent.run"]
    assert attachments[-1].label == "src/agent.py:3-4"


def test_a_truncated_file_says_so_to_the_model(root: Path) -> None:
    """Its item holds the lines that are there, and the notice."""
    resolved = FileResolver([root], limit=15).resolve("src/agent.py")
    item = item_of(resolved)
    assert item.metadata == {"filename": "src/agent.py", "start_line": 1, "end_line": 1}
    assert item.content == "def run():\n[truncated at the limit of 15 characters: 11 of 24 characters, lines 1-1 of 2]"
    assert item_of(Resolved("a", resolved.type, "x")).metadata == {"filename": "a"}


def test_a_message_that_does_not_fit_is_refused(root: Path) -> None:
    """The error is the session's own."""
    (root / "src/agent.py").write_text("x = 1\n" * 2000, encoding="utf-8")
    session = ContextSession(max_tokens=500)
    with pytest.raises(ContextOverflowError):
        send_message(session, typed("explain @src/ag", root), [FileResolver([root])])
    assert session.window.all_turns() == ()
