"""Timers: transitions that may be taken once their state has lasted for some time.

A timer is data of the journal: it counts from the time of the event that entered the state. No
clock runs; `ContextSession.tick` sends the events that are due.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from polycontext.base import is_number, require

from ..inputs import InputKind, Kind
from ..state import State
from .places import Places
from .step import Step

_DELAYS = "seconds_of_the_timer"


def after(seconds: float | timedelta) -> Callable[[Step], bool]:
    """Return a guard that holds once the state has lasted `seconds`, a number or a `timedelta`.

    Let its transition lead to another state: one that stays fires at every tick.

    >>> after(60).__name__
    'after_60_seconds'
    """
    if isinstance(seconds, timedelta):
        seconds = seconds.total_seconds()
    require("seconds", seconds, is_number(seconds, 0), "a number of seconds, at least 0")

    def has_passed(step: Step) -> bool:
        return has_lasted(step.since, step.at, seconds)

    has_passed.__name__ = f"after_{seconds:g}_seconds"
    setattr(has_passed, _DELAYS, seconds)
    return has_passed


def has_lasted(since: datetime | None, now: datetime, seconds: float) -> bool:
    """Return whether a state that was entered at `since` has lasted `seconds`."""
    return since is not None and (now - since).total_seconds() >= seconds


def due(
    places: Places, place: State, entered: Sequence[datetime | None], now: datetime
) -> Iterator[Kind]:
    """Yield the added events of `place` whose timers have run out, those that ran out first first.

    `entered` are the times when the regions entered their states. Other guards of the transitions
    may still refuse them.
    """
    waiting = [
        (getattr(guard.func, _DELAYS), kind, since)
        for table, state, since in zip(places.tables, places.states(place), entered, strict=False)
        for kind, moves in table.cells[state].items()
        for move in moves
        for guard in move.cond
        if hasattr(guard.func, _DELAYS) and not isinstance(kind, InputKind)
    ]
    for seconds, kind, since in sorted(waiting, key=lambda each: each[0]):
        if has_lasted(since, now, seconds):
            yield kind
