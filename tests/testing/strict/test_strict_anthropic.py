"""The strict Messages: the window, faults, streams, and requests that stay the caller's own."""

import copy
from typing import Any

import pytest

from polycontext.base import InvalidOptionError
from polycontext.testing.strict import (
    RequestRefusedError,
    StrictAnthropic,
    overloaded,
)
from tests.testing.strict.anthropic_blocks import ASK, result, text, user

REQUEST: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [ASK]}


def thinks(request: Any) -> list[dict[str, Any]]:
    """Think, say something, call a tool."""
    count = len(request["messages"])
    return [
        {"type": "thinking", "thinking": f"hm {count}"},
        text(f"Step {count}."),
        {"type": "tool_use", "name": "look", "input": {"n": count}},
    ]


def test_the_window_is_exact() -> None:
    """A prompt of the window's exact size is accepted, and one more token is not."""
    request = REQUEST | {"messages": [user(text("word " * 100))]}
    tokens = StrictAnthropic(lambda _: "x").count_tokens(request)["input_tokens"]
    StrictAnthropic(lambda _: "x", window=tokens).create(request)
    tight = StrictAnthropic(lambda _: "x", window=tokens - 1)
    with pytest.raises(RequestRefusedError) as refused:
        tight.create(request)
    assert refused.value.message == f"prompt is too long: {tokens} tokens > {tokens - 1} maximum"
    assert tight.count_tokens(request) == {"input_tokens": tokens}


@pytest.mark.parametrize("bad", [{0: overloaded()}, {"1": overloaded()}, {1: "no"}])
def test_a_script_of_faults_is_checked(bad: Any) -> None:
    """It gives each fault by the number of a request, from 1."""
    with pytest.raises(InvalidOptionError):
        StrictAnthropic(thinks, faults=bad)


def test_what_is_handed_in_is_neither_changed_nor_kept() -> None:
    """Requests stay as they were, and answers are the caller's own."""
    provider = StrictAnthropic(thinks)
    request = copy.deepcopy(REQUEST)
    answer = provider.create(request)
    request["messages"] += [
        {"role": "assistant", "content": answer["content"]},
        user(result(answer["content"][-1]["id"])),
    ]
    before = copy.deepcopy(request)
    answer = provider.create(request)
    assert request == before
    answer["content"][0]["thinking"] = "mine"
    assert provider.create(request)["content"][0]["thinking"] != "mine"


def test_shared_and_many_blocks_are_taken() -> None:
    """Two hundred blocks side by side are no deep nest."""
    StrictAnthropic(thinks).create(
        REQUEST | {"messages": [user(*[text(str(n)) for n in range(200)])]}
    )


def test_redacted_thinking_has_data() -> None:
    """A script need not give any."""
    answer = StrictAnthropic(lambda _: [{"type": "redacted_thinking"}]).create(REQUEST)
    assert answer["content"][0]["data"]
