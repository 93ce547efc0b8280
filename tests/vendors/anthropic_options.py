"""Anthropic's rules for thinking, compaction and context edits, with their beta headers."""

from collections.abc import Collection, Mapping
from typing import Any

from polycontext.base import is_whole
from polycontext.testing.strict.anthropic_requests import below, check_tag
from polycontext.window.providers.anthropic.message_rules import WHOLE, WORDINGS, AnthropicPlace
from polycontext.window.providers.anthropic.versions import BINDING_BETA, COMPACTION_BETA, EDITS
from polycontext.window.providers.places import shown

LEAST_BUDGET = 1024
"""The least tokens of a thinking budget."""

LEAST_TRIGGER = 50_000
"""The least input tokens at which a conversation may be summarised during a request."""

_MODES = ("adaptive", "between_tools", "disabled", "enabled")


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
    mode = check_tag(WHOLE.into("thinking"), "bad-thinking", thinking, _MODES)
    place = WHOLE.into("thinking", f"!{mode}")
    _check_binding(thinking, place.into("block_binding"), betas)
    if mode not in {"enabled", "adaptive"}:
        return
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in {"any", "tool"}:
        says = "Thinking may not be enabled when tool_choice forces tool use."
        problem, at = "forces a call while thinking is on", WHOLE.into("tool_choice")
        raise at.fault("thinking-forced", problem, "auto or none", says, whole=True)
    if request.get("temperature") not in {None, 1}:
        says = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        problem = f"is {request['temperature']} while thinking is on"
        legal, at = "1, or no temperature", WHOLE.into("temperature")
        raise at.fault("thinking-temperature", problem, legal, says, whole=True)
    if mode == "enabled":
        budget, most = thinking.get("budget_tokens"), request.get("max_tokens")
        _check_budget(budget, most, place.into("budget_tokens"))


def _check_binding(
    thinking: Mapping[str, Any], place: AnthropicPlace, betas: Collection[str]
) -> None:
    binding = thinking.get("block_binding")
    if binding is None:
        return
    says = f"{WORDINGS['EXTRA']}. To use it, send the `anthropic-beta: {BINDING_BETA}` header."
    _require(BINDING_BETA, betas, place, "binding-beta", says)
    is_object, inner = isinstance(binding, Mapping), place.into("prefix_mismatch_behavior")
    behaviour = binding.get("prefix_mismatch_behavior") if is_object else binding
    if not is_object or behaviour is not None:
        legal = ("error", "drop_block")
        if not is_object or behaviour not in legal:
            raise inner.unsupported("bad-thinking", behaviour, legal, "error or drop_block")


def _require(
    beta: str,
    betas: Collection[str],
    place: AnthropicPlace,
    rule: str,
    says: str = WORDINGS["EXTRA"],
) -> None:
    if beta not in betas:
        legal = f"the header anthropic-beta: {beta}"
        raise place.fault(rule, "is set without its header", legal, says)


def _check_budget(budget: object, most: object, place: AnthropicPlace) -> None:
    rule = "thinking-budget"
    if not is_whole(budget):
        raise place.wrong(rule, budget, f"a whole number, at least {LEAST_BUDGET}")
    if budget < LEAST_BUDGET:
        raise below(place, rule, budget, LEAST_BUDGET)
    if isinstance(most, int) and budget >= most:
        says = "`max_tokens` must be greater than `thinking.budget_tokens`."
        problem = f"is {budget} of {most} tokens in all"
        raise place.fault(rule, problem, "a budget below max_tokens", says, whole=True)


def _check_compaction(request: Mapping[str, Any], betas: Collection[str]) -> None:
    compaction, place = request.get("compaction"), WHOLE.into("compaction")
    if compaction is None:
        return
    _require(COMPACTION_BETA, betas, place, "compaction-beta")
    if not isinstance(compaction, Mapping) or compaction.get("type") != "summarize":
        legal = '{"type": "summarize"}'
        raise place.into("type").unsupported("bad-field", compaction, ("summarize",), legal)
    if request.get("context_management") is not None:
        says = "`compaction` cannot be combined with `context_management`"
        raise place.fault("bad-field", "stands beside context_management", "one of the two", says)


def _check_edits(management: Any, betas: Collection[str]) -> None:
    if management is None:
        return
    place, rule = WHOLE.into("context_management"), "bad-edit"
    edits = management.get("edits", []) if isinstance(management, Mapping) else None
    if not isinstance(edits, list):
        raise place.wrong_type(rule, dict, management, '{"edits": [...]}')
    for number, edit in enumerate(edits):
        inner = place.into("edits", number)
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if kind not in EDITS:
            raise inner.unknown_tag(rule, kind, EDITS, f"is {shown(edit)}", ", ".join(EDITS))
        _require(EDITS[kind], betas, inner, "edit-beta")
        trigger = edit.get("trigger") or {}
        least = LEAST_TRIGGER if kind == "compact_20260112" else 0
        value = trigger.get("value", least) if isinstance(trigger, Mapping) else None
        if not is_whole(value) or value < least:
            raise below(inner.into("trigger", "value"), rule, value, least)
