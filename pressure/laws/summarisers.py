"""The laws of summarisers."""

from collections.abc import Sequence

from polycontext.base.law import holds, law
from polycontext.window import InvalidTurnError, Role, TokenCounter, Turn

from ..summariser_protocol import LEAST_ASKED, Summariser

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


def _is_storable(text: object) -> bool:
    try:
        return isinstance(text, str) and Turn(Role.USER, text).text == text
    except InvalidTurnError:
        return False
