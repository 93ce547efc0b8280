"""Anthropic's rules for whole requests, with those of options and of the model that reads them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from polycontext.testing.strict.anthropic import text_blocks
from polycontext.testing.strict.anthropic_requests import check_head as check_fields
from polycontext.testing.strict.anthropic_requests import check_whole as check_list
from polycontext.window.providers import Provider, load_errors
from polycontext.window.providers.anthropic.block_rules import THINKING
from polycontext.window.providers.anthropic.message_rules import WHOLE
from polycontext.window.providers.anthropic.order_rules import Judge
from polycontext.window.providers.judge import raise_first

from .anthropic_options import check_options


def check_head(
    request: object, *, betas: Collection[str] = (), counting: bool = False
) -> Mapping[str, Any]:
    """Check everything except the messages, and return the request.

    Raises:
        InvalidMessagesError: Rules of requests; see docs/providers.md.
    """
    if counting and isinstance(request, Mapping):
        request = {"max_tokens": 1, **request}
    known = check_fields(request)
    check_options(known, betas)
    return known


def check_whole(body: Mapping[str, Any], judge: Judge) -> None:
    """Check how the fields of a request and its messages fit together.

    Raises:
        InvalidMessagesError: Rules of the end of the list, of totals, and of thinking.
    """
    check_list(body, judge)
    raise_first(load_errors(Provider.ANTHROPIC, body["messages"]))
    thinking = body.get("thinking")
    if not (isinstance(thinking, Mapping) and thinking.get("type") == "enabled"):
        return
    loop = _open_loop(body["messages"])
    index, kind, _ = judge.tail
    if (
        judge.role == "assistant"
        and kind is not None
        and not kind.endswith(("tool_use", "tool_result"))
        and kind != "compaction"
    ):
        _refuse_unthinking(index, loop[1] if loop else None)
    goes_on = any(each["role"] == "user" for each in body["messages"][index + 1 :])
    if goes_on and loop:
        _refuse_unthinking(*loop)


def _open_loop(messages: Sequence[Mapping[str, Any]]) -> tuple[int, str | None] | None:
    """Return the first assistant message of the open tool loop: its index, and its first block."""
    loop = None
    for index, message in enumerate(messages):
        kinds = [block["type"] for block in text_blocks(message["content"])]
        if message["role"] == "assistant":
            loop = loop or (index, kinds[0] if kinds else None)
        elif message["role"] == "user" and "tool_result" not in kinds:
            loop = None
    return loop


def _refuse_unthinking(index: int, found: str | None) -> None:
    if found in THINKING:
        return
    says = (
        f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        f"`{found}`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block (preceeding the lastmost set "
        "of `tool_use` and `tool_result` blocks)."
    )
    legal = 'the thinking that the answer began with, or thinking of type "adaptive"'
    raise WHOLE.into("messages", index, "content", 0).fault(
        "thinking-first", f"is {found} where thinking must begin", legal, says, whole=True
    )
