"""Decisions: the pure effect of a command on a conversation, by the machine's table.

`decide` is a generator: if summaries are needed, it yields a request for them and is sent the
fulfilment, so blocking and async drivers share it. Nothing is ever rolled back: a draft that fails
is dropped, and the original conversation is unchanged.
"""

import logging
from collections.abc import Sequence
from itertools import zip_longest
from typing import assert_never

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.pressure import Fulfilment, Rejection
from polycontext.window import ContextItem, ContextWindow, Role, Turn
from polycontext.window.items import ITEM_IDS, attachment_of, item_turn

from ..errors import ContextOverflowError
from ..inputs import ContextInput, InputKind
from ..journal.conversation import Conversation
from ..journal.log import Log
from ..journal.origin import CachedTokens
from ..machine.context_machine import ContextMachine, decider
from ..machine.step import ContextPolicy, is_over_budget
from ..state import ContextState
from .commands import (
    Add,
    Attach,
    Command,
    Commit,
    Compress,
    Patch,
    Recall,
    Refill,
    Rewind,
    Take,
    Together,
    Undo,
    WriteRequest,
)
from .compression import (
    add_truncated,
    commit,
    compress,
    compress_if_due,
    is_crowded,
    is_stuck,
    leave_whole,
    make_room,
    pays,
    plan_of,
    wants_room,
    without_foreign_thoughts,
)
from .drafts import Draft, DraftSteps, SummaryRequest
from .recall import has_room, recall_turns, refill, restore_truncated, take_whole

_LOG = logging.getLogger("polycontext.session")


def log_rejected(
    rejections: Sequence[Rejection], instead: str = "an extract is used instead"
) -> None:
    """Log a warning about rejected summaries, if there are any."""
    if rejections:
        _LOG.warning(
            "%s rejected, %s: %s",
            "a summary was" if len(rejections) == 1 else f"{len(rejections)} summaries were",
            instead,
            "; ".join(each.reason for each in rejections),
        )


def go_on(steps: DraftSteps, fulfilment: Fulfilment | None = None) -> SummaryRequest | Draft:
    """Advance a decision: return its next summary request, or the decision itself."""
    try:
        return next(steps) if fulfilment is None else steps.send(fulfilment)
    except StopIteration as decided:
        return decided.value  # type: ignore[no-any-return]  # it has no type


def decide(
    conversation: Conversation,
    request: WriteRequest,
    policy: ContextPolicy,
    *,
    stored: int | None = None,
    machine: ContextMachine | None = None,
    cached: tuple[CachedTokens, ...] = (),
) -> DraftSteps:
    """Decide what a command does.

    Yields the summaries that are needed and is sent their fulfilment. If the budget or state of the
    conversation is not stored yet, `stored` is the stored budget, and a `ResizeEvent` that records
    the new one comes first. With `auto`, if the
    view is over its budget at the end, a compression comes last: every commit leaves a view that
    can be sent. If the budget has grown, truncated turns that fit now are restored, and a much
    larger one is refilled. `machine`
    decides, by default one that all sessions of its class share. Compressions record the `cached`
    tokens.

    Raises any error of the machine; then nothing has happened.

    Law: folding `evolve` over the decision's events from `conversation` gives its conversation.
    """
    epoch = conversation.window.epoch.number if request.sent is None else request.sent
    empty = Draft(
        conversation,
        policy,
        request.at,
        epoch,
        machine or decider(conversation.machine),
        ready=request.ready,
        cached=cached,
    )
    unstored, before = stored is not None, stored or conversation.window.max_tokens
    begun = empty.settle() if unstored else empty
    draft = yield from _apply(begun, request.command)
    stands = draft.conversation
    waits = not unstored and stands.window.open_calls and is_stuck(conversation.window)
    if (
        policy.auto
        and not waits
        and is_over_budget(stands.window)
        and stands.takes(InputKind.COMPRESS)
        and not plan_of(draft).is_empty
    ):
        draft = yield from make_room(draft)
    has_grown = unstored or stands.window.max_tokens > before
    if policy.auto and has_grown and draft.last is not begun.last:
        # A command that changed the view, such as a compression, is not made good.
        is_whole = draft.conversation.window.epoch == conversation.window.epoch
        draft = restore_truncated(draft)
        if is_whole and has_room(draft, before):
            draft = refill(draft)
    # A command without effect stores nothing.
    return evolve(empty, refused=draft.refused) if draft.last is begun.last else draft


