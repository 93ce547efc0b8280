"""Write a window into a text of so many tokens: where the text takes more, the window yields by its own plans."""

from collections.abc import Callable, Iterable

from attrs import frozen

from polycontext.pressure import CompressionResult, ContextProjector
from polycontext.window import ContextWindow, Turn


@frozen
class Written:
    """Hold a text, its tokens, and the compression behind it, None where the whole window is in it."""

    text: str
    tokens: int
    compression: CompressionResult | None = None


def write_within(
    window: ContextWindow, budget: int, write: Callable[[Iterable[Turn]], str], count: Callable[[str], int], projector: ContextProjector
) -> Written:
    """Return what `write` makes of the window's turns or, where that is over `budget`, of a compressed view.

    The window itself stays as it is. Where even the harshest plan does not suffice, the text is
    over the budget, and its tokens say by how much.
    """
    written = Written(text := write(window.all_turns()), count(text))
    room = window.seek(len(window)).tokens
    while written.tokens > budget and (written.compression is None or written.compression.reached):
        room -= written.tokens - budget
        result = projector.commit(window, projector.fulfil(projector.plan_within(window, room)))
        room = min(room, result.tokens_after)
        written = Written(text := write(result.window.all_turns()), count(text), result)
    return written
