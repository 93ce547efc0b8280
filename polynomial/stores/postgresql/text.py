"""Texts as PostgreSQL can keep them: it refuses NUL, and halves of surrogate pairs are in no encoding.

What it refuses is written as its number behind a mark (DLE, the "data link escape" of ASCII); the mark itself is written so too, so that
every text comes back as it was. Nearly all texts are kept as they are, and can be searched.
"""

import re

_MARK = "\x10"
_REFUSED = re.compile("[\0\x10\ud800-\udfff]")
_WRITTEN = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def kept(text: str) -> str:
    r"""Return a text as it is kept.

    >>> kept("naïve"), kept("a\0b")
    ('naïve', 'a\x100000b')
    """
    return _REFUSED.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def read(text: str) -> str:
    r"""Return the text that is kept so.

    Law: ``read(kept(text)) == text``.

    >>> read(kept("a\0b \x10 \ud800")) == "a\0b \x10 \ud800"
    True
    """
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text
