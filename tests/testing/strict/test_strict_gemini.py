"""The stand-in for Gemini refuses what the vendor refuses, in its words."""

from collections.abc import Mapping
from typing import Any

import pytest

from polycontext.testing.strict import (
    Break,
    RequestRefusedError,
    StrictGemini,
    check_request,
    findings,
)
from polycontext.window import InvalidMessagesError

USER: Mapping[str, Any] = {"role": "user", "parts": [{"text": "Look."}]}
CALL: Mapping[str, Any] = {"functionCall": {"name": "look", "args": {}}}
FOUND: Mapping[str, Any] = {
    "role": "user",
    "parts": [{"functionResponse": {"name": "look", "response": {"result": "mould"}}}],
}


def asked(*contents: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request with these contents."""
    return {"contents": list(contents), **fields}


def refusal(provider: StrictGemini, request: Mapping[str, Any]) -> RequestRefusedError:
    """Return the refusal of a request."""
    with pytest.raises(RequestRefusedError) as caught:
        provider.create(request)
    return caught.value


@pytest.mark.parametrize(
    ("request_", "rule"),
    [
        (asked(USER, messages=[]), "extra-field"),
        (asked(USER, systemInstruction="Be brief."), "bad-content"),
        (asked(USER, tools=["look"]), "bad-tools"),
        (asked(USER, tools=5), "bad-tools"),
        (asked(USER, tools=[{"functionDeclarations": 5}]), "bad-tools"),
        (asked(USER, tools=[{"functionDeclarations": [{"name": "9"}]}]), "bad-tool-name"),
        (asked(FOUND), "orphan-result"),
    ],
)
def test_what_the_vendor_refuses_is_refused(request_: dict[str, Any], rule: str) -> None:
    """The checks of requests find the same."""
    provider = StrictGemini(lambda _: "Plums.")
    found = refusal(provider, request_)
    assert found.rule == rule
    assert provider.error_body(found)["error"]["status"] == "INVALID_ARGUMENT"
    assert [each.rule for each in findings(request_, "gemini")] == [rule]
    with pytest.raises(InvalidMessagesError):
        check_request(request_, "gemini")


def test_a_list_of_contents_is_checked_alone() -> None:
    """A valid one has no findings."""
    assert findings([dict(USER)], "gemini") == []
    assert [found.rule for found in findings([dict(FOUND)], "gemini")] == ["orphan-result"]


def test_a_request_over_the_window_overflows() -> None:
    """The message names both numbers; tokens are counted on their own path."""
    provider = StrictGemini(lambda _: "Plums.", window=5)
    assert "exceeds the maximum number of tokens" in refusal(provider, asked(USER)).message
    (count,) = provider.endpoints.values()
    assert count(asked(USER), {})["totalTokens"] > 5


def test_a_stream_comes_in_pieces_and_breaks_where_it_is_scripted() -> None:
    """Its last piece says that it ends, and all of them what was counted."""
    provider = StrictGemini(
        lambda _: {"parts": [{"text": "Plums, and behind them pears."}, CALL]},
        faults={2: Break(events=1)},
    )
    events = [event.data for event in provider.stream(asked(USER))]
    assert len(events) > 2
    assert [event["candidates"][0].get("finishReason") for event in events][-2:] == [None, "STOP"]
    assert all("usageMetadata" in event for event in events)
    broken = provider.stream(asked(USER))
    next(broken)
    with pytest.raises(ConnectionError):
        next(broken)
