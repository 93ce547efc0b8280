"""Typical mistakes of a new user: each raises a clear error and changes nothing, or works."""

import re
import traceback
from asyncio import Future
from collections.abc import Callable
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext import ContextSession, PolycontextError, ToolCall, Turn, project
from polycontext.base import InvalidDataError, InvalidOptionError, UnknownNameError
from polycontext.cost import Meter
from polycontext.linearity import DemotionError, UnknownResourceError
from polycontext.polynomial import ContextOverflowError, IllegalDirectionError
from polycontext.pressure import ContextProjector, ExtractiveSummariser, FixedThreshold
from polycontext.testing import FAST
from polycontext.window import (
    ContextWindow,
    InvalidMessagesError,
    InvalidTurnError,
    OrderError,
    Part,
    PositionError,
    TiktokenCounter,
)

Mistake = Callable[[ContextSession], Any]

CALL = SimpleNamespace(
    id="c1", type="function", function=SimpleNamespace(name="search", arguments="{}")
)
"""As an SDK hands calls out: attributes, no keys."""

HALVES = SimpleNamespace(count=lambda text: len(text) / 2)
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
ONE: list[Any] = [{"role": "user", "content": "x"}]
any_: Any = None
NUMBER: Any = 5
TEXT: Any = "x"
HUGE: Any = 10**5000
"""An integer of more digits than Python prints."""
UNAWAITED: Any = Future(loop=SimpleNamespace(get_debug=bool))  # type: ignore[arg-type]
HumanMessage: Any = type(
    "HumanMessage",
    (),
    {"__module__": "langchain_core.messages.human", "__iter__": lambda _: iter(())},
)
"""A message of LangChain, as far as it can be told."""


def made(**options: Any) -> Mistake:
    """Return the mistake of making a session with these options."""
    given: dict[str, Any] = {"max_tokens": 4000, "counter": FAST, **options}
    return lambda _: ContextSession(**given)


