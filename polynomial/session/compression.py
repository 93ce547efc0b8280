"""Compression: when and how far a session compresses automatically.

Also: what is truncated on overflow, and when bound thinking is dropped.
"""

from datetime import datetime

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    ConflictError,
    FixedThreshold,
    Fulfilment,
    Plan,
    default_summariser,
    pressure_of,
    unbinding_plan,
)
from polycontext.pressure import schedule as schedules
from polycontext.window import ContextWindow, Role, Turn

from ..inputs import ContextInput, InputKind
from ..journal.conversation import Conversation
from ..machine.step import (
    ContextPolicy,
    Step,
    allow_truncation,
    besides_floor,
    is_over_budget,
    request_tokens,
)
from ..state import ContextState
from .commands import Compress
from .drafts import Draft, DraftSteps, SummaryRequest

_NEAR = 8
"""How many of the last turns are searched for an answer; the next one is assumed to be as long."""

_HALF = 0.5
"""How far from the low to the high mark a view must be for a boundary to be worth a new epoch."""

BY_HAND = FixedThreshold().low
"""The default target of an explicit compression: an automatic one may aim so high that nothing
yields.
"""

# --- when ---------------------------------------------------------------------------


def pays(draft: Draft, turn: Turn) -> bool:
    """Return whether to compress before `turn`: it is due, or cheaper than sending the view again.

    It never is while calls are open, or while a thinking model is answering.
    """
    conversation, policy = draft.conversation, draft.policy
    window = conversation.window
    if (
        (policy.prices is None and policy.schedule is None)
        or window.open_calls
        or not draft.conversation.takes(InputKind.COMPRESS)
    ):
        return False
    if turn.role is Role.ASSISTANT and is_answering(conversation):
        return False
    if is_due(conversation, policy, turn.timestamp):
        return True
    if policy.prices is None:
        return False
    return schedules.pays(window, policy.threshold.low, policy.prices)


def is_due(
    conversation: Conversation, policy: ContextPolicy, at: datetime, event: str = ""
) -> bool:
    """Return whether the policy's schedule compresses at `at`, after `event` or the last turn.

    A view below its low mark stays, as does one that was just compressed or restored by an undo,
    in which calls are open, or which a thinking model answers.
    """
    schedule, window = policy.schedule, conversation.window
    if schedule is None or not policy.auto or not conversation.takes(InputKind.COMPRESS):
        return False
    if window.open_calls or window.turns_since_compression == 0 or is_answering(conversation):
        return False
    # Such a session is asked at every tick: most end here, in O(1).
    if pressure_of(window) <= policy.threshold.low or window.epoch.undone == len(window):
        return False
    called = {call.name for turn in window.last_atom() for call in turn.tool_calls}
    if not {event, *called}.isdisjoint(schedule.boundaries):
        return policy.begins(window, _HALF)
    summariser, prices = policy.projector.summariser, policy.prices or schedules.BY_ITSELF
    asks_model = not policy.background and type(summariser) is not type(default_summariser())
    silence = (at - conversation.log[-1].timestamp).total_seconds()
    return schedule.is_idle(silence, asks_model=asks_model) and schedules.pays_idle(
        window.total_tokens,
        plan_window(window, policy).tokens_promised,
        prices,
        asks_model=asks_model,
    )


def wants_room(conversation: Conversation) -> bool:
    """Return whether to compress after a turn.

    True if the view is over budget, or if the next answer might not fit and carries bound thinking.
    """
    window = conversation.window
    free = window.max_tokens - request_tokens(window)
    if free < 0:
        return True
    answer = max(
        (
            turn.tokens or 0
            for turn in window.turns_from(max(0, len(window) - _NEAR))
            if turn.role is Role.ASSISTANT
        ),
        default=0,
    )
    may_not_fit = conversation.state is ContextState.PRESSURED or answer > free
    return may_not_fit and is_answering(conversation)


def is_crowded(window: ContextWindow) -> bool:
    """Return whether calls are open and the last compression is one turn old at most.

    The calls then leave little that could be compressed before their results are in.
    """
    since = window.turns_since_compression if window.open_calls else None
    return since is not None and since <= 1


def is_stuck(window: ContextWindow) -> bool:
    """Return whether a compression has just failed to fit open calls into the budget.

    No later one can before their last result is in: each result only adds to what must stay.
    """
    return is_crowded(window) and is_over_budget(window)


# --- how far ------------------------------------------------------------------------


def plan_of(
    draft: Draft, target: float | None = None, query: str | None = None, low: float = 1.0
) -> Plan:
    """Return the plan for the view of a draft; see `plan_window`.

    If nothing else makes it fit, the last user turn is truncated.
    """
    window, policy = draft.conversation.window, draft.policy
    if is_over_budget(window):
        policy = fit_policy(window, policy)
    return plan_window(window, policy, target, query, low)


