"""The unmodified OpenAI SDK over loopback HTTP.

Covers streams of responses and refusals; `tests/adapters/test_sdks.py` has loops of tools.
"""

from collections.abc import Iterator
from typing import Any, cast

import openai
import pytest

from polycontext.testing.strict import StrictChat, StrictResponses, StrictServer

MODEL = "gpt-5.6"
ARGUMENTS = '{"city": "Paris", "unit": "celsius"}'
TOOLS: Any = [
    {
        "type": "function",
        "name": "weather",
        "parameters": {"type": "object", "properties": {}},
        "strict": None,
    }
]
STEPS = 3


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


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    """Yield a client of both endpoints."""
    providers = StrictChat(lambda _: "Yes."), StrictResponses(responses_reply)
    with (
        StrictServer(providers) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as made,
    ):
        yield made


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
