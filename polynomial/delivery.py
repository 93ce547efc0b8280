"""Hand a window's turns to a model: valid for the provider and within budget, or not at all."""

from polycontext.polynomial.errors import ContextOverflowError
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, InvalidMessagesError
from polycontext.window.providers import Provider, Rendered, get_format


def deliver(window: ContextWindow, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
    """Return the view as the provider's messages.

    `allow_open` also hands out a list that ends on calls without results, to look at.

    Raises:
        InvalidMessagesError: there is nothing to say, or calls are open.
        ContextOverflowError: the view is over its budget.
    """
    wire = get_format(provider)
    if not len(window):
        raise InvalidMessagesError(wire.provider, None, "empty-list", "the conversation is empty", "at least one turn")
    if window.open_calls and not allow_open:
        calls = ", ".join(window.open_calls)
        raise InvalidMessagesError(wire.provider, len(window) - 1, "unanswered-call", f"calls without results: {calls}", "add their results")
    tokens = window.seek(len(window)).tokens + REQUEST_OVERHEAD
    if tokens > window.max_tokens:
        raise ContextOverflowError(tokens, window.max_tokens, "the view")
    rendered = wire.render(window.all_turns())
    if not rendered.messages:
        raise InvalidMessagesError(wire.provider, None, "empty-list", "there are system turns only", "at least one other turn")
    return rendered
