"""Hand a window's turns to a model: valid for the provider and within budget, or not at all."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from threading import Lock

from polycontext.polynomial.errors import ContextOverflowError
from polycontext.window import REQUEST_OVERHEAD, ContextWindow, InvalidMessagesError, Turn, count_turn
from polycontext.window.providers import Message, Provider, Rendered, WireFormat, get_format

Copier = Callable[[Message], Message]


def deliver(window: ContextWindow, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
    """Return the view as the provider's messages.

    `allow_open` also hands out a list that ends on calls without results, to look at.

    Raises:
        InvalidMessagesError: there is nothing to say, calls are open, or a rule of the provider is broken.
        ContextOverflowError: the view is over its budget.
    """
    return Delivery().deliver(window, provider, allow_open=allow_open)


class Delivery:
    """Deliver again and again: what a turn looks like is written once, while it stands in the view.

    Law: the same as rendering every turn anew. What is handed out is the caller's own.
    """

    __slots__ = ("_lock", "_messages", "_window", "_wire")

    def __init__(self) -> None:
        self._window: ContextWindow | None = None
        self._wire: WireFormat | None = None
        self._messages: list[tuple[Copier, Message]] = []
        self._lock = Lock()

    def deliver(self, window: ContextWindow, provider: Provider | str = Provider.OPENAI, *, allow_open: bool = False) -> Rendered:
        """Return the view as the provider's messages; see the function `deliver`."""
        wire = get_format(provider)
        _check_deliverable(window, wire.provider, allow_open=allow_open)
        if wire.render_turn is not None:
            # Such a list is valid by the order in which the window takes turns: nothing to check again.
            return Rendered(self._written(window, wire))
        rendered = wire.render(window.all_turns())
        wire.check(rendered.messages, allow_open_tail=allow_open)
        _check_budget(_tokens_written(window, wire.parse(rendered.inline()).turns), window, f"the view as {wire.provider} takes it")
        return rendered

    def _written(self, window: ContextWindow, wire: WireFormat) -> list[Message]:
        assert wire.render_turn is not None
        with self._lock:
            if self._window is None or self._wire is not wire or not window.extends(self._window):
                self._messages = []
            for message in map(wire.render_turn, window.turns_from(len(self._messages))):
                self._messages.append((_copier(message), message))
            self._window, self._wire = window, wire
            return [copy(message) for copy, message in self._messages]


def _copier(message: Message) -> Copier:
    """Return how to copy `message` so that nothing is shared that a caller could change; most need one plain copy."""
    if all(isinstance(value, str) for value in message.values()):
        return dict.copy
    if message.keys() == _CALLING and (message["content"] is None or isinstance(message["content"], str)):
        return _copy_calling
    return deepcopy


def _copy_calling(message: Message) -> Message:
    return {**message, "tool_calls": [{**call, call["type"]: {**call[call["type"]]}} for call in message["tool_calls"]]}


_CALLING = {"role", "content", "tool_calls"}


def _check_deliverable(window: ContextWindow, provider: Provider, *, allow_open: bool) -> None:
    if not len(window):
        raise InvalidMessagesError(provider, None, "empty-list", "the conversation is empty", "at least one turn")
    if window.open_calls and not allow_open:
        calls = ", ".join(window.open_calls)
        raise InvalidMessagesError(provider, len(window) - 1, "unanswered-call", f"calls without results: {calls}", "add their results")
    _check_budget(window.total_tokens + REQUEST_OVERHEAD, window, "the view")


def _check_budget(tokens: int, window: ContextWindow, what: str) -> None:
    if tokens > window.max_tokens:
        raise ContextOverflowError(tokens, window.max_tokens, what)


def _tokens_written(window: ContextWindow, written: Iterable[Turn]) -> int:
    """Return what a request takes as its format writes it: stand-ins for emptiness and wrapped arguments are counted, the rest is known."""
    known = {_priced(turn): turn.tokens for turn in window.all_turns()}
    return REQUEST_OVERHEAD + sum(known.get(_priced(turn)) or count_turn(window.counter, turn) for turn in written)


def _priced(turn: Turn) -> tuple[object, ...]:
    return turn.content, turn.name, turn.tool_calls, turn.parts
