"""Write test vectors for the document of pills, which its browser twin must reproduce.

Usage: python .ci/pill_vectors.py

Each case is a list of random edits from an empty document. A step names an operation with its
arguments, followed by either the resulting ``text`` and ``pills``, or the ``error`` that refused it
without a change. Positions count Unicode characters, as Python does; JavaScript counts UTF-16
units, so the twin translates before and after each step.
"""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polycontext.base import CallerError, InvalidDataError, UnknownNameError
from polycontext.pills import PillDocument
from polycontext.pills.errors import PillError
from polycontext.pills.pill import Pill, PillType
from polycontext.window import PositionError

WRITTEN = Path(__file__).resolve().parents[1] / "web" / "src" / "pills" / "vectors.json"

CASES = 45
STEPS = 25

_LONGEST = 120
"""The length of a document after which a case starts over."""

Step = dict[str, Any]

_NAMES = (
    "a", "b.py", "src/agent.py", "*scratch*", "app/[id]/x", "app/[[...slug]]/page.tsx",
    "café/日本.txt", "📎", "a b", "Agent.run",
)  # fmt: skip
_WRONG = (
    "", " a", "a ", "a\nb", "a[", "a]", "[@b]", "\u200b", "\xa0", "a\tb", "[[[a]]]", "\u2028",
    "e\u0301", "\ue000", "../a", "/a", "~/a", "C:a", "http://a", "a/", "a\\b", "a.", "x/. /b",
)  # fmt: skip
_PIECES = (
    "a", " ", "look at ", "\n", "[", "]", "[@", "[@b.py]", "[@a]", "[@ a]", "[@a[b]", "[[@a]]",
    "🙂", "👩‍👩‍👧", "é", "e\u0301", "日本", "@", "\r\n", "[@📎]", "\0",
)  # fmt: skip

_DO: Mapping[str, Callable[[PillDocument, Step], PillDocument]] = {
    "insert_text": lambda document, step: document.insert_text(step["at"], step["new"]),
    "insert_pill": lambda document, step: document.insert_pill(
        step["name"], step["at"], step["type"], duplicate=step["duplicate"]
    ),
    "insert_document": lambda document, step: document.insert_document(step["at"], _document(step)),
    "delete_range": lambda document, step: document.delete_range(step["at"], step["end"]),
    "remove_pill": lambda document, step: document.remove_pill(step["name"]),
    "update_pill": lambda document, step: document.update_pill(
        step["name"], new_name=step["new"], type=step["type"]
    ),
    "parse": lambda _, step: PillDocument.parse(step["new"]),
    "recover": lambda _, step: PillDocument.recover(step["new"], map(_pill, step["from"])),
}


def done(document: PillDocument, step: Step) -> tuple[PillDocument, Step]:
    """Return the document after a step, and the result of the step."""
    try:
        after = _DO[step["do"]](document, step)
    except CallerError as error:
        return document, {"error": _told(error)}
    return after, {"text": after.text, "pills": _data(after)}


