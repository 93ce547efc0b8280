"""Agents of Haystack."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from polycontext.window import Turn
from tests.adapters.frameworks.conversation import SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import TOOL, Judge

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
pytest.importorskip("haystack")

from haystack import dataclasses as own
from haystack.components.agents import Agent as Own
from haystack.components.generators.chat import MockChatGenerator
from haystack.core.serialization import allow_deserialization_module
from haystack.tools import Tool

from polycontext.adapters.haystack import ContextHook, HaystackDialect

# The fake model reports words as tokens.
_SILENT: dict[str, Any] = {"usage": {}}


def _answer(turn: Turn) -> own.ChatMessage:
    """Return an answer as an integration of Haystack makes it."""
    thoughts = [json.loads(part.data) for part in turn.parts]
    reasoning = [
        own.ReasoningContent(each["thinking"], {"signature": each["signature"]})
        for each in thoughts
    ]
    calls = [
        own.ToolCall(call.name, json.loads(call.arguments), call.id) for call in turn.tool_calls
    ]
    return own.ChatMessage.from_assistant(
        turn.text or None, tool_calls=calls, reasoning=reasoning[0] if reasoning else None
    )


def _look() -> Tool:
    return Tool(name="look", description="Look something up.", parameters=TOOL, function=found)


class HaystackAgent(Agent):
    """Keep the messages of each conversation, as users of Haystack do: those of the last run."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        def reply(messages: list[own.ChatMessage]) -> own.ChatMessage:
            return _answer(judge.asked(messages))

        self.adapter = ContextHook(**options)
        self._agent = Own(
            chat_generator=MockChatGenerator(response_fn=reply, meta=_SILENT),
            tools=[_look(), *(self.adapter.recall_tools if judge.script.query else [])],
            system_prompt=SYSTEM,
            max_agent_steps=1000,
            hooks={"before_llm": [self.adapter]},
        )
        self._kept = {
            key: [own.ChatMessage.from_dict(each) for each in messages]
            for key, messages in (saved or {}).items()
        }

    async def say(self, key: str, text: str) -> str:
        """Run once."""
        return await self._run(key, text)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        pieces: list[str] = []

        async def take(chunk: Any) -> None:
            pieces.append(chunk.content)

        said = await self._run(key, text, streaming_callback=take)
        assert said in "".join(pieces)
        return said

    async def _run(self, key: str, text: str, **how: Any) -> str:
        asked = [*self._kept.get(key, []), own.ChatMessage.from_user(text)]
        result = await self._agent.run_async(asked, hook_context={"conversation": key}, **how)
        self._kept[key] = result["messages"][1:]  # the system prompt is the agent's own
        return str(result["last_message"].text)

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [str(message.to_dict()["content"]) for message in self._kept[key]]

    def saved(self) -> Any:
        """Return the messages as JSON data."""
        return {
            key: [message.to_dict() for message in messages] for key, messages in self._kept.items()
        }


class TestHaystack(FrameworkTests):
    """Test the hook."""

    distribution = "haystack-ai"
    dialect = HaystackDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return HaystackAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""

        def reply(messages: list[own.ChatMessage]) -> own.ChatMessage:
            return _answer(judge.asked(messages))

        return {"model": MockChatGenerator(response_fn=reply, meta=_SILENT), "tools": [_look()]}


def _agent(asked: list[Any], *hooks: Any, tools: Sequence[Tool] = (), **about: Any) -> Own:
    """Return an agent whose model remembers what it is asked."""

    def reply(messages: list[own.ChatMessage]) -> str:
        asked.append(messages)
        return "Yes."

    return Own(
        chat_generator=MockChatGenerator(response_fn=reply, **{"meta": _SILENT, **about}),
        tools=[*tools],
        hooks={"before_llm": [*hooks]},
    )


def _long(number: int) -> list[own.ChatMessage]:
    """Return a conversation."""
    makes = (own.ChatMessage.from_user, own.ChatMessage.from_assistant)
    return [makes[place % 2](f"{place}: " + "please " * 20) for place in range(number)]


def test_the_result_of_a_run_is_whole() -> None:
    """The model sees a shortened list, while the result of the run is complete."""
    asked: list[Any] = []
    messages = [own.ChatMessage.from_system(SYSTEM), *_long(2001)]
    result = _agent(asked, ContextHook(1000)).run(messages)
    assert result["messages"][:-1] == messages
    assert len(asked[0]) < 40
    assert asked[0][0] is messages[0]
    assert asked[0][-1] is messages[-1]


