"""Freezing: the first half of a gist stays as it was for some compressions, so that a provider's cache still holds it."""

import re

from polycontext.pressure.extractive.reading import Candidates

_NEW_LINE = re.compile(r"\n(?=\S)")


def first_half(body: str) -> str:
    r"""Return the lines of a summary that stand in its first half, whole; empty where one line fills it.

    >>> first_half("user: a long first line of all\nuser: b\nuser: and a third one")
    'user: a long first line of all'
    """
    ends = [match.start() for match in _NEW_LINE.finditer(body) if match.start() <= len(body) // 2]
    return body[: ends[-1]] if ends else ""


def behind(candidates: Candidates, frozen: str) -> Candidates:
    """Return the candidates of the lines behind the last one that `frozen` quotes; all of them where it quotes none.

    Lines are found again in order: by what they begin with, and by a segment that stands in them.
    """
    lines = map(_plain, _NEW_LINE.split(frozen))
    quoted, last = next(lines), -1
    for segment in candidates.segments:
        line = candidates.lines[segment.line]
        if segment.line > last and quoted.startswith(line.prefix) and _plain(segment.text) in quoted:
            last, quoted = segment.line, next(lines, "\0")
    return candidates.behind(last)


def _plain(text: str) -> str:
    return " ".join(text.split())
