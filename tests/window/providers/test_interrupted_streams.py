"""Streams that stop anywhere, and answers without content: only what the model said is its own."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from polycontext.polynomial import ContextSession
from polycontext.window.providers import Provider
from tests.vendors import findings

WORDS = ["The key is ", "QX-771, ", "or so"]
ARGUMENTS = ['{"at": ', '"Graz"}']
Events = Sequence[dict[str, Any]]


def responses(said: str = "output_text", field: str = "text") -> Events:
    """Return the events of a response with reasoning, a message and a call."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": ""}
    whole = {**message, "content": [{"type": said, field: "".join(WORDS)}]}
    kind = "response.output_item"
    return [
        {"type": "response.created", "response": {"object": "response", "output": []}},
        {"type": f"{kind}.added", "output_index": 0, "item": thought},
        {"type": f"{kind}.done", "output_index": 0, "item": thought},
        {"type": f"{kind}.added", "output_index": 1, "item": message},
        *(
            {"type": f"response.{said}.delta", "output_index": 1, "content_index": 0, "delta": each}
            for each in WORDS
        ),
        {"type": f"{kind}.done", "output_index": 1, "item": whole},
        {"type": f"{kind}.added", "output_index": 2, "item": call},
        *(
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": each}
            for each in ARGUMENTS
        ),
    ]


def anthropic() -> Events:
    """Return the events of a message with thinking, text and a call."""
    blocks: list[tuple[dict[str, Any], Events]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"thinking": "Hm."}, {"signature": "c2ln"}],
        ),
        ({"type": "text", "text": ""}, [{"text": each} for each in WORDS]),
        (
            {"type": "tool_use", "id": "c", "name": "look", "input": {}},
            [{"partial_json": each} for each in ARGUMENTS],
        ),
    ]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}}
    ]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": each} for each in deltas
        ]
    return events


def chat() -> Events:
    """Return the chunks of a completion with text and a call."""
    function = [{"name": "look", "arguments": ""}, *({"arguments": each} for each in ARGUMENTS)]
    calls: list[dict[str, Any]] = [{"index": 0, "function": each} for each in function]
    calls[0] |= {"id": "c", "type": "function"}
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": each} for each in WORDS),
        *({"tool_calls": [each]} for each in calls),
    ]
    return [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": each}]}
        for each in deltas
    ]


def gemini() -> Events:
    """Return the responses of a stream with thinking, text and a call."""
    parts = [
        {"text": "Hm.", "thought": True},
        *({"text": each} for each in WORDS),
        {"functionCall": {"name": "look", "args": {"at": "Graz"}}},
    ]
    return [{"candidates": [{"content": {"role": "model", "parts": [each]}}]} for each in parts]


def ends() -> Events:
    """Return the events of a response that have the whole of a text, without the pieces."""
    whole = {"output_index": 1, "content_index": 0, "text": "".join(WORDS)}
    begun = [each for each in responses() if each["type"].endswith(("created", "added"))]
    return [*begun[:3], {"type": "response.output_text.done", **whole}, *begun[3:]]


STREAMS = {
    "ends of parts": ends(),
    "openai-responses": responses(),
    "a refusal": responses("refusal", "refusal"),
    "anthropic": anthropic(),
    "openai": chat(),
    "gemini": gemini(),
}


def so_far(events: Events) -> str:
    """Return the words of the model in `events`."""
    text = json.dumps(events)
    return "".join(each for each in WORDS if json.dumps(each)[1:-1] in text)


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS)
def test_a_stream_may_stop_anywhere(events: Events) -> None:
    """Every request that follows is valid, and has the words that came and no others."""
    for stop in range(1, len(events) + 1):
        session = ContextSession(8_000)
        session.add_user_turn("Where is it?")
        session.add_message(list(events[:stop]))
        answer = session.log()[-1]
        assert answer.text == so_far(events[:stop])
        for call in session.open_calls:
            session.add_tool_turn("no result", tool_call_id=call.id)
        session.add_user_turn("Go on.")
        for provider in Provider:
            sent = session.request(provider).messages
            assert findings(sent, provider, foreign=True) == []
            assert "another provider" not in str(sent)
            assert answer.text.strip() in str(sent)


@pytest.mark.parametrize("provider", Provider)
def test_an_empty_answer_is_sent_as_empty(provider: Provider) -> None:
    """In every format, whichever vendor gave it; a vendor's own form stays."""
    empty: list[Any] = [
        {"role": "assistant", "content": [], "stop_reason": "end_turn"},
        {"role": "assistant", "content": None, "stop_reason": "end_turn"},
        {"object": "response", "output": []},
        {"object": "chat.completion", "choices": [{"message": {"role": "assistant"}}]},
        {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
        {"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL"}]},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"role": "assistant", "audio": {"id": "audio_1"}},
    ]
    for answer in empty:
        session = ContextSession(8_000)
        session.add_user_turn("Hello?")
        session.add_message(answer)
        session.add_user_turn("Hello!")
        sent = session.request(provider).messages
        assert findings(sent, provider, foreign=True) == []
        said = sent[1].get("content") or sent[1].get("parts") or "[empty]"
        said = said[0].get("text") or "[empty]" if isinstance(said, list) else said
        assert said == "[empty]"


def test_a_picture_of_the_model_becomes_a_line_that_names_it() -> None:
    """Where the vendor takes no picture of the model's."""
    session = ContextSession(8_000)
    session.add_user_turn("Draw it.")
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    session.extend([{"role": "model", "parts": [picture]}], "gemini")
    session.add_user_turn("Now in blue.")
    for provider in ("anthropic", "openai", "openai-responses"):
        assert "[image/png, 3 bytes, left out]" in str(session.request(provider).messages)
