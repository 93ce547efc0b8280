"""A prompt within the window's budget: what the conversation takes yields, by the window's own plans."""

from collections.abc import Callable, Iterable

from polycontext.nodes.fitting import write_within
from polycontext.polynomial import ContextOverflowError
from polycontext.pressure import ContextProjector
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn, count_turn

_PROJECTOR = ContextProjector()


def fit_prompt(window: ContextWindow, write: Callable[[Iterable[Turn]], str]) -> str:
    """Return what `write` makes of the window's turns or, where that is over budget, of a compressed view with which it fits.

    PRESERVED turns stay word for word in every view.

    Raises:
        ContextOverflowError: over budget even after everything yielded that may.
    """

    def count(prompt: str) -> int:
        return count_turn(window.counter, Turn(Role.USER, prompt)) + REQUEST_OVERHEAD

    written = write_within(window, window.max_tokens, write, count, _PROJECTOR)
    if written.tokens > window.max_tokens:
        raise ContextOverflowError(written.tokens, window.max_tokens, "the prompt")
    return written.text
