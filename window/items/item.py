"""The context item: a piece of code or text that can be put into a prompt (seed 000)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from polycontext.window.errors import InvalidTurnError
from polycontext.window.items.errors import InvalidItemError
from polycontext.window.items.ids import ITEM_IDS, check_item_id
from polycontext.window.items.metadata import checked_metadata
from polycontext.window.items.universal_time import moment, universal_time, utc_now
from polycontext.window.turn import check_text


class ItemType(StrEnum):
    """Say what an item holds."""

    CODE = "code"
    TEXT = "text"
    FILE = "file"
    REPL_HISTORY = "repl-history"
    ERROR = "error"
    CUSTOM = "custom"
    """A kind of the caller's own, named by ``metadata["kind"]``: see `register_formatter`."""


def check_item_type(value: object) -> ItemType:
    """Return `value` as the type of an item; raise `InvalidItemError` if it is none."""
    try:
        return ItemType(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidItemError("type", f"unknown type {value!r:.60}", ", ".join(ItemType)) from None


def _content(value: object) -> str:
    try:
        return check_text(value, "content")
    except InvalidTurnError as error:
        raise InvalidItemError(error.field, error.problem, error.legal) from None


@frozen
class ContextItem:
    """Hold a piece of code or text with what is known of it: immutable, id and timestamp included (seed 000).

    `metadata` are JSON data or None; the keys ``filename``, ``start_line``, ``end_line``
    and ``package`` are checked. `timestamp` is an aware datetime or Universal Time; it
    defaults to now, `id` to the next one of this process.

    Raises:
        InvalidItemError: an unknown type, content or metadata that cannot be stored, a known
            key with a wrong value, a naive timestamp or one before 1900, an id that is not ``ctx-N``.

    >>> item = ContextItem("(defun add (a b) (+ a b))", metadata={"filename": "math.lisp", "start_line": 5, "end_line": 7})
    >>> item.type
    <ItemType.CODE: 'code'>
    >>> ContextItem("x", type="poem")
    Traceback (most recent call last):
    polycontext.window.items.errors.InvalidItemError: item field 'type': unknown type 'poem'; legal: code, text, file, repl-history, error, custom
    """

    content: str = field(converter=_content)
    type: ItemType = field(default=ItemType.CODE, converter=check_item_type)
    metadata: Mapping[str, Any] | None = field(default=None, converter=checked_metadata, hash=False)
    universal_time: int = field(factory=lambda: universal_time(utc_now()), converter=universal_time, alias="timestamp", kw_only=True)
    """Creation time in whole seconds since 1900-01-01 UTC; the constructor's `timestamp`."""
    id: str = field(factory=lambda: next(ITEM_IDS), converter=check_item_id, kw_only=True)

    @property
    def timestamp(self) -> datetime:
        """Return the creation time, in UTC, to the second; see `moment` for what it raises."""
        return moment(self.universal_time)

    def says_the_same_as(self, other: "ContextItem") -> bool:
        """Tell whether both hold the same content of the same type with the same metadata."""
        return (self.type, self.content, self.metadata) == (other.type, other.content, other.metadata)
