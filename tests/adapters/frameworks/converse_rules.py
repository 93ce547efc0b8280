"""What Bedrock's Converse refuses, as its API reference and its error messages say."""

from collections.abc import Mapping, Sequence
from typing import Any

BLOCKS = frozenset(
    {
        *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent"),
        *("cachePoint", "reasoningContent", "citationsContent", "searchResult"),
    }
)
IN_RESULTS = frozenset({"text", "json", "image", "document", "video", "searchResult"})


def check_converse(messages: Sequence[Mapping[str, Any]]) -> None:
    """Fail if Converse would refuse these messages."""
    waiting: list[str] = []
    before = "assistant"
    for number, message in enumerate(messages):
        role, content = message["role"], message["content"]
        assert role != before, f"{number}: roles do not alternate"
        assert content, f"{number}: no content"
        results = [each["toolResult"] for each in content if "toolResult" in each]
        if role == "user":
            assert sorted(each["toolUseId"] for each in results) == sorted(waiting), number
        for place, block in enumerate(content):
            (kind,) = block
            assert kind in BLOCKS, f"{number}.{place}: {kind}"
            _check_block(kind, block[kind], role, content[:place], content)
        uses = [each["toolUse"] for each in content if "toolUse" in each]
        waiting = [each["toolUseId"] for each in uses if each.get("type") != "server_tool_use"]
        before = role
    assert not waiting


def _check_block(
    kind: str, held: Any, role: str, before: Sequence[Any], content: Sequence[Any]
) -> None:
    match kind:
        case "text":
            assert held.strip(), "blank text"
        case "toolUse" | "reasoningContent" | "citationsContent":
            assert role == "assistant", kind
        case "toolResult":
            assert held["content"], "an empty result"
            assert held.get("status", "success") in ("success", "error")
            for each in held["content"]:
                (inner,) = each
                assert inner in IN_RESULTS, inner
                assert inner != "text" or each["text"].strip(), "blank text in a result"
        case "document":
            assert role == "user"
            assert any("text" in each for each in content), "a document without a text"
        case "cachePoint":
            assert before, "a cache point in front"
            assert "reasoningContent" not in before[-1], "a cache point behind reasoning"
        case _:
            pass
