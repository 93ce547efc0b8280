"""The stand-ins that remember see a changed past; otherwise the long runs would show nothing."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from polycontext.testing.strict import RequestRefusedError
from tests.vendors import StrictAnthropic, StrictGemini, StrictResponses

LOOK = {"name": "look", "input_schema": {"type": "object"}}


def loop(provider: StrictAnthropic) -> dict[str, Any]:
    """Return a request after three steps with thinking and a call, each of them accepted."""
    request: dict[str, Any] = {"model": "claude", "max_tokens": 99, "tools": [LOOK]}
    request["messages"] = [{"role": "user", "content": "What is it?"}]
    for _ in range(3):
        content = provider.create(request)["content"]
        seen = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "seen"}
        request["messages"] += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": [seen]},
        ]
    return copy.deepcopy(request)


@pytest.mark.parametrize(
    "change",
    [
        lambda request: request.update(system="Be very brief."),
        lambda request: request.update(tools=[LOOK, {**LOOK, "name": "run"}]),
        lambda request: request["messages"][0].update(content="What was it?"),
        lambda request: request["messages"][2]["content"][0].update(content="unseen"),
        lambda request: request["messages"][1]["content"][1]["input"].update(n=7),
        lambda request: request["messages"].__delitem__(slice(1, 3)),
    ],
)
def test_thinking_behind_a_change_is_refused(change: Callable[[Any], Any]) -> None:
    """Thinking is bound to the exact prefix that it was made on."""
    provider = StrictAnthropic(
        lambda _: [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "name": "look", "input": {"n": 1}},
        ]
    )
    request = loop(provider)
    provider.create(request)
    change(request)
    with pytest.raises(RequestRefusedError, match="thinking-moved"):
        provider.create(request)


def test_reasoning_behind_a_change_is_withheld() -> None:
    """It is listed with its id; earlier reasoning stays."""
    call = {"type": "function_call", "name": "read", "arguments": "{}"}
    provider = StrictResponses(lambda _: [{"type": "reasoning"}, call])
    items: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    for _ in range(3):
        items += provider.create({"model": "gpt-5.6", "input": items})["output"]
        output = {"type": "function_call_output", "output": "done"}
        items.append(output | {"call_id": items[-1]["call_id"]})
    assert "input_transformations" not in provider.create({"model": "gpt-5.6", "input": items})
    items[3] = items[3] | {"output": "other"}
    withheld = provider.create({"model": "gpt-5.6", "input": items})["input_transformations"]
    thoughts = [item["id"] for item in items if item.get("type") == "reasoning"]
    assert [entry["id"] for entry in withheld] == thoughts[1:]


def test_a_call_of_gemini_needs_its_signature() -> None:
    """One of the current step; another's signature is refused, too."""
    call = {"functionCall": {"name": "look", "args": {}}}
    provider = StrictGemini(lambda _: {"parts": [call]})
    user = {"role": "user", "parts": [{"text": "Look."}]}
    response = {"functionResponse": {"name": "look", "response": {"result": "mould"}}}
    found = {"role": "user", "parts": [response]}
    said = provider.create({"contents": [user]})["candidates"][0]["content"]
    provider.create({"contents": [user, said, found]})
    for rule, part in (
        ("missing-signature", call),
        ("bad-signature", {**call, "thoughtSignature": "AA=="}),
    ):
        with pytest.raises(RequestRefusedError, match=rule):
            provider.create({"contents": [user, {"role": "model", "parts": [part]}, found]})
