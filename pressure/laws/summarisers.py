"""The laws of summarisers."""

from collections.abc import Sequence

from polycontext.base.law import agree, holds, law
from polycontext.window import InvalidTurnError, Role, TokenCounter, Turn

from ..summariser_protocol import LEAST_ASKED, Summariser

_ENOUGH = 40
_SUMMARISER = 'docs/summarisers.md, "What happens to a bad summary"'


@law(_SUMMARISER)
def summaries_keep_to_their_allowance(
    summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """A summary has at most the tokens that it is allowed, as the given counter counts them.

    A summariser is never called for fewer than 16 tokens.
    """
    if allowance >= LEAST_ASKED:
        tokens = counter.count(summariser.summarise(turns, allowance, counter=counter))
        holds(tokens <= allowance, f"at most {allowance} tokens", tokens)


@law(_SUMMARISER)
def summaries_are_storable_text(
    summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """A summary is text that a turn can hold: a string without lone surrogates."""
    summary: object = summariser.summarise(turns, max(allowance, LEAST_ASKED), counter=counter)
    holds(_is_storable(summary), "storable text", summary)


@law(f"{_SUMMARISER}: the offline default, no demand of the protocol")
def offline_summaries_keep_to_any_allowance(
    offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """The offline summariser uses at most the tokens that it is allowed, however few."""
    tokens = counter.count(offline_summariser.summarise(turns, allowance, counter=counter))
    holds(tokens <= max(allowance, 0), f"at most {allowance} tokens", tokens)


@law(f"{_SUMMARISER}: the offline default, no demand of the protocol")
def offline_summaries_repeat(
    offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter
) -> None:
    """The offline summariser repeats its text for the same turns, so a replay needs no model."""
    first, second = (
        offline_summariser.summarise(turns, allowance, counter=counter) for _ in range(2)
    )
    agree(first, second)


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


def _is_storable(text: object) -> bool:
    try:
        return isinstance(text, str) and Turn(Role.USER, text).text == text
    except InvalidTurnError:
        return False
