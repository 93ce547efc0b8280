"""Hand a window's turns to a model: valid for the provider and within budget, or not at all."""

from threading import Lock

from attrs import Factory, define

from polycontext.polynomial.errors import ContextOverflowError
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, InvalidMessagesError
from polycontext.window.providers import Provider, Rendered, WireFormat, get_format
from polycontext.window.providers.layout import fresh, left_behind
from polycontext.window.providers.wire import Judge, Writer
from polycontext.window.tokens.counting import count_introduced


def deliver(window: ContextWindow, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
    """Return the view as the provider's messages.

    `allow_open` also hands out a list that ends on calls without results, to look at.

    Raises:
        InvalidMessagesError: there is nothing to say, calls are open, or a rule of the provider is broken.
        ContextOverflowError: the view is over its budget.
    """
    return Delivery().deliver(window, provider, allow_open=allow_open)


@define
class _Written:
    """Hold what was written for one provider, and for which window."""

    writer: Writer
    judge: Judge
    window: ContextWindow | None = None
    left_behind: list[tuple[str, str]] = Factory(list)


class Delivery:
    """Deliver again and again, for each provider: what a turn looks like is written once, while it stands in the view.

    Law: the same as rendering every turn anew. What is handed out is the caller's own.
    """

    __slots__ = ("_lock", "_written")

    def __init__(self) -> None:
        self._written: dict[Provider, _Written] = {}
        self._lock = Lock()

    def deliver(self, window: ContextWindow, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
        """Return the view as the provider's messages; see the function `deliver`."""
        wire = get_format(provider)
        _check_deliverable(window, wire.provider, allow_open=allow_open)
        return self._rendered(window, wire, allow_open=allow_open)

    def _rendered(self, window: ContextWindow, wire: WireFormat, *, allow_open: bool) -> Rendered:
        with self._lock:
            # Taken out while it is written to: one that stopped half-way is not gone on with.
            written = self._written.pop(wire.provider, None)
            if written is None or written.window is None or not window.extends(written.window):
                written = _Written(wire.writer(), wire.judge())
            for turn in window.turns_from(0 if written.window is None else len(written.window)):
                written.writer.add(turn)
                written.left_behind += ((turn.resource_id, kind) for kind in left_behind(wire.provider, turn))
            rendered = written.writer.finished()
            written.judge(rendered.messages, allow_open_tail=allow_open)
            _check_budget(window, rendered.introduced, f"the view as {wire.provider} takes it")
            written.window = window
            self._written[wire.provider] = written
            return Rendered(
                fresh(rendered.messages),
                tuple(map(fresh, rendered.system)),
                tuple(map(fresh, rendered.leading)),
                wire.options(window.epoch),
                tuple(written.left_behind),
            )


def _check_deliverable(window: ContextWindow, provider: Provider, *, allow_open: bool) -> None:
    if not len(window):
        raise InvalidMessagesError(provider, None, "empty-list", "the conversation is empty", "at least one turn")
    if window.open_calls and not allow_open:
        calls = ", ".join(window.open_calls)
        raise InvalidMessagesError(provider, len(window) - 1, "unanswered-call", f"calls without results: {calls}", "add their results")
    _check_budget(window, (), "the view")


def _check_budget(window: ContextWindow, introduced: tuple[str, ...], what: str) -> None:
    tokens = window.total_tokens + REQUEST_OVERHEAD + count_introduced(window.counter, introduced)
    if tokens > window.max_tokens:
        raise ContextOverflowError(tokens, window.max_tokens, what)
