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
from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.linearity import DemotionError, UnknownResourceError
from polycontext.polynomial import IllegalDirectionError
from polycontext.pressure import ContextProjector
from polycontext.testing import FAST
from polycontext.window import (
    InvalidMessagesError,
    InvalidTurnError,
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
    "a summariser without a limit": (
        InvalidOptionError,
        r"\(turns, max_tokens\)",
        lambda _: ContextProjector(lambda turns: turns[0].text),
    ),
    "a function for a counter": (InvalidOptionError, "count", made(counter=len)),
    "half tokens": (InvalidOptionError, "counted 3.5 tokens", made(counter=HALVES)),
    "a counter that fails": (
        InvalidOptionError,
        "raised",
        made(counter=SimpleNamespace(count=lambda: 1)),
    ),
    "a classifier that is a number": (InvalidOptionError, "classifier = 5", made(classifier=5)),
    "a negative reserve": (InvalidOptionError, "reserve = -5", made(reserve=-5)),
    "tools as a text": (InvalidOptionError, "tools = 'find'", made(tools="find")),
    "a schema that never ends": (InvalidDataError, "nested too deep", made(tools=[DEEP])),
    "a tool without a name": (
        InvalidOptionError,
        r"tools\[0\] = {'foo': 1}",
        made(tools=[{"foo": 1}]),
    ),
    "a session without a name": (
        InvalidOptionError,
        "session_id = ''.*not empty",
        made(session_id=""),
    ),
    "a share that is a list": (InvalidOptionError, r"share = \[\]", made(preserved_share=[])),
    "no collection of turns": (InvalidOptionError, "turns = 5", lambda s: s.sync(NUMBER)),
    "more tokens than Python prints": (
        InvalidOptionError,
        "= <int>",
        lambda _: ContextSession(HUGE),
    ),
    "a tool for a rule": (InvalidOptionError, r"rules\[0\]", made(rules=["read_file"])),
    "auto as a text": (InvalidOptionError, "True, .background. or False", made(auto="yes")),
    "a message where a turn goes": (
        InvalidTurnError,
        "add_message",
        lambda s: s.add({"role": "user", "content": "x"}),  # type: ignore[arg-type]
    ),
    "a text where a turn goes": (
        InvalidTurnError,
        "add_user_turn",
        lambda s: s.add("hello"),  # type: ignore[arg-type]
    ),
    "a user who says blocks": (
        InvalidTurnError,
        "list is not text.*add_message",
        lambda s: s.add_user_turn([{"type": "text", "text": "x"}]),  # type: ignore[arg-type]
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
    "iterating over a projection": (
        InvalidDataError,
        "not a list.*messages",
        lambda _: list(project(ONE, 100)),
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
    "recalling None": (InvalidOptionError, "resource_ids", lambda s: s.recall(any_)),
    "recalling a stranger": (UnknownResourceError, "t99", lambda s: s.recall(["t99"])),
    "a question that is a number": (
        InvalidOptionError,
        "query = 5",
        lambda s: s.compress(query=5),  # type: ignore[arg-type]
    ),
    "seeking True": (PositionError, "True is outside", lambda s: s.window.seek(True)),
    "a prompt of no list": (
        InvalidOptionError,
        "constraints = None",
        lambda s: s.build_prompt(constraints=any_),
    ),
    "a session that no file can name": (InvalidOptionError, "UTF-8", made(session_id="\ud800")),
    "promoting downward": (DemotionError, "cannot", lambda s: s.promote("t1", "droppable")),
    "compressing to percent": (InvalidOptionError, "0.0 to 1.0", lambda s: s.compress(50)),
    "a part that is no JSON": (
        InvalidTurnError,
        "NaN",
        lambda s: s.add(Turn("user", "x", parts=(Part("openai", '{"a": NaN}'),))),
    ),
    "a role of another library": (InvalidTurnError, "human", lambda _: Turn("human", "x")),
    "extending by a text": (
        InvalidMessagesError,
        "list",
        lambda s: s.extend("hi"),  # type: ignore[arg-type]
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
    "another provider's list": (
        InvalidMessagesError,
        "anthropic",
        lambda s: s.extend(ANTHROPIC, "openai"),
    ),
    "saved text that is none": (
        InvalidDataError,
        "schema",
        lambda _: ContextSession.history.load("{}"),
    ),
    "keeping a text": (
        InvalidOptionError,
        "keep_recent",
        lambda _: project(ONE, 100, keep_recent="5"),  # type: ignore[arg-type]
    ),
    "a number for signals": (
        InvalidOptionError,
        "Signals",
        lambda s: s.background.signal(0.5),  # type: ignore[arg-type]
    ),
    "greeting first": (
        IllegalDirectionError,
        "from_messages",
        lambda _: ContextSession(counter=FAST).add_assistant_turn("Hello!"),
    ),
}
WORKING: dict[str, Mistake] = {
    "recalling nothing": lambda s: s.recall([]),
    "an SDK's call": lambda s: s.add_assistant_turn(None, [CALL]),
    "a call of Responses": lambda s: s.add_assistant_turn(
        None, [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    ),
    "one id": lambda s: s.recall("t2"),
    "a class as a word": lambda s: s.promote("t2", "Preserved", rationale="asked for"),
    "pinning twice": lambda s: (s.pin("t2", "it matters"), s.pin("t2")),
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
