"""Mistakes of new users: each error says what came and what to write, and nothing changes."""

import re
import time
import traceback
from asyncio import Future
from collections.abc import Callable
from datetime import datetime
from functools import reduce
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import polycontext
from polycontext import ContextMachine, ExtractiveSummariser, ToolCall, Turn
from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.linearity import DemotionError, UnknownResourceError, keep_last
from polycontext.models import OpenAISummariser
from polycontext.polynomial import ContextInput, ContextOverflowError, IllegalDirectionError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ContextProjector, Signals
from polycontext.testing import FAST
from polycontext.window import (
    InvalidMessagesError,
    InvalidTurnError,
    OrderError,
    Part,
    PluginError,
    PositionError,
    TiktokenCounter,
)

Mistake = Callable[[Any], Any]

# Of any type: what the type checkers would refuse is the subject of this file.
ContextSession: Any = polycontext.ContextSession
project: Any = polycontext.project
limit_to_last: Any = keep_last

HELLO = Turn("user", "Hello")
USER: Any = {"role": "user", "content": "Hello"}
CALL: Any = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ANSWER: Any = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": "Yes."})
RESPONSE: Any = SimpleNamespace(choices=[SimpleNamespace(message=ANSWER)])
UNAWAITED: Any = Future(loop=SimpleNamespace(get_debug=bool))  # type: ignore[arg-type]
HumanMessage: Any = type("HumanMessage", (), {"__module__": "langchain_core.messages.human"})
HUGE: Any = 10**5000
"""An integer of more digits than Python prints."""
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Look."},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "seen"}]},
]
START: dict[str, Any] = {"type": "object"}
DEEP = reduce(lambda inner, _: {"type": "object", "properties": {"a": inner}}, range(300), START)


def made(**options: Any) -> Mistake:
    """Return the mistake of making a session with these options and saying something."""
    given: dict[str, Any] = {"max_tokens": 4000, "counter": FAST, **options}
    return lambda _: ContextSession(**given).add_user_turn("Hello")


def machine(in_order: Callable[..., Any]) -> Mistake:
    """Return the mistake of giving a session a machine with this guard."""
    return made(machine=type("Mine", (ContextMachine,), {"in_order": in_order}))


def summarised(summariser: Any) -> Mistake:
    """Return the mistake of taking this for a summariser."""
    return lambda _: ContextProjector(summariser)


def waiting(act: Mistake) -> Mistake:
    """Return a mistake that is made while a tool call is open, in a session of its own."""
    return lambda _: act(begun(CALL))


def patched(patch: Any) -> Mistake:
    """Return the mistake of taking this for a patch of a document."""
    return lambda session: session.documents.patch("count", lambda _: patch)


def keyed(key: Any) -> Mistake:
    """Return the mistake of giving a command this idempotency key."""
    return lambda session: session.add_user_turn("one", idempotency_key=key)


def closed(reason: Any) -> Mistake:
    """Return the mistake of closing open calls for this reason."""
    return waiting(lambda session: session.close_open_calls(reason))


async def later(turns: Any, max_tokens: int) -> str:
    """Return a summary that must be awaited."""
    return f"{len(turns)} turns"


class Summary:
    """A summariser whose method lacks the keywords."""

    def summarise(self, turns: Any, max_tokens: int) -> str:
        """Return a summary."""
        return "short"


