"""Misuse of the API that a newcomer tries: what came, what was expected, what to write instead."""

import re
import time
from collections.abc import Callable
from datetime import datetime
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
from polycontext.linearity import never_yield
from polycontext.models import OpenAISummariser
from polycontext.polynomial.errors import StoreError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST
from polycontext.window import InvalidMessagesError, InvalidTurnError, OrderError

Mistake = Callable[[Any], Any]

CALL: Any = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
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
    "a summariser's method without its keywords": (
        InvalidOptionError,
        r"with summarise\(turns, max_tokens, \*, counter, query\).* this one takes \(turns",
        summarised(Summary()),
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
    "a counter's class": (
        InvalidOptionError,
        r"this is a class, so write EstimatingCounter\(\.\.\.\)\.",
        with_(counter=type(FAST)),
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
    "a mocked response": (
        InvalidMessagesError,
        r"\. Use .*the whole answer",
        lambda session: session.add_message(Mock()),
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
    "pairs for messages": (
        InvalidMessagesError,
        r"tuple is not a message\. Use {'role': \.\.\., 'content': \.\.\.} in place of a pair",
        lambda _: project([("user", "Hello")], 100),  # type: ignore[list-item]
    ),
    "a list as JSON text": (
        InvalidMessagesError,
        r"text is not a list\. Use a list of messages, such as json\.loads\(text\)",
        lambda _: project('[{"role": "user"}]', 100),  # type: ignore[arg-type]
    ),
    "a generator of messages": (
        InvalidMessagesError,
        r"generator is not a list\. Use a list of messages, such as list\(messages\)",
        lambda _: project((USER for _ in "a"), 100),  # type: ignore[arg-type]
    ),
    "a session for its messages": (
        InvalidMessagesError,
        r"ContextSession is not a list\. Use .* such as session\.messages\(\)",
        lambda session: project(session, 100),
    ),
    "a list of topics": (
        InvalidOptionError,
        r"query = \['trains'\]\. Use the topic as text, or None",
        lambda _: project([USER], 100, query=["trains"]),  # type: ignore[arg-type]
    ),
    "arguments that are no text": (
        InvalidTurnError,
        r"dict is not text\. Use JSON as text: json\.dumps\(arguments\)",
        lambda _: ToolCall("c1", "look", {"a": 1}),  # type: ignore[arg-type]
    ),
    "a call where its id goes": (
        InvalidTurnError,
        r"ToolCall is not text\. Use the id of the call, such as call\.id",
        lambda session: session.add_tool_turn("x", tool_call_id=ToolCall("c1", "look")),
    ),
    "a result after its call was closed": (
        OrderError,
        r"its call 'c1' is not open .* Add the assistant message with its call first",
        lambda session: session.add_tool_turn("x", tool_call_id="c1"),
    ),
    "a turn where its id goes": (
        InvalidOptionError,
        r"or the id of a turn\.",
        lambda session: session.history.rewind(session.log()[0]),
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
    "a tick without a zone": (
        InvalidOptionError,
        r"now = datetime.*Use a time with its zone, such as",
        lambda session: session.tick(datetime(2026, 1, 1)),  # noqa: DTZ001 - the mistake
    ),
    "a path for an export": (
        InvalidOptionError,
        r"lines = 'backup\.jsonl'\. Use what was exported: .* such as those of open\(path\)",
        lambda _: ContextSession.history.load("backup.jsonl"),
    ),
    "a request for an empty conversation": (
        InvalidMessagesError,
        r"the conversation is empty\. Use at least one turn, as add_user_turn\(text\) adds",
        lambda _: ContextSession(4000, counter=FAST).messages(),
    ),
    "a list of tools for a rule": (
        InvalidOptionError,
        r"tools = .*Use names of tools or arguments, each a text of its own",
        lambda _: never_yield(["read", "write"]),  # type: ignore[arg-type]
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
