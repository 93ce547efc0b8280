"""The parts of a turn: provider blocks, and the layout of text and calls in a message.

A turn holds text and calls. Its parts record how a provider wrote them: native blocks (images,
signed thinking), the order of all blocks, and fields that a turn does not have. A turn without
parts is written in the provider's default shape: one message, text before calls.
"""

from enum import StrEnum
from functools import cached_property
from typing import Any

import orjson
from attrs import field, frozen

from polycontext.base import is_whole
from polycontext.base.json_data import check_text

from .errors import InvalidTurnError


class PartKind(StrEnum):
    """The kind of information that a part records."""

    BLOCK = "block"
    """A provider's native block, byte for byte."""
    WORDS = "words"
    """The position of the characters ``start:stop`` of the turn's text, as a block of their own.

    `data` holds the block's further fields.
    """
    CALL = "call"
    """The position of call number `start` of the turn, with its further fields."""
    MESSAGE = "message"
    """The beginning of a message, with its further fields.

    `content` records the form of the content: text, a list, or none.
    """
    RESULT = "result"
    """The further fields of the block around a tool's result.

    `content` records the form of the result's content.
    """
    NATIVE = "native"
    """A provider's native block that is sent to that provider in place of the turn's words."""


BOUND = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""The block types that are valid only behind the prefix they were made on."""

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
        "video",
        "video_url",
        "input_video",
    }
)
"""The block types that carry an image, a document or a recording."""


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
    """An entry of a message's layout: a block, or the position of words or a call.

    `provider` names the wire format of the part. `data` is JSON text: the whole block, or for other
    kinds an object of further fields. Parts are in the order of the message's blocks. Text and
    calls that no part names follow them, text first.

    Raises:
        InvalidTurnError: The data are not text, the kind is unknown, or a position is below 0.

    >>> Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}').is_bound
    True
    """

    provider: str
    data: str = field(validator=lambda _, a, v: _data(v))
    kind: PartKind = field(default=PartKind.BLOCK, converter=_kind)
    start: int = field(default=0, validator=lambda _, a, v: _place(v))
    stop: int = field(default=0, validator=lambda _, a, v: _place(v))
    tokens: int | None = field(default=None, eq=False, kw_only=True)
    """The tokens of the part within its turn, set once a window has counted it."""

    @cached_property
    def type(self) -> str:
        """Return the type of the provider's block.

        Returns an empty string for other kinds and for data that are not a block.
        """
        if self.kind is not PartKind.BLOCK:
            return ""
        found = self.load().get("type")
        return found if isinstance(found, str) else ""

    def load(self) -> dict[str, Any]:
        """Return the data, or an empty object if they are not the JSON text of one."""
        try:
            data = orjson.loads(self.data)
        except ValueError:
            return {}
        return data if isinstance(data, dict) else {}

    @property
    def is_bound(self) -> bool:
        """Return whether the block is valid only behind the prefix it was made on.

        Servers of OpenAI's chat format do not sign their thinking.
        """
        return self.type in BOUND and (self.provider, self.type) != ("openai", "thinking")

    @property
    def is_medium(self) -> bool:
        """Return whether the block is an image, a document or a recording."""
        return self.type in MEDIA


def _data(value: object) -> None:
    check_text(value, "parts.data", InvalidTurnError)


def _place(value: object) -> None:
    if not is_whole(value, 0):
        raise InvalidTurnError(
            "parts", f"{value!r} is not a position", "a whole number, at least 0"
        )
