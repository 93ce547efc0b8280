"""Plans: lists of tasks that are written again and again, of which the last states what is open."""

import re
from collections.abc import Sequence

from .cues import is_done
from .events import Event, Happening

_POINT = re.compile(r"\s*[-*+]?\s*\[[^\]\n]{1,3}\]\s*(\S.*)")


def current_plans(events: Sequence[Event], standing: Sequence[Event] = ()) -> list[Event]:
    """Return `events` without the points of lists that are done, or that a later statement repeats.

    `standing` are the later events.
    """
    later, found = set[str](), list[Event]()
    for event in (*events, *standing)[::-1]:
        found.append(event)
        if event.happening == Happening.SAY and "[" in event.text:
            lines = [(_POINT.fullmatch(line), line) for line in event.text.split("\n")]
            left = [
                line
                for point, line in lines
                if not point or not (point[1] in later or is_done(line.strip()))
            ]
            later |= {point[1] for point, _ in lines if point}
            found[-1] = event._replace(text="\n".join(left))
    return found[: -len(events) - 1 : -1] if events else []
