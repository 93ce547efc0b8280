"""Attaching: how a context item becomes a turn of this conversation, once.

The same text of the same source is not said twice while it stands in the view, and
an id that named one item is never given to another.
"""

from collections.abc import Iterator

from attrs import evolve

from polycontext.polynomial.journal.log import Log
from polycontext.window import ContextItem, ContextWindow, Turn
from polycontext.window.items import attachment_of, item_turn


def held_attachment(window: ContextWindow, item: ContextItem, source: str | None) -> Turn | None:
    """Return the turn of `window` that holds `item` word for word; None where its source has another text since."""
    wanted = item_turn(item, source)
    for turn in reversed(window.all_turns()):
        if _source(turn) == _source(wanted):
            if turn.text == wanted.text:
                return turn
            if _source(turn)[1] is not None:
                return None
    return None


def attaching_turn(log: Log, item: ContextItem, source: str | None, ids: Iterator[str]) -> Turn:
    """Return the turn that attaches `item`, under the next of `ids` where its own one named another item in `log`."""
    turn = item_turn(item, source)
    first = log.item(item.id)
    if first is None or (_source(first), first.text) == (_source(turn), turn.text):
        return turn
    return item_turn(evolve(item, id=next(free for free in ids if log.item(free) is None)), source)


def _source(turn: Turn) -> tuple[bool, str | None]:
    """Return whether `turn` holds an item, and its source."""
    attachment = attachment_of(turn)
    return (False, None) if attachment is None else (True, attachment.source)