REFUSED: dict[str, tuple[type[PolycontextError], str, Mistake]] = {
    "an empty reply": (InvalidTurnError, "content", lambda s: s.add_assistant_turn(None, None)),
    "calls as a text": (
        InvalidTurnError,
        "not a list",
        lambda s: s.add_assistant_turn("ok", "search"),
    ),
    "one call, no list": (
        InvalidTurnError,
        "not a list",
        lambda s: s.add_assistant_turn("ok", {"id": "c"}),
    ),
    "a call of no shape": (
        InvalidTurnError,
        "keys",
        lambda s: s.add_assistant_turn("ok", [{"id": "c"}]),
    ),
    "a summariser that is a number": (
        InvalidOptionError,
        "summariser = 42",
        lambda _: ContextProjector(42),
    ),
    "no summariser": (InvalidOptionError, "summariser = None", lambda _: ContextProjector(None)),
    "a summariser's name": (
        InvalidOptionError,
        "summariser = 'llm'",
        lambda _: ContextProjector("llm"),
    ),
    "a summariser's class": (InvalidOptionError, "function", lambda _: ContextProjector(int)),
    "a summariser without a limit": (
        InvalidOptionError,
        r"\(turns, max_tokens\)",
        lambda _: ContextProjector(lambda turns: turns[0].text),
    ),
    "a summariser that wants more": (
        InvalidOptionError,
        r"\(turns, max_tokens\)",
        lambda _: ContextProjector(lambda turns, max_tokens, model: model),
    ),
    "a method of another signature": (
        InvalidOptionError,
        "summarise",
        lambda _: ContextProjector(SimpleNamespace(summarise=lambda turns: "")),
    ),
    "a class for a summariser": (
        InvalidOptionError,
        "an object",
        lambda _: ContextProjector(ExtractiveSummariser),
    ),
    "a function for a counter": (InvalidOptionError, "count", made(counter=len)),
    "half tokens": (InvalidOptionError, "counted 3.5 tokens", made(counter=HALVES)),
    "a counter that fails": (
        InvalidOptionError,
        "raised",
        made(counter=SimpleNamespace(count=lambda: 1)),
    ),
    "a classifier that is a number": (InvalidOptionError, "classifier = 5", made(classifier=5)),
    "a projector's name": (InvalidOptionError, "ContextProjector", made(projector="llm")),
    "tokens as a text": (InvalidOptionError, "max_tokens", made(max_tokens="4000")),
    "no tokens": (InvalidOptionError, "max_tokens", made(max_tokens=0)),
    "some tokens": (InvalidOptionError, "max_tokens", made(max_tokens=4000.5)),
    "True tokens": (InvalidOptionError, "max_tokens", made(max_tokens=True)),
    "a negative reserve": (InvalidOptionError, "reserve = -5", made(reserve=-5)),
    "a reserve as a text": (InvalidOptionError, "reserve", made(reserve="5")),
    "a reserve of all": (ContextOverflowError, "reserve", made(reserve=4000)),
    "tools as a text": (InvalidOptionError, "tools = 'find'", made(tools="find")),
    "no tool among the tools": (InvalidOptionError, r"tools\[0\] = None", made(tools=[None])),
    "a schema that never ends": (InvalidDataError, "nested too deep", made(tools=[DEEP])),
    "a tool without a name": (
        InvalidOptionError,
        r"tools\[0\] = {'foo': 1}",
        made(tools=[{"foo": 1}]),
    ),
    "one tool, no list": (InvalidOptionError, "tools", made(tools={"type": "function"})),
    "a clock that is a number": (InvalidOptionError, "clock = 5", made(clock=5)),
    "a listener, no list": (InvalidOptionError, "listeners", made(listeners=5)),
    "a store that is a number": (InvalidOptionError, "load and append", made(store=5)),
    "a session without a name": (
        InvalidOptionError,
        "session_id = ''.*not empty",
        made(session_id=""),
    ),
    "a share that is a list": (InvalidOptionError, r"share = \[\]", made(preserved_share=[])),
    "no collection of turns": (InvalidOptionError, "turns = 5", lambda s: s.sync(NUMBER)),
    "no collection of handles": (InvalidOptionError, "handles = 5", lambda s: s.sync([], NUMBER)),
    "a text where a revision goes": (
        InvalidOptionError,
        "after = 'x'",
        lambda s: s.history.events(TEXT),
    ),
    "more tokens than Python prints": (
        InvalidOptionError,
        "= <int>",
        lambda _: ContextSession(HUGE),
    ),
    "a moment that Python does not print": (
        InvalidOptionError,
        "moment = <int>",
        lambda s: s.history.at(HUGE),
    ),
    "a class that Python does not print": (
        UnknownNameError,
        "<int>",
        lambda s: s.promote("t1", HUGE),
    ),
    "a share of two": (InvalidOptionError, "preserved_share", made(preserved_share=2)),
    "a rule, no list": (InvalidOptionError, "rules = 5.*keep_last", made(rules=5)),
    "a tool for a rule": (InvalidOptionError, r"rules\[0\]", made(rules=["read_file"])),
    "a negative cooldown": (InvalidOptionError, "cooldown", made(cooldown=-1)),
    "auto as a text": (InvalidOptionError, "True, .background. or False", made(auto="yes")),
    "a message where a turn goes": (
        InvalidTurnError,
        "add_message",
        lambda s: s.add({"role": "user", "content": "x"}),  # type: ignore[arg-type]
    ),
    "nothing where a turn goes": (InvalidTurnError, "not a Turn", lambda s: s.add(any_)),
    "a text where a turn goes": (
        InvalidTurnError,
        "add_user_turn",
        lambda s: s.add("hello"),  # type: ignore[arg-type]
    ),
    "a user who says nothing": (InvalidTurnError, "content", lambda s: s.add_user_turn(any_)),
    "a user who says a number": (
        InvalidTurnError,
        "int is not text",
        lambda s: s.add_user_turn(5),  # type: ignore[arg-type]
    ),
    "a user who says blocks": (
        InvalidTurnError,
        "list is not text.*add_message",
        lambda s: s.add_user_turn([{"type": "text", "text": "x"}]),  # type: ignore[arg-type]
    ),
    "a result that is data": (
        InvalidTurnError,
        r"dict is not text.*json\.dumps",
        lambda s: s.add_tool_turn({"a": 1}, tool_call_id="c"),  # type: ignore[arg-type]
    ),
    "a path where an item goes": (
        InvalidOptionError,
        "item = 'notes.md'.*ContextItem",
        lambda s: s.attach("notes.md"),  # type: ignore[arg-type]
    ),
    "a list where one message goes": (
        InvalidMessagesError,
        "a list is not a message.*extend",
        lambda s: s.add_message(ONE),
    ),
    "a text where a message goes": (
        InvalidMessagesError,
        "text is not a message.*add_user_turn",
        lambda s: s.add_message("hi"),
    ),
    "an answer that was not awaited": (
        InvalidMessagesError,
        "Future is not a message.*await",
        lambda s: s.add_message(UNAWAITED),
    ),
    "a stream that was not read": (
        InvalidMessagesError,
        "iterator is not a message.*chunks",
        lambda s: s.add_message(iter(ONE)),
    ),
    "a message of LangChain": (
        InvalidMessagesError,
        "HumanMessage is not a message.*convert_to_openai_messages",
        lambda s: s.extend([HumanMessage()]),
    ),
    "a meter at a model's name": (
        InvalidOptionError,
        "prices = 'claude'.*prices_of",
        lambda s: Meter(s, "claude"),  # type: ignore[arg-type]
    ),
    "iterating over a projection": (
        InvalidDataError,
        "not a list.*messages",
        lambda _: list(project(ONE, 100)),
    ),
    "a result for no call": (
        OrderError,
        "not open",
        lambda s: s.add_tool_turn("x", tool_call_id="zz"),
    ),
    "a result for nobody": (
        InvalidTurnError,
        "tool_call_id",
        lambda s: s.add_tool_turn("x", tool_call_id=any_),
    ),
    "oversize by another word": (
        InvalidOptionError,
        "'truncate'",
        lambda s: s.add_user_turn("x", oversize="cut"),  # type: ignore[arg-type]
    ),
    "a class that is none": (
        UnknownNameError,
        "PRESERVED",
        lambda s: s.add_user_turn("x", resource_class="IMPORTANT"),
    ),
    "recalling None": (InvalidOptionError, "resource_ids", lambda s: s.recall(any_)),
    "recalling a stranger": (UnknownResourceError, "t99", lambda s: s.recall(["t99"])),
    "pinning a stranger": (UnknownResourceError, "t99", lambda s: s.pin("t99")),
    "explaining a stranger": (UnknownResourceError, "t99", lambda s: s.explain("t99")),
    "a question that is a number": (
        InvalidOptionError,
        "query = 5",
        lambda s: s.compress(query=5),  # type: ignore[arg-type]
    ),
    "promoting None": (
        InvalidOptionError,
        "resource_id = None",
        lambda s: s.promote(any_, "preserved"),
    ),
    "promoting a list": (
        InvalidOptionError,
        "resource_id",
        lambda s: s.promote(["t2"], "preserved"),  # type: ignore[arg-type]
    ),
    "a reason that is a number": (
        InvalidOptionError,
        "rationale = 5",
        lambda s: s.promote("t2", "preserved", rationale=5),  # type: ignore[arg-type]
    ),
    "pinning None": (InvalidOptionError, "resource_id", lambda s: s.pin(any_)),
    "a revision as a text": (
        InvalidOptionError,
        "session.history.revision",
        lambda s: s.clear(expected_revision="1"),  # type: ignore[arg-type]
    ),
    "seeking nothing": (PositionError, "None is outside", lambda s: s.window.seek(any_)),
    "seeking True": (PositionError, "True is outside", lambda s: s.window.seek(True)),
    "a prompt of a number": (
        InvalidOptionError,
        "eigenvectors = 7",
        lambda s: s.build_prompt(eigenvectors=7),  # type: ignore[arg-type]
    ),
    "a prompt of no list": (
        InvalidOptionError,
        "constraints = None",
        lambda s: s.build_prompt(constraints=any_),
    ),
    "a session that no file can name": (InvalidOptionError, "UTF-8", made(session_id="\ud800")),
    "promoting to nothing": (
        UnknownNameError,
        "resource class 'IMPORTANT'",
        lambda s: s.promote("t2", "IMPORTANT"),
    ),
    "promoting downward": (DemotionError, "cannot", lambda s: s.promote("t1", "droppable")),
    "compressing to a text": (
        InvalidOptionError,
        "target",
        lambda s: s.compress("0.5"),  # type: ignore[arg-type]
    ),
    "compressing to percent": (InvalidOptionError, "0.0 to 1.0", lambda s: s.compress(50)),
    "a part that is a text": (
        InvalidTurnError,
        "parts",
        lambda _: Turn("user", "x", parts=("x",)),  # type: ignore[arg-type]
    ),
    "a part that is no JSON": (
        InvalidTurnError,
        "NaN",
        lambda s: s.add(Turn("user", "x", parts=(Part("openai", '{"a": NaN}'),))),
    ),
    "a role of another library": (InvalidTurnError, "human", lambda _: Turn("human", "x")),
    "extending by nothing": (InvalidMessagesError, "list", lambda s: s.extend(any_)),
    "extending by a text": (
        InvalidMessagesError,
        "list",
        lambda s: s.extend("hi"),  # type: ignore[arg-type]
    ),
    "extending by a list of nothing": (InvalidMessagesError, "object", lambda s: s.extend([any_])),
    "a provider that is none": (UnknownNameError, "anthropic", lambda s: s.messages("gpt")),
    "a provider that is nothing": (UnknownNameError, "openai", lambda s: s.request("")),
    "a provider to go out to that is none": (UnknownNameError, "openai", made(provider="gpt")),
    "a model that is none": (
        UnknownNameError,
        "Did you mean 'gpt-5'",
        lambda _: ContextSession("gpt5"),
    ),
    "tokens as a text, first": (InvalidOptionError, "max_tokens", lambda _: ContextSession("4000")),
    "a list for a model": (
        InvalidOptionError,
        "name of a model",
        lambda _: ContextSession([1]),  # type: ignore[arg-type]
    ),
    "tokens twice": (
        InvalidOptionError,
        "one number",
        lambda _: ContextSession(4000, max_tokens=4000),
    ),
    "a number of Claude's encoding": (
        InvalidOptionError,
        "estimates",
        lambda _: TiktokenCounter("claude-sonnet-4-5"),
    ),
    "projecting for a model that is none": (
        UnknownNameError,
        "claude-sonnet-4-5",
        lambda _: project(ONE, "claude-sonet-4-5"),
    ),
    "projecting into nothing said": (InvalidOptionError, "max_tokens", lambda _: project(ONE)),
    "another provider's list": (
        InvalidMessagesError,
        "anthropic",
        lambda s: s.extend(ANTHROPIC, "openai"),
    ),
    "another provider's list, projected": (
        InvalidMessagesError,
        "anthropic",
        lambda _: project(ANTHROPIC, 1000, provider="openai"),
    ),
    "saved text that is none": (
        InvalidDataError,
        "schema",
        lambda _: ContextSession.history.load("{}"),
    ),
    "nothing saved": (InvalidOptionError, "lines", lambda _: ContextSession.history.load(any_)),
    "projecting nothing": (InvalidMessagesError, "list", lambda _: project(any_, 100)),
    "projecting a text": (
        InvalidMessagesError,
        "list",
        lambda _: project("hi", 100),  # type: ignore[arg-type]
    ),
    "projecting into a text": (InvalidOptionError, "max_tokens", lambda _: project(ONE, "100")),
    "projecting into less than nothing": (
        InvalidOptionError,
        "max_tokens",
        lambda _: project(ONE, -5),
    ),
    "keeping a text": (
        InvalidOptionError,
        "keep_recent",
        lambda _: project(ONE, 100, keep_recent="5"),  # type: ignore[arg-type]
    ),
    "projecting with a negative reserve": (
        InvalidOptionError,
        "reserve",
        lambda _: project(ONE, 100, reserve=-1),
    ),
    "projecting with tools as a text": (
        InvalidOptionError,
        "tools",
        lambda _: project(ONE, 100, tools="find"),  # type: ignore[arg-type]
    ),
    "counting characters": (
        InvalidOptionError,
        "counter",
        lambda _: project(ONE, 100, counter=len),  # type: ignore[arg-type]
    ),
    "a number for signals": (
        InvalidOptionError,
        "Signals",
        lambda s: s.background.signal(0.5),  # type: ignore[arg-type]
    ),
    "searching for a number": (
        InvalidOptionError,
        "text",
        lambda s: s.history.search(5),  # type: ignore[arg-type]
    ),
    "at most no turns": (InvalidOptionError, "limit", lambda s: s.history.search("x", 0)),
    "a window of a text": (
        InvalidOptionError,
        "max_tokens",
        lambda _: ContextWindow("5"),  # type: ignore[arg-type]
    ),
    "greeting first": (
        IllegalDirectionError,
        "from_messages",
        lambda _: ContextSession(counter=FAST).add_assistant_turn("Hello!"),
    ),
}
WORKING: dict[str, Mistake] = {
    "recalling nothing": lambda s: s.recall([]),
    "no provider": lambda s: s.request(None),
    "extending by an empty list": lambda s: s.extend([], "openai"),
    "no calls": lambda s: s.add_assistant_turn("ok", None),
    "an SDK's call": lambda s: s.add_assistant_turn(None, [CALL]),
    "a call of Responses": lambda s: s.add_assistant_turn(
        None, [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    ),
    "one id": lambda s: s.recall("t2"),
    "a class as a word": lambda s: s.promote("t2", "Preserved", rationale="asked for"),
    "a class as a word at once": lambda s: s.add_user_turn("x", resource_class="required"),
    "pinning twice": lambda s: (s.pin("t2", "it matters"), s.pin("t2")),
    "a function that summarises": lambda _: ContextProjector(
        lambda turns, max_tokens: turns[0].text[:max_tokens]
    ),
    "a message as it comes": lambda s: s.add_message({"role": "user", "content": "x"}),
    "an empty user": lambda s: s.add_user_turn(""),
    "an Anthropic list": lambda _: project(ANTHROPIC, 1000),
    "a function that no signature is known of": lambda _: ContextProjector(max),
    "a function that reads the question": lambda _: ContextProjector(
        lambda turns, max_tokens, *, query: query
    ),
    "tools of several vendors": lambda _: ContextSession(
        4000,
        tools=[
            {"type": "web_search"},
            {"name": "find", "input_schema": {"type": "object"}},
            {"function_declarations": [{"name": "find"}]},
            {"google_search": {}},
            {"toolSpec": {"name": "find"}},
        ],
    ),
    "a bare threshold": made(threshold=0.8),
    "a threshold of one number": lambda _: ContextSession(4000, threshold=FixedThreshold(0.8)),
    "metadata that look like a message": lambda s: s.add(
        Turn("user", "x", metadata={"tool_calls": [1], "content": None, "role": "system"})
    ),
}


def session() -> ContextSession:
    """Return a session that has begun."""
    begun = ContextSession(4000, counter=FAST)
    begun.add_user_turn("Book me a train.")
    begun.add_assistant_turn("Where to?")
    return begun


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_told_and_changes_nothing(name: str) -> None:
    """A mistake raises a typed error with the legal values, a short traceback, and no change."""
    kind, words, mistake = REFUSED[name]
    begun = session()
    before = begun.conversation
    with pytest.raises(kind, match=words) as caught:
        mistake(begun)
    assert begun.conversation is before
    ours = [frame for frame in traceback.extract_tb(caught.tb) if "tests" not in frame.filename]
    assert len(ours) <= 12
    assert re.search(r"\. [A-Z].*[.?]$", str(caught.value), re.DOTALL)


@pytest.mark.parametrize("name", WORKING)
def test_what_is_no_mistake_works(name: str) -> None:
    """And what is handed out afterwards is a request, unless a call waits."""
    begun = session()
    WORKING[name](begun)
    assert all(message["role"] != "system" for message in begun.messages(allow_open=True))


def test_an_sdks_calls_are_calls() -> None:
    """Whatever shape they came in, they are what was called."""
    begun = session()
    begun.add_assistant_turn(None, [CALL, {"id": "c2", "name": "look", "input": {"at": 1}}])
    assert begun.window.all_turns()[-1].tool_calls == (
        ToolCall("c1", "search", "{}"),
        ToolCall("c2", "look", '{"at":1}'),
    )
