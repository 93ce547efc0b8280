"""Hand a window's turns to a model: valid for the provider and within budget, or not at all."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from attrs import Factory, define

from polycontext.window import REQUEST_OVERHEAD, ContextWindow, InvalidMessagesError
from polycontext.window.providers import (
    Judge,
    Provider,
    Rendered,
    WireFormat,
    Writer,
    fresh,
    get_format,
    left_behind,
)
from polycontext.window.tokens import count_introduced

from ..errors import ContextOverflowError


class SentRequest(NamedTuple):
    """Say which request was handed out: of which epoch, and the tokens that were counted of it."""

    epoch: int
    tokens: int


@define
class _Written:
    """Hold what was written for one provider, and for which window."""

    writer: Writer
    judge: Judge
    window: ContextWindow | None = None
    left_behind: list[tuple[str, str]] = Factory(list)
    ends: list[int] = Factory(list)
    """How many blocks stand behind each turn."""


class Delivery:
    """Deliver again and again, for each provider: what a turn looks like is written once, while it stands in the view.

    Law: the same as rendering every turn anew. What is handed out is the caller's own.
    """

    __slots__ = ("_lock", "_written", "delivered")

    def __init__(self) -> None:
        self._written: dict[Provider, _Written] = {}
        self.delivered: SentRequest | None = None
        """What was last delivered to be sent: a list that ends on open calls is to be looked at."""
        self._lock = Lock()

    @property
    def epoch(self) -> int | None:
        """Return the number of the epoch of the last request, None before the first."""
        return None if self.delivered is None else self.delivered.epoch

    def deliver(
        self,
        window: ContextWindow,
        provider: Provider | str = Provider.OPENAI,
        *,
        allow_open: bool = False,
    ) -> Rendered:
        """Return the view as the provider's messages.

        `allow_open` also hands out a list that ends on calls without results, to look at.

        Raises:
            InvalidMessagesError: there is nothing to say, calls are open, or a rule of the provider
                is broken.
            ContextOverflowError: the view is over its budget.
        """
        wire = get_format(provider)
        _check_deliverable(window, wire.provider, allow_open=allow_open)
        return self._render(window, wire, allow_open=allow_open)

    def record(self, window: ContextWindow, besides: int) -> None:
        """Take it that somebody else writes a window's turns for a model, with `besides` tokens sent beside them."""
        with self._lock:
            self._remember(window, window.total_tokens + besides)

    def _remember(self, window: ContextWindow, tokens: int) -> None:
        if not window.open_calls:
            self.delivered = SentRequest(window.epoch.number, tokens)

    def ends(self, window: ContextWindow, provider: Provider) -> tuple[int, ...]:
        """Return how many blocks stand behind each turn of a window that was the last to be delivered in this format; empty for another one."""
        with self._lock:
            written = self._written.get(provider)
            return (
                tuple(written.ends)
                if written is not None
                and written.window is not None
                and window.has_contents_of(written.window)
                else ()
            )

    def _render(self, window: ContextWindow, wire: WireFormat, *, allow_open: bool) -> Rendered:
        with self._lock:
            # Taken out while it is written to: one that stopped half-way is not gone on with.
            written = self._written.pop(wire.provider, None)
            if written is None or written.window is None or not window.extends(written.window):
                written = _Written(wire.writer(), wire.judge())
            for turn in window.turns_from(0 if written.window is None else len(written.window)):
                written.writer.add(turn)
                written.ends.append(written.writer.size)
                written.left_behind += (
                    (turn.resource_id, kind) for kind in left_behind(wire.provider, turn)
                )
            rendered = written.writer.finish()
            written.judge(rendered.messages, allow_open_tail=allow_open)
            tokens = _check_budget(
                window, rendered.introduced, f"the view as {wire.provider} takes it"
            )
            written.window = window
            self._remember(window, tokens)
            self._written[wire.provider] = written
            return Rendered(
                fresh(rendered.messages),
                tuple(map(fresh, rendered.system)),
                tuple(map(fresh, rendered.leading)),
                merge_options(wire.options(window.epoch), rendered.options),
                tuple(written.left_behind),
            )


def merge_options(*options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge options of a request: objects key by key, `betas` all together.

    Otherwise the last value wins, as thinking that is disabled does.
    """
    merged: dict[str, Any] = {}
    for name, value in (item for each in options for item in each.items()):
        before = merged.get(name)
        if name == "betas":
            merged |= (
                {name: [*dict.fromkeys([*(before or ()), *(value or ())])]}
                if before or value
                else {}
            )
        elif (
            isinstance(before, Mapping)
            and isinstance(value, Mapping)
            and value.get("type") != "disabled"
        ):
            merged[name] = merge_options(before, value)
        else:
            merged[name] = value
    return merged


def options_for(
    messages: Sequence[Mapping[str, Any]], needed: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge the caller's `own` options over what a request with `messages` needs.

    Anthropic refuses enabled thinking in an open tool loop whose first thinking has fallen: it is
    disabled for that request.
    """
    merged = merge_options(needed, own)
    thinking = merged.get("thinking")
    if (
        "thinking" in needed
        and isinstance(thinking, Mapping)
        and thinking.get("type") == "enabled"
        and _is_loop_unthinking(messages)
    ):
        merged["thinking"] = {"type": "disabled"}
    return merged


def _is_loop_unthinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    first = None
    for message in reversed(messages):
        kinds = [
            block.get("type")
            for block in message.get("content") or ()
            if isinstance(block, Mapping)
        ]
        if message["role"] == "assistant":
            first = kinds[0] if kinds else "text"
        elif message["role"] == "user" and "tool_result" not in kinds:
            break
    return first not in {None, "thinking", "redacted_thinking"}


def _check_deliverable(window: ContextWindow, provider: Provider, *, allow_open: bool) -> None:
    if not len(window):
        raise InvalidMessagesError(
            provider, None, "empty-list", "the conversation is empty", "at least one turn"
        )
    if window.open_calls and not allow_open:
        calls = ", ".join(window.open_calls)
        raise InvalidMessagesError(
            provider,
            len(window) - 1,
            "unanswered-call",
            f"calls without results: {calls}",
            "their results, or close_open_calls",
        )
    _check_budget(window, (), "the view")


def _check_budget(window: ContextWindow, introduced: tuple[str, ...], what: str) -> int:
    tokens = window.total_tokens + REQUEST_OVERHEAD + count_introduced(window.counter, introduced)
    if tokens > window.max_tokens:
        raise ContextOverflowError(
            tokens, window.max_tokens, what, advice="Compress it, or raise max_tokens."
        )
    return tokens
