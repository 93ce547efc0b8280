"""The counted tokens cover the sent ones, for recorded conversations and every provider."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from polycontext.polynomial import ContextSession, IllegalDirectionError
from polycontext.window import REQUEST_OVERHEAD, InvalidMessagesError, TiktokenCounter
from polycontext.window.providers import Provider
from tests.house import DATA, sizes
from tests.polynomial.conversations import Remembering
from tests.window.tokens.what_leaves import tokens_leaving

WIRE = DATA / "wire_pydantic_ai_tools.jsonl"
TALKS = ("tau_airline_gpt4o", "swebench_mini", "bfcl_memory", "qmsum")
KINDS = {
    "openai_chat": ("openai", "messages"),
    "anthropic_messages": ("anthropic", "messages"),
    "openai_responses": ("openai-responses", "input"),
}
COUNTER = Remembering(TiktokenCounter())

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the recorded conversations (shared/data) are not beside the project"
)


def talks(name: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the message lists of one recording."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        yield from (json.loads(line)["messages"] for line in lines)


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


@pytest.mark.gate
@pytest.mark.parametrize("one_of", sizes(20, 1))
@pytest.mark.parametrize("name", TALKS)
def test_recorded_conversations_leave_with_no_more_than_is_told(name: str, one_of: int) -> None:
    """Agents' runs, monologues and meetings cost no provider more than was told of them."""
    for messages in islice(talks(name), 0, None, one_of):
        check(messages, "openai")


@pytest.mark.gate
@pytest.mark.parametrize(
    "kind", [kind for kind, (provider, _) in KINDS.items() if provider in tuple(Provider)]
)
def test_recorded_requests_leave_with_no_more_than_is_told(kind: str) -> None:
    """Recorded requests with tools, thinking and files cost every provider at most our count."""
    recorded = list(requests(kind))
    refused = 0
    for messages in recorded:
        try:
            check(messages, KINDS[kind][0])
        except (IllegalDirectionError, InvalidMessagesError):
            # The rest of a conversation that the provider keeps: it begins with the assistant, or
            # with a result.
            refused += 1
    assert len(recorded) - refused > 50
    assert refused <= len(recorded) // 5
