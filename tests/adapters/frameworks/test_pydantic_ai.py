"""Agents of pydantic-ai."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.window import Part, count_turn, default_counter
from polycontext.window.tokens.media_rules import AUDIO_TOKENS, FILM_TOKENS, PAGE_TOKENS
from tests.adapters.frameworks.conversation import ROOM, SYSTEM, Agent, FrameworkTests, found
from tests.adapters.frameworks.judge import Judge
from tests.strict.script import png

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent as Own
from pydantic_ai import ModelRetry, Tool
from pydantic_ai import messages as own
from pydantic_ai.messages import ModelMessagesTypeAdapter as Lossless
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from polycontext.adapters.pydantic_ai import ContextCapability, PydanticAIDialect


def _thought(part: Part) -> dict[str, Any]:
    block = json.loads(part.data)
    return {"content": block["thinking"], "signature": block["signature"]}


def _model(judge: Judge) -> FunctionModel:
    def reply(messages: list[own.ModelMessage], info: AgentInfo) -> own.ModelResponse:
        said = judge.asked(messages, info.instructions)
        thoughts = [
            own.ThinkingPart(**_thought(part), provider_name="anthropic") for part in said.parts
        ]
        calls = [own.ToolCallPart(call.name, call.arguments, call.id) for call in said.tool_calls]
        return own.ModelResponse(
            [*thoughts, *([own.TextPart(said.text)] if said.text else []), *calls]
        )

    async def pieces(messages: list[own.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        said = judge.asked(messages, info.instructions)
        for number, part in enumerate(said.parts):
            yield {number: DeltaThinkingPart(**_thought(part))}
        if said.text:
            yield said.text
        for number, call in enumerate(said.tool_calls, 5):
            yield {number: DeltaToolCall(call.name, call.arguments, tool_call_id=call.id)}

    return FunctionModel(reply, stream_function=pieces)


class PydanticAgent(Agent):
    """Keep the messages of each conversation, as users of pydantic-ai do."""

    def __init__(self, judge: Judge, saved: dict[str, Any] | None, **options: Any) -> None:
        self.adapter = ContextCapability(**options)
        self._agent = Own(
            _model(judge),
            instructions=SYSTEM,
            capabilities=[self.adapter],
            tools=self.adapter.recall_tools if judge.script.query else [],
        )
        self._agent.tool_plain(found, name="look")
        self._kept = {
            key: Lossless.validate_python(messages) for key, messages in (saved or {}).items()
        }

    async def say(self, key: str, text: str) -> str:
        """Run once, from what was said before on."""
        result = await self._agent.run(
            text,
            message_history=self._kept.get(key),
            conversation_id=key,
            usage_limits=UsageLimits(request_limit=None),
        )
        self._kept[key] = result.all_messages()
        return str(result.output)

    async def stream(self, key: str, text: str) -> str:
        """Run once, streamed."""
        async with self._agent.run_stream(
            text, message_history=self._kept.get(key), conversation_id=key
        ) as result:
            output = await result.get_output()
        self._kept[key] = result.all_messages()
        return str(output)

    def history(self, key: str) -> Sequence[str]:
        """Return what its messages say."""
        return [
            str(part.content)
            for message in self._kept[key]
            for part in message.parts
            if hasattr(part, "content")
        ]

    def saved(self) -> Any:
        """Return the messages as JSON data."""
        return {
            key: Lossless.dump_python(messages, mode="json") for key, messages in self._kept.items()
        }


class TestPydanticAI(FrameworkTests):
    """Test the capability."""

    distribution = "pydantic-ai-slim"
    dialect = PydanticAIDialect

    def agent(self, judge: Judge, saved: Any = None, **options: Any) -> Agent:
        """Return an agent that has it."""
        return PydanticAgent(judge, saved, **options)

    def page_names(self, judge: Judge) -> Mapping[str, Any]:
        """Return a model and its tool."""
        return {"model": _model(judge), "tools": [Tool(found, name="look")]}


# --- what is its own ----------------------------------------------------------------

PICTURE = own.BinaryContent.from_data_uri(f"data:image/png;base64,{png(1024)}")


def fit(
    fitting: ContextCapability,
    messages: list[own.ModelMessage],
    key: str | None = "A",
    **settings: Any,
) -> list[own.ModelMessage]:
    """Return what a capability sends of `messages`, as an agent calls it."""
    return asyncio.run(afit(fitting, messages, key, **settings))


async def afit(
    fitting: ContextCapability,
    messages: list[own.ModelMessage],
    key: str | None = "A",
    **settings: Any,
) -> list[own.ModelMessage]:
    """Do so without blocking."""
    model = FunctionModel(lambda messages, info: own.ModelResponse([]))
    given: dict[str, Any] = {
        "model_settings": settings or None,
        "model_request_parameters": ModelRequestParameters(),
    }
    asked = ModelRequestContext(model=model, messages=messages, **given)
    return list(
        (await fitting.prepare_model_request(SimpleNamespace(conversation_id=key), asked)).messages
    )


def talk(exchanges: int, name: str = "A", *further: Any) -> list[own.ModelMessage]:
    """Return a conversation: per exchange a question, a call, its result and an answer.

    `further` content is added to each result.
    """
    messages: list[own.ModelMessage] = []
    for number in range(exchanges):
        call = f"{name}{number}"
        messages += [
            own.ModelRequest([own.UserPromptPart(f"{call}: " + "please " * 20)]),
            own.ModelResponse([own.ToolCallPart("look", {}, call)]),
            own.ModelRequest(
                [
                    own.ToolReturnPart(
                        "look", [found(call), *further] if further else found(call), call
                    )
                ]
            ),
            own.ModelResponse([own.TextPart(f"Answer {call}.")]),
        ]
    return messages


def test_parts_that_nobody_here_knows_go_out_as_they_are() -> None:
    """Native tool calls, compactions, files, cache points and empty messages are sent unchanged."""
    odd: list[own.ModelMessage] = [
        own.ModelRequest(
            [
                own.UserPromptPart(
                    ["Look.", own.CachePoint(), own.DocumentUrl("https://example.org/plum.pdf")]
                )
            ]
        ),
        own.ModelResponse(
            [
                own.NativeToolCallPart("web_search", {}, "w"),
                own.NativeToolReturnPart("web_search", "plums", "w"),
            ]
        ),
        own.ModelRequest(
            [
                own.UserPromptPart(
                    [
                        own.BinaryContent(b"%PDF", media_type="application/pdf"),
                        own.TextContent("And?"),
                    ]
                )
            ]
        ),
        own.ModelResponse(
            [own.CompactionPart("all of it", provider_name="openai"), own.FilePart(PICTURE)]
        ),
        own.ModelRequest([]),
        own.ModelResponse([]),
        own.ModelRequest([own.UserPromptPart("Well?")]),
    ]
    assert [id(message) for message in fit(ContextCapability(40_000), odd)] == [
        id(message) for message in odd
    ]
    empty: list[own.ModelMessage] = [
        own.ModelRequest([]),
        own.ModelRequest([own.UserPromptPart("Well?")]),
    ]
    assert [id(message) for message in fit(ContextCapability(ROOM), empty)] == [
        id(message) for message in empty
    ]


def _pdf(pages: int) -> own.BinaryContent:
    data = b"%PDF-1.4\n" + b"".join(b"%d 0 obj<</Type /Page>>endobj\n" % n for n in range(pages))
    return own.BinaryContent(data, media_type="application/pdf")


@pytest.mark.parametrize(
    ("shown", "least"),
    [
        (_pdf(3), 3 * PAGE_TOKENS),
        (own.DocumentUrl("https://example.org/plum.pdf"), PAGE_TOKENS),
        (own.VideoUrl("https://example.org/plum.mp4"), FILM_TOKENS),
        (own.AudioUrl("https://example.org/plum.mp3"), AUDIO_TOKENS),
        (own.BinaryContent(bytes(100_000), media_type="audio/mpeg"), 500),
        (own.BinaryContent(b"jar " * 500, media_type="text/plain"), 500),
        (own.UploadedFile(file_id="f", provider_name="openai"), PAGE_TOKENS),
        (own.CachePoint(), 0),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_what_is_shown_counts_as_what_it_is(shown: Any, least: int) -> None:
    """By users and by tools, and it is written again with its message."""
    dialect = PydanticAIDialect()
    asked = own.ModelRequest([own.UserPromptPart(["Which?", shown])])
    messages: list[own.ModelMessage] = [asked]
    if not isinstance(shown, own.CachePoint):
        messages += [own.ModelRequest([own.ToolReturnPart("look", ["Plums.", shown], "c")])]
    for message in messages:
        (piece,) = dialect.split([message])
        tokens = count_turn(default_counter(), piece.turn)
        assert least <= tokens <= least * 1.1 + 200
        (written,) = dialect.write([piece.turn])
        part: Any = written.parts[0]
        assert part.content[1] == shown


def test_what_the_vendors_own_tools_say_counts() -> None:
    """Their calls and results, files and compactions; and it is written again."""
    parts = [
        own.NativeToolCallPart("web_search", {"query": "plums"}, "s"),
        own.NativeToolReturnPart("web_search", [{"found": "plums " * 500}, _pdf(1)], "s"),
        own.CompactionPart("plums " * 500, provider_name="anthropic"),
        own.FilePart(_pdf(1)),
    ]
    response = own.ModelResponse([own.TextPart("Found."), *parts])
    (piece,) = PydanticAIDialect().split([response])
    assert 1_000 + 2 * PAGE_TOKENS < count_turn(default_counter(), piece.turn) < 18_000
    (written,) = PydanticAIDialect().write([piece.turn])
    assert written.parts == response.parts


def test_retries_are_read_in_the_voice_that_they_have() -> None:
    """A retry of a call is read as its result, any other retry as a user message, and each once."""
    seen: list[list[own.ModelMessage]] = []

    def reply(messages: list[own.ModelMessage], _: AgentInfo) -> own.ModelResponse:
        seen.append(messages)
        return own.ModelResponse(
            [own.ToolCallPart("look", {}, "c")]
            if len(seen) < 3
            else [own.TextPart(f"Answer {len(seen)}.")]
        )

    agent = Own(FunctionModel(reply), capabilities=[ContextCapability(ROOM)], retries=5)

    def look() -> str:
        if len(seen) < 2:
            raise ModelRetry("look again")
        return "plums"

    def checked(answer: str) -> str:
        if answer != "Answer 4.":
            raise ModelRetry("say it again")
        return answer

    agent.tool_plain(look)
    agent.output_validator(checked)
    result = asyncio.run(agent.run("Look."))
    assert result.output == "Answer 4."
    assert str(seen[-1]).count("look again") == str(seen[-1]).count("say it again") == 1
    turns = [piece.turn for piece in PydanticAIDialect().split(result.all_messages())]
    assert [turn.role.value for turn in turns] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("name", ["anthropic_context_management", "openai_context_management"])
def test_a_provider_that_shortens_too_is_refused(name: str) -> None:
    """By settings, which is what AnthropicCompaction and OpenAICompaction make."""
    with pytest.raises(InvalidOptionError, match=rf"^{name} = .*this capability makes room"):
        fit(ContextCapability(ROOM), talk(1), "A", **{name: [{"type": "compaction"}]})


def test_what_the_provider_counts_is_learnt() -> None:
    """A provider that counts twice as many tokens is sent less.

    Usage that the model itself estimated is ignored.
    """
    lengths = []
    for factor, provider in ((1, "anthropic"), (2, "anthropic"), (2, None)):
        seen: list[int] = []

        def reply(
            messages: list[own.ModelMessage],
            _: AgentInfo,
            seen: list[int] = seen,
            count: int = factor * 1_700,
            by: Any = provider,
        ) -> Any:
            seen.append(len(messages))
            return own.ModelResponse(
                [own.TextPart("Plums.")], usage=RequestUsage(input_tokens=count), provider_name=by
            )

        agent = Own(FunctionModel(reply), capabilities=[ContextCapability(ROOM)])
        for exchanges in (16, 17, 60):
            asyncio.run(agent.run("Well?", message_history=talk(exchanges), conversation_id="A"))
        lengths.append(seen[-1])
    assert lengths[1] < 0.8 * lengths[0]
    assert lengths[2] > lengths[1]
