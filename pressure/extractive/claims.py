"""What a line claims: objects of JSON, settings of a file, statements of somebody or of a log; one pass over its text."""

import json
import re
from collections.abc import Iterable, Iterator

from polycontext.pressure.extractive.lines import Line, LineKind
from polycontext.window import Role
from polycontext.window.text.claims.claim import Asked, Claim, Key
from polycontext.window.text.claims.records import records
from polycontext.window.text.claims.settings import settings
from polycontext.window.text.claims.statements import statements
from polycontext.window.text.claims.wording import ASKED_KEYS, FILES
from polycontext.window.text.segments import Span

MIN_ROW, MOST_ROW = 2, 300
"""How many characters a line has at least and at most that is looked at."""

_MOST_ARGUMENTS = 4_000
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def asked_by(line: Line) -> Asked:
    """Return what the arguments of a call say its answer is about."""
    if not line.call:
        return Asked()
    arguments = line.call if len(line.call) <= _MOST_ARGUMENTS else line.call[:_MOST_ARGUMENTS]
    files, dates = tuple(sorted({*FILES.findall(arguments)})), tuple(sorted({*_DATE.findall(arguments)}))
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):  # no JSON, or arrays in arrays without end
        return Asked((line.label, arguments), files, dates)
    if not isinstance(parsed, dict):
        return Asked((line.label, arguments), files, dates)
    exact = tuple(f"{name}={value}" for name, value in sorted(parsed.items()) if ASKED_KEYS.search(name))
    return Asked((*exact, *files, *dates), files, dates)


def claims_of(line: Line) -> list[Claim]:
    """Return what `line` claims; what it says several times with several values is a series and claims nothing."""
    if line.role is Role.SYSTEM:
        return []
    asked = asked_by(line) if line.kind is LineKind.CALL else Asked()
    said = line.role is not Role.TOOL
    found, outside = records(line.body, asked)
    rows = [row for span in outside for row in _rows(line.body, *span)]
    claims, others = settings(line.body, rows, asked)
    return once([*found, *claims, *statements(line.body, others, asked, said=said)])


def _rows(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the lines of a part of `text` that are short enough to claim one thing."""
    while start < end:
        until = text.find("\n", start, end)
        until = end if until < 0 else until
        if MIN_ROW <= until - start <= MOST_ROW:
            yield start, until
        start = until + 1


def once(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims whose key no other has."""
    alone: dict[Key, Claim | None] = {}
    for claim in claims:
        alone[claim.key] = None if claim.key in alone else claim
    return [claim for claim in alone.values() if claim]
