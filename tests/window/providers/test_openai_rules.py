"""The request rules of OpenAI: recorded requests, open tails, and all findings.

The refusals are in tests/testing/strict.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from polycontext import ContextSession
from polycontext.window.errors import InvalidMessagesError
from polycontext.window.providers import check
from tests.house import DATA
from tests.vendors import check_request, findings

Messages = list[dict[str, Any]]

USER: dict[str, Any] = {"role": "user", "content": "hi"}
CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read", "arguments": "{}"},
}
CALLING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
FUNCTION_CALL: dict[str, Any] = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "read",
    "arguments": "{}",
}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAA",
}

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the recorded requests (shared/data) are not beside the project"
)


def recorded(kind: str) -> Iterator[tuple[dict[str, Any], int, bool]]:
    """Yield the recorded requests of `kind` with status and whether another vendor answered."""
    with (DATA / "wire_pydantic_ai_tools.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["kind"] == kind:
                yield row["request"], row["status"], "api.openai.com" not in row["uri"]


@needs_data
def test_recorded_refusals_are_known() -> None:
    """The recorded refusal of a list is found with the same wording."""
    words = []
    for request, status, foreign in recorded("openai_responses"):
        if status == 400 and not foreign:
            words += [found.wording for found in findings(request, "openai-responses")]
    (word,) = words
    assert word.endswith("of type 'reasoning' was provided without its required following item.")


def test_open_tails_and_what_goes_on() -> None:
    """With `allow_open_tail` a history may end on calls; a continued input may answer others."""
    check([USER, CALLING], "openai", allow_open_tail=True)
    check([USER, FUNCTION_CALL], "openai-responses", allow_open_tail=True)
    used = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    opened = {"role": "assistant", "content": [used, {**used, "id": "b"}]}
    found = {"type": "tool_result", "tool_use_id": "b", "content": "done"}
    for tail in ([opened], [opened, {"role": "user", "content": [found]}]):
        check([USER, *tail], "anthropic", allow_open_tail=True)
        with pytest.raises(InvalidMessagesError, match="unanswered-call"):
            check([USER, *tail], "anthropic")
    check([OUTPUT], "openai-responses", continued=True)
    with pytest.raises(InvalidMessagesError, match="duplicate-result"):
        check([OUTPUT, OUTPUT], "openai-responses", continued=True)
    check_request(
        {"model": "m", "input": [OUTPUT], "previous_response_id": "resp_1"}, "openai-responses"
    )


def test_all_findings_of_a_history() -> None:
    """Each message is told once, and what follows from a fault is not told again."""
    chat: Messages = [
        USER | {"name": "a b"},
        CALLING | {"tool_calls": [CALL | {"type": "x"}]},
        RESULT,
        RESULT | {"tool_call_id": "call_9"},
        USER,
        CALLING,
    ]
    told = [
        (found.index, found.rule)
        for found in findings({"model": "m", "messages": chat, "tool_choice": "auto"}, "openai")
    ]
    assert told == [
        (None, "bad-tool-choice"),
        (0, "bad-name"),
        (1, "bad-tool-call"),
        (3, "orphan-result"),
        (5, "unanswered-call"),
    ]
    items: Messages = [
        REASONING,
        USER,
        FUNCTION_CALL | {"name": "a b"},
        OUTPUT,
        OUTPUT,
        FUNCTION_CALL | {"call_id": "call_2"},
    ]
    told = [
        (found.index, found.rule)
        for found in findings({"model": "m", "input": items, "max_tokens": 9}, "openai-responses")
    ]
    assert told == [
        (None, "moved-field"),
        (0, "reasoning-alone"),
        (2, "bad-tool-name"),
        (4, "duplicate-result"),
        (5, "unanswered-call"),
    ]
    for empty, provider in (
        ([], "openai"),
        ([], "openai-responses"),
        ({"model": "m", "input": []}, "openai-responses"),
    ):
        assert [found.rule for found in findings(empty, provider)] == ["empty-list"]


def test_a_function_of_the_deprecated_form_is_answered_later() -> None:
    """The call and its result may come one by one, as an agent adds them."""
    session = ContextSession(2_000)
    session.add_user_turn("Look.")
    function = {"name": "look", "arguments": "{}"}
    called = {"role": "assistant", "content": None, "function_call": function}
    result = {"role": "function", "name": "look", "content": "Plums."}
    session.add_message(called)
    assert [call.name for call in session.open_calls] == ["look"]
    session.add_message(result)
    assert session.messages()[1:] == [called, result]
