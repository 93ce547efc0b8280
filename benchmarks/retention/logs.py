"""Ask for a line of a long log or table, and check that it is in view, whole or by record."""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from benchmarks.retention.bound import Sources, view_of
from benchmarks.retention.entries import MARK, Pair, content_of
from benchmarks.retention.methods import Asked, projected
from benchmarks.retention.recall import Wanted
from benchmarks.retention.recordings import Message
from benchmarks.retention.tally import Tally

LINES = (1_000, 3_000, 10_000, 50_000, 200_000)
ROOM = 2_000
"""The tokens of the view."""

_WORDS = (
    "orders",
    "billing",
    "search",
    "gateway",
    "mailer",
    "ledger",
    "stock",
    "session",
    "export",
    "catalog",
)
_NAMES = (
    "Ada",
    "Bruno",
    "Chidi",
    "Dana",
    "Emre",
    "Farah",
    "Goran",
    "Hilde",
    "Ilya",
    "Jonas",
    "Kamala",
    "Lotte",
    "Mats",
    "Nadia",
    "Oskar",
)
_SURNAMES = (
    "Arden",
    "Bloom",
    "Castro",
    "Dietz",
    "Engel",
    "Fonseca",
    "Grau",
    "Holm",
    "Ibsen",
    "Jansen",
    "Krol",
    "Lund",
    "Moser",
    "Novak",
)


@frozen
class Line:
    """A requested line with its question.

    `parts` must be in view on one line without a cut. For a row of a table, its record, key and
    value suffice.
    """

    parts: tuple[str, ...]
    question: str
    record: str = ""
    key: str = ""
    value: str = ""


@frozen
class Log:
    """A generated text with its requested lines."""

    name: str
    text: str
    wanted: tuple[Line, ...]


def _places(draw: random.Random, count: int) -> list[int]:
    return draw.sample(range(5, count - 5), 3)


def test_log(draw: random.Random, count: int) -> Log:
    """Return the output of a test run with one failure, one skip and one warning."""
    lines = [
        (
            f"tests/{_WORDS[number % 10]}/test_{_WORDS[number * 7 // 10 % 10]}.py"
            f"::test_case_{number} PASSED [{100 * number // count:3}%]"
        )
        for number in range(count)
    ]
    failed, skipped, warned = _places(draw, count)
    wanted = (
        (
            f"FAILED tests/stock/test_recount_{failed}.py::test_negative",
            f"AssertionError: assert -1 == {failed % 89}",
        ),
        (
            f"tests/export/test_fonts_{skipped}.py::test_kerning SKIPPED",
            f"(needs freetype 2.{skipped % 60})",
        ),
        (
            f"tests/mailer/test_quota_{warned}.py:41: DeprecationWarning",
            f"use limit() since {warned % 70}.1",
        ),
    )
    for place, parts in zip((failed, skipped, warned), wanted, strict=True):
        lines[place] = " - ".join(parts)
    questions = (
        "Which test failed, and why?",
        "Why was the kerning test skipped?",
        "Which DeprecationWarning was there?",
    )
    return Log("tests", "\n".join(lines), tuple(map(Line, wanted, questions)))


def server_log(draw: random.Random, count: int) -> Log:
    """Return the log of a server, with questions about three requests."""
    lines = [
        f"2027-03-{1 + number * 27 // count:02}T{number // 3600 % 24:02}:"
        f"{number // 60 % 60:02}:{number % 60:02}Z INFO {draw.choice(_WORDS)}: "
        f"GET /v1/{draw.choice(_WORDS)}/{draw.randint(1, 99999)} 200 "
        f"{draw.randint(2, 400)}ms id=req-{number * 7919 + 104729:07x}"
        for number in range(count)
    ]
    slow, lost, odd = _places(draw, count)
    lines[slow] = (
        lines[slow].replace(" 200 ", " 504 ").replace("INFO", "ERROR") + " upstream timed out"
    )
    lines[lost] = lines[lost].replace("INFO", "WARN") + f" card declined, ticket BT-{lost}"
    asked = [f"req-{place * 7919 + 104729:07x}" for place in (slow, lost, odd)]
    parts = (
        (asked[0], "504"),
        (asked[1], f"BT-{lost}"),
        (asked[2], re.findall(r"\d+ms", lines[odd])[0]),
    )
    questions = (
        f"What happened to {asked[0]}?",
        f"Which ticket belongs to {asked[1]}?",
        f"How long did {asked[2]} take?",
    )
    return Log("server", "\n".join(lines), tuple(map(Line, parts, questions)))