MISTAKES: list[tuple[type[Exception], str, Mistake]] = [
    # names and signatures
    (AttributeError, r"Use session\.history\.export\(\)", lambda s: s.export),
    (AttributeError, r"Use ContextSession\.open\(path, .*stores every write", lambda s: s.save),
    (AttributeError, r"Use session\.usage\.spent", lambda s: s.cost),
    (
        AttributeError,
        r"max_tokens cannot be set\. Use ContextSession\.open\(store, id, max_tokens=\.\.\.\)",
        lambda s: setattr(s, "max_tokens", 5),
    ),
    (TypeError, r"but 3 .*Use ContextSession\(model, \*,", lambda _: ContextSession("gpt-5", 8000)),
    (
        TypeError,
        r"Use ContextSession\.add_tool_turn\(content, \*, tool_call_id, name, \*\*options\)",
        lambda s: s.add_tool_turn("seen", "c1"),
    ),
    (TypeError, r"Did you mean 'keep_recent'\?", lambda _: project([USER], 100, keep_last=3)),
    (TypeError, r"argument 'max_token'\. Did you mean 'max_tokens'\?", made(max_token=5)),
    (TypeError, r"Use session\.log\(\), or session\.history\.events", lambda s: s.history()),
    (TypeError, r"Use session\.log\(\)", lambda s: s.history[0]),
    (TypeError, r"session\.log\(\)", lambda s: s.log[0]),
    # options
    (InvalidOptionError, "either projector= or", made(projector=any, summariser=any)),
    (UnknownNameError, r"'gpt5'\. Did you mean .*max_tokens=", lambda _: ContextSession("gpt5")),
    (InvalidOptionError, "one number", lambda _: ContextSession(4000, max_tokens=4000)),
    (InvalidOptionError, r"'100k'\. Use a whole number of", lambda _: project([USER], "100k")),
    (InvalidOptionError, r"8000, or name a model", lambda _: project([USER])),
    (InvalidOptionError, "= <int>", lambda _: ContextSession(HUGE)),
    (InvalidOptionError, "reserve = -5", made(reserve=-5)),
    (InvalidOptionError, "cooldown", made(cooldown=-1)),
    (InvalidOptionError, r"threshold = 80\. Use .*FixedThreshold", made(threshold=80)),
    (InvalidOptionError, r"Use .*TiktokenCounter\(\"o200k_base\"\)", made(counter="cl100k_base")),
    (InvalidOptionError, "counted 3.5", made(counter=SimpleNamespace(count=lambda t: 3.5))),
    (InvalidOptionError, "raised", made(counter=SimpleNamespace(count=lambda: 1))),
    (InvalidOptionError, "estimates", lambda _: TiktokenCounter("claude-sonnet-4-5")),
    (InvalidOptionError, r"Use a ContextProjector; .*", made(projector=ExtractiveSummariser())),
    (InvalidOptionError, r"rules about tools, such as", made(rules=limit_to_last("read"))),
    (InvalidOptionError, r"rules\[0\]", made(rules=["read_file"])),
    (
        PluginError,
        r"returned 'important'\. Use a function",
        made(classifier=lambda *_: "important"),
    ),
    (InvalidOptionError, "classifier = 5", made(classifier=5)),
    (InvalidOptionError, "tools = 'find'", made(tools="find")),
    (InvalidOptionError, r"tools\[0\] = {'foo': 1}", made(tools=[{"foo": 1}])),
    (InvalidDataError, "nested too deep", made(tools=[DEEP])),
    (
        ContextOverflowError,
        r"the reserve \(0\) with the tools \(\d+\) takes .* pass fewer tools",
        made(max_tokens=10, tools=[{"type": "function", "function": {"name": "look" * 20}}]),
    ),
    (InvalidOptionError, "session_id = ''.*not empty", made(session_id="")),
    (InvalidOptionError, "UTF-8", made(session_id="\ud800")),
    (InvalidOptionError, r"share = \[\]", made(preserved_share=[])),
    (InvalidOptionError, "True, .background. or False", made(auto="yes")),
    (InvalidOptionError, r"= 50\. Use 0\.0 to 1\.0", lambda _: Signals(progress=50)),
    (InvalidOptionError, "Signals", lambda s: s.background.signal(0.5)),
    (InvalidOptionError, r"Use Prices .*prices_of\(\"gpt-5\"\)", made(prices="gpt-5")),
    (InvalidTurnError, r"float is not a datetime\. Use .*now\(UTC\)", made(clock=time.time)),
    (InvalidOptionError, r"not an instance: machine=", made(machine=ContextMachine())),
    (
        InvalidOptionError,
        "Use a ContextWindow, such as ContextWindow",
        lambda _: ContextMachine(HUGE),
    ),
    (InvalidOptionError, "embed", made(embedder="wordllama")),
    (InvalidOptionError, "embed", made(embedder=SimpleNamespace(embed=list))),
    (InvalidOptionError, r"Watcher\(\)\], and no classes or functions", made(listeners=[Mock])),
    (InvalidOptionError, r"in_order = False\. Use an error", machine(lambda self, step: False)),
    (
        InvalidOptionError,
        r"input\.kind = 'resize'\. Use step\.input\.turn only if .* one of user_turn,",
        machine(lambda self, step: step.input.turn and None),
    ),
    # summarisers
    (InvalidOptionError, r"a class, so write Summary\(\)\.", summarised(Summary)),
    (InvalidOptionError, r"this one takes \(turns", summarised(Summary())),
    (InvalidOptionError, "spelled summarise here", summarised(SimpleNamespace(summarize=print))),
    (InvalidOptionError, r"OpenAISummariser\(client, 'gpt-5'\)\.", summarised("gpt-5")),
    (InvalidOptionError, r"\(turns, max_tokens\)", summarised(lambda turns: "")),
    (UnknownNameError, r"as max_input_tokens=", lambda _: OpenAISummariser(None, "at-home")),
    (
        InvalidOptionError,
        r"summariser = <function later>\. Use one that is not async.*acompress",
        lambda _: project([USER], 100, summariser=later),
    ),
    # turns and messages
    (InvalidTurnError, "content", lambda s: s.add_assistant_turn(None, None)),
    (InvalidTurnError, "not a list", lambda s: s.add_assistant_turn("ok", "search")),
    (InvalidTurnError, "add_message", lambda s: s.add(USER)),
    (InvalidTurnError, "add_user_turn", lambda s: s.add("hello")),
    (InvalidTurnError, "list is not text.*add_message", lambda s: s.add_user_turn([USER])),
    (InvalidTurnError, r"Use text: str\(value\), json", lambda s: s.add_user_turn(HUGE)),
    (InvalidTurnError, r"Use JSON as text: json\.dumps", lambda _: ToolCall("c", "f", any_({}))),
    (InvalidTurnError, "NaN", lambda s: s.add(Turn("user", "", parts=(Part("openai", "NaN"),)))),
    (InvalidTurnError, "human", lambda _: Turn("human", "x")),
    (InvalidTurnError, "tool_call_id", lambda s: s.add_tool_turn("x", tool_call_id=None)),
    (InvalidOptionError, "'truncate'", lambda s: s.add_user_turn("x", oversize="cut")),
    (InvalidOptionError, "'notes.md'.*ContextItem", lambda s: s.attach("notes.md")),
    (InvalidMessagesError, "a list is not a message.*extend", lambda s: s.add_message([USER])),
    (InvalidMessagesError, "not a message.*await", lambda s: s.add_message(UNAWAITED)),
    (InvalidMessagesError, "not a message.*chunks", lambda s: s.add_message(iter([USER]))),
    (InvalidMessagesError, r"\.choices\[0\]\.message", lambda s: s.add_message(RESPONSE)),
    (InvalidMessagesError, "convert_to_openai_messages", lambda s: s.extend([HumanMessage()])),
    (InvalidMessagesError, "Use .*add_assistant_turn", lambda s: s.add_message("Vienna.")),
    (InvalidMessagesError, "Use assistant, developer,", lambda s: s.add_message({"content": ""})),
    (InvalidMessagesError, r"or \[message\]", lambda _: project(USER, 100)),
    (InvalidMessagesError, r"Use .*json\.loads\(text\)", lambda _: project('[{"role": ""}]', 9)),
    (InvalidMessagesError, "list", lambda s: s.extend("hi")),
    (InvalidMessagesError, "anthropic", lambda s: s.extend(ANTHROPIC, "openai")),
    (InvalidDataError, "not a list.*messages", lambda _: list(project([USER], 100))),
    # order
    (OrderError, r"calls \['c1'\] are open\. Add tool turns", waiting(lambda s: s.add(HELLO))),
    (OrderError, "is not open .* Add the", lambda s: s.add_tool_turn("x", tool_call_id="c1")),
    (OrderError, "Add each answer once", lambda _: [*map(begun().add_message, [ANSWER] * 2)]),
    (
        IllegalDirectionError,
        r"input tool_turn is not allowed in state EMPTY\. Send user_turn, system,",
        lambda _: ContextSession(4000).add_tool_turn("seen", tool_call_id="c1"),
    ),
    (IllegalDirectionError, "from_messages", lambda _: ContextSession().add_assistant_turn("Hi")),
    # what is asked of a session
    (UnknownNameError, r"Did you mean 'openai'\? Use openai,", lambda s: s.messages("gpt-4o")),
    (UnknownNameError, r"Did you mean 'assistant_turn'\?", lambda s: s.send("assistant", "Hello")),
    (InvalidOptionError, "resource_ids", lambda s: s.recall(None)),
    (UnknownResourceError, "t99", lambda s: s.recall(["t99"])),
    (DemotionError, "cannot", lambda s: s.promote("t1", "droppable")),
    (InvalidOptionError, "query = 5", lambda s: s.compress(query=5)),
    (InvalidOptionError, "0.0 to 1.0", lambda s: s.compress(50)),
    (PositionError, "True is outside", lambda s: s.window.seek(True)),
    (InvalidOptionError, "constraints = None", lambda s: s.build_prompt(constraints=None)),
    (InvalidOptionError, "turns = 5", lambda s: s.sync(5)),
    (InvalidOptionError, r"Use .* time with its zone", lambda s: s.history.rewind("2026-01-01")),
    (InvalidOptionError, r"Use .*now\(UTC\)", lambda s: s.tick("now")),
    (InvalidOptionError, "zone", lambda s: s.tick(datetime(2026, 1, 1))),  # noqa: DTZ001
    (
        InvalidOptionError,
        r"those of open\(path\)",
        lambda _: ContextSession.history.load("backup.jsonl"),
    ),
    (InvalidDataError, "schema", lambda _: ContextSession.history.load("{}")),
    (InvalidDataError, "nowhere", patched([{"op": "remove", "path": "/nowhere"}])),
    (InvalidDataError, "not JSON", patched([{"op": "add", "path": "", "value": Mock()}])),
    (InvalidDataError, "is not a list", patched("no patch")),
    (InvalidOptionError, "name = ''", lambda s: s.documents.patch("", any_)),
    (InvalidOptionError, "change = None", lambda s: s.documents.patch("x", None)),
    (InvalidOptionError, "text = None", lambda s: s.rules.add(None)),
    (InvalidOptionError, "text = ''", lambda s: s.rules.add("")),
    (InvalidOptionError, "kind = 'law'", lambda s: s.rules.add("Be brief.", kind="law")),
    (InvalidOptionError, "there is none", lambda s: s.rules.revoke("t1:1")),
    (InvalidOptionError, "there is none", lambda s: s.rules.remove(["t1:1"])),
    (InvalidOptionError, "path comes first", lambda s: s.open("nowhere/customer", "zz.db")),
    (InvalidOptionError, "the task comes first", lambda s: s.child("research-1", "Find a train.")),
    *((InvalidOptionError, "idempotency_key = ", keyed(key)) for key in ("", 7, "a\nb", "x" * 201)),
    *((InvalidOptionError, "reason = ", closed(reason)) for reason in ("", "  ", None, 7)),
    (InvalidOptionError, "days=, max_bytes= or both", lambda s: s.history.retain()),
    (InvalidOptionError, "days = -1", lambda s: s.history.retain(days=-1)),
    (InvalidOptionError, "days = '7'", lambda s: s.history.retain(days="7")),
    (InvalidOptionError, "max_bytes = 1.5", lambda s: s.history.retain(max_bytes=1.5)),
    (InvalidOptionError, "moment = -1", lambda s: s.history.at(-1)),
    (InvalidOptionError, "moment = 9", lambda s: s.history.rewind(9)),
    (InvalidOptionError, "moment = None", lambda s: s.history.at(None)),
    (InvalidOptionError, "zone", lambda s: s.history.at(datetime(2026, 1, 1))),  # noqa: DTZ001
    (UnknownResourceError, "nobody", lambda s: s.history.at("nobody")),
    (UnknownResourceError, "nobody", lambda s: s.history.edit("nobody", "Hello")),
    (InvalidOptionError, "is of the assistant", lambda s: s.history.edit("t2", "Hello")),
    (UnknownResourceError, "nobody", lambda s: s.history.forget("nobody")),
    (InvalidOptionError, "resource_id = None", lambda s: s.history.forget(None)),
    (InvalidOptionError, "event = None", lambda s: s.send(None)),
    (InvalidOptionError, "rewind", lambda s: s.send(ContextInput.rewind(s.window))),
    (InvalidOptionError, "the user has said", lambda _: ContextSession().history.regenerate()),
    (ContextOverflowError, "9,000 tokens needs .* Shorten it", lambda s: s.view(reserve=9000)),
]
WORKING: list[Mistake] = [
    lambda s: s.recall([]),
    lambda s: s.recall("t2"),
    lambda s: s.add_assistant_turn(
        None, [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    ),
    lambda s: s.promote("t2", "Preserved", rationale="asked for"),
    lambda s: (s.pin("t2", "it matters"), s.pin("t2")),
    lambda _: project(ANTHROPIC, 1000),
    lambda _: ContextProjector(max),
    lambda _: ContextProjector(lambda turns, max_tokens, *, query: query),
    made(tools=[{"type": "web_search"}, {"google_search": {}}, {"toolSpec": {"name": "find"}}]),
    lambda s: s.add(Turn("user", "x", metadata={"tool_calls": [1], "role": "system"})),
]


def any_(value: object) -> Any:
    """Return a value whose type nobody knows."""
    return value


def begun(*calls: Any) -> Any:
    """Return a session that has begun, with these calls open."""
    session = ContextSession(4000, counter=FAST)
    session.add_user_turn("Book me a train.")
    session.add_assistant_turn("Where to?", calls)
    return session


@pytest.mark.parametrize(
    ("kind", "words", "mistake"), MISTAKES, ids=[words for _, words, _ in MISTAKES]
)
def test_an_error_says_what_to_write_and_nothing_changes(
    kind: type[Exception], words: str, mistake: Mistake
) -> None:
    """The message is whole sentences without addresses; the traceback is short, but for plugins."""
    session = begun()
    before = session.conversation
    with pytest.raises(kind, match=words) as caught:
        mistake(session)
    assert session.conversation is before
    ours = [frame for frame in traceback.extract_tb(caught.tb) if "tests" not in frame.filename]
    assert len(ours) <= 12 or kind is PluginError
    message = str(caught.value)
    assert re.search(r"[.?;] [A-Zt].*[.?]$", message, re.DOTALL)
    assert " at 0x" not in message


@pytest.mark.parametrize("act", WORKING)
def test_what_is_no_mistake_works(act: Mistake) -> None:
    """And what is handed out afterwards is a request, unless a call waits."""
    session = begun()
    act(session)
    assert all(message["role"] != "system" for message in session.messages(allow_open=True))


def test_a_failing_summariser_of_a_projection_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """As in a session, an extract replaces the summary, and a warning says why."""
    messages = [{"role": "user", "content": f"Build {number} passed."} for number in range(60)]
    project(messages, 300, counter=FAST, summariser=lambda turns, max_tokens: None)
    (told,) = caplog.messages
    assert told.startswith("a summary was rejected, an extract is used instead: ")


@pytest.mark.parametrize("share", [0.8, 1])
def test_a_threshold_may_be_one_number(share: float) -> None:
    """The number is the high mark, and compression aims at four fifths of it."""
    threshold = ContextSession(1000, counter=FAST, threshold=share).policy.threshold
    assert (threshold.high(), threshold.low) == (share, share * 0.8)


def test_a_function_gets_earlier_summaries_without_their_frame() -> None:
    """What quotes the first turn does not quote the lines that stand around a summary."""
    read = list[str]()

    def first_words(turns: Any, max_tokens: int) -> str:
        read.extend(turn.text for turn in turns if turn.is_gist)
        return f"What happened: {turns[0].text[:40]}"

    session = ContextSession(400, counter=FAST, summariser=first_words)
    for number in range(30):
        session.add_user_turn(f"Question {number}: please explain this at some length.")
        session.add_assistant_turn("It is explained. " * 5)
    assert read
    assert not any("ummary of earlier" in text for text in read)


@pytest.mark.filterwarnings("always")
def test_a_warning_names_the_method_that_was_not_awaited() -> None:
    """And not what drives it."""
    with pytest.warns(RuntimeWarning, match="'ContextSession.aadd_user_turn' was never awaited"):
        str(ContextSession(max_tokens=100).aadd_user_turn("Hello"))
    with pytest.warns(RuntimeWarning, match="'ContextSession.aopen' was never awaited"):
        str(ContextSession.aopen("sessions.db"))


@pytest.mark.parametrize("spelling", ["summariser", "summarizer"])
def test_a_summariser_is_an_option_in_either_spelling(spelling: str) -> None:
    """Of a session and of `project`; `open` takes it too."""
    option: Any = {spelling: lambda turns, max_tokens: "They said hello."}
    messages = [{"role": role, "content": "hello " * 30} for role in ("user", "assistant")] * 9
    assert "They said hello." in str(project(messages, 300, **option).messages)
    session = ContextSession.open(InMemoryStore(), max_tokens=300, **option)
    session.extend(messages)
    assert "They said hello." in str(session.messages())


@pytest.mark.parametrize("task", ["Research", "预订航班"])
def test_the_id_of_a_child_may_have_spaces(task: str) -> None:
    """Also beside a task without any: only a sentence is no id."""
    with begun().child(task, "sub agent 1") as child:
        assert child.session_id == "sub agent 1"
