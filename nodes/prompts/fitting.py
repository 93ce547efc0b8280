"""A prompt within the window's budget: what the conversation takes yields, by the window's own plans."""

from collections.abc import Callable, Iterable

from polycontext.polynomial import ContextOverflowError
from polycontext.pressure import ContextProjector
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, Role, Turn, count_turn

_PROJECTOR = ContextProjector()


def fit_prompt(window: ContextWindow, write: Callable[[Iterable[Turn]], str]) -> str:
    """Return what `write` makes of the window's turns or, where that is over budget, of a compressed view with which it fits.

    The window itself stays as it is; PRESERVED turns stay word for word in every view.

    Raises:
        ContextOverflowError: over budget even after everything yielded that may.
    """
    prompt = write(window.all_turns())
    over = _tokens(window, prompt) - window.max_tokens
    room = window.seek(len(window)).tokens
    while over > 0:
        room -= over
        result = _PROJECTOR.commit(window, _PROJECTOR.fulfil(_PROJECTOR.plan_within(window, room)))
        prompt = write(result.window.all_turns())
        over = _tokens(window, prompt) - window.max_tokens
        if over > 0 and not result.reached:
            raise ContextOverflowError(over + window.max_tokens, window.max_tokens, "the prompt")
        room = min(room, result.tokens_after)
    return prompt


def _tokens(window: ContextWindow, prompt: str) -> int:
    return count_turn(window.counter, Turn(Role.USER, prompt)) + REQUEST_OVERHEAD
