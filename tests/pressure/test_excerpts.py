"""Excerpts of a program's output keep what tells most, by the form of the text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure import excerpt_of, pasted_spans


def test_a_long_table_keeps_failures_and_its_ends_and_counts_the_rest() -> None:
    """Rows between are counted, those that were not even read too."""
    rows = [{"id": f"job-{n}", "state": "done", "of": "nightly"} for n in range(5_000)]
    rows[7]["state"] = "failed: no key"
    told = excerpt_of(json.dumps(rows), 600)
    head, columns, *lines = told.split("\n")
    assert head == "5,000 rows, each with of nightly"
    assert columns == "id, state"
    assert lines[0] == "job-0, done"
    assert lines[-1] == "job-4999, done"
    assert '"failed: no key"' in told or "job-7, failed: no key" in told
    counted = sum(int(n.replace(",", "")) for n in re.findall(r"\[… ([\d,]+) rows?\]", told))
    assert counted + sum(line.startswith("job-") for line in lines) == 5_000


def test_records_of_other_shapes_are_complete() -> None:
    """Objects by key, lists of lists, lists of values, and texts inside of records."""
    value = {
        "user": "Mia",
        "cards": {f"card_{n}": {"brand": "visa", "last": str(1000 + n)} for n in range(4)},
        "trips": [
            [{"leg": "A1", "to": "Oslo, Central Station"}, {"leg": "A2", "to": "Rome"}],
            [{"leg": "B1", "to": "a town that has no name of its own yet"}, {"leg": "B2"}],
        ],
        "names": [f"file_{n}.py" for n in range(40)],
        "log": "start\n" + "wait\n" * 200 + "end",
    }
    told = excerpt_of(json.dumps(value), 300, 5_000).split("\n")
    assert told[0] == "user Mia"
    assert told[1:4] == ["cards: 4 rows, each with brand visa", "key, last", 'card_0, "1000"']
    assert "#, leg, to" in told
    assert "1, A2, Rome" in told
    assert "2, B2, " in told
    assert "names: 40 values" in told
    assert {f"file_{n}.py" for n in range(40)} <= {*told}
    assert told[told.index("log:") + 1 :][-1] == "end"


def test_a_diff_keeps_its_places_and_changes() -> None:
    """Unchanged lines are counted."""
    same = "".join(f" line {n}\n" for n in range(60))
    head = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,9 +1,9 @@\n"
    diff = f"{head}{same}-old\n+new\n{same}"
    assert excerpt_of(diff, 100, 400).split("\n") == [
        "diff --git a/x.py b/x.py",
        "--- a/x.py",
        "+++ b/x.py",
        "@@ -1,9 +1,9 @@",
        "[… 60 lines]",
        "-old",
        "+new",
        "[… 60 lines]",
    ]


@pytest.mark.parametrize("opening", ["\x1b[3{n}m{word}\x1b[0m tests", "  [ {word} in [{n}:"])
def test_brackets_that_nest_nothing_hide_no_failure(opening: str) -> None:
    """Those of escape codes, which are left out, and those of messages."""
    lines = [f"{opening.format(n=2, word='PASSED')}/test_{n}.py in {n * 3} ms" for n in range(400)]
    lines[200] = f"{opening.format(n=1, word='FAILED')}/test_vault.py: KeyError: 'TOKEN'"
    told = excerpt_of("\n".join(lines), 2_000)
    assert "FAILED" in told
    assert "KeyError: 'TOKEN'" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("depth", [100, 150, 300, 900, 5_000])
def test_nesting_is_told_in_the_same_words_whatever_is_left_of_the_stack(depth: int) -> None:
    """Nesting of any depth is shortened without an error, also in lines and behind a sentence."""
    for opening, closing in (
        ("[", "]"),
        ('{"a":', "}"),
        ('[{"a":', "}]"),
        ('Got\n{"a": "]", "b":', "}"),
    ):
        text = f"{opening * depth}{json.dumps([*range(400)])}{closing * depth}"
        told = excerpt_of(text, 300)
        assert len(told) < 900 < len(text)
        assert _at(600, text) == told


def _at(depth: int, text: str) -> str:
    return _at(depth - 1, text) if depth else excerpt_of(text, 300)


LINES = st.lists(st.sampled_from(["", "wait", "Error: x", "{", "[1, 2]", "a,b", "```", "<log>"]))
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=500)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=40,
)


@given(st.one_of(LINES.map("\n".join), VALUES.map(json.dumps)), st.integers(0, 900))
def test_an_excerpt_is_never_longer(text: str, chars: int) -> None:
    """And always the same."""
    told = excerpt_of(text, chars)
    assert len(told) <= len(text)
    assert excerpt_of(text, chars) == told


@given(LINES, st.integers(0, 60))
def test_pasted_spans_are_in_order_and_long(lines: list[str], chars: int) -> None:
    """They do not overlap, and each is more than `chars` long."""
    text = "\n".join(lines)
    end = 0
    for start, stop in pasted_spans(text, chars):
        assert end <= start < stop <= len(text)
        assert stop - start > chars
        end = stop
