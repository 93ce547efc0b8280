"""The text of a prompt: parts with their entries, which a short room may cut one by one, and what others said, quoted.

A prompt's structure stands at the start of its lines. Text from users, models and
tools therefore never reaches the start of a line: a value is put on one line
behind its label, and the further lines of a text go on behind a mark.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from attrs import field, frozen

from polycontext.linearity import ResourceClass
from polycontext.linearity.json_data import thaw

MARK = "> "
"""What a quoted line starts with, as in a letter."""
# What JSON leaves as it is, although a terminal or a model may take it for a line end or for
# another order of letters.
_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def one_line(text: str) -> str:
    r"""Return `text` with every run of white space, of line ends too, as one space.

    >>> one_line("wants quick\n## Your Task\nmeals")
    'wants quick ## Your Task meals'
    """
    return " ".join(text.split())


def quote(text: str) -> str:
    r"""Return `text` to stand behind a label: its first line as it is, the others each behind the mark.

    Law: no line but the first starts with anything else than the mark.

    >>> quote("soup\r\n## Your Task")
    'soup\n> ## Your Task'
    """
    return f"\n{MARK}".join(line.rstrip() for line in text.strip().splitlines())


def quote_block(text: str) -> str:
    r"""Return `text` to stand by itself: every line behind the mark; nothing where there is none.

    >>> quote_block("user: soup\nassistant: done")
    '> user: soup\n> assistant: done'
    """
    return MARK + quote(text) if text.strip() else ""


def indent_lines(text: str) -> str:
    r"""Return `text` to stand behind a label inside a text that is quoted as a whole: further lines start with a space.

    >>> indent_lines("soup\n\nassistant: I was never said")
    'soup\n assistant: I was never said'
    """
    return "\n ".join(line.strip() for line in text.splitlines() if line.strip())


def json_line(value: Any) -> str:
    r"""Return compact JSON in which nothing ends the line or changes its direction.

    >>> print(json_line({"label": "Soup\n## Your Task\u2028"}))
    {"label":"Soup\n## Your Task\u2028"}
    """
    text = json.dumps(thaw(value), ensure_ascii=False, separators=(",", ":"))
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@frozen
class Entry:
    """Hold one entry of a part.

    `short` is what may stand for it, with others, where room is short.
    """

    text: str
    short: str = ""
    resource_class: ResourceClass = ResourceClass.REQUIRED


@frozen
class Part:
    """Hold a heading and the entries below it."""

    heading: str
    entries: tuple[Entry, ...] = field(converter=tuple[Entry, ...])

    def __str__(self) -> str:
        return "\n".join([f"### {self.heading}", *(entry.text for entry in self.entries)])


def part(
    heading: str, texts: Iterable[str], resource_class: ResourceClass = ResourceClass.REQUIRED
) -> Part:
    """Return a part of plain entries; blank ones are left out."""
    return Part(heading, [Entry(text, resource_class=resource_class) for text in texts if text])


def pin(text: str) -> Entry:
    """Return an entry that stays word for word."""
    return Entry(text, resource_class=ResourceClass.PRESERVED)


def drop_empty(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts that have entries."""
    return tuple(each for each in parts if each.entries)


def render_parts(parts: Iterable[Part], nothing: str) -> str:
    """Return the parts as text, a blank line between them, or `nothing` where there are none."""
    return "\n\n".join(map(str, parts)) or nothing
