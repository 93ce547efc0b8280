"""Broken counters and message formats, each of which a law rejects."""

from itertools import count

from polycontext.window import EstimatingCounter, Turn
from polycontext.window.laws import counters
from tests.laws.counterexamples import breaks

USER, ANSWER = Turn("user", "Weather in Paris?"), Turn("assistant", "21 degrees.")


class Moody:
    """Say less each time, whatever the text."""

    exact = False

    def __init__(self) -> None:
        self.answers = count(1_000, -100)

    def count(self, text: str) -> int:
        return next(self.answers)


class Charging(EstimatingCounter):
    """Charge for nothing."""

    def count(self, text: str) -> int:
        return super().count(text) + 1


breaks(
    counters.counting_repeats,
    "a counter that is moody or charges for nothing",
    lambda law: law(Moody(), "hello"),
    lambda law: law(Charging(), "hello"),
)
breaks(
    counters.a_turn_costs_its_text_and_framing,
    "a counter that says less the second time",
    lambda law: law(Moody(), USER),
)
