"""The strict providers that ship: they judge messages, fields and tools, and answer by script."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidOptionError
from polycontext.testing.strict import (
    RequestRefusedError,
    StrictAnthropic,
    StrictChat,
    StrictGemini,
    StrictResponses,
    check_request,
)
from polycontext.testing.strict.scripted import Scripted
from polycontext.window import InvalidMessagesError
from polycontext.window.providers import check
from tests.testing.strict.bad_requests import BadRequest, bad_requests

PROVIDERS: Mapping[str, Any] = {
    "anthropic": StrictAnthropic,
    "openai": StrictChat,
    "openai-responses": StrictResponses,
    "gemini": StrictGemini,
}
REQUESTS: Mapping[str, dict[str, Any]] = {
    "anthropic": {
        "model": "claude",
        "max_tokens": 99,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "hi"}],
    },
    "openai": {"model": "gpt-5.6", "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "gpt-5.6", "instructions": "Be brief.", "input": "hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
USAGE = {
    "anthropic": ("usage", "input_tokens"),
    "openai": ("usage", "prompt_tokens"),
    "openai-responses": ("usage", "input_tokens"),
    "gemini": ("usageMetadata", "promptTokenCount"),
}
BAD_REQUESTS = [
    (name, bad)
    for name in ("anthropic", "openai", "openai-responses")
    for bad in bad_requests(name)
]


@pytest.mark.parametrize(
    ("provider", "bad"), BAD_REQUESTS, ids=[f"{name}: {bad.name}" for name, bad in BAD_REQUESTS]
)
def test_a_bad_request_is_refused_for_its_own_reason(provider: str, bad: BadRequest) -> None:
    """Rule, place, status, wording, `param` and `code` are the vendor's, and the check agrees."""
    with pytest.raises(RequestRefusedError) as refused:
        PROVIDERS[provider](lambda _: "no").create(bad.request)
    refusal = refused.value
    assert (refusal.rule, refusal.index, refusal.status) == (bad.rule, bad.index, 400)
    assert bad.wording in refusal.message
    assert refusal.legal
    with pytest.raises(InvalidMessagesError) as caught:
        check_request(bad.request, provider)
    error = caught.value
    assert (error.rule, error.index) == (bad.rule, bad.index)
    if provider != "anthropic":
        facts = (bad.param, bad.code)
        assert (refusal.param, refusal.code) == (error.param, error.code) == facts


@pytest.mark.parametrize(
    "hostile",
    [float("nan"), b"x", {1: 2}, "\ud800", 2**2000, object(), [[[]]]],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused(hostile: Any) -> None:
    """Values that JSON has not, or in a hundred levels, are refused in every format."""
    if isinstance(hostile, list):
        for _ in range(150):
            hostile = [hostile]
    for provider, request in REQUESTS.items():
        strict = PROVIDERS[provider](lambda _: "no")
        message = {"role": "user", "content": "hi", "parts": [], "further": hostile}
        with pytest.raises(RequestRefusedError) as refused:
            strict.create(request | {strict.messages: [message]})
        assert refused.value.status == 400


WORDS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
KEYS = st.sampled_from(WORDS["keys"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | KEYS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(VALUES)
def test_any_data_are_judged(provider: str, value: Any) -> None:
    """Whatever JSON data stand there, checks and provider end in their one error or in none."""
    strict, request = PROVIDERS[provider](lambda _: "no"), REQUESTS[provider]
    held = dict.fromkeys(("content", "tool_calls", "call_id", "id", "output", "parts"), value)
    held = value if isinstance(value, dict) else held
    lists = [value, *([{"role": kind, "type": kind} | held] for kind in WORDS["kinds"])]
    for messages in lists:
        body = request | {strict.messages: messages}
        for judge in (
            lambda: check(messages, provider),  # noqa: B023 - called at once
            lambda: check_request(body, provider),  # noqa: B023
            lambda: strict.create(body),  # noqa: B023
            lambda: strict.create(body | {"tools": value, "tool_choice": value}),  # noqa: B023
        ):
            try:
                judge()
            except (InvalidMessagesError, RequestRefusedError) as error:
                assert error.rule


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_its_stream_and_its_count(provider: str) -> None:
    """The usage of an answer is what the counting endpoint says; a stream ends like the answer."""
    strict: Scripted = PROVIDERS[provider](lambda _: "Plums and pears, in jars on the shelf.")
    request, (usage, tokens) = REQUESTS[provider], USAGE[provider]
    check_request(request, provider)
    answer = strict.create(request)
    assert "Plums and pears, in jars on the shelf." in str(answer)
    for count in strict.endpoints.values():
        assert answer[usage][tokens] in count(request, {}).values()
    events = [event.data for event in strict.stream(request)]
    assert len(events) >= 2
    assert "Plums" in str(events)
    with pytest.raises(RequestRefusedError, match="overflow"):
        PROVIDERS[provider](lambda _: "no", window=2).create(request)
    with pytest.raises(InvalidOptionError, match="window"):
        PROVIDERS[provider](lambda _: "no", window=0)


def test_responses_counts_thinking_and_stops_at_its_limit() -> None:
    """Reasoning has its own tokens; a stored response cannot be continued."""
    strict = StrictResponses(lambda _: [{"type": "reasoning", "tokens": 7}])
    request = REQUESTS["openai-responses"] | {"max_output_tokens": 16}
    answer = strict.create(request)
    assert answer["usage"]["output_tokens_details"] == {"reasoning_tokens": 7}
    assert answer["status"] == "completed"
    cut = StrictResponses(lambda _: "plum " * 40).create(request)
    assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
    for field in ("previous_response_id", "conversation"):
        with pytest.raises(RequestRefusedError, match="not found") as caught:
            strict.create(request | {field: "resp_1"})
        assert caught.value.param == field
