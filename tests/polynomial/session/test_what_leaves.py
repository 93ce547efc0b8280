"""The counted tokens cover the sent ones, for recorded conversations and every provider."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, IllegalDirectionError
from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError, TiktokenCounter
from polycontext.window.providers import Provider
from tests.house import DATA
from tests.polynomial.conversations import Remembering, needs_recordings
from tests.window.tokens.what_leaves import tokens_leaving

WIRE = DATA / "wire_pydantic_ai_tools.jsonl"
KINDS = {
    "openai_chat": ("openai", "messages"),
    "anthropic_messages": ("anthropic", "messages"),
    "openai_responses": ("openai-responses", "input"),
}
COUNTER = Remembering(TiktokenCounter())

pytestmark = [pytest.mark.gate, needs_recordings]


def requests(kind: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the message lists of the recorded requests of `kind` that their provider accepted."""
    with WIRE.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            messages = (
                row["request"].get(KINDS[kind][1])
                if row["kind"] == kind and row["status"] == 200
                else None
            )
            if isinstance(messages, list):
                yield messages


def check(messages: list[dict[str, Any]], provider: str) -> None:
    """Take `messages` in and compare what is told with what leaves, for every provider."""
    session = ContextSession(max_tokens=10**9, counter=COUNTER)
    session.extend(messages, provider)
    told = session.window.total_tokens + REQUEST_OVERHEAD
    for target in Provider:
        leaving = session.request(target, allow_open=True).inline()
        assert tokens_leaving(COUNTER, target, leaving) <= told, target


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_requests_leave_with_no_more_than_is_told(kind: str) -> None:
    """Recorded requests with tools, thinking and files cost every provider at most our count."""
    accepted = list(requests(kind))
    refused = 0
    for messages in accepted:
        try:
            check(messages, KINDS[kind][0])
        except (IllegalDirectionError, InvalidMessagesError):
            # The rest of a conversation that the provider keeps: it begins with the assistant, or
            # with a result.
            refused += 1
    assert len(accepted) - refused > 50
    assert refused <= len(accepted) // 5
