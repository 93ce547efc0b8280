"""Token counts of Anthropic's blocks, as the strict provider enforces them.

Words are counted by a counter, images and pages by the vendor's rule. Anthropic publishes no
tokenizer, so its words are counted by another; the strict provider checks budgets and does not
predict bills.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

from attrs import frozen

from polycontext.testing.strict.anthropic import text_blocks
from polycontext.window import TokenCounter
from polycontext.window.media import read_medium
from polycontext.window.wire_text import compact

PER_MESSAGE, PER_BLOCK, PER_TOOL_PROMPT = 3, 3, 300
"""Tokens around a message, around a call or result, and of the prompt that introduces tools."""

_PIXELS_A_TOKEN, _MOST_A_PICTURE, _A_PAGE = 750, 1600, 2250


@frozen
class BlockTokens:
    """Counts the tokens of Anthropic's blocks with `counter`."""

    counter: TokenCounter

    def block(self, block: Mapping[str, Any]) -> int:  # noqa: PLR0911 - one return for each type
        """Return the tokens of one block."""
        count = self.counter.count
        match block.get("type"):
            case "text":
                return count(block["text"])
            case "thinking":
                return count(block["thinking"])
            case "redacted_thinking":
                return len(block["data"]) // 4
            case "tool_use":
                return PER_BLOCK + count(block["name"]) + count(compact(block.get("input")))
            case "tool_result":
                return PER_BLOCK + self._content(block.get("content"))
            case "image" | "document":
                return self._medium(block)
            case _:
                return count(
                    compact(
                        {
                            name: value
                            for name, value in block.items()
                            if name not in {"signature", "encrypted_content"}
                        }
                    )
                )

    def head(self, system: object, tools: object) -> list[int]:
        """Return the tokens of each tool, then of each block of the system message."""
        each = [
            self.counter.count(compact({k: v for k, v in tool.items() if k != "cache_control"}))
            for tool in _listed(tools)
        ]
        if each:
            each[0] += PER_TOOL_PROMPT
        return [*each, *map(self.block, text_blocks(system))]

    def _content(self, content: object) -> int:
        return sum(map(self.block, text_blocks(content)))

    def _medium(self, block: Mapping[str, Any]) -> int:
        medium = read_medium(block)
        if medium is None:
            return _MOST_A_PICTURE
        if medium.text is not None:
            return self.counter.count(medium.text)
        if medium.pages:
            return medium.pages * _A_PAGE
        if medium.width and medium.height:
            return min(ceil(medium.width * medium.height / _PIXELS_A_TOKEN), _MOST_A_PICTURE)
        return _MOST_A_PICTURE


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
