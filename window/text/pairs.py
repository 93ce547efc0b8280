"""Read the arguments of calls: pairs of a name and a value that stay whole, and what says whom a call touches."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from attrs import frozen

from polycontext.window.text.segments import LIMIT, Span, safe_cut

SHORT_PAIR = 120
"""A pair up to this many characters is never cut; a longer one shows its name before whatever of it is shown."""

MOST_LEAD = 48
"""How many characters before a pair those are that come along, so that it stays bound to what stands to its left."""

# No possessive quantifiers: Python 3.11.2 reads some of them wrongly.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_PLAIN = re.compile(r"[^\s,{}\[\]\"]+")
_COLON = re.compile(r"\s?:\s?")
_CLOSE = re.compile(r"[}\]]*,?\s?")
_FILE = r"(?:.*[_-])?(?:paths?|files?|file_?names?|dir|directory|folder)"
_OF_FILE = re.compile(_FILE, re.IGNORECASE)
_TOUCHING = re.compile(rf"{_FILE}|(?:.*[_-])?(?:command|cmd|url|uri|query|ids?|key|name|title|target|table|number|code)", re.IGNORECASE)

OPENING = re.compile(r'"[^"\n]{1,200}": "… ')
"""What stands before a piece from the middle of a value."""

CUT = '…"'
"""Stands where a value ends before it is all told."""


@frozen
class Pair:
    """Hold where a pair stands in a text, where its value does, and its name."""

    start: int
    value: int
    end: int
    name: str

    @property
    def is_long(self) -> bool:
        """Tell whether it may be cut."""
        return self.end - self.start > SHORT_PAIR

    @property
    def touches(self) -> bool:
        """Tell whether its name says that the value is what a call is about: a path, a command, an id."""
        return _TOUCHING.fullmatch(self.name) is not None

    @property
    def of_file(self) -> bool:
        """Tell whether its name says that the value is a file."""
        return _OF_FILE.fullmatch(self.name) is not None

    @property
    def opening(self) -> str:
        """Return what stands before a piece from the middle of the value: an `OPENING`."""
        return f'"{self.name}": "… '


def shown(text: str, pair: Pair) -> Span:
    """Return where a pair stands with the brackets before it; of a long one its name and the first words of its value."""
    start = pair.start
    # Inwards from the pair: a copy of what stands before it would make a long text quadratic.
    while start and text[start - 1] in "{[":
        start -= 1
    if not pair.is_long:
        return start, pair.end
    room = min(pair.value + LIMIT, pair.end)  # of a long name the value may be short
    return start, min(
        pair.end, max(pair.value, text.rfind(" ", pair.value, room) + 1) if " " in text[pair.value : room] else safe_cut(text, room)
    )


def whole_lead(pairs: Sequence[Pair], lead: int, start: int) -> int:
    """Return where to start copying a piece that begins at `start`, from `lead` on or so: at a pair that is near."""
    place = bisect_right(pairs, lead, key=lambda pair: pair.start) - 1
    if lead == start or place < 0 or start < pairs[place].end:
        return lead
    near = next((pair.start for pair in pairs[place:] if pair.start >= start - MOST_LEAD), start)
    return min(near, start)


def pairs_of(text: str) -> Iterator[Pair]:
    r"""Yield the pairs of a JSON text whose value is a string, a number or a word, inner ones too; linear, whatever the text.

    >>> [(pair.name, pair.touches) for pair in pairs_of('{"path": "a.py", "edit": {"line": 3}, "tags": ["x"]}')]
    [('path', True), ('line', False)]
    """
    at = text.find('"')
    while at >= 0:
        name = _STRING.match(text, at)
        if name is None:  # a string that does not end holds the rest
            return
        colon = _COLON.match(text, name.end())
        value = colon and (_STRING.match(text, colon.end()) or _PLAIN.match(text, colon.end()))
        if colon is None or value is None:
            at = text.find('"', name.end())
            continue
        closed = _CLOSE.match(text, value.end())
        end = closed.end() if closed else value.end()
        yield Pair(at, value.start() + text.startswith('"', value.start()), end, name[0][1:-1])
        at = text.find('"', end)
