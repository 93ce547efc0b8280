"""Anthropic's rules for thinking, compaction and context edits, with their beta headers."""

from collections.abc import Collection, Mapping
from typing import Any

from polycontext.window.providers import is_whole
from polycontext.window.providers.anthropic import (
    BINDING_BETA,
    COMPACTION_BETA,
    EDITS,
    EXTRA,
    NO_DICTIONARY,
    REQUIRED,
    At,
    literal_wording,
    minimum_wording,
    tag_wording,
)

LEAST_BUDGET = 1024
"""The least tokens of a thinking budget."""

LEAST_TRIGGER = 50_000
"""The least input tokens at which a conversation may be summarised during a request."""


def check_options(request: Mapping[str, Any], betas: Collection[str]) -> None:
    """Check the options for thinking, compaction and edits.

    `betas` are the values of the beta header of the request.

    Raises:
        InvalidMessagesError: Rules of thinking, compaction and edits; see docs/providers.md.
    """
    _check_thinking(request, betas)
    _check_compaction(request, betas)
    _check_edits(request.get("context_management"), betas)


def _check_thinking(request: Mapping[str, Any], betas: Collection[str]) -> None:
    thinking = request.get("thinking")
    if thinking is None:
        return
    at = At("thinking")
    mode = at.tag_of(thinking, _MODES, "bad-thinking")
    _check_binding(thinking, at.into(f"!{mode}"), betas)
    if mode not in {"enabled", "adaptive"}:
        return
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in {"any", "tool"}:
        says = "Thinking may not be enabled when tool_choice forces tool use."
        problem, spot = "forces a call while thinking is on", At("tool_choice")
        raise spot.refuse("thinking-forced", problem, "auto or none", says, whole=True)
    if request.get("temperature") not in {None, 1}:
        says = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        problem = f"is {request['temperature']} while thinking is on"
        raise At("temperature").refuse(
            "thinking-temperature", problem, "1, or no temperature", says, whole=True
        )
    if mode == "enabled":
        spot = at.into("!enabled", "budget_tokens")
        _check_budget(thinking.get("budget_tokens"), request.get("max_tokens"), spot)


_MODES = ("adaptive", "between_tools", "disabled", "enabled")


def _check_binding(thinking: Mapping[str, Any], at: At, betas: Collection[str]) -> None:
    binding = thinking.get("block_binding")
    if binding is None:
        return
    spot = at.into("block_binding")
    says = f"{EXTRA}. To use it, send the `anthropic-beta: {BINDING_BETA}` header."
    _require(BINDING_BETA, betas, spot, "binding-beta", says)
    behaviour = binding.get("prefix_mismatch_behavior") if isinstance(binding, Mapping) else binding
    if not isinstance(binding, Mapping) or behaviour not in {None, "error", "drop_block"}:
        says, inner = literal_wording("error", "drop_block"), spot.into("prefix_mismatch_behavior")
        raise inner.wrong("bad-thinking", behaviour, "error or drop_block", says)


def _require(beta: str, betas: Collection[str], at: At, rule: str, says: str = EXTRA) -> None:
    if beta not in betas:
        legal = f"the header anthropic-beta: {beta}"
        raise at.refuse(rule, "is set without its header", legal, says)


def _check_budget(budget: object, most: object, at: At) -> None:
    rule = "thinking-budget"
    if not is_whole(budget):
        raise at.wrong(rule, budget, f"a whole number, at least {LEAST_BUDGET}", REQUIRED)
    if budget < LEAST_BUDGET:
        says = minimum_wording(LEAST_BUDGET)
        raise at.refuse(rule, f"is {budget}", f"at least {LEAST_BUDGET}", says)
    if isinstance(most, int) and budget >= most:
        says = "`max_tokens` must be greater than `thinking.budget_tokens`."
        problem = f"is {budget} of {most} tokens in all"
        raise at.refuse(rule, problem, "a budget below max_tokens", says, whole=True)


def _check_compaction(request: Mapping[str, Any], betas: Collection[str]) -> None:
    compaction = request.get("compaction")
    if compaction is None:
        return
    at = At("compaction")
    _require(COMPACTION_BETA, betas, at, "compaction-beta")
    if not isinstance(compaction, Mapping) or compaction.get("type") != "summarize":
        legal, says = '{"type": "summarize"}', literal_wording("summarize")
        raise at.into("type").wrong("bad-field", compaction, legal, says)
    if request.get("context_management") is not None:
        says = "`compaction` cannot be combined with `context_management`"
        raise at.refuse("bad-field", "stands beside context_management", "one of the two", says)


def _check_edits(management: object, betas: Collection[str]) -> None:
    if management is None:
        return
    at = At("context_management")
    edits = management.get("edits", []) if isinstance(management, Mapping) else None
    if not isinstance(edits, list):
        raise at.wrong("bad-edit", management, '{"edits": [...]}', NO_DICTIONARY)
    for number, edit in enumerate(edits):
        spot = at.into("edits", number)
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if kind not in EDITS:
            raise spot.wrong("bad-edit", edit, ", ".join(EDITS), tag_wording(kind, EDITS))
        _require(EDITS[kind], betas, spot, "edit-beta")
        trigger = edit.get("trigger") or {}
        least = LEAST_TRIGGER if kind == "compact_20260112" else 0
        value = trigger.get("value", least) if isinstance(trigger, Mapping) else None
        if not is_whole(value) or value < least:
            inner, says = spot.into("trigger", "value"), minimum_wording(least)
            raise inner.wrong("bad-edit", value, f"at least {least}", says)
