"""Attachments: how a context item stands in a conversation, as one user turn that says so in its metadata."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..turn import Role, Turn
from .item import ContextItem, ItemType, label_of

if TYPE_CHECKING:
    from .outline import OutlineEntry

_KEY = "context_item"
_LONGEST_NAME = 80
_TYPES = frozenset(ItemType)
_FROM_FILE = frozenset({ItemType.CODE, ItemType.TEXT, ItemType.FILE})
_ITEM = re.compile(
    r"### (Code|Text|File|REPL History|Error|Custom)\n(?:#### ([^\n]+)\n)?(`{3,})[^`\n]*\n(?:(?!\3).*\n)*\3"
)
_BROUGHT_BACK = "earlier"
"""The id of an item of which no more is known than its text."""


@frozen
class Attachment:
    """Say which item a turn holds.

    `label` is its file name and lines, empty without. A later attachment of the same `source`
    supersedes an earlier one; None is nobody's source.
    """

    id: str
    type: ItemType
    source: str | None
    label: str

    @property
    def name(self) -> str:
        """Return what to call it, in a few words on one line: its label, of a long one the end, or its id."""
        return (
            self.label if len(self.label) <= _LONGEST_NAME else f"…{self.label[-_LONGEST_NAME:]}"
        ) or self.id

    @property
    def mention(self) -> str:
        """Return what to show people instead of its text: ``[@name]``, as a pill is written."""
        return f"[@{self.name}]"


def source_of(item: ContextItem) -> str | None:
    """Return where an item comes from: file name and lines; None without a file name.

    What is about a file (an error, say) is another source than what stands in it.

    >>> source_of(ContextItem("x", metadata={"filename": "a.py", "start_line": 3}))
    'a.py:3'
    """
    return _source(item.type, label_of(item))


def _source(kind: ItemType, label: str) -> str | None:
    return (label if kind in _FROM_FILE else f"{kind} {label}") if label else None


def item_turn(item: ContextItem, source: str | None = None) -> Turn:
    """Return the user turn that attaches `item`, its text being ``context_to_string([item])``."""
    from .markdown import context_to_string  # noqa: PLC0415 - for those who attach something

    entry = {
        "id": item.id,
        "type": str(item.type),
        "source": source or source_of(item),
        "label": label_of(item),
    }
    return Turn(Role.USER, context_to_string([item]), metadata={_KEY: entry})


def attachment_of(turn: Turn) -> Attachment | None:
    """Return which item `turn` holds; None if it holds none."""
    entry: Mapping[str, Any] | None = turn.metadata.get(_KEY)
    match entry:
        case {
            "id": str(item_id),
            "type": str(kind),
            "source": str() | None as source,
            "label": str(label),
        } if kind in _TYPES:
            return Attachment(item_id, ItemType(kind), source, label)
        case _:
            return None


def attached_metadata(text: str) -> Mapping[str, Any] | None:
    r"""Return the metadata of a turn that attached an item, from its `text` as it came back in a list; None for any other text.

    >>> attached_metadata("### Code\n#### a.py:3\n```python\nx + 1\n```")["context_item"]["label"]
    'a.py:3'
    """
    found = _ITEM.fullmatch(text)
    if found is None:
        return None
    kind, label = ItemType(found[1].lower().replace(" ", "-")), found[2] or ""
    return {
        _KEY: {
            "id": _BROUGHT_BACK,
            "type": str(kind),
            "source": _source(kind, label),
            "label": label,
        }
    }


def attached_outline(turn: Turn) -> tuple["OutlineEntry", ...]:
    """Return the outline of the code or file that `turn` holds.

    Empty where it holds nothing that defines names.
    """
    from .markdown import fenced_text  # noqa: PLC0415 - as above
    from .outline import outline_of  # noqa: PLC0415 - as above

    attachment = attachment_of(turn)
    if attachment is None or attachment.type not in _FROM_FILE:
        return ()
    language, content = fenced_text(turn.text)
    return outline_of(content, language)
