"""Messages of Bedrock's Converse."""

from collections.abc import Mapping
from typing import Any

import pytest

from polycontext.adapters.converse import read_message, read_usage, write_message
from polycontext.window import Role, count_turn, default_counter
from polycontext.window.tokens.media_rules import IMAGE_TOKENS

PNG = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
S3 = {
    "document": {
        "format": "pdf",
        "name": "plums",
        "source": {"location": {"type": "s3", "uri": "s3://a/b"}},
    }
}


def _result(side: str, *content: Mapping[str, Any], status: str = "success") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": f"t{side}", "status": status, "content": [*content]}}


@pytest.mark.parametrize(
    "block",
    [
        {"guardContent": {"text": {"text": "so", "qualifiers": ["query"]}}},
        {"guardContent": {"image": {"format": "png", "source": {"bytes": b"\xff\x00"}}}},
        {
            "citationsContent": {
                "content": [{"text": "Plums."}],
                "citations": [{"source": "a", "digest": b"\xfe"}],
            }
        },
        {"cachePoint": {"type": "default"}},
        {"later": "what nobody knows yet"},
        {
            "document": {
                "format": "pdf",
                "name": "plums",
                "source": {"bytes": b"%PDF"},
                "citations": {"enabled": True},
            }
        },
        S3,
    ],
    ids=["guarded", "guarded-picture", "citations", "cache", "unknown", "document", "location"],
)
def test_whatever_a_message_holds_is_written_again(block: Mapping[str, Any]) -> None:
    """A message is written as it was read, with unknown blocks and bytes."""
    message = {
        "role": "assistant",
        "content": [
            {"text": "So."},
            block,
            {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"at": "ü"}}},
        ],
    }
    (turn,) = read_message(message)
    assert write_message([turn]) == message


def test_results_are_turns_and_are_written_as_one_message() -> None:
    """With their media, and what went wrong; words beside results come after them."""
    message = {
        "role": "user",
        "content": [
            _result("a", {"text": "jar"}, PNG, S3),
            _result("b", {"text": "none"}, status="error"),
            {"text": "And?"},
        ],
    }
    turns = [*read_message(message)]
    assert [(turn.role, turn.text, turn.tool_call_id) for turn in turns] == [
        (Role.TOOL, "jar", "ta"),
        (Role.TOOL, "none", "tb"),
        (Role.USER, "And?", None),
    ]
    assert write_message(turns) == message


def test_results_without_words() -> None:
    """JSON is text, and nothing is nothing."""
    message = {
        "role": "user",
        "content": [
            _result("a", {"json": {"a": "ü"}}, {"text": "b"}),
            _result("b"),
            {"toolResult": {"toolUseId": "tc"}},
        ],
    }
    assert [turn.text for turn in read_message(message)] == ['{"a": "ü"}\nb', "", ""]


def test_reasoning_is_bound() -> None:
    """Signed and redacted reasoning is bound to its prefix; rewritten messages omit it."""
    signed = {"reasoningContent": {"reasoningText": {"text": "Plums.", "signature": "c2ln"}}}
    (turn,) = read_message(
        {
            "role": "assistant",
            "content": [
                signed,
                {"reasoningContent": {"redactedContent": b"\xff"}},
                {"text": "Yes."},
            ],
        }
    )
    assert [part.is_bound for part in turn.parts] == [True, True]
    assert '"c2ln"' in turn.parts[0].data
    assert "xff" in turn.parts[1].data
    assert write_message([turn]) == {"role": "assistant", "content": [{"text": "Yes."}]}


def test_media_count_as_what_they_are() -> None:
    """A picture, a recording or a film, and a document."""
    kinds = {"image": "png", "audio": "wav", "video": "mp4", "document": "pdf"}
    content = [
        {kind: {"format": name, "source": {"bytes": b"\x00"}}} for kind, name in kinds.items()
    ]
    (turn,) = read_message({"role": "user", "content": content})
    assert [part.type for part in turn.parts] == ["image", "audio", "video", "document"]
    assert write_message([turn])["content"] == content


def test_what_the_vendors_own_tools_found_stays_with_their_calls() -> None:
    """They are no calls for anybody to answer, whether the vendor names their kind or not."""
    use: dict[str, Any] = {"toolUseId": "s", "name": "code", "input": {"snippet": "1 + 1"}}
    found = {"toolUseId": "s", "status": "success", "content": [{"json": {"stdOut": "2"}}]}
    for kind in ({"type": "server_tool_use"}, {}):
        message = {
            "role": "assistant",
            "content": [{"text": "So."}, {"toolUse": use | kind}, {"toolResult": found}],
        }
        (turn,) = read_message(message)
        assert (turn.text, turn.tool_calls) == ("So.", ())
        assert write_message([turn]) == message


def test_a_call_whose_type_is_told_is_a_call() -> None:
    """Bedrock tells the type of every call in its answers; only those of its own are not ours."""
    use = {"toolUseId": "t1", "name": "look", "input": {}, "type": "tool_use"}
    (turn,) = read_message({"role": "assistant", "content": [{"toolUse": use}]})
    assert [call.id for call in turn.tool_calls] == ["t1"]


def test_data_that_a_host_stored_as_text_are_kept() -> None:
    """A session that was saved as JSON has text where the SDK has bytes."""
    content = [
        {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}},
        {"reasoningContent": {"redactedContent": "RXU4RQ=="}},
    ]
    (turn,) = read_message({"role": "assistant", "content": content})
    assert write_message([turn])["content"] == content[:1]


def test_no_cache_point_comes_to_stand_in_front() -> None:
    """A changed message has lost the reasoning that was there."""
    content = [
        {"reasoningContent": {"reasoningText": {"text": "So.", "signature": "c2ln"}}},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}},
        {"cachePoint": {"type": "default"}},
    ]
    (turn,) = read_message({"role": "assistant", "content": content})
    assert write_message([turn])["content"] == content[1:]


def test_a_guarded_picture_counts_as_one() -> None:
    """And not as the text of its base64."""
    picture = {"format": "png", "source": {"bytes": b"\x89PNG" + bytes(90_000)}}
    (turn,) = read_message({"role": "user", "content": [{"guardContent": {"image": picture}}]})
    assert count_turn(default_counter(), turn) == pytest.approx(IMAGE_TOKENS, abs=100)


def test_messages_that_say_nothing_are_turns() -> None:
    """They go out as they came."""
    assert [(turn.role, turn.text) for turn in read_message({"role": "user", "content": []})] == [
        (Role.USER, "")
    ]


def test_a_cache_is_part_of_what_was_counted() -> None:
    """Whether the vendor has it in its input or not."""
    assert read_usage({"inputTokens": 1, "outputTokens": 2, "totalTokens": 9}) == {
        "input_tokens": 7,
        "output_tokens": 2,
    }
