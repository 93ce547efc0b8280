"""Misuse of the API that a newcomer tries: what came, what was expected, what to write instead."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from polycontext import (
    ContextMachine,
    ContextSession,
    PolycontextError,
    ToolCall,
    Turn,
    project,
)
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.models import OpenAISummariser
from polycontext.polynomial.errors import StoreError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST
from polycontext.window import InvalidMessagesError, InvalidTurnError, OrderError

Mistake = Callable[[Any], Any]

USER: Any = {"role": "user", "content": "Hello"}
RESPONSE: Any = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Hi"))])
"""A fake client's response, whose message is no dict."""


def machine(**members: Any) -> Mistake:
    """Return the mistake of giving a session a machine with these members."""
    made = type("Mine", (ContextMachine,), members)
    return lambda _: ContextSession(4000, counter=FAST, machine=made).add_user_turn("Hello")


def with_(**options: Any) -> Mistake:
    """Return the mistake of making a session with these options and saying something."""
    given: dict[str, Any] = {"counter": FAST, **options}
    return lambda _: ContextSession(4000, **given).add_user_turn("Hello")


def summarised(summariser: Any) -> Mistake:
    """Return the mistake of taking this for a summariser."""
    return lambda _: ContextProjector(summariser)


async def later(turns: Any, max_tokens: int) -> str:
    """Return a summary that must be awaited."""
    return f"{len(turns)} turns"


class Summary:
    """A summariser whose method lacks the keywords."""

    def summarise(self, turns: Any, max_tokens: int) -> str:
        """Return a summary."""
        return "short"


MISUSE: dict[str, tuple[type[PolycontextError], str, Mistake]] = {
    "a guard that answers": (
        InvalidOptionError,
        r"in_order = False\. Use an error that in_order raises",
        machine(in_order=lambda self, step: False),
    ),
    "a guard that reads the message of every event": (
        InvalidOptionError,
        r"input\.kind = 'resize'\. Use step\.input\.turn only if .* one of user_turn,",
        machine(in_order=lambda self, step: step.input.turn and None),
    ),
    "an instance of a machine of one's own": (
        InvalidOptionError,
        r"not an instance: machine=ContextMachine\.",
        with_(machine=ContextMachine()),
    ),
    "a listener's class": (
        InvalidOptionError,
        r"listeners = \[<class .*Use .* such as \[Watcher\(\)\], and no classes or functions\.",
        with_(listeners=[Mock]),
    ),
    "a summariser's class": (
        InvalidOptionError,
        r"this is a class, so write Summary\(\)\.",
        summarised(Summary),
    ),
    "a summariser in American spelling": (
        InvalidOptionError,
        r"this one has summarize, which is spelled summarise here\.",
        summarised(SimpleNamespace(summarize=print)),
    ),
    "a model's name for a summariser": (
        InvalidOptionError,
        r"for summaries by a model, OpenAISummariser\(client, 'gpt-5'\)\.",
        summarised("gpt-5"),
    ),
    "a summariser of a model that is in no table": (
        UnknownNameError,
        r"'llama-at-home'\..* pass its longest request as max_input_tokens=\.",
        lambda _: OpenAISummariser(None, "llama-at-home"),
    ),
    "a coroutine function where nothing awaits it": (
        InvalidOptionError,
        r"summariser = <function later>\. Use one that is not async.*acompress",
        lambda _: project([USER], 100, summariser=later),  # type: ignore[arg-type]
    ),
    "prices by a model's name": (
        InvalidOptionError,
        r"prices = 'gpt-5'\. Use Prices .* such as prices_of\(\"gpt-5\"\)",
        with_(prices="gpt-5"),
    ),
    "a clock of seconds": (
        InvalidTurnError,
        r"float is not a datetime\. Use an aware datetime, for example datetime\.now\(UTC\)",
        with_(clock=time.time),
    ),
    "a fake response": (
        InvalidMessagesError,
        r"SimpleNamespace is not a message\. Use .*response\.choices\[0\]\.message as a dict",
        lambda session: session.add_message(RESPONSE),
    ),
    "an answer's text": (
        InvalidMessagesError,
        r"text is not a message\. Use .*add_assistant_turn",
        lambda session: session.add_message("Vienna."),
    ),
    "a message without its role": (
        InvalidMessagesError,
        r"role is missing or null\. Use assistant, developer, system, tool, user",
        lambda session: session.add_message({"content": "Vienna."}),
    ),
    "a list as JSON text": (
        InvalidMessagesError,
        r"text is not a list\. Use a list of messages, such as json\.loads\(text\)",
        lambda _: project('[{"role": "user"}]', 100),  # type: ignore[arg-type]
    ),
    "arguments that are no text": (
        InvalidTurnError,
        r"dict is not text\. Use JSON as text: json\.dumps\(arguments\)",
        lambda _: ToolCall("c1", "look", {"a": 1}),  # type: ignore[arg-type]
    ),
    "a result after its call was closed": (
        OrderError,
        r"its call 'c1' is not open .* Add the assistant message with its call first",
        lambda session: session.add_tool_turn("x", tool_call_id="c1"),
    ),
    "a time as text": (
        InvalidOptionError,
        r"moment = '2026-01-01'\. Use .* a time with its zone such as 2026-11-23T10:00Z",
        lambda session: session.history.rewind("2026-01-01"),
    ),
    "a tick of words": (
        InvalidOptionError,
        r"now = 'now'\. Use a time with its zone, such as datetime\.now\(UTC\)",
        lambda session: session.tick("now"),
    ),
    "a path for an export": (
        InvalidOptionError,
        r"lines = 'backup\.jsonl'\. Use what was exported: .* such as those of open\(path\)",
        lambda _: ContextSession.history.load("backup.jsonl"),
    ),
}


@pytest.mark.parametrize("name", MISUSE)
def test_an_error_says_what_to_write_instead(name: str) -> None:
    """The message is whole sentences without addresses, and the session is as before."""
    kind, words, mistake = MISUSE[name]
    session = ContextSession(4000, counter=FAST, store=InMemoryStore())
    session.add_user_turn("Book me a train.")
    before = session.conversation
    with pytest.raises(kind, match=words) as caught:
        mistake(session)
    assert session.conversation is before
    message = str(caught.value)
    assert re.search(r"[.?;] [A-Zt].*[.]$", message, re.DOTALL)
    assert " at 0x" not in message
    assert ".." not in message.replace("...", "")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    """The error says which file to write instead."""
    with pytest.raises(StoreError, match=r"is a folder\. Use a file in it, such as .*sessions\.db"):
        ContextSession.open(tmp_path, "a")


def test_a_failing_summariser_of_a_projection_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """As in a session, an extract replaces the summary, and a warning says why."""
    messages = [{"role": "user", "content": f"Build {number} passed."} for number in range(60)]
    forgetful: Any = lambda turns, max_tokens: None  # noqa: E731
    project(messages, 300, counter=FAST, summariser=forgetful)
    (told,) = caplog.messages
    assert told.startswith("a summary was rejected, an extract is used instead: ")


def test_turns_are_messages_of_a_session() -> None:
    """What `log` returns goes back in by `add`."""
    session = ContextSession(4000, counter=FAST)
    session.add(Turn("user", "Hello"))
    assert session.messages() == [USER]
