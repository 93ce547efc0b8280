"""Objects of the vendors' SDKs are read like their data, as messages and inside them."""

from typing import Any

import pytest

from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import get_format

ASK: dict[str, Any] = {"role": "user", "content": "weather in Paris?"}
THINKING: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USING: dict[str, Any] = {
    "type": "tool_use",
    "id": "a",
    "name": "weather",
    "input": {"city": "Paris"},
    "caller": {"type": "direct"},
}
RESULT: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "a", "content": "21"}],
}


def test_an_anthropic_answer_and_its_blocks() -> None:
    """An answer, or its content inside a message, is written back with its role and blocks."""
    types = pytest.importorskip("anthropic.types")
    answer = types.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "model": "claude",
            "role": "assistant",
            "content": [THINKING, USING],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    wire = get_format("anthropic")
    expected = [ASK, {"role": "assistant", "content": [THINKING, USING]}, RESULT]
    for said in (
        answer,
        {"role": "assistant", "content": answer.content},
        {"role": "assistant", "content": tuple(answer.content)},
    ):
        messages = [ASK, said, RESULT]
        wire.check(messages)
        assert wire.render(wire.parse(messages).turns).messages == expected


def test_whatever_else_is_no_message() -> None:
    """A class, and an object that dumps to no object, are refused like everything that is none."""

    class Odd:
        def model_dump(self, **_: object) -> list[int]:
            return [1]

    for odd in (Odd(), Odd, object()):
        with pytest.raises(InvalidMessagesError, match=r"not-an-object|not-json"):
            get_format("openai").parse([odd])
        with pytest.raises(InvalidMessagesError):
            get_format("openai").parse([{"role": "user", "content": [odd, {1, 2}]}])