def _apply(  # noqa: C901, PLR0911, PLR0912 - one case each
    draft: Draft, command: Command, following: Command | None = None
) -> DraftSteps:
    match command:
        case Add():
            return (
                yield from _add(
                    draft,
                    ContextInput.of_turn(draft.stamp(command.turn), command.resource_class),
                    truncate=command.oversize == "truncate",
                    awaits_result=isinstance(following, Add) and following.turn.role is Role.TOOL,
                )
            )
        case Attach():
            return (yield from _attach(draft, command))
        case Compress():
            return (yield from compress(draft, command))
        case Take():
            draft = yield from take_whole(draft, command.input)
            return (yield from compress_if_due(draft, command.input.kind))
        case Commit():
            return commit(draft, command.fulfilment, fallback=command.fallback)
        case Recall():
            return (yield from recall_turns(draft, command.resource_ids))
        case Refill():
            return refill(draft)
        case Rewind():
            return draft.rewind(command.target)
        case Undo():
            return draft.undo(command)
        case Patch():
            return draft.patch(command)
        case Together():
            for each, coming in zip_longest(command.commands, command.commands[1:]):
                draft = yield from _apply(draft, each, coming)
            return draft
        case _:
            assert_never(command)


def _add(
    draft: Draft,
    context_input: ContextInput,
    *,
    truncate: bool = False,
    awaits_result: bool = False,
) -> DraftSteps:
    """Add a turn.

    With `auto`, compress before it while PRESSURED, and after it if it exceeds the budget by
    itself. If a thinking model answers next, room is made before the request, not between the
    question and an answer that is bound to it. If calls alone fill the view, room is made once all
    of their results are in: with `awaits_result`, the next one comes in the same write.
    """
    conversation, auto = draft.conversation, draft.policy.auto
    stuck = is_stuck(conversation.window)
    crowded = stuck or (draft.before is not None and is_crowded(conversation.window))
    if auto and (conversation.state is ContextState.PRESSURED or pays(draft, context_input.turn)):
        # Refuse a turn that is out of order before any summary is written.
        conversation.window.check_order(context_input.turn)
        draft = leave_whole(draft) if crowded else (yield from make_room(draft))
    try:
        draft = draft.take(context_input)
    except ContextOverflowError:
        asks = context_input.turn.role in (Role.USER, Role.SYSTEM)
        if asks and not truncate:
            raise
        draft = add_truncated(draft, context_input)
        auto = auto or asks
    if draft.epoch != draft.conversation.window.epoch.number:
        draft = without_foreign_thoughts(draft)
    if (awaits_result or stuck) and is_crowded(draft.conversation.window):
        return draft
    if auto and wants_room(draft.conversation) and draft.conversation.takes(InputKind.COMPRESS):
        return (yield from make_room(draft))
    return draft


def _attach(draft: Draft, command: Attach) -> DraftSteps:
    given = input_to_attach(draft, command)
    if given is None:
        return draft
    return draft.take(given) if given.kind is InputKind.PROMOTE else (yield from _add(draft, given))


# --- attachments -----------------------------------------------------------------------


def input_to_attach(draft: Draft, command: Attach) -> ContextInput | None:
    """Return the input that attaches an item, or raises its class if it is in the view.

    Returns None if there is nothing to do. An attachment is REQUIRED by default: the classifier is
    not called for files.
    """
    window, wanted = draft.conversation.window, command.resource_class
    held = held_attachment(window, command.item, command.source)
    if held is None:
        turn = turn_to_attach(draft.conversation.log, command.item, command.source)
        return ContextInput.of_turn(
            draft.stamp(turn), ResourceClass.REQUIRED if wanted is None else wanted
        )
    if wanted is None or wanted <= window.class_of(held):
        return None
    return ContextInput.promote(held.resource_id, wanted, "attached again", draft.at)


def held_attachment(
    window: ContextWindow, item: ContextItem, source: str | None = None
) -> Turn | None:
    """Return the turn of `window` that holds `item` verbatim.

    Returns None if there is none, or if its source has a newer text.
    """
    wanted = item_turn(item, source)
    sought = _source(wanted)
    for turn in reversed(window.all_turns()):
        if _source(turn) == sought:
            if turn.text == wanted.text:
                return turn
            if sought[1] is not None:
                return None
    return None


def turn_to_attach(log: Log, item: ContextItem, source: str | None) -> Turn:
    """Return the turn that attaches `item`, with a fresh id if its own names another item."""
    turn = item_turn(item, source)
    first = log.item(item.id)
    if first is None or (_source(first), first.text) == (_source(turn), turn.text):
        return turn
    return item_turn(
        evolve(item, id=next(free for free in ITEM_IDS if log.item(free) is None)), source
    )


def _source(turn: Turn) -> tuple[bool, str | None]:
    """Return whether `turn` holds an item, and its source."""
    attachment = attachment_of(turn)
    return (False, None) if attachment is None else (True, attachment.source)
