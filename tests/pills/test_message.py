"""A pill end to end: typed, completed, inserted, resolved, attached and sent to a provider."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from polycontext.linearity import ResourceClass
from polycontext.pills import (
    BufferResolver,
    Completer,
    FileResolver,
    PillDocument,
    Resolvers,
    SymbolResolver,
)
from polycontext.pills.message import SentMessage, asend_message, send_message
from polycontext.pills.resolver import Resolver
from polycontext.polynomial import ContextSession
from polycontext.window import ItemType
from polycontext.window.items import attachment_of
from polycontext.window.providers import Provider, get_format

Send = Callable[[ContextSession, PillDocument, Iterable[Resolver]], SentMessage]


def asent(
    session: ContextSession, document: PillDocument, resolvers: Iterable[Resolver]
) -> SentMessage:
    """Send by the async twin."""
    return asyncio.run(asend_message(session, document, resolvers))


BOTH = pytest.mark.parametrize("send", [send_message, asent], ids=["sync", "async"])

AGENT = "def run():\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with two files."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "notes.md").write_text("Be brief.\n", encoding="utf-8")
    return tmp_path


def typed(text: str, root: Path) -> PillDocument:
    """Return the document after typing `text` and completing what follows its last ``@``."""
    document = PillDocument(text)
    start = text.rindex("@")
    best = Completer([FileResolver([root])]).candidates(text[start:])[0]
    return document.delete_range(start, len(text)).insert_pill(best.name, type=best.type)


@BOTH
def test_a_pill_goes_all_the_way(root: Path, send: Send) -> None:
    """The file's content at send precedes the user's words, in lists that providers accept."""
    session = ContextSession(max_tokens=8000)
    session.add_system("You explain code.")
    document = typed("explain @src/ag", root)
    assert document.to_text() == "explain [@src/agent.py]"
    sent = send(session, document, [FileResolver([root])])
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
        get_format(provider).check(session.request(provider).messages)
    assert session.messages()[1:] == [
        {"role": "user", "content": file.text},
        {"role": "user", "content": words.text},
    ]


@BOTH
def test_a_second_message_does_not_send_it_twice(root: Path, send: Send) -> None:
    """Content in the view is not attached again unless it changed."""
    session = ContextSession(max_tokens=8000)
    resolvers = [FileResolver([root])]
    document = typed("explain @src/ag", root)
    send(session, document, resolvers)
    session.add_assistant_turn("It returns one.")
    again = send(session, PillDocument.parse("why [@src/agent.py]? and [@notes.md]"), resolvers)
    assert [[each.name for each in group] for group in (again.attached, again.held)] == [
        ["notes.md"],
        ["src/agent.py"],
    ]
    assert sum(AGENT in message["content"] for message in session.messages()) == 1
    session.add_assistant_turn("Because.")
    (root / "src/agent.py").write_text("def run():\n    return 2\n", encoding="utf-8")
    changed = send(session, document, resolvers)
    assert [each.content for each in changed.attached] == ["def run():\n    return 2\n"]
    get_format("openai").check(session.messages())


def test_a_refused_pill_loses_nothing_of_the_message(root: Path) -> None:
    """The words are sent as they are, the other pills are attached, the problem is told."""
    session = ContextSession(max_tokens=8000)
    sent = send_message(
        session, PillDocument.parse("explain [@gone.py] and [@notes.md]"), [FileResolver([root])]
    )
    assert [problem.warning for problem in sent.problems] == [
        "Cannot attach context: file not found"
    ]
    assert [each.name for each in sent.attached] == ["notes.md"]
    assert session.messages()[-1]["content"] == "explain [@gone.py] and [@notes.md]"


def test_symbols_and_buffers_are_attached_as_what_they_are(root: Path) -> None:
    """A symbol is attached as code with its lines, a buffer as text under its name."""
    session = ContextSession(max_tokens=8000)
    resolvers: list[Resolver] = [SymbolResolver([root]), BufferResolver({"*scratch*": "notes"})]
    document = (
        PillDocument("compare ")
        .insert_pill("src.agent.run", type="symbol")
        .insert_pill("*scratch*", type="buffer")
    )
    send_message(session, document, resolvers)
    symbol, buffer, _ = session.window.all_turns()
    assert symbol.text == f"### Code\n#### src/agent.py:1-2\n```python\n{AGENT}```"
    assert buffer.text.startswith("### Text\n#### *scratch*\n")
    (root / "src/agent.py").write_text(f"\n\n{AGENT}", encoding="utf-8")
    session.add_assistant_turn("They differ.")
    send_message(session, document, resolvers)
    attachments = [
        attachment for turn in session.window.all_turns() if (attachment := attachment_of(turn))
    ]
    assert [each.source for each in attachments] == [
        "symbol src.agent.run",
        "buffer *scratch*",
        "symbol src.agent.run",
    ]
    assert attachments[-1].label == "src/agent.py:3-4"


def test_what_had_to_yield_to_the_rest_of_the_message_is_told() -> None:
    """If not all attachments fit, the last one is kept and the others are reported as gists."""
    texts = {
        f"b{number}": "".join(
            f"def f{number}_{line}(a):\n    return {line} * a\n" for line in range(40)
        )
        for number in range(3)
    }
    document = PillDocument.parse("compare [@b0] [@b1] [@b2]", lambda _: "buffer")
    session = ContextSession(max_tokens=1200)
    sent = send_message(session, document, [BufferResolver(texts)])
    assert [each.name for each in sent.attached] == ["b0", "b1", "b2"]
    assert [each.name for each in sent.yielded] == ["b0", "b1"]
    assert [
        any(text in message["content"] for message in session.messages()) for text in texts.values()
    ] == [False, False, True]
    roomy = send_message(ContextSession(max_tokens=8000), document, [BufferResolver(texts)])
    assert roomy.yielded == ()


def test_a_task_sends_while_others_run(root: Path) -> None:
    """The loop is not held up by a resolver that takes its time."""

    def slow(name: str) -> str:
        assert waiting.wait(timeout=30)
        return f"the text of {name}"

    async def both() -> SentMessage:
        session = ContextSession(max_tokens=8000)
        task = asyncio.create_task(
            asend_message(session, document, Resolvers().register("buffer", slow))
        )
        await asyncio.sleep(0)
        waiting.set()
        return await task

    waiting = threading.Event()
    document = PillDocument("see ").insert_pill("notes", type="buffer")
    assert [each.content for each in asyncio.run(both()).attached] == ["the text of notes"]
