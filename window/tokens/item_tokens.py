"""How many tokens a request to the strict OpenAI providers has: words by a counter, media by the vendor's published rules."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import frozen

from ..media import Medium, MediumKind, read_medium
from .counter import TokenCounter
from .media_rules import medium_tokens, openai_image_tokens

UNKNOWN_IMAGE = 1_105
"""Tokens of a picture whose size is not known: what the vendor charges for one of 1,024 by 2,048 pixels in tiles."""

_UNSEEN = frozenset(
    {"type", "role", "id", "tool_call_id", "call_id", "status", "detail", "phase", "format", "encrypted_content", "annotations", "logprobs"}
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
