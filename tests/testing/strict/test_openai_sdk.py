"""The unmodified OpenAI SDK over loopback HTTP.

Covers answers, streams, tool loops, refusals and retries.
"""

from collections.abc import Iterator
from typing import Any, cast

import openai
import pytest

from polycontext.testing.strict import Break, StrictChat, StrictResponses, StrictServer
from polycontext.testing.strict.openai import rate_limited

MODEL = "gpt-5.6"
ARGUMENTS = '{"city": "Paris", "unit": "celsius"}'
CHAT_TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
    }
]
TOOLS: Any = [
    {
        "type": "function",
        "name": "weather",
        "parameters": {"type": "object", "properties": {}},
        "strict": None,
    }
]
STEPS = 3


def chat_reply(request: Any) -> Any:
    """Call the weather three times, then answer."""
    if sum(message["role"] == "tool" for message in request["messages"]) < STEPS:
        return {
            "content": "Let me look.",
            "tool_calls": [{"function": {"name": "weather", "arguments": ARGUMENTS}}],
        }
    return "It is 21 degrees in Paris."


def responses_reply(request: Any) -> Any:
    """Think and call the weather three times, then answer."""
    items = request["input"] if isinstance(request["input"], list) else []
    if sum(item.get("type") == "function_call_output" for item in items) < STEPS:
        thought = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "The weather is needed."}],
        }
        return [thought, {"type": "function_call", "name": "weather", "arguments": ARGUMENTS}]
    return "It is 21 degrees in Paris."


def serve(*providers: StrictChat | StrictResponses) -> Iterator[openai.OpenAI]:
    """Yield the SDK's client, which talks to `providers`."""
    with (
        StrictServer(providers) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as made,
    ):
        yield made


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    """Yield a client of both endpoints."""
    yield from serve(StrictChat(chat_reply), StrictResponses(responses_reply))


def test_chat_stream(client: openai.OpenAI) -> None:
    """The SDK assembles the streamed chunks of a call, and continues with that message."""
    messages: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
    for _ in range(STEPS):
        with client.chat.completions.stream(
            model=MODEL, messages=messages, tools=CHAT_TOOLS
        ) as stream:
            stream.until_done()
            message = stream.get_final_completion().choices[0].message
        assert message.tool_calls
        assert message.content == "Let me look."
        assert message.tool_calls[0].function.arguments == ARGUMENTS
        messages += [
            message,
            {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "21"},
        ]
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=messages, stream=True, stream_options={"include_usage": True}
        )
    )
    assert (
        "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        == "It is 21 degrees in Paris."
    )
    assert chunks[-1].usage is not None


def test_responses_loop(client: openai.OpenAI) -> None:
    """A tool loop over responses: the SDK's own items sent back are taken."""
    items: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
    for _ in range(STEPS):
        answer = client.responses.create(
            model=MODEL,
            input=items,
            tools=TOOLS,
            store=False,
            include=["reasoning.encrypted_content"],
        )
        items += answer.output
        calls = [item for item in answer.output if item.type == "function_call"]
        items += [
            {"type": "function_call_output", "call_id": call.call_id, "output": "21"}
            for call in calls
        ]
    last = client.responses.create(model=MODEL, input=items, tools=TOOLS)
    assert (last.output_text, last.status) == ("It is 21 degrees in Paris.", "completed")


def test_responses_stream(client: openai.OpenAI) -> None:
    """The SDK follows the events; what it makes of them is what was answered."""
    items: list[Any] = [{"role": "user", "content": "How is the weather in Paris?"}]
    for _ in range(STEPS):
        with client.responses.stream(model=MODEL, input=items, tools=TOOLS) as stream:
            kinds = [event.type for event in stream]
            answer = stream.get_final_response()
        assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
        assert "response.reasoning_summary_text.delta" in kinds
        call = cast("Any", answer.output[1])
        assert call.arguments == ARGUMENTS
        items += [
            *(item.model_dump(exclude={"parsed_arguments"}) for item in answer.output),
            {"type": "function_call_output", "call_id": call.call_id, "output": "21"},
        ]
    words = [
        event.delta
        for event in client.responses.create(model=MODEL, input=items, stream=True)
        if event.type == "response.output_text.delta"
    ]
    assert "".join(words) == "It is 21 degrees in Paris."


def test_refusals(client: openai.OpenAI) -> None:
    """The SDK raises its own error with the vendor's message, param and code."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=MODEL, messages=[{"role": "tool", "tool_call_id": "a", "content": "21"}]
        )
    assert (caught.value.param, caught.value.code, caught.value.type) == (
        "messages.[0].role",
        None,
        "invalid_request_error",
    )
    with pytest.raises(
        openai.BadRequestError, match="No tool call found for function call output with call_id a"
    ):
        client.responses.create(
            model=MODEL, input=[{"type": "function_call_output", "call_id": "a", "output": "21"}]
        )
    with pytest.raises(openai.NotFoundError, match="not found"):
        client.responses.create(model=MODEL, input="hi", previous_response_id="resp_1")
    with pytest.raises(openai.BadRequestError, match="Invalid 'messages': empty array"):
        client.chat.completions.create(model=MODEL, messages=[], stream=True)


def test_faults() -> None:
    """The SDK sees rate limits, lost connections and broken streams."""
    limited = rate_limited(MODEL, 0)
    chat = StrictChat(
        lambda _: "A text of some length, which takes pieces.",
        faults={1: limited, 2: Break(), 3: Break(events=2), 4: limited},
    )
    for client in serve(chat):
        ask: Any = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(**ask)
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(**ask)
        with pytest.raises(openai.APIConnectionError):
            list(client.chat.completions.create(**ask, stream=True))
        assert (
            client.with_options(max_retries=1)
            .chat.completions.create(**ask)
            .choices[0]
            .message.content
        )
