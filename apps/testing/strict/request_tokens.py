"""Token counts of a request, as the strict providers enforce them.

Words are counted by a counter, images and pages by the vendor's rule. Anthropic publishes no
tokenizer, so its words are counted by another; the strict provider checks budgets and does not
predict bills.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import orjson
from attrs import frozen

from polycontext.window import TokenCounter, compact
from polycontext.window.media import Medium, MediumKind, read_medium
from polycontext.window.tokens import medium_tokens, openai_image_tokens

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


def text_blocks(content: object) -> list[Mapping[str, Any]]:
    """Return content as blocks; text becomes one block, or none if it is empty."""
    return (
        [{"type": "text", "text": content}]
        if isinstance(content, str) and content
        else _listed(content)
    )


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


UNKNOWN_IMAGE = 1_105
"""Tokens of an image of unknown size.

This is the vendor's price in tiles for one of 1,024 by 2,048 pixels.
"""

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
    """Counts with `counter` what a model sees of messages and items: no ids, types or secrets."""

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
        """Return the tokens of tool definitions."""
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
    """Yield the texts and media in `value` that the model sees."""
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
