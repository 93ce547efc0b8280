"""What a claim is: a key, values with the places where they stand, and which differences make it a newer one.

Two claims with one key are about the same thing; what the key does not hold may have changed between them. Whether it has is decided in `newest`.
"""

import re
from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen

from polycontext.window.text.claims.wording import STATE_KEYS, STATE_STARTS, STATES

Key = tuple[object, ...]

MOST_FIELDS = 200
"""How many fields of one thing are looked at."""

_ALIKE = 0.5
_NOTHING = ("", "-", "–", "—", "n/a")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")


class Trust(Enum):
    """Tell which differences between two claims of one key are a newer value of the same thing."""

    ANY = "any"
    UNIQUE = "unique"
    """An id names the thing: as PLAIN, or any text where nothing else differs."""
    PLAIN = "plain"
    """Numbers, dates, codes and states; free text only under a key that names a state."""
    ONE = "one"
    """Nothing names the thing: plain values, and all others are equal."""
    TOLD = "told"
    """A line of a log: one word, or more of which the first is no small number."""
    SAID = "said"
    """A sentence of somebody: one word."""
    WHOLE = "whole"
    """All of a text is the same thing: any one value, or plain ones that are fewer than what is equal."""


@frozen
class Value:
    """Hold a value and where it stands, with what names it."""

    text: str
    start: int
    end: int


@frozen
class Claim:
    """Hold what is claimed of one thing: fields by name."""

    key: Key
    fields: Mapping[str, Value]
    trust: Trust = Trust.ANY


@frozen
class Asked:
    """Hold what a call asked, as far as it says what the answer is about."""

    exact: Key = ()
    files: Key = ()
    dates: Key = field(default=())


def is_plain(text: str) -> bool:
    """Tell whether a value is a number, a date, a code or a state, hence one of those that change.

    >>> [is_plain(value) for value in ("3.5 kW", "B204", "running", "paper jam", "")]
    [True, True, True, False, True]
    """
    return text in _NOTHING or _DIGIT.search(text) is not None or is_state(text)


def is_state(text: str) -> bool:
    """Tell whether a value begins as a state does."""
    lowered = text.lower()
    first = _WORD.search(lowered)
    return lowered.startswith(STATE_STARTS) or text in STATES or (first is not None and first[0] in STATES)


def may_be_newer(name: str, old: str, new: str) -> bool:
    """Tell whether one value may have taken the place of the other under a name that tells little."""
    if old in _NOTHING or new in _NOTHING:
        return True
    return (is_plain(old) and is_plain(new)) or STATE_KEYS.search(name) is not None or _alike(old, new)


def differ_in_a_word(old: str, new: str) -> bool:
    """Tell whether two texts are the same but for one word: where more differ, one may say which of two things it is.

    >>> differ_in_a_word("2 cups of flour", "3 cups of flour"), differ_in_a_word("mail in 2 days", "web in 9 days")
    (True, False)
    """
    before, after = old.split(), new.split()
    return len(before) == len(after) and sum(one != other for one, other in zip(before, after, strict=True)) == 1


def first_difference(old: str, new: str) -> str:
    """Return the first word of `old` that `new` has not in its place; empty where there is none."""
    return next((one for one, other in zip(old.split(), new.split(), strict=False) if one != other), "").strip(".,:;()")


def _alike(old: str, new: str) -> bool:
    """Tell whether two words differ in a small part only."""
    if " " in old or " " in new:
        return False
    shorter = min(len(old), len(new))
    before = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    behind = next((place for place in range(shorter - before) if old[-1 - place] != new[-1 - place]), shorter - before)
    return before + behind >= _ALIKE * max(len(old), len(new))
