"""Contents of Gemini's API, as JSON data."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from polycontext.adapters.gemini import read_contents, read_usage, write_content
from polycontext.window import Role, Turn

CALL: Mapping[str, Any] = {"function_call": {"name": "look", "args": {"at": "Böden"}}}


def _turns(*contents: Mapping[str, Any]) -> list[Turn]:
    return [turn for _, turn in read_contents(contents)]


def _result(name: str, response: object, **fields: object) -> dict[str, Any]:
    return {"function_response": {"name": name, "response": response, **fields}}


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "Let me see.", "thought": True}],
        [
            {"executable_code": {"code": "1 + 1", "language": "PYTHON"}},
            {"code_execution_result": {"output": "2"}},
        ],
        [
            {
                "inline_data": {"mime_type": "audio/wav", "data": "UklGRv8="},
                "part_metadata": {"a": 1},
            }
        ],
        [{"file_data": {"file_uri": "gs://cellar/plums.pdf"}}],
        [{"text": "", "thought_signature": "_v4="}],
        [{"text": "I look."}, {"thought_signature": "_v4=", **CALL}, CALL],
    ],
    ids=["unsigned-thought", "code", "recording", "file", "bare-signature", "signed-call"],
)
def test_whatever_a_content_holds_is_written_again(parts: Sequence[Mapping[str, Any]]) -> None:
    """A content is written as it was read, with unknown parts and the signatures of its calls."""
    (turn,) = _turns({"role": "model", "parts": parts})
    written = write_content([turn])
    for part in written["parts"]:
        assert part.get("function_call", {}).pop("id", None) is None
    assert written == {"role": "model", "parts": parts}


def test_signed_thoughts_are_bound() -> None:
    """They hold only behind what they were thought on; what is written anew goes without them."""
    signature = urlsafe_b64encode(b"c2ln").decode()
    (turn,) = _turns(
        {
            "role": "model",
            "parts": [
                {"text": "Plums.", "thought": True, "thought_signature": signature},
                {"text": "Yes."},
            ],
        }
    )
    assert [part.is_bound for part in turn.parts] == [True]
    assert '"c2ln"' in turn.parts[0].data
    assert write_content([turn])["parts"] == [{"text": "Yes."}]


def test_media_count_as_what_they_are() -> None:
    """A picture, a recording or a film, and anything else as a document."""
    kinds = ["image/png", "audio/wav", "video/mp4", "application/pdf", None]
    (turn,) = _turns(
        {
            "role": "user",
            "parts": [{"inline_data": {"mime_type": kind, "data": "AA=="}} for kind in kinds],
        }
    )
    assert [part.type for part in turn.parts] == ["image", "audio", "audio", "document", "document"]


def test_results_are_told_by_name_and_order() -> None:
    """Results without ids match their calls by name and order.

    A result without a call gets no such id, and text beside results follows them.
    """
    asked = {"role": "model", "parts": [CALL, {"function_call": {"name": "taste"}}, CALL]}
    results = [
        _result("taste", {"sweet": "süß"}),
        {"text": "And?"},
        _result("look", {"result": "one"}),
        _result("look", {}),
        _result("none", None),
    ]
    turns = _turns(asked, {"role": "user", "parts": results})
    assert [(turn.text, turn.tool_call_id) for turn in turns[1:]] == [
        ('{"sweet": "süß"}', "by-order-0-1"),
        ("one", "by-order-0-0"),
        ("{}", "by-order-0-2"),
        ("{}", "by-order-"),
        ("And?", None),
    ]
    assert turns[0].tool_calls[0].arguments == '{"at": "Böden"}'


def test_ids_are_kept_where_there_are_any() -> None:
    """A result finds its call in whatever order."""
    asked = {
        "role": "model",
        "parts": [
            {"function_call": {"id": f"c{side}", "name": "look", "args": {}}} for side in "ab"
        ],
    }
    answered = {
        "role": "user",
        "parts": [_result("look", {"result": side}, id=f"c{side}") for side in "ba"],
    }
    turns = _turns(asked, answered)
    assert [turn.tool_call_id for turn in turns[1:]] == ["cb", "ca"]
    assert write_content(turns[1:]) == answered
    assert write_content(turns[:1]) == asked


def test_a_result_keeps_its_media() -> None:
    """A rewritten result keeps its media."""
    answered = _result(
        "look",
        {"result": "Here."},
        id="c1",
        parts=[{"inline_data": {"mime_type": "image/png", "data": "AA=="}}],
    )
    turns = _turns(
        {"parts": [{"function_call": {"id": "c1", "name": "look"}}], "role": "model"},
        {"role": "user", "parts": [answered]},
    )
    assert write_content(turns[1:])["parts"] == [answered]


def test_contents_that_say_nothing_are_turns() -> None:
    """They go out as they came; without a role it is the user's, who calls nothing."""
    turns = _turns(
        {"role": "user"},
        {"role": "model", "parts": [{"text": ""}]},
        {"parts": [{"text": "one"}, {"text": "two"}, CALL]},
    )
    assert [(turn.role, turn.text) for turn in turns] == [
        (Role.USER, ""),
        (Role.ASSISTANT, ""),
        (Role.USER, "one\ntwo"),
    ]
    assert not turns[2].tool_calls
    assert CALL in write_content(turns[2:])["parts"]


def test_usage_says_what_was_counted() -> None:
    """Nothing is told of a response that counts nothing."""
    assert read_usage({"prompt_token_count": 5}) == {"input_tokens": 5, "output_tokens": 0}
    assert read_usage({"candidates_token_count": 5}) is None
