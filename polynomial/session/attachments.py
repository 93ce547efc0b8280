"""Attachments: a text of a source is attached once, and no id names two items."""

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.window import ContextItem, ContextWindow, Turn
from polycontext.window.items import ITEM_IDS, attachment_of, item_turn

from ..inputs import ContextInput
from ..journal.log import Log
from .commands import Attach
from .drafts import Draft


def attaching(draft: Draft, command: Attach) -> ContextInput | None:
    """Return the input that attaches an item, or that raises its class if the view has it; None if there is nothing to do.

    What is attached is REQUIRED unless the caller says otherwise: no classifier is asked about a file.
    """
    window, wanted = draft.conversation.window, command.resource_class
    held = held_attachment(window, command.item, command.source)
    if held is None:
        turn = attaching_turn(draft.conversation.log, command.item, command.source)
        return ContextInput.of_turn(draft.stamped(turn), ResourceClass.REQUIRED if wanted is None else wanted)
    if wanted is None or wanted <= window.class_of(held):
        return None
    return ContextInput.promote(held.resource_id, wanted, "attached again", draft.at)


def held_attachment(window: ContextWindow, item: ContextItem, source: str | None = None) -> Turn | None:
    """Return the turn of `window` that holds `item` verbatim; None if its source has a newer text."""
    wanted = item_turn(item, source)
    sought = _source(wanted)
    for turn in reversed(window.all_turns()):
        if _source(turn) == sought:
            if turn.text == wanted.text:
                return turn
            if sought[1] is not None:
                return None
    return None


def attaching_turn(log: Log, item: ContextItem, source: str | None) -> Turn:
    """Return the turn that attaches `item`, with a fresh id if its own names another item in `log`."""
    turn = item_turn(item, source)
    first = log.item(item.id)
    if first is None or (_source(first), first.text) == (_source(turn), turn.text):
        return turn
    return item_turn(evolve(item, id=next(free for free in ITEM_IDS if log.item(free) is None)), source)


def _source(turn: Turn) -> tuple[bool, str | None]:
    """Return whether `turn` holds an item, and its source."""
    attachment = attachment_of(turn)
    return (False, None) if attachment is None else (True, attachment.source)
