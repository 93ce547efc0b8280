"""The theme of a conversation is tracked without a model and stays small."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.nodes.memory.conversation import Engagement
from polycontext.nodes.reasoning import TurnExecutionSummary
from polycontext.window import default_counter
from tests.nodes.memory.records import summaries


def _after(*turns: tuple[str, str]) -> Engagement:
    engagement = Engagement()
    for number, (goal, wish) in enumerate(turns):
        engagement = engagement.after(
            TurnExecutionSummary(number, think_goal=goal, user_expressed=wish)
        )
    return engagement


def test_the_theme_tells_goals_and_wishes() -> None:
    """Goals and wishes stand there once each, the newest last."""
    engagement = _after(
        ("Find a soup", "wants quick meals"),
        ("Find a salad", "no peanuts"),
        ("Find a soup", "wants quick meals"),
    )
    assert (
        engagement.text
        == "Goals: Find a salad; Find a soup. The user: no peanuts; wants quick meals."
    )


@given(st.lists(summaries(), max_size=12), st.integers(1, 40))
def test_the_theme_stays_small(turns: list[TurnExecutionSummary], times: int) -> None:
    """The theme stays within a few hundred tokens, whatever models write into it."""
    engagement = Engagement()
    for turn in turns:
        long = evolve(
            turn,
            think_goal=f"{turn.think_goal} and soup {turn.turn_num}, " * times,
            user_expressed="quick, " * times,
        )
        engagement = engagement.after(long)
        assert default_counter().count(engagement.text) <= 300
