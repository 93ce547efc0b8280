"""Delivery: the view as a provider's request, valid and within budget, or an error."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import Factory, define

from polycontext.window import REQUEST_OVERHEAD, ContextWindow, InvalidMessagesError
from polycontext.window.providers import Provider, Rendered, WireFormat, get_format
from polycontext.window.providers.layout import left_behind
from polycontext.window.providers.wire import Writer, fresh
from polycontext.window.tokens.counter import count_introduced

from ..errors import ContextOverflowError

if TYPE_CHECKING:
    from polycontext.pressure.cache import CachePlan


class SentRequest(NamedTuple):
    """A delivered request: its epoch, and its tokens as counted here."""

    epoch: int
    tokens: int


@define
class _Written:
    """The rendered turns for one provider, and the window they belong to."""

    writer: Writer
    window: ContextWindow | None = None
    left_behind: list[tuple[str, str]] = Factory(list)
    ends: list[int] = Factory(list)
    """The number of blocks after each turn."""


class Delivery:
    """Renders requests for each provider, each turn only once while it stays in the view.

    Law: the result equals rendering every turn again. The caller owns the result.
    """

    __slots__ = ("_lock", "_written", "delivered")

    def __init__(self) -> None:
        self._written: dict[Provider, _Written] = {}
        self.delivered: SentRequest | None = None
        """The last request delivered for sending; a list that ends on open calls does not count."""
        self._lock = Lock()

    @property
    def epoch(self) -> int | None:
        """Return the epoch number of the last request, or None before the first."""
        return None if self.delivered is None else self.delivered.epoch

    def deliver(
        self,
        window: ContextWindow,
        provider: Provider | str = Provider.OPENAI,
        *,
        allow_open: bool = False,
        plan: "CachePlan | None" = None,
    ) -> Rendered:
        """Return the view as the provider's messages, with the cache options of `plan`.

        `allow_open` also returns a list that ends on calls without results, for inspection; it has
        no cache options.

        Raises:
            InvalidMessagesError: the view is empty, or calls are open.
            ContextOverflowError: the view is over its budget.
        """
        wire = get_format(provider)
        _check_deliverable(window, wire.provider, allow_open=allow_open)
        rendered = self._render(window, wire)
        if plan is None or window.open_calls:
            return rendered
        return plan.apply(rendered, wire.provider, window, self.ends(window, wire.provider))

    def record(self, window: ContextWindow, besides: int) -> None:
        """Record a request that was rendered elsewhere, with `besides` tokens beside the turns."""
        with self._lock:
            self._remember(window, window.total_tokens + besides)

    def _remember(self, window: ContextWindow, tokens: int) -> None:
        if not window.open_calls:
            self.delivered = SentRequest(window.epoch.number, tokens)

    def ends(self, window: ContextWindow, provider: Provider) -> tuple[int, ...]:
        """Return how many blocks follow each turn of the last window in this format.

        Returns an empty tuple for any other window.
        """
        with self._lock:
            written = self._written.get(provider)
            return (
                tuple(written.ends)
                if written is not None
                and written.window is not None
                and window.has_contents_of(written.window)
                else ()
            )

    def _render(self, window: ContextWindow, wire: WireFormat) -> Rendered:
        with self._lock:
            # Removed while it changes, so that an interrupted render is never continued.
            written = self._written.pop(wire.provider, None)
            if written is None or written.window is None or not window.extends(written.window):
                written = _Written(wire.writer())
            for turn in window.turns_from(0 if written.window is None else len(written.window)):
                written.writer.add(turn)
                written.ends.append(written.writer.size)
                written.left_behind += (
                    (turn.resource_id, kind) for kind in left_behind(wire.provider, turn)
                )
            rendered = written.writer.finish()
            if not rendered.messages:
                said, legal = (
                    "the conversation is empty",
                    "at least one turn, as add_user_turn(text) adds",
                )
                raise InvalidMessagesError(wire.provider, None, "empty-list", said, legal)
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
                merge_options(wire.options(window.epoch.unbound), rendered.options),
                tuple(written.left_behind),
            )


def merge_options(*options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the options of a request: objects key by key, and `betas` as one list.

    For other keys, and for disabled thinking, the last value wins.
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
    """Merge the caller's `own` options over those that a request with `messages` needs.

    Anthropic rejects enabled thinking in an open tool loop whose first thinking was dropped, so it
    is disabled for such a request.
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
    if window.open_calls and not allow_open:
        calls = ", ".join(window.open_calls)
        raise InvalidMessagesError(
            provider,
            len(window) - 1,
            "unanswered-call",
            f"calls without results: {calls}",
            "add_tool_turn to add their results, or close_open_calls()",
        )
    _check_budget(window, (), "the view")


def _check_budget(window: ContextWindow, introduced: tuple[str, ...], what: str) -> int:
    tokens = window.total_tokens + REQUEST_OVERHEAD + count_introduced(window.counter, introduced)
    if tokens > window.max_tokens:
        raise ContextOverflowError(
            tokens, window.max_tokens, what, advice="Compress it, or raise max_tokens."
        )
    return tokens
