"""The request rules of OpenAI: recorded requests, odd but legal ones, and all findings.

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
ANSWER: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "a"}],
}
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
    """Recorded refusals that concern the request are found with the same wording."""
    words = []
    for request, status, foreign in recorded("openai_responses"):
        if status == 400 and not foreign:
            words += [found.wording for found in findings(request, "openai-responses")]
    assert len(words) == 2
    assert any(
        word.endswith("of type 'reasoning' was provided without its required following item.")
        for word in words
    )
    assert (
        "Invalid 'temperature': decimal below minimum value. "
        "Expected a value >= 0, but got -1 instead." in words
    )


CHAT_ODDITIES: dict[str, Messages] = {
    "an empty text": [{"role": "user", "content": ""}],
    "the assistant first": [{"role": "assistant", "content": "Hello."}, USER],
    "one role in a row": [
        USER,
        USER,
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
    ],
    "developer and system anywhere": [
        USER,
        {"role": "developer", "content": "a"},
        {"role": "system", "content": [{"type": "text", "text": "b"}]},
    ],
    "an empty refusal beside text": [USER, {"role": "assistant", "content": "a", "refusal": ""}],
    "a refusal beside text in a field": [
        USER,
        {"role": "assistant", "content": "a", "refusal": "b"},
    ],
    "a refusal alone": [USER, {"role": "assistant", "content": None, "refusal": "No."}],
    "a refusal as the only part": [
        USER,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ],
    "spoken words": [USER, {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}],
    "the old call and its result": [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "a"},
    ],
    "results in another order": [
        USER,
        CALLING | {"tool_calls": [CALL, CALL | {"id": "call_2"}]},
        RESULT | {"tool_call_id": "call_2"},
        RESULT,
    ],
    "an id in a later turn again": [USER, CALLING, RESULT, USER, CALLING, RESULT],
    "a call beside text": [
        USER,
        CALLING | {"content": "Let me see."},
        RESULT | {"content": [{"type": "text", "text": "a"}]},
    ],
    "a custom call": [
        USER,
        CALLING
        | {
            "tool_calls": [
                {"id": "call_1", "type": "custom", "custom": {"name": "patch", "input": ""}}
            ]
        },
        RESULT,
    ],
    "arguments that are no JSON": [
        USER,
        CALLING | {"tool_calls": [CALL | {"function": {"name": "read", "arguments": "{"}}]},
        RESULT,
    ],
    "fields unheard of": [
        USER | {"further": 1},
        {"role": "assistant", "content": "a", "reasoning_content": "b", "annotations": []},
    ],
    "a name of another alphabet": [USER | {"name": "Ünal-Ñ.1"}],
    "a picture, a recording, a file": [
        {
            "role": "user",
            "content": [
                {
                    "type": "image_url",
                    "image_url": {"url": "https://example.org/cat.png", "detail": "low"},
                },
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {
                    "type": "file",
                    "file": {
                        "filename": "a.pdf",
                        "file_data": "data:application/pdf;base64,JVBERi0=",
                    },
                },
            ],
        }
    ],
}


@pytest.mark.parametrize("messages", CHAT_ODDITIES.values(), ids=list(CHAT_ODDITIES))
def test_odd_but_legal_in_chat(messages: Messages) -> None:
    """Odd messages that OpenAI accepts, or is not known to refuse, pass."""
    check(messages, "openai")
    assert findings(messages, "openai") == []


INPUT_ODDITIES: dict[str, Messages] = {
    "an output far behind its call": [USER, FUNCTION_CALL, ANSWER, USER, OUTPUT],
    "outputs in another order": [
        USER,
        FUNCTION_CALL,
        FUNCTION_CALL | {"call_id": "call_2"},
        OUTPUT | {"call_id": "call_2"},
        OUTPUT,
    ],
    "an id in a later turn again": [USER, FUNCTION_CALL, OUTPUT, USER, FUNCTION_CALL, OUTPUT],
    "an output of parts": [
        USER,
        FUNCTION_CALL,
        OUTPUT
        | {
            "output": [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "file_id": "file-1"},
            ]
        },
    ],
    "reasoning before a call, before an answer, before more": [
        USER,
        REASONING,
        FUNCTION_CALL | {"id": "fc_1"},
        OUTPUT,
        REASONING | {"id": "rs_2"},
        REASONING | {"id": "rs_3"},
        ANSWER,
    ],
    "reasoning without an id alone": [
        USER,
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
    ],
    "an empty answer": [USER, ANSWER | {"content": []}],
    "an answer in plain text": [USER, {"role": "assistant", "content": "a"}],
    "tools of the platform": [
        USER,
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "tool_search_call", "execution": "server", "arguments": {}, "call_id": None},
        {"type": "image_generation_call", "id": "ig_1"},
    ],
    "a tool search by the client": [
        USER,
        {"type": "tool_search_call", "execution": "client", "arguments": {}, "call_id": "call_1"},
        OUTPUT,
    ],
    "a shell there": [
        USER,
        {
            "type": "shell_call",
            "call_id": "call_1",
            "action": {"commands": ["ls"]},
            "environment": {"type": "container_reference", "container_id": "c"},
        },
    ],
    "a shell here": [
        USER,
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "call_1",
            "action": {"type": "exec"},
            "status": "completed",
        },
        OUTPUT,
    ],
    "a call beside the conversation": [USER, FUNCTION_CALL | {"async": True}, USER],
    "a compaction first": [
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
        USER,
    ],
    "an item that is named": [USER, {"type": "item_reference", "id": "msg_7"}, {"id": "rs_9"}],
    "items unheard of": [USER, {"type": "telepathy_call", "id": "tp_1", "thought": {}}],
    "a field unheard of": [USER | {"further": [1]}, ANSWER | {"phase": "commentary"}],
}


@pytest.mark.parametrize("items", INPUT_ODDITIES.values(), ids=list(INPUT_ODDITIES))
def test_odd_but_legal_in_responses(items: Messages) -> None:
    """Odd items that OpenAI accepts, or is not known to refuse, pass."""
    check(items, "openai-responses")
    assert findings(items, "openai-responses") == []


def test_open_tails_and_what_goes_on() -> None:
    """With `allow_open_tail` a history may end on calls; a continued input may answer others."""
    check([USER, CALLING], "openai", allow_open_tail=True)
    check([USER, FUNCTION_CALL], "openai-responses", allow_open_tail=True)
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