def test_hooks_before_and_behind_see_messages() -> None:
    """Hooks before and after the context hook see plain lists, and the result is complete."""
    asked: list[Any] = []
    seen: list[Any] = []

    class Looking:
        def run(self, state: Any) -> None:
            seen.append(state.get("messages"))

    messages = _long(101)
    result = _agent(asked, Looking(), ContextHook(1000), Looking()).run(messages)
    assert [*map(type, seen)] == [list, list]
    assert seen[0] == messages
    assert seen[1] == asked[0]
    assert len(result["messages"]) == 102


def test_the_hook_is_data() -> None:
    """As that of an agent which is written to a file; who reads the file trusts the module."""
    allow_deserialization_module("polycontext.adapters.haystack")
    agent = Own.from_dict(
        Own(
            chat_generator=MockChatGenerator(responses="Yes."),
            hooks={"before_llm": [ContextHook(1000, most=5)]},
        ).to_dict()
    )
    assert isinstance(agent.hooks["before_llm"][0], ContextHook)
    assert len(agent.run(_long(101))["messages"]) == 102
    with pytest.raises(ValueError, match="before_llm"):
        Own(
            chat_generator=MockChatGenerator(responses="Yes."),
            hooks={"after_run": [ContextHook(1000)]},
        )


def test_tools_are_taken_off() -> None:
    """They are sent with every request."""
    asked: list[Any] = []
    wordy = Tool(
        name="look", description="Look something up. " * 220, parameters=TOOL, function=found
    )
    _agent(asked, ContextHook(1500)).run(_long(101))
    _agent(asked, ContextHook(1500), tools=[wordy]).run(_long(101))
    assert len(asked[1]) < len(asked[0])


def test_pictures_and_files_count() -> None:
    """They go out with their message, as the very object."""
    asked: list[Any] = []
    image = own.ImageContent("iVBORw0KGgo=", "image/png", validation=False)
    file = own.FileContent("cGx1bXM=", "text/plain", validation=False)
    asks = own.ChatMessage.from_user(content_parts=["What is it?", image, file])
    nothing = own.ChatMessage.from_assistant(None)
    _agent(asked, ContextHook(9000)).run([asks, nothing, own.ChatMessage.from_user("")])
    assert asked[0][0] is asks
    assert asked[0][1] is nothing
    (piece,) = HaystackDialect().split([asks])
    assert [part.type for part in piece.turn.parts] == ["image_url", "document"]
    (anew,) = HaystackDialect().write([piece.turn])
    assert anew.texts == ["What is it?"]
    assert anew.image.base64_image == "iVBORw0KGgo="
    assert anew.file == file


def test_results_keep_their_tool_and_their_pictures() -> None:
    """Two calls of one tool without ids keep their own results, and results keep their pictures."""
    image = own.ImageContent("iVBORw0KGgo=", "image/png", validation=False)
    calls = [own.ToolCall("look", {"at": at}) for at in "ab"]
    results = [
        own.ChatMessage.from_tool("a jar", calls[0], error=True),
        own.ChatMessage.from_tool([own.TextContent("so"), image], calls[1]),
    ]
    messages = [*_long(1), own.ChatMessage.from_assistant(tool_calls=calls), *results]
    asked: list[Any] = []
    _agent(asked, ContextHook(9000)).run(messages)
    assert [*asked[0]] == messages
    turns = [piece.turn for piece in HaystackDialect().split(messages)]
    assert (
        [call.id for call in turns[1].tool_calls]
        == [turn.tool_call_id for turn in turns[2:]]
        == ["look", "look~2"]
    )
    written = HaystackDialect().write(turns[2:])
    assert [each.tool_call_result.origin.tool_name for each in written] == ["look", "look"]
    assert [piece.turn for piece in HaystackDialect().split([*messages[:2], *written])] == turns


def test_reasoning_of_openai_is_a_reasoning_item() -> None:
    """As the generator of Responses keeps it."""
    reasoning = own.ReasoningContent("", {"type": "reasoning", "encrypted_content": "ZW5j"})
    (piece,) = HaystackDialect().split([own.ChatMessage.from_assistant("So.", reasoning=reasoning)])
    (part,) = piece.turn.parts
    assert part.provider == "openai-responses"
    assert part.is_bound
    assert "ZW5j" in part.data
