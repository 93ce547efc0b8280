"""What a provider's message holds beyond words and calls, and in which order all of it stands.

A turn says what was said: text, calls. Its parts say how a provider wrote that down: blocks of its
own (pictures, signed thinking), the order of all blocks, and fields that a turn has no place for. A
turn without parts is written in the provider's natural shape: one message, text before calls.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property

import orjson
from attrs import field, frozen

from polycontext.linearity.json_data import check_text

from .errors import InvalidTurnError


class PartKind(StrEnum):
    """Say what a part tells of its message."""

    BLOCK = "block"
    """A block of the provider's own, byte for byte."""
    WORDS = "words"
    """Characters ``start:stop`` of the turn's text stand here, as a block of their own with these
    further fields."""
    CALL = "call"
    """Call number `start` of the turn stands here, with these further fields."""
    MESSAGE = "message"
    """A message begins here, with these further fields; `content` tells its form: text, a list, or
    none."""
    RESULT = "result"
    """The block around a tool's result has these further fields; `content` tells the form of what
    is in it."""
    NATIVE = "native"
    """A block of the provider's own that stands for the words of the turn: it is sent in their
    place, to that provider alone."""


BOUND = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of blocks that are valid only behind the prefix they were made on."""

MEDIA = frozenset(
    {
        "image",
        "document",
        "container_upload",
        "image_url",
        "input_audio",
        "file",
        "audio",
        "input_image",
        "input_file",
    }
)
"""Types of blocks that carry a picture, a document or a recording."""


def _kind(value: object) -> PartKind:
    if type(value) is PartKind:
        return value
    try:
        return PartKind(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidTurnError(
            "parts.kind", f"unknown kind {value!r}", ", ".join(PartKind)
        ) from None


@frozen
class Part:
    """Hold one entry of a message's layout: a block, or where words and calls stand and what else is said of them.

    `provider` names the wire format it belongs to, `data` is JSON text: of a block all of it, of
    the other kinds an object of further fields. Parts stand in the order of the message's blocks.
    Text and calls that no part names stand behind them, text first.

    Raises:
        InvalidTurnError: data that are no text, a kind that there is not, a place below 0.

    >>> Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}').is_bound
    True
    """

    provider: str
    data: str = field(validator=lambda _, a, v: _data(v))
    kind: PartKind = field(default=PartKind.BLOCK, converter=_kind)
    start: int = field(default=0, validator=lambda _, a, v: _place(v))
    stop: int = field(default=0, validator=lambda _, a, v: _place(v))
    tokens: int | None = field(default=None, eq=False, kw_only=True)
    """What the part counts within its turn, known once a window has counted it."""

    @cached_property
    def type(self) -> str:
        """Return the type of the provider's block.

        An empty text for other kinds and for what is no block.
        """
        if self.kind is not PartKind.BLOCK:
            return ""
        try:
            block = orjson.loads(self.data)
        except ValueError:
            return ""
        found = block.get("type") if isinstance(block, dict) else None
        return found if isinstance(found, str) else ""

    @property
    def is_bound(self) -> bool:
        """Tell whether the block is valid only behind the prefix it was made on."""
        return self.type in BOUND

    @property
    def is_medium(self) -> bool:
        """Tell whether the block is a picture, a document or a recording."""
        return self.type in MEDIA


def _data(value: object) -> None:
    check_text(value, "parts.data", InvalidTurnError)


def _place(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidTurnError("parts", f"{value!r} is no place", "a whole number, at least 0")


def native_providers(parts: Iterable[Part]) -> set[str]:
    """Return the providers of which blocks stand for the words of a turn that has these parts."""
    return {part.provider for part in parts if part.kind is PartKind.NATIVE}


def bound_providers(parts: Iterable[Part]) -> set[str]:
    """Return the providers of which bound parts are among `parts`."""
    return {part.provider for part in parts if part.is_bound}
