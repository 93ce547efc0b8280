"""Shapes that vendors, compatible servers and clients really send, from their published types.

The table, `vendor_shapes.json`, has lists that come back unchanged, lists that are rewritten,
answers (with results for their calls), odd lists that are legal, forms of items, calls of the
client's own tools, whole answers as they are read, messages that tell whose they are, lists and
requests that are refused, each with its rule, and lists that a session makes valid. A shape names
what it is and the words that must not get lost on the way.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

Message = dict[str, Any]

TABLE: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


@frozen
class Shape:
    """A list that a vendor accepts, or an answer that it gives."""

    name: str
    provider: str
    value: Any
    words: Sequence[str] = ()

    def __str__(self) -> str:
        return self.name


def shapes(kind: str) -> list[Shape]:
    """Return the shapes of one kind."""
    return [Shape(**row) for row in TABLE[kind]]


UNCHANGED, REWRITTEN, ANSWERS = map(shapes, ("unchanged", "rewritten", "answers"))
