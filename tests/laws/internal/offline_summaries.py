"""The laws of the offline summariser."""

from collections.abc import Sequence

from polycontext.base.law import holds, law
from polycontext.pressure.summariser_protocol import Summariser
from polycontext.window import TokenCounter, Turn

_ENOUGH = 40
_SUMMARISER = 'docs/summarisers.md, "What happens to a bad summary"'


@law(f"{_SUMMARISER}: the offline default, no demand of the protocol")
def offline_summaries_keep_to_any_allowance(
    offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """The offline summariser uses at most the tokens that it is allowed, however few."""
    tokens = counter.count(offline_summariser.summarise(turns, allowance, counter=counter))
    holds(tokens <= max(allowance, 0), f"at most {allowance} tokens", tokens)


@law(f"{_SUMMARISER}: the offline default, no demand of the protocol")
def offline_summaries_say_something(
    offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """The offline summariser never returns an empty text for turns with words and 40 tokens."""
    if allowance >= _ENOUGH and any(
        character.isalnum() for turn in turns for character in turn.text
    ):
        summary = offline_summariser.summarise(turns, allowance, counter=counter)
        holds(bool(summary.strip()), "not empty", summary)
