"""Copies of a turn in a journal: erasing its words erases theirs."""

from collections.abc import Collection, Sequence
from operator import attrgetter

from polycontext.window import Role, Turn

from .events import Event, TurnEvent, is_erased, standing


def begin_alike(one: Sequence[Event], other: Sequence[Event]) -> bool:
    """Return whether two journals have the same first turn, as forks and copies have.

    Conversations of an archive may share times, which are to the day, and words. An erased turn
    may be any.
    """
    first, second = map(_first_turn, (one, other))
    if first is None or second is None:
        return False
    is_same = (first.resource_id, first.timestamp) == (second.resource_id, second.timestamp)
    return is_same and (is_erased(first) or is_erased(second) or _said(first) == _said(second))


def _first_turn(events: Sequence[Event]) -> Turn | None:
    return next((event.turn for event in events if isinstance(event, TurnEvent)), None)


def copies_of(
    turn: Turn, events: Sequence[Event], candidates: Collection[str], *, is_fork: bool = True
) -> set[str]:
    """Return the ids of the copies of `turn` in a journal.

    They are those `candidates` that have its id, or say the same and do not stand beside it in one
    log, or tell a child its rules; turns that a rewind undid and that say the same; and system
    turns that do, which `clear` adds again. A journal that `is_fork` of none with the turn, such as
    a child's, can have only its system turns and its rules.
    """
    came = [event.turn for event in events if isinstance(event, TurnEvent)]
    itself = {turn.resource_id}.intersection(candidates if is_fork else ())
    if is_erased(turn):
        return itself
    same = {each.resource_id for each in came if _said(each) == _said(turn)}
    stand = {event.turn.resource_id for _, event in standing(events) if type(event) is TurnEvent}
    if turn.role is Role.SYSTEM:
        return same | itself
    if not is_fork:
        same = set()
    others = same.intersection(candidates) if itself.isdisjoint(stand) else set[str]()
    told = {
        each.resource_id
        for each in came
        if each.resource_id in candidates and each.timestamp == turn.timestamp
        if _tells(each.text, turn.text)
    }
    return itself | (same - stand) | others | told


def told_rules(sentences: Sequence[str]) -> str:
    """Return the text of a turn that tells a child session the rules of one of its parent's turns.

    >>> print(told_rules(["Never  fly."]))
    This holds throughout:
    - Never fly.
    """
    return "\n- ".join([_TELLS, *(" ".join(sentence.split()) for sentence in sentences)])


def _tells(text: str, said: str) -> bool:
    """Return whether a text tells rules that stand in another one."""
    head, *rules = text.split("\n- ")
    whole = " ".join(said.split())
    return head == _TELLS and all(rule in whole for rule in rules)


_TELLS = "This holds throughout:"
_said = attrgetter("role", "name", "content", "tool_calls", "tool_call_id")
