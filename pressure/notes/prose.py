"""Prose as whole sentences and list items, and what a sentence does: ask, announce, thank."""

import re
from collections.abc import Iterator

from polycontext.linearity.classification import sentence_ends

from .cues import is_closer, is_intention, is_question
from .pieces import one_line

__all__ = ["is_closer", "is_intention", "is_item", "is_question", "sentences_of"]

_ITEM = re.compile(r"\s*(?:[-*+•▪‣]|\d{1,3}[.)]|\[[ xX]\])\s+\S|\s*#{1,6}\s|\s*\|")
_ENDED = re.compile(r"[.!?…。！？:：;|]\W*$")
_WRAPPED = 55
"""A line of fewer characters is not wrapped."""
_WHOLE = re.compile(r"\s*[#|]")


def is_item(line: str) -> bool:
    """Return whether a line is an item of a list, a heading or a row of a table."""
    return _ITEM.match(line) is not None


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text without blank ones; a wrapped line goes on in the next one."""
    whole = ""
    for line in text.splitlines():
        body = line.strip()
        in_item = is_item(whole) and line[:1].isspace() and not _WHOLE.match(whole)
        wraps = len(whole) >= _WRAPPED and not body[:1].isupper() and not _ENDED.search(whole[-3:])
        if whole and body and not is_item(line) and (in_item or wraps):
            whole = f"{whole} {body}"
            continue
        if whole:
            yield whole
        whole = body
    if whole:
        yield whole


def sentences_of(text: str) -> list[str]:
    r"""Return the sentences and list items of a text, each whole.

    None goes on over the end of a line, unless that is wrapped.

    >>> sentences_of("We have two. Which one?\n- the red one\n- the blue\n  one")
    ['We have two.', 'Which one?', '- the red one', '- the blue one']
    """
    return [
        each
        for line in lines_of(text)
        for each in ([one_line(line)] if is_item(line) else _split(line))
    ]


def _split(text: str) -> list[str]:
    text, start, found = one_line(text), 0, []
    for end in (*sentence_ends(text), len(text)):
        found.append(text[start:end].strip())
        start = end
    return [each for each in found if each]
