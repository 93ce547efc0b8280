"""Regression tests of `project` for faults found in other trimmers and summarisers."""

import sys
from collections.abc import Sequence
from typing import Any

from hypothesis import given

from polycontext.polynomial import ContextOverflowError, project
from polycontext.window import Turn
from tests.polynomial.conversations import (
    WORDS,
    Message,
    assistant,
    generated_messages,
    long_chat,
    recount,
    user,
    words,
)


def test_a_protected_tail_over_the_budget_does_not_loop() -> None:
    """A tail or question larger than the window is cut after few summaries, without a loop."""
    asked = 0

    def counting(turns: Sequence[Turn], max_tokens: int) -> str:
        nonlocal asked
        asked += 1
        return "short"

    summariser: Any = counting

    limit = sys.getrecursionlimit()
    messages = [
        user("go"),
        *(
            assistant(words(200, f"a{n}_")) if n % 2 == 0 else user(words(200, f"u{n}_"))
            for n in range(12)
        ),
    ]
    projection = project(messages, 900, counter=WORDS, keep_recent=12, summariser=summariser)
    assert recount(projection.messages, WORDS) <= 900
    projection = project(
        [user("go"), user(words(1000))], 900, counter=WORDS, keep_recent=100, summariser=summariser
    )
    assert recount(projection.messages, WORDS) <= 900
    assert asked <= 24
    assert sys.getrecursionlimit() == limit


def test_the_summariser_reads_everything_it_replaces() -> None:
    """Nothing is summarised unread: every turn that is gisted was shown to the summariser."""
    read: set[str] = set()

    def reading(turns: Sequence[Turn], max_tokens: int) -> str:
        read.update(turn.resource_id for turn in turns)
        return "short"

    summariser: Any = reading

    projection = project(long_chat(200, 60), 2000, counter=WORDS, summariser=summariser)
    assert len(projection.gisted) > 100
    assert set(projection.gisted) <= read


def test_a_question_far_over_the_budget_is_cut_where_it_stands() -> None:
    """A question of 2.5 times the budget is truncated in its role and place, and marked."""
    messages = [user("go"), assistant("hm"), user(words(2500, "giant"))]
    projection = project(messages, 1000, counter=WORDS)
    assert (projection.messages[0], projection.messages[-1]["role"]) == (messages[0], "user")
    assert projection.messages[-1]["content"].startswith("[Cut; the whole is t3 in the log]\n")
    assert 900 <= recount(projection.messages, WORDS) <= 1000


class Letters:
    """Count every character: then not even a gist's frame fits where gists are meant to be."""

    exact = True

    def count(self, text: str) -> int:
        """Return the characters of `text`."""
        return len(text)


@given(generated_messages(8))
def test_a_counter_for_which_no_gist_is_small_enough(messages: list[Message]) -> None:
    """If gists never fit, the list is still within budget, or is refused with both token counts."""
    for budget in (300, 900, 3000):
        try:
            projected = project(messages, budget, counter=Letters()).messages
        except ContextOverflowError as error:
            assert error.tokens > error.max_tokens == budget
        else:
            assert recount(projected, Letters()) <= budget
