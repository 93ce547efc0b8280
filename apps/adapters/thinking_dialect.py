"""The dialect of whoever passes other vendors' thinking on in OpenAI's chat format: it stands beside the words of a message."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve

from polycontext.window import Turn

from .blocks import block_parts
from .dialect import Piece
from .wire_dialect import Message, WireDialect

_THOUGHTS = ("thinking_blocks", "reasoning_items")
_AGAIN = {"reasoning_content", "provider_specific_fields"}
"""Fields that say once more what stands in the blocks."""


class ThinkingDialect(WireDialect):
    """Read and write chat messages with `thinking_blocks` of Anthropic's models, or `reasoning_items` of OpenAI's.

    >>> thought = {"type": "thinking", "thinking": "Plums.", "signature": "c2ln"}
    >>> [piece] = ThinkingDialect().split([{"role": "assistant", "content": "Plums.", "thinking_blocks": [thought]}])
    >>> piece.turn.parts[0].is_bound, ThinkingDialect().write([piece.turn])[0]["thinking_blocks"] == [thought]
    (True, True)
    """

    def __init__(self) -> None:
        super().__init__("openai")

    def split(self, natives: Sequence[Message]) -> Iterator[Piece]:
        """Yield the turns of messages; thoughts are bound to what stood before them."""
        for piece in super().split([_unthinking(message) for message in natives]):
            thoughts = [part for name in _THOUGHTS for part in block_parts(natives[piece.start].get(name))]
            yield evolve(piece, turn=evolve(piece.turn, parts=(*thoughts, *piece.turn.parts))) if thoughts else piece

    def write(self, turns: Sequence[Turn]) -> list[Message]:
        """Return messages that say what `turns` say, with the thoughts that still stand."""
        written: list[Message] = []
        for turn in turns:
            blocks = [json.loads(part.data) for part in turn.parts if part.is_bound]
            kept = {name: [block for block in blocks if (block["type"] == "reasoning") == (name == _THOUGHTS[1])] for name in _THOUGHTS}
            messages = super().write([evolve(turn, parts=[part for part in turn.parts if not part.is_bound])])
            written += ({**message, **{name: held for name, held in kept.items() if held}} for message in messages)
        return written


def _unthinking(message: Message) -> dict[str, Any]:
    gone = {*_THOUGHTS, *_AGAIN} if any(message.get(name) for name in _THOUGHTS) else set[str]()
    return {name: value for name, value in message.items() if name not in gone and (value is not None or name == "content")}
