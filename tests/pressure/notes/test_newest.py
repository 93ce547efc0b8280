"""A newer value under the same key replaces the older one.

Similar values and unchangeable turns stay.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext import project
from polycontext.testing import FAST, Move, conversations
from polycontext.window import Turn
from tests.pressure.notes.extractive_samples import LETTERS, assistant, called, summarise, user

ROOM = 100_000
BETWEEN = assistant("The loft is swept and aired.")


def noted(*turns: Turn) -> str:
    """Return what is noted of turns where there is room for all."""
    return summarise(turns, ROOM, counter=LETTERS)


def looked(one: str, other: str) -> str:
    """Return what is noted of two results of one tool."""
    return noted(
        *called("look", '{"a": 1}', one, "c1"), BETWEEN, *called("look", '{"a": 2}', other, "c2")
    )


def test_no_demand_of_the_user_is_taken_for_outdated() -> None:
    """A similar demand may be another one, so both stand, in order."""
    rule, other = "Never buy rope for more than 40 euros.", "Never buy rope for more than 60 euros."
    assert rule in noted(user(rule), BETWEEN, assistant(other))
    both = noted(user(rule), BETWEEN, user(other))
    assert 0 <= both.find(rule) < both.find(other)
    assert "(was" not in both


def test_a_projection_tells_the_newest_alone() -> None:
    """Whether the newer value is told or stands as it is, the older one is gone."""
    messages = [{"role": "user", "content": "Watch the kiln."}]
    for number in range(40):
        messages += [
            {
                "role": "assistant",
                "content": (
                    f"The kiln in the yard stands at {900 + number} degrees, as far as the dial "
                    "can tell."
                ),
            },
            {
                "role": "user",
                "content": f"Tell me more about glaze {number} and what it is made of, please.",
            },
        ]
    view = str(project(messages, 500, counter=FAST).messages)
    assert "939 degrees" in view
    assert "910 degrees" not in view


@given(conversations(), st.integers(1, 5))
def test_what_a_summary_says_is_what_it_said_before_twice_read(
    moves: list[Move], times: int
) -> None:
    """Reading is deterministic, whatever is said and however often."""
    turns = [turn for turn, _ in moves] * times
    assert noted(*turns) == noted(*turns)


@pytest.mark.parametrize(
    "unit",
    [
        '"',
        '{"a":',
        '[{"a":1},',
        "a=1 ",
        "k: 1\n",
        "moved it from ",
        "instead of x. ",
        "Update: the pie is now 3. ",
        "改成三。",
        "1",
        '\\"',
    ],
)
def test_hostile_text_costs_no_more_than_any(unit: str) -> None:
    """Nothing is found, or little, and it ends; what is left is printed."""
    text = unit * (20_000 // len(unit))
    assert summarise([user(text), *called("look", "{}", text), user(text)], 300, counter=LETTERS)
