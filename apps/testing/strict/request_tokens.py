"""Token counts of a request, as the strict providers enforce them.

Text is counted by a counter, images by a vendor's rule. The vendors publish no tokenizer for all of
this, so a strict provider checks budgets and does not predict bills.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import frozen

from polycontext.window import TokenCounter
from polycontext.window.media import Medium, MediumKind, read_medium
from polycontext.window.tokens.media_rules import medium_tokens, openai_image_tokens

from .provider import TABLES

UNKNOWN_IMAGE = 1_105
"""Tokens of an image of unknown size.

This is the vendor's price in tiles for one of 1,024 by 2,048 pixels.
"""

_UNSEEN = frozenset(TABLES["unseen"])


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
