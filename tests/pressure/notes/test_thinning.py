"""A thinned text has whole lines, counts what is left out, and heads nothing empty."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure.notes.thinning import thin
from tests.growth import BOUND, growth

REPORT = """\
The orchard press was moved to the barn.

Some words about the weather on that day.
Some more words about the people who came.

## Costs
- transport 320 euros
- new belt 85 euros
- tea for everybody

## Left over
Nothing of note happened here.

## Results
The first run failed because the belt was loose.
After that all went well.
Everyone was glad.
See you in spring."""


def test_figures_failures_and_the_end_stay_under_their_headings() -> None:
    """Paragraphs without figures go first; omitted lines are counted where they stood."""
    assert thin(REPORT, 200) == (
        "The orchard press was moved to the barn.\n"
        "[… 2 lines]\n"
        "## Costs\n"
        "- transport 320 euros\n"
        "[… 4 lines]\n"
        "## Results\n"
        "The first run failed because the belt was loose.\n"
        "After that all went well.\n"
        "Everyone was glad.\n"
        "See you in spring."
    )


def test_code_is_thinned_to_what_it_defines() -> None:
    """A line of code that speaks of errors reports none."""
    code = [
        f"def moor_{n}(quay):\n    raise ValueError('error {n}')\n    return {n};" for n in range(9)
    ]
    assert thin("\n".join(code), 140).count("def moor_") > 5


def test_items_and_names_stay_before_other_prose() -> None:
    """Of lines without figures, those of lists and those with names tell more."""
    text = (
        "Notes.\nIt was a warm day.\nWe met `press.py` there.\n- tea for all\nAll went home.\nBye."
    )
    assert thin(text, 55).split("\n") == [
        "Notes.",
        "[… 1 line]",
        "We met `press.py` there.",
        "- tea for all",
        "[… 1 line]",
        "Bye.",
    ]


def test_a_text_that_fits_loses_only_blank_lines() -> None:
    """Nothing is counted then."""
    assert thin(REPORT, 5_000) == "\n".join(line for line in REPORT.split("\n") if line)


@given(st.integers(0, 700))
def test_lines_are_whole_and_headings_have_something_under_them(chars: int) -> None:
    """Every line is one of the text or a count, in order, and all are accounted for."""
    lines = [line for line in REPORT.split("\n") if line]
    told = thin(REPORT, chars).split("\n")
    kept = [line for line in told if not line.startswith("[…")]
    left = [int(found) for found in re.findall(r"\[… (\d+) lines?\]", "\n".join(told))]
    assert kept == [line for line in lines if line in kept]
    assert len(kept) + sum(left) == len(lines)
    assert sum(len(line) + 1 for line in kept) <= max(chars + 1, len(lines[0]) + 1)
    for place, line in enumerate(kept):
        if line.startswith("## "):
            assert place + 1 < len(kept)
            assert not kept[place + 1].startswith("## ")


@pytest.mark.parametrize("unit", ["\n", "a\n", "# a\n", "a: ", "*", "- 1\n", "`", "A"])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    """Many times the text takes about as many times the steps."""
    assert growth(lambda size: thin(unit * (size // len(unit)), 500), 20_000) < BOUND
