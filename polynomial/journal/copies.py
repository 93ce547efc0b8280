"""Copies of a turn in a journal: erasing its words erases theirs."""

from collections.abc import Collection, Sequence
from operator import attrgetter

from polycontext.window import Role, Turn

from .events import Event, TurnEvent, is_erased, standing


def copies_of(turn: Turn, events: Sequence[Event], candidates: Collection[str]) -> set[str]:
    """Return the ids of the copies of `turn` in a journal.

    They are those `candidates` that have its id, or say the same and do not stand beside it in one
    log; turns that a rewind undid and that say the same; and system turns that do, which `clear`
    adds again.
    """
    came = [event.turn for event in events if isinstance(event, TurnEvent)]
    itself = {turn.resource_id}.intersection(candidates)
    if is_erased(turn):
        return itself
    same = {each.resource_id for each in came if _said(each) == _said(turn)}
    stand = {event.turn.resource_id for _, event in standing(events) if type(event) is TurnEvent}
    if turn.role is Role.SYSTEM:
        return same | itself
    others = same.intersection(candidates) if itself.isdisjoint(stand) else set[str]()
    return itself | (same - stand) | others


_said = attrgetter("role", "name", "content", "tool_calls", "tool_call_id")
