"""A conversation changes its provider, and parts that the new one cannot read are omitted."""

import json

import pytest

from polycontext import ContextSession
from polycontext.testing import FAST
from polycontext.window import Part, ToolCall, Turn
from polycontext.window.providers import Provider, check
from tests.polynomial.conversations import THOUGHT

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
IMAGE = Part(
    "anthropic",
    json.dumps(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    ),
)
STORED = Part("openai", json.dumps({"type": "file", "file": {"file_id": "file-1"}}))


def seen() -> ContextSession:
    """Return a session that spoke with Anthropic, pictures and thinking in it."""
    session = ContextSession(50_000, counter=FAST)
    session.add(Turn("user", "What is this?", parts=[IMAGE]))
    session.add(
        Turn("assistant", "Let me look.", tool_calls=[ToolCall("c1", "zoom")], parts=[THOUGHT])
    )
    session.add(Turn("tool", "closer", tool_call_id="c1", parts=[IMAGE]))
    return session


def test_what_stays_behind_is_told() -> None:
    """By turn and type; what is at home leaves nothing behind."""
    session = seen()
    assert session.request("anthropic").left_behind == ()
    assert session.request("openai").left_behind == (("t2", "thinking"), ("t3", "image"))
    assert session.request("openai-responses").left_behind == (("t2", "thinking"),)
    session.add(Turn("user", "And this?", parts=[STORED]))
    assert session.request("anthropic").left_behind == (("t4", "file"),)


@pytest.mark.parametrize("provider", Provider)
def test_every_provider_takes_it(provider: Provider) -> None:
    """Every provider accepts the conversation, whichever provider its parts are from."""
    session = seen()
    session.add(Turn("user", "And this?", parts=[STORED, IMAGE]))
    check(session.request(provider).messages, provider)
