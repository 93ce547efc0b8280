"""Texts within a number of tokens.

The text of a window is shortened by the window's own plans, a single text by a summary.
"""

from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    ExtractiveSummariser,
    Summariser,
)
from polycontext.window import ContextWindow, Role, TokenCounter, Turn, default_counter


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


_EXTRACTIVE = ExtractiveSummariser()


def condense(
    text: str,
    max_tokens: int,
    *,
    role: Role = Role.ASSISTANT,
    counter: TokenCounter | None = None,
    summariser: Summariser = _EXTRACTIVE,
) -> str:
    """Return `text` unchanged if it has at most `max_tokens`, otherwise its most important parts.

    `role` is the speaker. A summary that is empty or too long is replaced by an extract.

    Law: the result has at most `max_tokens`, and is empty only if `text` is or no start of it fits.

    >>> condense("Three soups.", 10)
    'Three soups.'
    """
    counter = counter or default_counter()
    text = text.strip()
    if counter.count(text) <= max_tokens:
        return text
    turn = Turn(role, text)
    for one in (summariser, _EXTRACTIVE):
        # Cut off the label of the speaker, which a single message does not need.
        short = one.summarise([turn], max_tokens, counter=counter).removeprefix(f"{role}: ").strip()
        if short and counter.count(short) <= max_tokens:
            return short
    return ""


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
