"""Overflow: what is truncated in the view when compressing everything that may yield is not enough."""

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.window import ContextWindow, Role

from ..inputs import ContextInput
from ..machine.step import ContextPolicy, besides_floor
from .drafts import Draft


def truncating(policy: ContextPolicy, *, task: bool = True) -> ContextPolicy:
    """Return the policy that may truncate the last user turn in the view, and the `task` too."""
    projector = policy.projector
    return evolve(policy, projector=evolve(projector, reach=evolve(projector.reach, cuts_question=True, cuts_task=task)))


def fitting(window: ContextWindow, policy: ContextPolicy) -> ContextPolicy:
    """Return the policy under which a window over its budget fits; the last user turn is truncated before the task."""
    for each in (policy, truncating(policy, task=False)):
        if each.projector.floor(window) + besides_floor(window, each.projector) <= window.max_tokens:
            return each
    return truncating(policy)


def let_in(draft: Draft, context_input: ContextInput) -> Draft:
    """Add a turn that could not fit, truncated in the view.

    Only pinned turns and the task keep their class: another turn that stays verbatim would be a dead end.
    """
    turn, given = context_input.turn, context_input.resource_class
    is_task = given is None and not draft.conversation.window.has_task
    if turn.role is not Role.SYSTEM and not (turn.role is Role.USER and (is_task or given is ResourceClass.PRESERVED)):
        context_input = ContextInput.of_turn(turn, ResourceClass.REQUIRED)
    return evolve(evolve(draft, policy=truncating(draft.policy)).take(context_input), policy=draft.policy)
