"""Content as a list of typed blocks, which both providers use.

Text blocks become the turn's content; every other block is carried as a `Part`,
byte for byte, marked with the provider it belongs to.
"""

import json
from collections.abc import Iterable, Sequence

from polycontext.window.errors import InvalidTurnError
from polycontext.window.providers._json import Spot, compact, shown
from polycontext.window.providers.wire import Message, Provider
from polycontext.window.turn import Part, Turn

EMPTY = "[empty]"
"""What stands where a provider refuses emptiness."""

FOREIGN = "[content in another provider's format]"
"""What stands for a turn that holds nothing but another provider's blocks."""


def check_blocks(blocks: Sequence[object], spot: Spot, where: str) -> list[Message]:
    """Return `blocks` if each is an object with a type, and text blocks hold text."""
    return [_checked(block, spot, f"{where}[{index}]") for index, block in enumerate(blocks)]


def _checked(block: object, spot: Spot, where: str) -> Message:
    if not isinstance(block, dict):
        raise spot.refuse("bad-content", f"{where} is {shown(block)}", "an object with a type")
    if not isinstance(block.get("type"), str):
        raise spot.refuse("bad-content", f"{where}.type is {shown(block.get('type'))}", "the block's type as text")
    if block["type"] == "text" and not isinstance(block.get("text"), str):
        raise spot.refuse("bad-content", f"{where}.text is {shown(block.get('text'))}", "text")
    return block


def text_and_parts(provider: Provider, blocks: Iterable[Message]) -> tuple[str | None, tuple[Part, ...]]:
    """Return the text of `blocks`, joined by line ends (None where there is none), and all else as parts."""
    texts: list[str] = []
    parts: list[Part] = []
    for block in blocks:
        if block["type"] == "text":
            texts.append(block["text"])
        else:
            parts.append(Part(str(provider), compact(block), before_text=not texts))
    return "\n".join(texts) if texts else None, tuple(parts)


def own_blocks(provider: Provider, turn: Turn, *, blank: bool = True) -> list[Message]:
    """Return `turn` as blocks: its parts around its text. Parts of other providers are left out.

    With ``blank=False`` text without a visible character is left out as well.

    Raises:
        InvalidTurnError: a part of this provider is no block.
    """
    own = [(part.before_text, _loaded(part)) for part in turn.parts if part.provider == provider]
    has_text = turn.content is not None and (blank or is_visible(turn.content))
    text: list[Message] = [{"type": "text", "text": turn.content}] if has_text else []
    return [*(block for before, block in own if before), *text, *(block for before, block in own if not before)]


def _loaded(part: Part) -> Message:
    try:
        block = json.loads(part.data)
    except ValueError:
        block = None
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise InvalidTurnError("parts.data", f"is no block of {part.provider}", "a JSON object with a type, as text")
    return block


def is_visible(text: str) -> bool:
    """Tell whether `text` holds anything but white space.

    >>> is_visible("a "), is_visible(" "), is_visible("")
    (True, False, False)
    """
    return bool(text) and not text.isspace()


def stand_in(turn: Turn) -> str:
    """Return what stands for a turn of which nothing can be written."""
    return FOREIGN if turn.parts else EMPTY
