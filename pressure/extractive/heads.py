"""The heads under which a gist leaves its notes, in their order, and which of them a line belongs under."""

from collections.abc import Iterable
from enum import Enum

from polycontext.pressure.extractive.lines import Line, LineKind
from polycontext.window import Role

HEADS_FROM = 300
"""From how many tokens on a gist has heads: in fewer they would stand in place of what they head."""

LEAST_NOTES = 6
"""Fewer lines than these need no heads."""


class Head(Enum):
    """Name what a note is about; the order of the members is that of a gist."""

    TASK = "Task"
    CONSTRAINTS = "Constraints"
    DECISIONS = "Decisions"
    FACTS = "Facts"
    FILES = "Files"
    ERRORS = "Errors"
    DONE = "Done"
    OPEN = "Open"
    NEXT = "Next step"


STEPS = frozenset({Head.OPEN, Head.NEXT})
"""What comes next."""

TITLES = frozenset(f"{head.value}:" for head in Head)


def head_of(line: Line, said: Iterable[Head | None], *, answered: bool) -> Head:
    """Return where the pieces of a line go that do not stand apart; `said` is what each of them is, `answered` that some are a result's."""
    known = {*said}
    for head in (Head.ERRORS, Head.DECISIONS):
        if head in known:
            return head
    if line.kind is LineKind.CALL:
        return Head.FILES if line.touches_file else Head.FACTS if answered else Head.DONE
    return Head.TASK if line.role is Role.USER and not line.pasted else Head.FACTS
