"""Candidates as text: what an extractive summariser has read of a conversation goes along with a snapshot, so that opening reads nothing again.

It is derived: who cannot read it reads the turns once more, and comes to the same.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from attrs import fields, has

from polycontext.pressure.extractive.choice import Segment
from polycontext.pressure.extractive.heads import Head
from polycontext.pressure.extractive.lines import Line, LineKind
from polycontext.pressure.extractive.newest import Known, Telling
from polycontext.pressure.extractive.reading import Candidates
from polycontext.window import Role
from polycontext.window.text.claims.changes import Sentence
from polycontext.window.text.claims.claim import Claim, Trust, Value
from polycontext.window.text.claims.files import FileText
from polycontext.window.text.pairs import Pair
from polycontext.window.text.terms import Kind, TermBook


def candidates_to_json(candidates: Candidates) -> bytes:
    """Return candidates as JSON text.

    Raises:
        TypeError: something in them is none; `orjson` says what.
    """
    book, known = candidates.book, candidates.claimed
    return orjson.dumps(
        [
            candidates.segments,
            list(candidates.lines.items()),
            book.columns,
            list(candidates.openings.items()),
            candidates.turns,
            candidates.read,
            list(known.claims.items()),
            known.sentences,
        ],
        default=_plain,
    )


def candidates_from_json(text: bytes) -> Candidates:
    """Read what `candidates_to_json` wrote; raise `ValueError`, `TypeError` or `IndexError` for what is none.

    Law: ``candidates_from_json(candidates_to_json(c))`` makes the summaries that c makes, and reads on as c does.
    """
    segments, lines, (terms, kinds, turns, last, said), openings, read_turns, read_lines, claims, sentences = orjson.loads(text)
    return Candidates(
        tuple(map(_segment, segments)),
        {number: _line(line) for number, line in lines},
        TermBook.of_columns(terms, [Kind(kind) for kind in kinds], turns, last, said),
        dict(openings),
        read_turns,
        read_lines,
        Known(
            {_hashable(key): tuple(map(_telling, tellings)) for key, tellings in claims},
            tuple(Sentence(line, _span(span), words) for line, span, words in sentences),
        ),
    )


def _plain(value: Any) -> Any:
    if has(type(value)):
        return [getattr(value, field.name) for field in fields(type(value))]
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _span(span: Any) -> tuple[int, int]:
    start, end = span
    return start, end


def _segment(row: list[Any]) -> Segment:
    line, part, start, lead, end, text, terms, boost, standing, head, touches, newest, cost = row
    told_as = None if head is None else Head(head)
    return Segment(line, part, start, lead, end, text, tuple(terms), boost, standing, told_as, touches, newest, cost)


def _line(row: list[Any]) -> Line:
    kind, label, turn, body, call, role, answers, standing, key, turn_id, pairs, pasted, told = row
    spans = tuple(map(_span, standing))
    file = None if told is None else FileText(*told)
    return Line(
        LineKind(kind),
        label,
        turn,
        body,
        call,
        Role(role),
        answers,
        spans,
        key,
        turn_id,
        tuple(Pair(*pair) for pair in pairs),
        pasted,
        file,
    )


def _telling(row: list[Any]) -> Telling:
    line, role, (key, values, trust) = row
    return Telling(line, Role(role), Claim(_hashable(key), {name: Value(*value) for name, value in values.items()}, Trust(trust)))
