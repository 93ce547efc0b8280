"""Anthropic's rules for thinking, compaction and context edits, with their beta headers."""

from collections.abc import Collection, Mapping
from typing import Any

from polycontext.testing.strict.anthropic_requests import check_tag
from polycontext.window.providers.anthropic.message_rules import WHOLE, WORDINGS, AnthropicPlace
from polycontext.window.providers.anthropic.versions import BINDING_BETA, COMPACTION_BETA, EDITS
from polycontext.window.providers.places import shown

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


def _check_compaction(request: Mapping[str, Any], betas: Collection[str]) -> None:
    if request.get("compaction") is not None:
        _require(COMPACTION_BETA, betas, WHOLE.into("compaction"), "compaction-beta")


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
