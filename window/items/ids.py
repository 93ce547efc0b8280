"""Ids of context items: ``ctx-N``, unique and increasing (seed 000, INV-003)."""

import re
from collections.abc import Iterator
from threading import Lock

from polycontext.window.items.errors import InvalidItemError

_ID = re.compile(r"ctx-([0-9]+)")
_MOST_DIGITS = 18
"""No counter gets further in a lifetime; longer numbers from outside need no room kept for them."""


class ItemIds(Iterator[str]):
    """Count ids up, safely under threads; iterate it like an `itertools.count`.

    >>> ids = ItemIds()
    >>> next(ids), next(ids)
    ('ctx-1', 'ctx-2')
    >>> ids.skip_past("ctx-41")
    >>> next(ids)
    'ctx-42'
    """

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def __next__(self) -> str:
        with self._lock:
            self._last += 1
            return f"ctx-{self._last}"

    def skip_past(self, item_id: str) -> None:
        """Never give `item_id` or a lower one again; what is no id of an item changes nothing."""
        match = _ID.fullmatch(item_id)
        if match and len(match[1]) <= _MOST_DIGITS:
            with self._lock:
                self._last = max(self._last, int(match[1]))


ITEM_IDS = ItemIds()
"""Where the ids of this process come from; restoring a session makes it go on behind the ids in there."""


def check_item_id(value: object) -> str:
    """Return `value` if it is the id of an item; raise `InvalidItemError` otherwise."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidItemError("id", f"{value!r:.60} is no id", "ctx-N, such as ctx-42")
    return value
