"""Attachments: context items stored as user turns, with the item described in the metadata."""

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
    r"### (Code|Text|File|REPL History|Error|Custom)\n(?:#### ([^\n]+)\n)?"
    r"(`{3,})[^`\n]*\n(?:(?!\3).*\n)*\3"
)
_BROUGHT_BACK = "earlier"
"""The id of an item that is known only by its text."""


@frozen
class Attachment:
    """The description of the item that a turn holds.

    `label` is its file name and lines, or empty. A later attachment of the same `source` supersedes
    an earlier one; one whose `source` is None supersedes nothing.
    """

    id: str
    type: ItemType
    source: str | None
    label: str

    @property
    def name(self) -> str:
        """Return a short name on one line: the label (the end of a long one), or else the id."""
        return (
            self.label if len(self.label) <= _LONGEST_NAME else f"…{self.label[-_LONGEST_NAME:]}"
        ) or self.id

    @property
    def mention(self) -> str:
        """Return the text to display instead of the content: ``[@name]``, as pills are written."""
        return f"[@{self.name}]"


def source_of(item: ContextItem) -> str | None:
    """Return the source of an item, its file name and lines, or None without a file name.

    An item about a file, such as an error, has a different source than the file's own text.

    >>> source_of(ContextItem("x", metadata={"filename": "a.py", "start_line": 3}))
    'a.py:3'
    """
    return _source(item.type, label_of(item))


def _source(kind: ItemType, label: str) -> str | None:
    return (label if kind in _FROM_FILE else f"{kind} {label}") if label else None


def item_turn(item: ContextItem, source: str | None = None) -> Turn:
    """Return the user turn that attaches `item`, with ``context_to_string([item])`` as its text."""
    from .markdown import context_to_string  # noqa: PLC0415 - only needed to attach items

    entry = {
        "id": item.id,
        "type": str(item.type),
        "source": source or source_of(item),
        "label": label_of(item),
    }
    return Turn(Role.USER, context_to_string([item]), metadata={_KEY: entry})


def attachment_of(turn: Turn) -> Attachment | None:
    """Return the attachment that `turn` holds, or None if it holds none."""
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


def shown_text(turn: Turn) -> str:
    """Return the text of `turn` for readers: an attachment's name, a gist's number of messages."""
    if turn.is_gist and not turn.sources:
        return "earlier messages"
    if turn.is_gist:
        return f"{len(turn.sources)} earlier message{'' if len(turn.sources) == 1 else 's'}"
    attachment = attachment_of(turn)
    return turn.text if attachment is None else attachment.mention


def attached_metadata(text: str) -> Mapping[str, Any] | None:
    r"""Return the metadata of an attachment turn, recovered from its `text`.

    Returns None for any other text.

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

    Returns an empty tuple if it holds neither, or nothing that defines names.
    """
    from .markdown import fenced_text  # noqa: PLC0415 - only needed for outlines
    from .outline import outline_of  # noqa: PLC0415 - as above

    attachment = attachment_of(turn)
    if attachment is None or attachment.type not in _FROM_FILE:
        return ()
    language, content = fenced_text(turn.text)
    return outline_of(content, language)
