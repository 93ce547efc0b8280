"""The rules that a compressor must never break, checked independently of it."""

import json
from collections.abc import Callable, Sequence

from benchmarks.retention.recordings import PROVIDER, Message, pinned, request_tokens
from polycontext.base import PolycontextError
from polycontext.window.providers import check

Cut = Callable[[Sequence[Message]], list[Message]]


def broken_by(view: Sequence[Message], messages: Sequence[Message], max_tokens: int) -> list[str]:
    """Return the gates that a single view breaks."""
    faults = {
        "over budget": request_tokens(view) > max_tokens,
        "invalid": not is_valid(view, open_tail=bool(messages[-1].get("tool_calls"))),
        "system or task lost": lost(view, messages),
    }
    return [gate for gate, broken in faults.items() if broken]


def broken_again(
    cut: Cut, view: Sequence[Message], messages: Sequence[Message], frozen: str
) -> list[str]:
    """Return the gates that a method breaks when it is called again.

    `frozen` is the input's earlier text from `written`.
    """
    faults = {
        "input mutated": written(messages) != frozen,
        "not deterministic": _again(cut, messages) != list(view),
        "not idempotent": _again(cut, view) != list(view),
    }
    return [gate for gate, broken in faults.items() if broken]


def _again(cut: Cut, messages: Sequence[Message]) -> list[Message] | None:
    try:
        return cut(messages)
    except Exception:  # noqa: BLE001 - any refusal the second time is a fault
        return None


def written(messages: Sequence[Message]) -> str:
    """Return a list as text, for a later comparison."""
    return json.dumps(messages)


def is_valid(messages: Sequence[Message], *, open_tail: bool = False) -> bool:
    """Return whether the provider would accept a list."""
    try:
        check(list(messages), PROVIDER, allow_open_tail=open_tail)
    except PolycontextError:
        return False
    return True


def lost(view: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Return whether a system message or the first user message is missing or changed."""
    said = [(message["role"], message.get("content")) for message in view]
    return any(
        (messages[place]["role"], messages[place].get("content")) not in said
        for place in pinned(messages)
    )
