"""Conversations for testing the machine.

A cheap counter, generated turns and messages, recordings, and an independent recount.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.polynomial import ContextSession
from polycontext.pressure import AdaptiveThreshold
from polycontext.testing import conversations
from polycontext.testing.strategies import Move
from polycontext.window import REQUEST_OVERHEAD, Part, TokenCounter, ToolCall, Turn, count_turn
from polycontext.window.providers import Provider, get_format
from tests.house import DATA

Message = dict[str, Any]

needs_recordings = pytest.mark.skipif(
    not DATA.is_dir(), reason="the recorded conversations (shared/data) are not beside the project"
)


class Words:
    """Count a token a word: cheap, exact by definition, and easy to reckon with in a test."""

    exact = True

    def count(self, text: str) -> int:
        """Return the words of `text`."""
        return len(text.split())


class Remembering:
    """A counter that caches another's result per text, so that recounting a view is cheap."""

    exact = True

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Return what the other counter says."""
        if text not in self._known:
            self._known[text] = self._counter.count(text)
        return self._known[text]


WORDS = Words()

THOUGHT = Part("anthropic", '{"type": "thinking", "thinking": "Plums first.", "signature": "c2ln"}')
"""Signed thinking, which is valid behind its own beginning alone."""

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that is set: it is noon until time passes."""

    now = NOON

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def wait(self, **time: float) -> datetime:
        """Let time pass, and return the time."""
        self.now += timedelta(**time)
        return self.now


def words(count: int, name: str = "w") -> str:
    """Return a text of `count` words, all different."""
    return " ".join(f"{name}{number}" for number in range(count))


def session_of(max_tokens: int = 1000, **options: Any) -> ContextSession:
    """Return a session that counts words and uses the marks of the machine, for small windows."""
    given: dict[str, Any] = {"counter": WORDS, "threshold": AdaptiveThreshold()} | options
    return ContextSession(max_tokens, **given)


def recount(
    messages: Sequence[Message], counter: TokenCounter, provider: Provider | str = Provider.OPENAI
) -> int:
    """Count a request anew from its messages alone."""
    parsed = get_format(provider).parse(messages)
    return REQUEST_OVERHEAD + sum(count_turn(counter, turn) for turn in parsed.turns)


def preserved(session: ContextSession) -> list[Turn]:
    """Return the turns of the log whose class is PRESERVED, in order."""
    return [
        turn
        for turn in session.log()
        if session.window.linearity.get(turn.resource_id) is ResourceClass.PRESERVED
    ]


def whole(session: ContextSession) -> tuple[object, ...]:
    """Return everything that a refused input must leave as it is."""
    return (
        session.state,
        session.window,
        session.window.linearity,
        session.log(),
        session.history.events(),
        session.history.revision,
    )


def texts(session: ContextSession) -> list[str]:
    """Return what the log of a session says."""
    return [turn.text for turn in session.log()]


def ids(session: ContextSession) -> list[str]:
    """Return the ids of the view."""
    return [turn.resource_id for turn in session.window.all_turns()]


def add_all(session: ContextSession, turns: Sequence[Turn]) -> ContextSession:
    """Add `turns` one after the other."""
    for turn in turns:
        session.add(turn)
    return session


def chat(count: int, size: int = 20) -> list[Turn]:
    """Return `count` turns of `size` words, user and assistant taking turns, the user first."""
    return [
        Turn("assistant" if number % 2 else "user", words(size, f"m{number}_"))
        for number in range(count)
    ]


def tool_atom(name: str, *sizes: int, call_id: str = "c", said: str | None = None) -> list[Turn]:
    """Return an assistant turn with one call per size, followed by results of that many words."""
    calls = tuple(
        ToolCall(f"{call_id}{number}", name, f'{{"n": {number}}}') for number in range(len(sizes))
    )
    results = [
        Turn("tool", words(size, f"{name}{number}_"), tool_call_id=calls[number].id)
        for number, size in enumerate(sizes)
    ]
    return [Turn("assistant", said, tool_calls=calls), *results]


def user(content: str) -> Message:
    """Return a user message."""
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    """Return an assistant message."""
    return {"role": "assistant", "content": content}


def system(content: str) -> Message:
    """Return a system message."""
    return {"role": "system", "content": content}


def call(*ids: str, name: str = "search") -> Message:
    """Return an assistant message that makes calls."""
    calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps({"q": i})}}
        for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, content: str) -> Message:
    """Return the result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def long_chat(count: int = 40, size: int = 30) -> list[Message]:
    """Return a system message, a task, and `count` messages."""
    turns = [
        assistant(words(size, f"a{n}_")) if n % 2 == 0 else user(words(size, f"u{n}_"))
        for n in range(count)
    ]
    return [system("Be brief."), user("Book a night train to Vienna."), *turns]


TASKS = st.sampled_from(
    [
        "Book a night train to Vienna.",
        "Fix the failing test in src/app.py, and never touch main.py.",
        "文脈",
    ]
)


@st.composite
def session_moves(draw: st.DrawFn, max_atoms: int = 20) -> list[Move]:
    """Draw a conversation that the machine accepts: a system turn or none, a task, legal moves."""
    head: list[Move] = [(Turn("system", "You are an agent."), None)] if draw(st.booleans()) else []
    return [*head, (Turn("user", draw(TASKS)), None), *draw(conversations(max_atoms=max_atoms))]


def generated_messages(max_atoms: int = 20) -> st.SearchStrategy[list[Message]]:
    """Draw a valid OpenAI message list; it may end on open calls."""
    return session_moves(max_atoms).map(
        lambda moves: get_format(Provider.OPENAI).render(turn for turn, _ in moves).messages
    )


def recorded(name: str) -> Iterator[list[Message]]:
    """Yield the message lists of one recording."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["messages"]


RECORDINGS = ["tau_airline_gpt4o", "swebench_mini"]


def text_of(session: ContextSession) -> str:
    """Return a session as it is exported, in one text."""
    return "".join(session.history.export())


def document(session: ContextSession) -> dict[str, Any]:
    """Return an exported session as one object: the settings, the events and the companions."""
    header, *events = (json.loads(line) for line in session.history.export())
    return {
        "schema": header["schema"],
        **header["settings"],
        "events": events,
        "companions": header["companions"],
    }


def lines_of(data: dict[str, Any]) -> str:
    """Return the export of which `document` made `data`."""
    events = data.get("events")
    beside: dict[str, Any] = {name: data[name] for name in data if name in ("schema", "companions")}
    settings = {name: data[name] for name in data if name not in {*beside, "events"}}
    header: dict[str, Any] = {
        "format": "polycontext session",
        "session_id": "session",
        "events": events,
        "settings": settings,
        **beside,
    }
    listed: list[Any] = []
    if isinstance(events, list):
        header["events"], listed = len(events), events
    return "".join(json.dumps(line) + "\n" for line in [header, *listed])
