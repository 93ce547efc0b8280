"""Losses are measured as they are defined, and the bounds hold at their level."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from polycontext.base import InvalidDataError, InvalidOptionError
from polycontext.bulk import Pool, RowCompressor, certificate, certify_file
from polycontext.bulk.bounds import count_bound, share_bound
from polycontext.bulk.certificate import Loss, certify, measure
from tests.bulk.data_sets import as_lines, saved
from tests.cli.command import assistant, chat, result, user
from tests.growth import BOUND, growth
from tests.house import gated

DRAWS = 1_000


def call_of(arguments: str, id: str = "c1") -> dict[str, Any]:
    """Return a call with these arguments."""
    call = assistant(None, id)
    call["tool_calls"][0]["function"]["arguments"] = arguments
    return call


def calling(arguments: str) -> list[dict[str, object]]:
    """Return a conversation whose last call has these arguments."""
    return [
        user("Book flight HAT136 for Mia Li."),
        assistant(None, "c0"),
        result("c0", "Seat 17F4 is free, price 5123."),
        *chat(12)[1:],
        user("Take that seat."),
        call_of(arguments),
        result("c1", "It is done."),
    ]


WHOLE, SHORT, TINY = (RowCompressor(max_tokens=budget) for budget in (9_000, 400, 20))


def test_an_argument_counts_if_it_stood_before_and_is_lost_if_the_view_lacks_it() -> None:
    """Words that only the model knew do not count; a budget that nothing fits loses all."""
    arguments = json.dumps(
        {"flight": "HAT136", "who": ["Mia Li"], "code": "NEW99", "n": 5123, "x": 1}
    )
    loss = measure({"messages": calling(arguments)}, [WHOLE, SHORT, TINY])
    assert loss.arguments == 3  # not NEW99, which is new, and not 1, which is too short
    assert loss.shares[0] == 0
    assert loss.shares[2] == 1
    assert loss.shares[0] <= loss.shares[1] <= loss.shares[2]


@pytest.mark.parametrize(
    ("argument", "text", "stands"),
    [
        ("1,000", "It costs 1000.", False),  # another form, as docs/bulk.md says
        ("2026-01-02", "On 2 January 2026.", False),
        ("HAT136", "hat136", False),
        ("the 7", "See the 77, then (the 7).", True),
        ("-5.5", "x-5.5 and 1 -5.5", True),
        ("-5.5", "x-5.5", False),
        ("?!!", "What?!!", True),  # no part of a word
        ("?!!", "What?", False),
        ("late flight", "flight", False),
    ],
)
def test_an_argument_stands_verbatim_as_whole_words(
    argument: str, text: str, *, stands: bool
) -> None:
    """Only the same characters count, and only apart from other words."""
    row = [user(text), call_of(json.dumps([argument])), result("c1", "It is done.")]
    assert measure(row, [WHOLE]).arguments == stands


@pytest.mark.parametrize("stand", [0, 500])
def test_many_arguments_are_found_in_one_reading(stand: int) -> None:
    """The cost grows with the text, not with the text times the arguments or the calls."""

    def read(number: int) -> int:
        rows = [user("; ".join(f"the {each * 7}" for each in range(1_000, 1_000 + number)))]
        for first in range(1_000, 1_000 + number, 10):
            values = [f"the {each * 7 + stand}" for each in range(first, first + 10)]
            call = call_of(json.dumps(values, indent=4), f"c{first}")
            rows += [call, result(f"c{first}", "It is done.")]
        request = WHOLE.request({"messages": rows})
        parsed = request.wire.parse(request.inline, repair=True)
        return sum(len(values) for _, values in certificate._needs(parsed.turns, parsed.places))

    assert read(50) == (0 if stand else 50)
    assert growth(read, 1_000) < BOUND


def test_a_conversation_without_calls_does_not_count() -> None:
    """It has no arguments; the certificate leaves it out."""
    nothing = measure(chat(4), [WHOLE])
    assert nothing == Loss(0, (0.0,))
    found = certify([nothing, Loss(2, (0.5,))], [100])
    assert (found.conversations, found.arguments, found.budgets[0].lost) == (1, 2, 0.5)


def test_a_file_is_measured_and_bad_rows_are_told(tmp_path: Path) -> None:
    """The certificate of a file is that of its rows."""
    given = [{"messages": calling('{"flight": "HAT136", "n": 5123}')}] * 5
    source = saved(tmp_path / "in.jsonl", as_lines([*given, {"text": "bad"}]) + b"\xff\n")
    found, rejected = certify_file(source, [WHOLE, SHORT], engine=Pool(1))
    losses = [measure(row, [WHOLE, SHORT]) for row in given]
    assert found == certify(losses, [9_000, 400])
    assert (rejected, found.conversations, found.arguments) == (2, 5, 10)
    with pytest.raises(InvalidDataError, match="no such file"):
        certify_file(tmp_path / "no.jsonl", [WHOLE])
    with pytest.raises(InvalidOptionError, match="a name that ends in"):
        certify_file(tmp_path / "in.parquet", [WHOLE])


# --- the bounds -------------------------------------------------------------


def population(kind: str, random: Random) -> list[float]:
    """Return losses of 10,000 conversations, of which samples are drawn."""
    match kind:
        case "rare":
            return [random.random() if random.random() < 0.03 else 0.0 for _ in range(10_000)]
        case "half":
            return [random.random() ** 2 for _ in range(10_000)]
        case _:
            return [float(random.random() < 0.07) for _ in range(10_000)]


@pytest.mark.parametrize("size", gated([20, 80, 300], 20))
@pytest.mark.parametrize("kind", ["rare", "half", "coin"])
def test_the_bounds_hold_at_their_level(kind: str, size: int) -> None:
    """Of 1,000 samples, at least 95 % have a bound that is not below the truth."""
    random = Random(f"{kind}{size}")  # noqa: S311 - a simulation
    losses = population(kind, random)
    truth, chance = sum(losses) / len(losses), sum(each > 0 for each in losses) / len(losses)
    held = affected_held = 0
    for _ in range(DRAWS):
        sample = random.choices(losses, k=size)
        held += share_bound(sample, 0.95) >= truth
        affected_held += count_bound(sum(each > 0 for each in sample), size, 0.95) >= chance
    assert held >= 0.95 * DRAWS
    assert affected_held >= 0.95 * DRAWS


def test_known_bounds() -> None:
    """Clopper-Pearson's values are those of the tables; without losses both bounds are equal."""
    assert count_bound(1, 10, 0.95) == pytest.approx(0.39416, abs=1e-5)
    assert count_bound(10, 10, 0.95) == 1
    assert count_bound(0, 100, 0.95) == pytest.approx(1 - 0.05**0.01)
    assert share_bound([0.0] * 100, 0.95) == pytest.approx(1 - 0.05**0.01)
    assert share_bound([1.0] * 9, 0.95) == 1
    assert share_bound([0.1] * 100, 0.99) > share_bound([0.1] * 100, 0.95) > 0.1


@pytest.mark.parametrize(
    ("budgets", "options", "told"),
    [
        ([100, 200], {}, "the largest first"),
        ([], {}, "the largest first"),
        ([100], {"level": 1.0}, "level"),
        ([100], {"at_most": 0.0}, "at_most"),
    ],
)
def test_options_are_checked(budgets: list[int], options: dict[str, float], told: str) -> None:
    """Budgets fall, and shares lie between 0 and 1."""
    with pytest.raises(InvalidOptionError, match=told):
        certify([], budgets, **options)
