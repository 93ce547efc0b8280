"""The laws of token counters."""

from polycontext.base.law import agree, holds, law

from ..tokens.counter import TURN_OVERHEAD, TokenCounter, count_turn
from ..turn import Turn


@law('docs/counting.md, "What counts"')
def counting_repeats(counter: TokenCounter, text: str) -> None:
    """A counter returns the same count for the same text, at least 0, and 0 for no text."""
    count = counter.count(text)
    agree(counter.count(text), count)
    holds(
        count >= 0 and counter.count("") == 0,
        "0 or more, 0 for no text",
        (count, counter.count("")),
    )


@law('docs/counting.md, "What counts"')
def a_turn_costs_its_text_and_framing(counter: TokenCounter, turn: Turn) -> None:
    """Any turn costs at least its content, its calls' arguments and the framing of a message."""
    texts = [turn.text, *(call.arguments for call in turn.tool_calls)]
    least = TURN_OVERHEAD + sum(counter.count(text) for text in texts if text)
    found = count_turn(counter, turn)
    holds(found >= least, f"at least {least}", found)