def plan_window(
    window: ContextWindow,
    policy: ContextPolicy,
    target: float | None = None,
    query: str | None = None,
    low: float = 1.0,
) -> Plan:
    """Return the plan that compresses `window` to `target`.

    Without a target, it aims at the low mark as automatic compression does, or at `low` if that is
    lower. Turns that match `query` are kept verbatim where possible.
    """
    if target is not None:
        return policy.projector.plan_to(window, target, query)
    return policy.projector.plan_between(
        window, min(low, policy.threshold.low), policy.high(window), query
    )


# --- compressing --------------------------------------------------------------------


def compress(draft: Draft, command: Compress) -> DraftSteps:
    """Compress at the caller's request, or as the schedule says."""
    if command.if_due:
        return (yield from compress_if_due(draft))
    draft.check_direction(InputKind.COMPRESS)
    fulfilment = yield SummaryRequest(
        plan_of(draft, command.target, command.query, low=BY_HAND), draft.conversation.reading
    )
    return draft.take(ContextInput.compress(fulfilment))


def make_room(draft: Draft) -> DraftSteps:
    """Compress because a turn needs the room now.

    In background mode, this uses the summary that is ready, or an extract.
    """
    ready = draft.ready
    if ready is not None and ready.plan.fits(draft.conversation.window):
        done = commit(draft, ready)
        if not done.refused and not is_over_budget(done.conversation.window):
            return done
    fulfilment = yield SummaryRequest(
        plan_of(draft), draft.conversation.reading, draft.policy.background
    )
    return draft.take(ContextInput.compress(fulfilment))


def compress_if_due(draft: Draft, event: str = "") -> DraftSteps:
    """Make room if the schedule says so now, after `event` or the last turn."""
    is_now = is_due(draft.conversation, draft.policy, draft.at, event)
    return (yield from make_room(draft)) if is_now else draft


def leave_whole(draft: Draft) -> Draft:
    """Leave PRESSURED by a compression that changes nothing."""
    return draft.take(ContextInput.compress(Fulfilment(Plan.empty(draft.conversation.window), ())))


def commit(draft: Draft, fulfilment: Fulfilment, *, fallback: bool = False) -> Draft:
    """Commit the summaries of a plan, unless the plan is empty or a summary was rejected.

    With `fallback`, extracts replace rejected summaries.

    Raises:
        ConflictError: the conversation did more than continue since the plan was made.
    """
    plan, window = fulfilment.plan, draft.conversation.window
    if not plan.fits(window):
        raise ConflictError("compression plan", plan.window, window)
    if plan.is_empty:
        return draft
    draft.check_direction(InputKind.COMPRESS)
    done = draft.take(ContextInput.compress(fulfilment))
    assert done.last is not None
    step = done.last[1]
    assert isinstance(step, Step)
    assert step.compression is not None
    refused = step.compression.rejections
    # An extract never replaces a summary that a provider should have written.
    taken = not refused or (fallback and not step.compression.edit.is_empty)
    return done if taken else evolve(draft, refused=refused)


# --- truncation in the view if compressing is not enough --------------------------------


def fit_policy(window: ContextWindow, policy: ContextPolicy) -> ContextPolicy:
    """Return a policy under which a window that is over its budget fits.

    If nothing else helps, it truncates the last user turn, and removes its pictures after that.
    """
    for each in (policy, allow_truncation(policy, beside=False)):
        projector = each.projector
        if projector.floor(window) + besides_floor(window, projector) <= window.max_tokens:
            return each
    return allow_truncation(policy)


def add_truncated(draft: Draft, context_input: ContextInput) -> Draft:
    """Add a turn that does not fit, truncated in the view.

    System turns and pinned user turns stay PRESERVED, or are refused. Any other turn that had to
    stay verbatim would block the conversation, so it is REQUIRED.
    """
    turn, given = context_input.turn, context_input.resource_class
    if turn.role is not Role.SYSTEM and not (
        turn.role is Role.USER and given is ResourceClass.PRESERVED
    ):
        context_input = ContextInput.of_turn(turn, ResourceClass.REQUIRED)
    return evolve(
        evolve(draft, policy=allow_truncation(draft.policy)).take(context_input),
        policy=draft.policy,
    )


# --- thinking that is bound to its request ---------------------------------------------


def is_answering(conversation: Conversation) -> bool:
    """Return whether a thinking model answers next: its thinking is bound to the request."""
    window = conversation.window
    last = window.peek(len(window))
    asks = last is not None and last.role in (Role.USER, Role.TOOL) and not window.open_calls
    return asks and _thinks(window)


def _thinks(window: ContextWindow) -> bool:
    return bool(window.epoch.unbound) or any(
        part.is_bound for turn in window.all_turns() for part in turn.parts
    )


def without_foreign_thoughts(draft: Draft) -> Draft:
    """Drop the bound parts of the last turn: their request is older than the last compression."""
    window = draft.conversation.window
    last = window.peek(len(window))
    if last is None or not any(part.is_bound for part in last.parts):
        return draft
    return draft.take(
        ContextInput.compress(Fulfilment(unbinding_plan(window, len(window) - 1), ()))
    )
