"""Items of a note: whole texts about events, in variants from long to short."""

import re
from enum import StrEnum
from typing import NamedTuple


class Section(StrEnum):
    """The sections of a note, in their order; empty ones are left out.

    A model that writes a note gets the same sections.
    """

    RULES = "Constraints"
    """The instructions that stand; those of a gist that is made here precede the note."""
    OPEN = "Open"
    TASK = "Task"
    SAID = "The user said"
    TALK = "What was said"
    DONE = "Done"
    KNOWN = "Known"
    FILES = "Files"
    SINCE = "Since the user's last message"
    """What was done and found after the last message of the user that stays behind the note."""


class Item(NamedTuple):
    """A text for a section, from the event with index `event`, in variants from long to short.

    Each variant is whole, and its lines after the first are continuation lines. A higher `score`
    goes first. `before` is a line of its own before the text, such as the question that it answers.

    Records of one answer are items with the same `group`, which opens the first of them that is
    told; `of` is the number of them all, and `parent` names a record's container.

    `steps` are what the variants take off the score, if that is known. `began` is the index of the
    first event that it tells, if that is another one.
    """

    section: Section
    event: int
    score: float
    variants: tuple[str, ...]
    before: str = ""
    group: str = ""
    of: int = 0
    parent: str = ""
    steps: tuple[float, ...] = ()
    began: int | None = None


MARK = "[…]"
"""Stands for omitted text."""


_MARKS = re.compile(r"\[…[^\]\n]*\]")


def is_told(text: str) -> bool:
    """Return whether a text is more than marks for what is left out.

    >>> is_told("[… 3 lines]"), is_told("x = 1")
    (False, True)
    """
    return bool(_MARKS.sub("", text).strip())


def left_out(number: int, what: str) -> str:
    """Return the mark that counts what is left out.

    >>> left_out(1, "line"), left_out(1200, "record")
    ('[… 1 line]', '[… 1,200 records]')
    """
    return f"[… {number:,} {what}{'' if number == 1 else 's'}]"


def ranged(texts: "tuple[str, ...] | list[str]") -> tuple[str, ...]:
    """Return variants without empty and equal ones, from long to short, then as they were given."""
    return tuple(sorted(dict.fromkeys(filter(None, texts)), key=len, reverse=True))
