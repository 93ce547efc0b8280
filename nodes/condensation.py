"""Get a text into so many tokens: what a window is written into, by the window's own plans.

One text by a summary of it.
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
    """Hold a text, its tokens, and the compression behind it, None where the whole window is in it."""

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
    """Return what `write` makes of the window's turns or, where that is over `budget`, of a compressed view.

    The window itself stays as it is. Where even the harshest plan does not suffice, the text is
    over the budget, and its tokens say by how much.
    """
    written = WrittenText(text := write(window.all_turns()), count(text))
    # The text counts differently from the window: what it is over, the window gives, until it fits
    # or can give no more.
    room = window.total_tokens
    while written.tokens > budget and (written.compression is None or written.compression.reached):
        room -= written.tokens - budget
        result = projector.commit(window, projector.fulfil(projector.plan_within(window, room)))
        room = min(
            room, result.tokens_after
        )  # or a plan that gave more than asked for would be asked for again
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
    """Return `text` as it is where it takes at most `max_tokens`, what matters most of it otherwise.

    `role` is who said it. A summary that is empty or too long is replaced by an extract.

    Law: the result takes at most `max_tokens`, and is empty only where `text` is or no start of it
    fits.

    >>> condense("Three soups.", 10)
    'Three soups.'
    """
    counter = counter or default_counter()
    text = text.strip()
    if counter.count(text) <= max_tokens:
        return text
    turn = Turn(role, text)
    for one in (summariser, _EXTRACTIVE):
        # The label of the speaker, which a reader of one message does not need, is cut off and not
        # missed.
        short = one.summarise([turn], max_tokens, counter=counter).removeprefix(f"{role}: ").strip()
        if short and counter.count(short) <= max_tokens:
            return short
    return ""


def share_out(pool: int, wants: Sequence[int]) -> Sequence[int]:
    """Return a share of `pool` for each of `wants`: none more than it wants, and what one leaves is the others'.

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
