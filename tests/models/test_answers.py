"""Answers of a model: it may look up turns that a summary stands for."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from polycontext.models.answers import make_answering
from polycontext.polynomial import ContextSession
from polycontext.testing.strict import StrictServer
from tests.vendors import StrictAnthropic, StrictChat

NAMES = {"chat": "gpt-5", "messages": "claude"}


def chat(request: Mapping[str, Any]) -> Any:
    """Search once for the gate where that is offered, as OpenAI's models do."""
    last, tools = request["messages"][-1], request.get("tools")
    if last["role"] == "tool":
        return f"Found: {last['content']}"
    if not tools:
        return "Noted."
    asked = {"name": "context_search", "arguments": '{"query": "gate opens"}'}
    return {"content": "Let me see. ", "tool_calls": [{"function": asked}]}


def messages(request: Mapping[str, Any]) -> Any:
    """Do the same as Anthropic's models."""
    last, tools = request["messages"][-1]["content"], request.get("tools")
    if last[0]["type"] == "tool_result":
        return f"Found: {last[0]['content']}"
    if not tools:
        return "Noted."
    used = {"type": "tool_use", "name": "context_search", "input": {"query": "gate opens"}}
    return [{"type": "text", "text": "Let me see. "}, used]


async def told(pieces: AsyncIterator[str]) -> str:
    """Return a whole answer."""
    return "".join([piece async for piece in pieces])


def endless(request: Mapping[str, Any]) -> Any:
    """Search wherever that is not forbidden."""
    if request.get("tool_choice") == "none" or not request.get("tools"):
        return "I give up."
    asked = {"name": "context_describe", "arguments": "{}"}
    return {"tool_calls": [{"function": asked}]}


async def talk(session: ContextSession, name: str, url: str) -> str:
    """Mention the gate, let it leave the view, and ask for it; return the last answer."""
    who = make_answering(url, name)
    try:
        session.add_user_turn("Keep the house in order.")
        session.add_user_turn("The gate opens with QX7-2281.")
        session.add_assistant_turn(await told(who.answer(session)))
        for number in range(60):
            session.add_user_turn(f"Room {number} is painted. " + "What comes next? " * 5)
            session.add_assistant_turn(f"In room {number}, the windows.")
        session.add_user_turn("What does the gate open with?")
        with session.answer() as answer:
            async for piece in who.answer(session):
                answer.add(piece)
    finally:
        await who.aclose()
    return session.log()[-1].text


@pytest.mark.parametrize("kind", NAMES)
def test_a_model_looks_up_what_left_its_view(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools are offered once a summary stands in the view; the answer is one turn."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    strict: Any = StrictChat(chat) if kind == "chat" else StrictAnthropic(messages)
    with StrictServer((strict,)) as server:
        url = f"{server.url}/v1" if kind == "chat" else server.url
        session = ContextSession(max_tokens=2_000)
        said = asyncio.run(talk(session, NAMES[kind], url))
    assert said.startswith("Let me see. Found: ")
    assert "QX7-2281" in said
    assert [turn.role for turn in session.log()[-4:]] == ["user", "assistant", "tool", "assistant"]


def test_a_model_that_only_looks_up_has_to_answer() -> None:
    """After some rounds no call is allowed."""
    with StrictServer((StrictChat(endless),)) as server:
        session = ContextSession(max_tokens=2_000)
        said = asyncio.run(talk(session, "gpt-5", f"{server.url}/v1"))
    assert said == "I give up."
    assert [str(turn.role) for turn in session.log()[-17:-1]] == ["assistant", "tool"] * 8
