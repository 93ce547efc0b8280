"""Mistakes of the first ten minutes: each error says what came, what was expected, what to do."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext import ContextSession, ExtractiveSummariser, Turn, project
from polycontext.base import InvalidOptionError, UnknownNameError
from polycontext.linearity import keep_last
from polycontext.polynomial import ContextOverflowError, IllegalDirectionError
from polycontext.polynomial.stores import InMemoryStore
from polycontext.pressure import ConflictError, ContextProjector, Signals
from polycontext.testing import FAST
from polycontext.window import (
    InvalidMessagesError,
    InvalidTurnError,
    OrderError,
    PluginError,
)

Mistake = Callable[[ContextSession], Any]

USER: Any = {"role": "user", "content": "Hello"}
CALL: Any = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ANSWER: Any = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": "Yes."})
"""A message of an SDK."""


def with_(**options: Any) -> Mistake:
    """Return the mistake of making a session with these options and saying something."""
    given: dict[str, Any] = {"max_tokens": 4000, "counter": FAST, **options}
    return lambda _: ContextSession(**given).add_user_turn("Hello")


def call(name: str, *arguments: Any, **options: Any) -> Mistake:
    """Return the mistake of calling a method with these arguments, whatever its types say."""

    def mistake(session: Any) -> object:
        target: Any = session
        for part in name.split("."):
            target = getattr(target, part)
        return target(*arguments, **options)

    return mistake


def waiting(name: str, *arguments: Any, **options: Any) -> Mistake:
    """Return the mistake of calling a method while a tool call is open."""

    def mistake(session: ContextSession) -> object:
        session.add_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
        return call(name, *arguments, **options)(session)

    return mistake


def looked_up(name: str) -> Mistake:
    """Return the mistake of looking for something where it is not."""
    return lambda session: getattr(session, name)


MISTAKES: dict[str, tuple[type[Exception], str, Mistake]] = {
    **{
        f"session.{name}": (AttributeError, rf"no attribute '{name}'\. Use {cure}", looked_up(name))
        for name, cure in {
            "export": r"session\.history\.export\(\)",
            "save": r"ContextSession\.open\(path, session_id\), which stores every write",
            "cost": r"session\.usage\.spent",
        }.items()
    },
    "setting an option": (
        AttributeError,
        r"max_tokens cannot be set\. Use ContextSession\.open\(store, id, max_tokens=\.\.\.\)",
        lambda session: setattr(session, "max_tokens", 5),
    ),
    "keywords by their place": (
        TypeError,
        r"positional arguments? but 3 .*Use ContextSession\(model, \*, max_tokens, auto,",
        lambda _: ContextSession("gpt-5", 8000),  # type: ignore[call-arg]
    ),
    "the id of a call by its place": (
        TypeError,
        r"Use ContextSession\.add_tool_turn\(content, \*, tool_call_id, name, \*\*options\)",
        waiting("add_tool_turn", "seen", "c1"),
    ),
    "another option of a projection": (
        TypeError,
        r"unexpected keyword argument 'keep_last'\. Did you mean 'keep_recent'\?",
        lambda _: project([USER], 100, keep_last=3),  # type: ignore[call-arg]
    ),
    "a result that is no text": (
        InvalidTurnError,
        r"datetime is not text\. Use text: str\(value\), json\.dumps\(data, default=str\)",
        waiting("add_tool_turn", datetime(2026, 1, 1, tzinfo=UTC), tool_call_id="c1"),
    ),
    "an answer that was just added": (
        OrderError,
        r"it was just added\. Add each answer once",
        lambda session: [session.add_message(ANSWER) for _ in range(2)],
    ),
    "the id of a session before its file": (
        InvalidOptionError,
        r"session_id = 'zz\.db'\. Use open\(path, session_id\): the path comes first",
        lambda _: ContextSession.open("nowhere/customer", "zz.db"),
    ),
    "the id of a child before its task": (
        InvalidOptionError,
        r"child_id = 'Find a train\.'\. Use child\(task, child_id\): the task comes first",
        call("child", "research-1", "Find a train."),
    ),
    "a reply that is larger than the window": (
        ContextOverflowError,
        r"a reply of up to 9,000 tokens needs .* the budget is 4,000.* Shorten it or raise",
        call("view", reserve=9000),
    ),
    "history()": (TypeError, r"Use session\.log\(\), or session\.history\.events", call("history")),
    "history[0]": (TypeError, r"Use session\.log\(\)", lambda session: session.history[0]),  # type: ignore[index]
    "log[0]": (TypeError, r"session\.log\(\)", lambda session: session.log[0]),  # type: ignore[index]
    "a misspelt option": (
        TypeError,
        r"unexpected keyword argument 'max_token'\. Did you mean 'max_tokens'\?",
        with_(max_token=5),
    ),
    "a projector and a summariser": (
        InvalidOptionError,
        "either projector= or summariser=",
        with_(projector=ContextProjector(), summariser=ExtractiveSummariser()),
    ),
    "a misspelt model": (
        UnknownNameError,
        (
            r"unknown model 'gpt5'\. Did you mean 'gpt-5' or .*\? For any other model, pass its "
            r"context window as max_tokens="
        ),
        lambda _: ContextSession("gpt5"),
    ),
    "a model that runs at home": (
        UnknownNameError,
        r"'llama3\.1:8b'.* pass its context window as max_tokens=",
        lambda _: ContextSession("llama3.1:8b"),
    ),
    "tokens as people write them": (
        InvalidOptionError,
        r"max_tokens = '100k'\. Use a whole number of tokens",
        lambda _: project([USER], "100k"),
    ),
    "a projection without a budget": (
        InvalidOptionError,
        r"max_tokens = None\. Use a whole number of tokens, such as 8000, or name a model",
        lambda _: project([USER]),
    ),
    "one message, no list": (
        InvalidMessagesError,
        r"an object is not a list\. Use a list of messages, such as body.*, or \[message\]",
        lambda _: project(USER, 100),
    ),
    "tools that leave no room": (
        ContextOverflowError,
        r"the reserve \(0\) with the tools \(\d+\) takes .* pass fewer tools",
        with_(max_tokens=10, tools=[{"type": "function", "function": {"name": "look" * 20}}]),
    ),
    "a threshold in percent": (
        InvalidOptionError,
        r"threshold = 80\. Use a number above 0\.0, at most 1\.0, or .*FixedThreshold",
        with_(threshold=80),
    ),
    "an encoding where a counter goes": (
        InvalidOptionError,
        r"counter = 'cl100k_base'\. Use .*TiktokenCounter\(\"o200k_base\"\)",
        with_(counter="cl100k_base"),
    ),
    "a summariser where a projector goes": (
        InvalidOptionError,
        r"projector = .*Use a ContextProjector; .*ContextProjector\(summariser\)",
        with_(projector=ExtractiveSummariser()),
    ),
    "one rule, no list": (
        InvalidOptionError,
        r"rules = .*Use a list of rules about tools, such as \[keep_last",
        with_(rules=keep_last("read")),
    ),
    "a classifier that answers in words": (
        PluginError,
        (
            r"the classifier failed on 'user': it returned 'important'\. Use a "
            r"function that returns a ResourceClass"
        ),
        with_(classifier=lambda role, content, metadata: "important"),
    ),
    "progress in percent": (
        InvalidOptionError,
        r"progress = 50\. Use 0\.0 to 1\.0",
        lambda _: Signals(progress=50),
    ),
    "a model where a format goes": (
        UnknownNameError,
        r"unknown provider 'gpt-4o'\. Did you mean 'openai'\? Use openai, anthropic",
        call("messages", "gpt-4o"),
    ),
    "half the name of an event": (
        UnknownNameError,
        r"unknown event 'assistant'\. Did you mean 'assistant_turn'\?",
        call("send", "assistant", "Hello"),
    ),
    "a result before any call": (
        IllegalDirectionError,
        r"input tool_turn is not allowed in state EMPTY\. Send user_turn, system,",
        lambda _: ContextSession(4000, counter=FAST).add_tool_turn("seen", tool_call_id="c1"),
    ),
    "a user who interrupts a call": (
        OrderError,
        r"calls \['c1'\] are open\. Add tool turns with their results",
        waiting("add_user_turn", "And now?"),
    ),
    "a list that is another conversation": (
        ConflictError,
        (
            r"expected the 2 turns of the session at the beginning of the list, found the first "
            r"0 of them\. Pass the whole list, or rewind=True"
        ),
        call("sync", [Turn("user", "Red or blue?")], rewind=False),
    ),
}


def session() -> ContextSession:
    """Return a session that has begun."""
    begun = ContextSession(4000, counter=FAST)
    begun.add_user_turn("Book me a train.")
    begun.add_assistant_turn("Where to?")
    return begun


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_says_what_came_and_what_to_write(name: str) -> None:
    """The message names the value, what is expected, and the call or value that works."""
    kind, words, mistake = MISTAKES[name]
    with pytest.raises(kind, match=words) as caught:
        mistake(session())
    message = str(caught.value)
    assert re.search(r"[.?] [A-Z].*[.?]$", message, re.DOTALL)
    assert not re.search(r"\bis no [a-z]|\ba [aeiou]", message)


@pytest.mark.parametrize("share", [0.8, 1])
def test_a_threshold_may_be_one_number(share: float) -> None:
    """The number is the high mark, and compression aims at four fifths of it."""
    threshold = ContextSession(1000, counter=FAST, threshold=share).policy.threshold
    assert (threshold.high(), threshold.low) == (share, share * 0.8)


def test_a_projection_counts_no_reserve() -> None:
    """What is kept free for the reply is reported beside the tokens of the request."""
    one = project([USER], 1000, reserve=400, counter=FAST)
    assert one.tokens_before == one.tokens_after == project([USER], 1000, counter=FAST).tokens_after
    assert (one.reserve, one.reached, one.report()["reserve"]) == (400, True, 400)
    assert project([USER], "gpt-4o").tokens_before < 20


def test_a_function_gets_earlier_summaries_without_their_frame() -> None:
    """What quotes the first turn does not quote the lines that stand around a summary."""
    read = list[str]()

    def first_words(turns: Any, max_tokens: int) -> str:
        read.extend(turn.text for turn in turns if turn.is_gist)
        return f"What happened: {turns[0].text[:40]}"

    chatting = ContextSession(400, counter=FAST, projector=ContextProjector(first_words))
    for number in range(30):
        chatting.add_user_turn(f"Question {number}: please explain this at some length.")
        chatting.add_assistant_turn("It is explained. " * 5)
    assert read
    assert not any("ummary of earlier" in text for text in read)


@pytest.mark.filterwarnings("always")
def test_a_warning_names_the_method_that_was_not_awaited() -> None:
    """And not what drives it."""
    with pytest.warns(RuntimeWarning, match="'ContextSession.aadd_user_turn' was never awaited"):
        str(ContextSession(max_tokens=100).aadd_user_turn("Hello"))
    with pytest.warns(RuntimeWarning, match="'ContextSession.aopen' was never awaited"):
        str(ContextSession.aopen("sessions.db"))
    with pytest.warns(RuntimeWarning, match="'ContextSession.aclose' was never awaited"):
        str(ContextSession(max_tokens=100).aclose())


@pytest.mark.parametrize("spelling", ["summariser", "summarizer"])
def test_a_summariser_is_an_option_in_either_spelling(spelling: str) -> None:
    """Of a session and of `project`; `open` takes it too."""

    def summarise(turns: object, max_tokens: int) -> str:
        return "They said hello."

    option: Any = {spelling: summarise}
    messages = [{"role": role, "content": "hello " * 30} for role in ("user", "assistant")] * 9
    assert "They said hello." in str(project(messages, 300, **option).messages)
    for session in (
        ContextSession(300, **option),
        ContextSession.open(InMemoryStore(), max_tokens=300, **option),
    ):
        session.extend(messages)
        assert "They said hello." in str(session.messages())


def test_a_missing_attribute_is_answered_once() -> None:
    """Python adds no guess of its own, and no private name is suggested."""
    begun = session()
    with pytest.raises(AttributeError, match=r"Use ContextSession\.open") as wrong:
        looked_up("save")(begun)
    assert wrong.value.name is None
    with pytest.raises(AttributeError, match=r"no attribute '_nothing'$"):
        _ = begun.background._nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("task", ["Research", "预订航班"])
def test_the_id_of_a_child_may_have_spaces(task: str) -> None:
    """Also beside a task without any: only a sentence is no id."""
    with session().child(task, "sub agent 1") as child:
        assert child.session_id == "sub agent 1"
