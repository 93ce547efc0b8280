"""The estimate of a request against what providers reported for recorded ones."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from polycontext.window.tokens.counter import (
    REQUEST_OVERHEAD,
    EstimatingCounter,
    count_tools,
    count_turn,
)
from polycontext.window.tokens.tiktoken_counter import default_counter
from polycontext.window.turn import ToolCall, Turn
from tests.house import DATA

WIRE = DATA / "wire_pydantic_ai_tools.jsonl"
TALKS = ("tau_airline_gpt4o.jsonl", "swebench_mini.jsonl", "qmsum.jsonl")
REPORTED = re.compile(r'\\*"prompt_tokens\\*": ?(\d+)')

pytestmark = [
    pytest.mark.gate,
    pytest.mark.no_cover,
    pytest.mark.skipif(
        not WIRE.exists(), reason="the recorded conversations are not beside the project"
    ),
]


def turn(message: dict[str, Any]) -> Turn:
    """Read one recorded chat message."""
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    return Turn(
        message["role"],
        message.get("content"),
        tool_calls=calls,
        tool_call_id=message.get("tool_call_id"),
    )


def is_plain(request: dict[str, Any]) -> bool:
    """Tell whether a request is made of text and tools alone, without a schema for its reply."""
    texts = all(isinstance(message.get("content") or "", str) for message in request["messages"])
    return texts and "response_format" not in request


def exchanges(models: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each plain request to one of `models` with the token count that was reported."""
    for line in WIRE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        reported = REPORTED.search(json.dumps(row["response"]))
        if (
            row["kind"] == "openai_chat"
            and row["request"]["model"].startswith(models)
            and reported
            and is_plain(row["request"])
        ):
            yield row["request"], int(reported[1])


def estimate(request: dict[str, Any]) -> int:
    """Return the tokens of a whole request as the library counts them."""
    counter = default_counter()
    turns = sum(count_turn(counter, turn(message)) for message in request["messages"])
    return REQUEST_OVERHEAD + turns + count_tools(counter, request.get("tools") or [])


def test_requests_to_gpt_4o_and_4_1_are_never_undercounted() -> None:
    """No recorded request is undercounted, or overcounted by more than 10 % (5 % in total)."""
    pairs = [
        (estimate(request), reported) for request, reported in exchanges(("gpt-4o", "gpt-4.1"))
    ]
    assert len(pairs) >= 25
    assert all(1 <= counted / reported <= 1.1 for counted, reported in pairs)
    assert sum(counted for counted, _ in pairs) / sum(reported for _, reported in pairs) <= 1.05


def test_turns_without_tools_cost_what_was_reported() -> None:
    """Without tools the estimate exceeds the reported count by one token per call."""
    plain = [
        (request, reported)
        for request, reported in exchanges(("gpt-4o",))
        if not request.get("tools")
    ]
    assert plain
    for request, reported in plain:
        calls = sum(len(message.get("tool_calls") or []) for message in request["messages"])
        assert estimate(request) - reported == calls


def test_what_gpt_5_adds_to_tools_is_a_constant() -> None:
    """Later models add a constant of about 90 tokens for tools, which is to be reserved."""
    missing = [reported - estimate(request) for request, reported in exchanges(("gpt-5",))]
    assert len(missing) >= 9
    assert all(75 <= rest <= 95 for rest in missing)


def messages(name: str) -> Iterator[str]:
    """Yield the texts of the first ten conversations in a file."""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines()[:10]:
        for message in json.loads(line)["messages"]:
            if isinstance(message.get("content"), str):
                yield message["content"]


@pytest.mark.parametrize("name", TALKS)
def test_the_estimator_stays_in_its_band_on_recorded_talk(name: str) -> None:
    """Summed over recorded conversations the estimate is a little high, never low."""
    texts = [text for text in messages(name) if len(text) < 200_000]
    counted = sum(default_counter().count(text) for text in texts)
    assert 0.95 <= sum(EstimatingCounter().count(text) for text in texts) / counted <= 1.35
