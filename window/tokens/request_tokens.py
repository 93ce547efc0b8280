"""How many tokens a request to a strict provider has: words by a counter, pictures and pages by the vendor's rule.

Anthropic publishes no tokenizer, so the words are another's; the strict provider judges budgets, it
does not forecast bills.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import orjson
from attrs import frozen

from ..media import Medium, MediumKind, read_medium
from ..providers.blocks import compact
from .counter import TokenCounter
from .media_rules import medium_tokens, openai_image_tokens

PER_MESSAGE, PER_BLOCK, PER_TOOL_PROMPT = 3, 3, 300
"""Tokens of a message's frame, of a call's or result's, and of what tells the model that there are
tools."""

_PIXELS_A_TOKEN, _MOST_A_PICTURE, _A_PAGE = 750, 1600, 2250


@frozen
class BlockTokens:
    """Count blocks with `counter`."""

    counter: TokenCounter

    def block(self, block: Mapping[str, Any]) -> int:  # noqa: PLR0911  one return a type
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
        """Return the tokens of each tool, then of each block of the system."""
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


def text_blocks(content: object) -> list[Mapping[str, Any]]:
    """Return content as blocks; text is one block, or none if it is empty."""
    return (
        [{"type": "text", "text": content}]
        if isinstance(content, str) and content
        else _listed(content)
    )


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


UNKNOWN_IMAGE = 1_105
"""Tokens of a picture whose size is not known: what the vendor charges for one of 1,024 by 2,048
pixels in tiles."""

_UNSEEN = frozenset(
    {
        "type",
        "role",
        "id",
        "tool_call_id",
        "call_id",
        "status",
        "detail",
        "phase",
        "format",
        "encrypted_content",
        "annotations",
        "logprobs",
    }
)


@frozen
class SeenTokens:
    """Count what a model is shown of messages and items with `counter`: no ids, types or secrets."""

    counter: TokenCounter

    def of(self, value: Any) -> int:
        """Return the tokens of `value`, a message or an item."""
        words: list[str] = []
        media = 0
        for seen in _seen(value):
            if isinstance(seen, str):
                words.append(seen)
            else:
                media += self._medium(seen)
        return self.counter.count("\n".join(words)) + media

    def tools(self, tools: Any) -> int:
        """Return the tokens of definitions of tools."""
        return self.counter.count(orjson.dumps(tools).decode()) if tools else 0

    def _medium(self, medium: Medium) -> int:
        if medium.text is not None:
            return self.counter.count(medium.text)
        if medium.kind is not MediumKind.IMAGE:
            return medium_tokens(medium)
        if medium.width is None or medium.height is None:
            return UNKNOWN_IMAGE
        return openai_image_tokens(medium.width, medium.height, medium.detail)


def _seen(value: Any) -> Iterator[str | Medium]:
    """Yield the texts and media in `value` that a model is shown."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _seen(inner)
    elif isinstance(value, Mapping):
        medium = read_medium(value)
        if medium is not None:
            yield medium
            return
        for key, inner in value.items():
            if key not in _UNSEEN:
                yield from _seen(inner)
