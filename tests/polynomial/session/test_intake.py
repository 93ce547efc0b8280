"""A provider's messages are accepted as they are: an answer, then its results, in each format."""

from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.window import InvalidMessagesError
from tests.polynomial.conversations import call, result, user

ANSWERS: dict[str, list[list[Any]]] = {
    "anthropic": [
        [user("Look.")],
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
                    for call_id in ("a", "b")
                ],
            }
        ],
        [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "b", "content": "two"}],
            }
        ],
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                    {"type": "text", "text": "And?"},
                ],
            }
        ],
    ],
    "openai": [
        [user("Look.")],
        [call("a", "b")],
        [result("b", "two")],
        [result("a", "one"), user("And?")],
    ],
    "openai-responses": [
        [user("Look.")],
        [
            {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"}
            for call_id in ("a", "b")
        ],
        [{"type": "function_call_output", "call_id": "b", "output": "two"}],
        [
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            user("And?"),
        ],
    ],
}


@pytest.mark.parametrize("provider", ANSWERS)
def test_messages_go_on_with_what_is_there(provider: str) -> None:
    """Messages added one by one render as one list, with neighbours of one role possibly joined."""
    session = ContextSession(10_000)
    for messages in ANSWERS[provider]:
        session.extend(messages, provider)
    assert session.window.open_calls == ()
    assert _joined(session.messages(provider)) == _joined(
        [message for messages in ANSWERS[provider] for message in messages]
    )


def _joined(messages: list[Any]) -> list[Any]:
    """Return each block with its role, and whatever has no blocks as it is."""
    blocks = (
        (message, block)
        for message in messages
        for block in (message["content"] if isinstance(message.get("content"), list) else [None])
    )
    return [message if block is None else (message["role"], block) for message, block in blocks]


@pytest.mark.parametrize("provider", ANSWERS)
def test_a_result_of_no_open_call_is_refused(provider: str) -> None:
    """Before the call, twice, or under an id that nobody waits for; and nothing has changed."""
    ask, answer, first, rest = ANSWERS[provider]
    session = ContextSession(10_000)
    session.extend(ask, provider)
    with pytest.raises(InvalidMessagesError, match="orphan-result"):
        session.extend(first, provider)
    session.extend(answer, provider)
    session.extend(first, provider)
    with pytest.raises(InvalidMessagesError, match="orphan-result"):
        session.extend(first, provider)
    assert session.history.revision == 3
    session.extend(rest, provider)
