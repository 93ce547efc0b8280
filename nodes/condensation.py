"""Texts within a number of tokens.

The text of a window is shortened by the window's own plans, a single text by a summary.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from attrs import field, frozen

from polycontext.pressure import CompressionResult, ContextProjector
from polycontext.pressure.notes import truncate
from polycontext.window import ContextWindow, TokenCounter, Turn, default_counter


@frozen
class WrittenText:
    """A text, its tokens, and its compression, None if the whole window is in it."""

    text: str
    tokens: int
    compression: CompressionResult | None = None


def write_within(
    window: ContextWindow,
    budget: int,
    write: Callable[[Iterable[Turn]], str],
    count: Callable[[str], int],
    projector: ContextProjector,
) -> WrittenText:
    """Return the output of `write` for the window, or for a compressed view if over `budget`.

    The window itself does not change. If even the harshest plan does not suffice, the text is over
    the budget, and its tokens say by how much.
    """
    written = WrittenText(text := write(window.all_turns()), count(text))
    # The text's tokens differ from the window's, so shrink the window by the excess until the text
    # fits or the window cannot shrink further.
    room = window.total_tokens
    while written.tokens > budget and (written.compression is None or written.compression.reached):
        room -= written.tokens - budget
        result = projector.commit(window, projector.fulfil(projector.plan_within(window, room)))
        # A plan may free more than it was asked to; without `min` it would be asked for again.
        room = min(room, result.tokens_after)
        written = WrittenText(text := write(result.window.all_turns()), count(text), result)
    return written


@frozen
class _Said:
    """A text and its counter, which need not be hashable."""

    text: str
    counter: TokenCounter = field(eq=id)


@lru_cache(64)  # All nodes of an agent read the same long texts.
def _extract(said: _Said, max_tokens: int) -> str:
    return truncate(said.text, max_tokens, said.counter)


def condense(text: str, max_tokens: int, *, counter: TokenCounter | None = None) -> str:
    """Return `text` unchanged if it has at most `max_tokens`, otherwise its most important parts.

    Law: the result has at most `max_tokens`, and is empty only if `text` is or no start of it fits.

    >>> condense("Three soups.", 10)
    'Three soups.'
    """
    return _extract(_Said(text.strip(), counter or default_counter()), max_tokens)


def share_out(pool: int, wants: Sequence[int]) -> Sequence[int]:
    """Return a share of `pool` for each of `wants`, none larger than wanted.

    The rest that one leaves is shared by the others.

    >>> share_out(10, [2, 9, 9])
    [2, 4, 4]
    """
    shares = [0] * len(wants)
    for left, place in zip(
        range(len(wants), 0, -1), sorted(range(len(wants)), key=wants.__getitem__), strict=True
    ):
        shares[place] = min(wants[place], pool // left)
        pool -= shares[place]
    return shares