def _orders(draw: random.Random, count: int) -> list[dict[str, str]]:
    return [
        {
            "order_id": f"W-{100_000 + number}",
            "customer": f"{draw.choice(_NAMES)} {draw.choice(_SURNAMES)} {number}",
            "amount": f"{draw.randint(100, 99999) / 100:.2f}",
            "state": draw.choice(("shipped", "packed", "returned", "open")),
            "tracking": f"{draw.getrandbits(36):09X}",
        }
        for number in range(count)
    ]


def _asked(
    rows: Sequence[dict[str, str]], lines: Sequence[str], places: Sequence[int]
) -> Iterator[Line]:
    for place, key in zip(places, ("tracking", "amount", "customer"), strict=True):
        row = rows[place]
        question = (
            f"Which order is of {row['customer']}?"
            if key == "customer"
            else f"What is the {key} of order {row['order_id']}?"
        )
        yield Line((lines[place],), question, row["order_id"], key, row[key])


def table(draw: random.Random, count: int) -> Log:
    """Return a table of orders, separated by commas."""
    rows = _orders(draw, count)
    lines = [",".join(row.values()) for row in rows]
    return Log(
        "CSV",
        "\n".join([",".join(rows[0]), *lines]),
        tuple(_asked(rows, lines, _places(draw, count))),
    )


def json_lines(draw: random.Random, count: int) -> Log:
    """Return orders as JSON, one per line."""
    rows = _orders(draw, count)
    lines = [json.dumps(row) for row in rows]
    return Log("JSON lines", "\n".join(lines), tuple(_asked(rows, lines, _places(draw, count))))


Kind = Callable[[random.Random, int], Log]
KINDS: tuple[Kind, ...] = (test_log, server_log, table, json_lines)


def log_of(kind: Kind, count: int) -> Log:
    """Return the log of a kind with that many lines, the same in every run."""
    return kind(random.Random(count), count)  # noqa: S311 - no secret


def asking(log: Log) -> list[Message]:
    """Return a conversation in which a tool returns the log, with a few messages around it."""
    call = {
        "id": "call-1",
        "type": "function",
        "function": {"name": "read_output", "arguments": '{"path": "out.txt"}'},
    }
    return [
        {"role": "system", "content": "You help with operations."},
        {"role": "user", "content": "Please read the output and keep it in mind."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call-1", "content": log.text},
        {"role": "assistant", "content": "I have read it. What would you like to know?"},
        {"role": "user", "content": "One moment, I'll look something up first."},
        {"role": "assistant", "content": "Take your time."},
        {"role": "user", "content": "Here I am again."},
    ]


def stands(line: Line, view: Sequence[Message]) -> bool:
    """Return whether a line is in a view: unbroken on one line, or as a pair with its record."""
    runs = (
        run
        for message in view
        for said in content_of(message).splitlines()
        for run in MARK.split(said)
    )
    if any(all(part in run for part in line.parts) for run in runs):
        return True
    if not line.record:
        return False
    pair = Pair(line.record, line.key, line.value)
    keys = frozenset({"order_id", "customer", "amount", "state", "tracking"})
    sources = Sources(
        {line.value: frozenset({pair})},
        (),
        keys,
        frozenset({line.record}),
        frozenset({"read_output"}),
    )
    return view_of(view, sources).binds(Wanted(line.value, frozenset()), sources)


def measure(most: int, *, tell: Callable[[str], None]) -> dict[str, Tally]:
    """Ask for three lines in each log of up to `most` lines, each with its question."""
    found = dict[str, Tally]()
    for kind in KINDS:
        for count in (count for count in LINES if count <= most):
            log = log_of(kind, count)
            for line in log.wanted:
                tell(f"{log.name} of {count:,} lines: {line.question}")
                kept = stands(line, projected(Asked(asking(log), ROOM, line.question)))
                for name in ("wanted lines", f"{log.name}, {count:,} lines"):
                    found.setdefault(name, Tally()).add(f"{log.name} {count}", kept, 1)
    return found