def vectors(seed: int = 19) -> list[list[Step]]:
    """Return all cases, the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    return [_long_names(), *(_case(draw) for _ in range(CASES))]


def written(cases: list[list[Step]]) -> str:
    """Return the file: one line per case, in ASCII so that no editor or checkout alters it."""
    return "[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n"


def _case(draw: random.Random) -> list[Step]:
    document, steps = PillDocument(), list[Step]()
    for _ in range(STEPS):
        step = _step(draw, document)
        document, came = done(document, step)
        steps.append({**step, **came})
        if len(document.text) > _LONGEST:
            # Start over, so that the file stays small.
            document = PillDocument()
            steps.append({"do": "parse", "new": "", "text": "", "pills": []})
    return steps


def _long_names() -> list[Step]:
    """Return a case on the length of names in characters, not in bytes or UTF-16 units."""
    names = ("x" * 1024, "x" * 1025, "📎" * 1024, "📎" * 1025)
    inserted = (
        {"do": "insert_pill", "at": 0, "name": name, "type": "file", "duplicate": "error"}
        for name in names
    )
    steps = [step for each in inserted for step in (each, {"do": "parse", "new": ""})]
    return [{**step, **done(PillDocument(), step)[1]} for step in steps]


def _step(draw: random.Random, document: PillDocument) -> Step:
    """Return a random step that is mostly valid for the document."""
    kind = draw.choices(list(_ARGUMENTS), (8, 8, 3, 4, 2, 3, 1, 1))[0]
    return {"do": kind, **_ARGUMENTS[kind](draw, document)}


def _insert_text(draw: random.Random, document: PillDocument) -> Step:
    return {"at": _place(draw, document), "new": _text(draw)}


def _insert_pill(draw: random.Random, document: PillDocument) -> Step:
    told = draw.choice(["error", "error", "update"])
    return {
        "at": _place(draw, document),
        "name": _name(draw),
        "type": _type(draw),
        "duplicate": told,
    }


def _insert_document(draw: random.Random, document: PillDocument) -> Step:
    other = PillDocument.parse(
        _text(draw) + "".join(f"[@{name}]" for name in draw.sample(_NAMES, 2)),
        lambda _: PillType.SYMBOL,
    )
    return {"at": _place(draw, document), "new": other.text, "from": _data(other)}


def _delete_range(draw: random.Random, document: PillDocument) -> Step:
    at = _place(draw, document)
    return {"at": at, "end": at + draw.choice((-1, 0, 1, 1, 2, 5, 12))}


def _remove_pill(draw: random.Random, document: PillDocument) -> Step:
    return {"name": _attached(draw, document)}


def _update_pill(draw: random.Random, document: PillDocument) -> Step:
    return {
        "name": _attached(draw, document),
        "new": draw.choice((_name(draw), None)),
        "type": draw.choice((_type(draw), None)),
    }


def _parse(draw: random.Random, document: PillDocument) -> Step:
    return {"new": _text(draw) + document.text + _text(draw)}


def _recover(draw: random.Random, document: PillDocument) -> Step:
    moved = [[name, kind, start + draw.randint(-6, 6)] for name, kind, start in _data(document)]
    return {
        "new": _text(draw) + document.text,
        "from": [*draw.sample(moved, len(moved)), ["gone", "file", 0]],
    }


_ARGUMENTS: Mapping[str, Callable[[random.Random, PillDocument], Step]] = {
    "insert_text": _insert_text,
    "insert_pill": _insert_pill,
    "insert_document": _insert_document,
    "delete_range": _delete_range,
    "remove_pill": _remove_pill,
    "update_pill": _update_pill,
    "parse": _parse,
    "recover": _recover,
}


def _place(draw: random.Random, document: PillDocument) -> int:
    """Return a mostly valid position for a step, often at the end of a pill."""
    ends = [end for pill in document.pills for end in (pill.start, pill.end)]
    length = len(document.text)
    if ends and draw.randrange(5) > 2:  # noqa: PLR2004 - two of five
        return draw.choice(ends)
    return draw.randint(0, length) if draw.randrange(20) else draw.choice((-1, length + 1))


def _name(draw: random.Random) -> str:
    return draw.choice(_NAMES if draw.randrange(10) else _WRONG)


def _text(draw: random.Random) -> str:
    return "".join(draw.choice(_PIECES) for _ in range(draw.randint(0, 4)))


def _attached(draw: random.Random, document: PillDocument) -> str:
    return draw.choice([*document.context, *document.context, "gone"])


def _type(draw: random.Random) -> str:
    return draw.choice(["file", "symbol", "buffer"] if draw.randrange(10) else ["folder"])


def _data(document: PillDocument) -> list[list[Any]]:
    return [[pill.name, pill.type.value, pill.start] for pill in document.pills]


def _pill(data: list[Any]) -> Pill:
    return Pill(*data)


def _document(step: Step) -> PillDocument:
    return PillDocument(step["new"], map(_pill, step["from"]))


def _told(error: CallerError) -> str:
    """Return the error's text if a user sees it, or a fixed text for programming errors."""
    match error:
        case PillError():
            return str(error)
        case PositionError():
            return "no such place"
        case UnknownNameError():
            return "no such pill"
        case InvalidDataError():
            return "no such text"
        case _:
            raise error


if __name__ == "__main__":
    WRITTEN.parent.mkdir(parents=True, exist_ok=True)
    WRITTEN.write_text(written(vectors()), encoding="ascii")
