"""Decide what a command does to a conversation: pure, over the table that is compiled from the machine.

`decide` is a generator: where words are needed it yields what it wants summarised and is sent the fulfilment, so
that one piece of code serves drivers that wait and drivers that await. Nothing is ever rolled back: a draft that
did not work out is dropped, and the conversation it began from is still there.
"""

import logging
from collections.abc import Generator, Iterator
from datetime import datetime
from typing import assert_never

from attrs import define, evolve, frozen

from polycontext.linearity import UNIX_EPOCH, ResourceClass
from polycontext.polynomial.errors import ContextOverflowError
from polycontext.polynomial.inputs import ContextInput, ContextOutput, Promotion
from polycontext.polynomial.journal.conversation import Conversation
from polycontext.polynomial.journal.events import Event, PatchEvent, RewindEvent, TurnEvent, event_of
from polycontext.polynomial.journal.log import Log
from polycontext.polynomial.machine.step import ContextPolicy, Step, besides_floor, is_over_budget
from polycontext.polynomial.machine.table import run
from polycontext.polynomial.state import ContextState, InputKind, State
from polycontext.pressure import ConflictError, FixedThreshold, Fulfilment, Plan
from polycontext.pressure.fulfilment import Reading, Rejection
from polycontext.pressure.plan import unbinding_plan
from polycontext.window import ContextItem, ContextWindow, Role, Turn
from polycontext.window.items import item_turn
from polycontext.window.items.attachment import attachment_of
from polycontext.window.opening import is_opening

from .commands import (
    Add,
    Asked,
    Attach,
    Command,
    Commit,
    Compress,
    Patch,
    Recall,
    Rewind,
    Take,
    Together,
)
from .options import require, written

_LOG = logging.getLogger("polycontext.session")


@frozen
class Wanted:
    """Ask for the words of a plan; `reading` is what was read of the conversation so far. Room that is needed `at_once` waits for no model."""

    plan: Plan
    reading: Reading | None = None
    at_once: bool = False


_NEAR = 8
"""In how many of the last turns an answer is looked for, as long as which the next one may be."""

BY_HAND = FixedThreshold().low
"""How much of the free room stays in use where a caller compresses without a target: automatic compression may aim so high that nothing would yield."""

Made = Step | Conversation
"""What made an event: a step of the machine, or the conversation that stands again."""


@define
class Decision:
    """Hold what a command comes to: the events to store, what made each, and the conversation afterwards."""

    base: int
    events: tuple[Event, ...]
    made: tuple[Made, ...]
    after: Conversation
    policy: ContextPolicy
    refused: tuple[Rejection, ...] = ()

    @property
    def output(self) -> ContextOutput:
        """Return what goes out; a command that came to nothing shows the conversation as it is."""
        made = [step.compression for step in self.made if isinstance(step, Step) and step.compression is not None]
        # Of several, the one that took something: where bound parts fell alone, nothing was gisted.
        told = next((each for each in reversed(made) if each.gisted or each.dropped), made[-1] if made else None)
        return ContextOutput(self.after.window, self.after.state, told, tuple(self._repaired()), self.refused)

    def _repaired(self) -> Iterator[str]:
        came = (event.turn for event in self.events if isinstance(event, TurnEvent))
        return (turn.resource_id for turn in came if is_opening(turn) or (turn.role is Role.TOOL and turn.metadata.get("repaired")))


def told(output: ContextOutput) -> ContextOutput:
    """Return `output`, after a warning where summaries were not taken: what stands instead is an extract."""
    fell_back = output.compression.rejections if output.compression is not None else ()
    for refused, instead in ((fell_back, "extracts stand instead"), (output.refused, "nothing was changed")):
        if refused:
            _LOG.warning("%d summaries were not taken, %s: %s", len(refused), instead, "; ".join(each.reason for each in refused))
    return output


Deciding = Generator[Wanted, Fulfilment, "Draft"]


def go_on(deciding: "Decided", fulfilment: Fulfilment | None = None) -> Wanted | Decision:
    """Go on with a decision: return what is wanted from a summariser, or what it has come to."""
    try:
        return next(deciding) if fulfilment is None else deciding.send(fulfilment)
    except StopIteration as decided:
        return decided.value  # type: ignore[no-any-return]  # it has no type


Decided = Generator[Wanted, Fulfilment, Decision]


def decide(conversation: Conversation, asked: Asked, policy: ContextPolicy, *, unstored: bool = False) -> Decided:
    """Decide what a command does; yield what is wanted from a summariser, be sent its fulfilment.

    Where its budget or state is `unstored`, a `ResizeEvent` that says so comes first. Where the session is automatic and the view is over
    its budget in the end, a compression comes last: every commit leaves a view that can be handed out.

    Raises whatever the machine refuses, and then nothing has happened.

    Law: folding `evolve` over the decision's events from `conversation` gives ``decision.after``.
    """
    epoch = conversation.window.epoch.number if asked.sent is None else asked.sent
    begun = Draft(conversation, policy, asked.at, epoch, ready=asked.ready)
    if unstored:
        begun = begun.settled()
    draft = yield from _done(begun, asked.command)
    stands = draft.conversation
    if policy.auto and is_over_budget(stands.window) and stands.takes(InputKind.COMPRESS) and not draft.plan().is_empty:
        draft = yield from _made_room(draft)
    # What comes to nothing stores nothing.
    taken = [] if draft.last is begun.last else draft.taken()
    events, made = tuple(event for event, _ in taken), tuple(made for _, made in taken)
    return Decision(conversation.revision, events, made, draft.conversation if taken else conversation, policy, draft.refused)


@define
class Draft:
    """Hold a decision in the making, behind the one it was made from: dropping one costs nothing, however much was decided before.

    `epoch` is the number of the one in which models were last told of the conversation. Never changed, but made at every turn, and a
    frozen class takes twice as long to make.
    """

    conversation: Conversation
    policy: ContextPolicy
    at: datetime
    epoch: int
    before: "Draft | None" = None
    last: tuple[Event, Made] | None = None
    refused: tuple[Rejection, ...] = ()
    ready: Fulfilment | None = None

    def take(self, context_input: ContextInput) -> "Draft":
        """Return the draft with one more input, taken through the table."""
        conversation = self.conversation
        step, state = self._decided(context_input)
        event = event_of(step, state, self.at)
        return Draft(conversation.after(event, step.after), self.policy, self.at, self.epoch, self, (event, step), ready=self.ready)

    def taking(self, context_input: ContextInput) -> "Draft":
        """Return the draft after an input; where a subclass of the machine leads to one of our states, the guards say to which."""
        promotion = context_input.payload
        if isinstance(promotion, Promotion) and promotion.at is UNIX_EPOCH:
            context_input = evolve(context_input, payload=evolve(promotion, at=self.at))
        draft = self.take(context_input)
        if isinstance(context_input.kind, InputKind) or not isinstance(draft.conversation.state, ContextState):
            return draft
        settled = draft.settled()
        return draft if settled.conversation.state == draft.conversation.state else settled

    def settled(self) -> "Draft":
        """Return the draft once the guards were asked again."""
        return self.take(ContextInput.resize(self.conversation.window.max_tokens))

    def _decided(self, context_input: ContextInput) -> tuple[Step, State]:
        conversation = self.conversation
        step = Step(context_input, conversation.window, self.policy, self.at)
        return step, run(conversation.machine.table, conversation.state, step)

    def rewound(self, target: Conversation) -> "Draft":
        """Return the draft that has gone back to `target`; it stands there already where nothing has happened since."""
        conversation = self.conversation
        if target.revision == conversation.revision:
            return self
        step, state = self._decided(ContextInput.rewind(target.window.standing_again(conversation.window), target.state))
        event, stands = RewindEvent(state, target.revision, self.at), conversation.rewound(target, state, step.after)
        return Draft(stands, self.policy, self.at, stands.window.epoch.number, self, (event, step))

    def patched(self, command: Patch) -> "Draft":
        """Return the draft with a document changed; nothing happens where nothing is to be changed."""
        conversation = self.conversation
        require("name", command.name, command.name not in conversation.companions, "a name that no other companion has")
        change = command.change(conversation.documents.get(command.name))
        if not change:
            return self
        event = PatchEvent(conversation.state, command.name, written(change, command.name), self.at)
        after = conversation.patched(event)
        return Draft(after, self.policy, self.at, self.epoch, self, (event, after))

    def taken(self) -> list[tuple[Event, Made]]:
        """Return the events so far and what made them, in their order."""
        found: list[tuple[Event, Made]] = []
        draft: Draft | None = self
        while draft is not None and draft.last is not None:
            found.append(draft.last)
            draft = draft.before
        return found[::-1]

    def check_direction(self, kind: InputKind) -> None:
        """Refuse what is illegal here before any work is done for it."""
        self.conversation.machine.table.rows(self.conversation.state, kind)

    def plan(self, target: float | None = None, query: str | None = None, low: float = 1.0) -> Plan:
        """Plan the view as it is; see `planned`. Where nothing else makes it fit, what the user said last is truncated, or the task too."""
        window, policy = self.conversation.window, self.policy
        for task in (False, True):
            projector = policy.projector
            if not is_over_budget(window) or projector.floor(window) + besides_floor(window, projector) <= window.max_tokens:
                break
            policy = truncating(self.policy, task=task)
        return planned(window, policy, target, query, low)


def truncating(policy: ContextPolicy, *, task: bool = True) -> ContextPolicy:
    """Return the policy by which what the user said last may be truncated in the view, and the `task` too."""
    projector = policy.projector
    return evolve(policy, projector=evolve(projector, reach=evolve(projector.reach, cuts_question=True, cuts_task=task)))


def planned(window: ContextWindow, policy: ContextPolicy, target: float | None = None, query: str | None = None, low: float = 1.0) -> Plan:
    """Plan `window` down to `target`; without one, as automatic compression does, to `low` at most. What speaks most of `query` stands whole."""
    if target is not None:
        return policy.projector.plan_to(window, target, query)
    return policy.projector.plan_between(window, min(low, policy.threshold.low), policy.high(window), query)


def _done(draft: Draft, command: Command) -> Deciding:  # noqa: C901, PLR0911 - one case a command
    match command:
        case Add():
            return (yield from _added(draft, _turn_input(draft, command), truncate=command.oversize == "truncate"))
        case Attach():
            return (yield from _attached(draft, command))
        case Compress():
            draft.check_direction(InputKind.COMPRESS)
            fulfilment = yield Wanted(draft.plan(command.target, command.query, low=BY_HAND), draft.conversation.reading)
            return draft.take(ContextInput.compress(fulfilment))
        case Take():
            return draft.taking(command.input)
        case Commit():
            return _committed(draft, command)
        case Recall():
            return (yield from _recalled(draft, command))
        case Rewind():
            return draft.rewound(command.target)
        case Patch():
            return draft.patched(command)
        case Together():
            for each in command.commands:
                draft = yield from _done(draft, each)
            return draft
        case _:
            assert_never(command)


def _turn_input(draft: Draft, command: Add) -> ContextInput:
    turn, given = _stamped(command.turn, draft.at), command.resource_class
    own = not command.pins and draft.conversation.window.classify(turn) is given
    return ContextInput.of_turn(turn, None if own else given)


def _added(draft: Draft, context_input: ContextInput, *, truncate: bool = False) -> Deciding:
    """Take a turn in; where the session is automatic, compress before it while PRESSURED, and behind it if it alone is too much.

    Where a model thinks, room is made before it is asked, not between the question and an answer that is bound to it.
    """
    conversation, auto = draft.conversation, draft.policy.auto
    if auto and (conversation.state is ContextState.PRESSURED or _pays(draft, context_input.turn)):
        # A turn that may not come now is refused before a summariser is asked for anything.
        conversation.window.check_order(context_input.turn)
        draft = yield from _made_room(draft)
    try:
        draft = draft.take(context_input)
    except ContextOverflowError:
        turn, given = context_input.turn, context_input.resource_class
        asks = turn.role in (Role.USER, Role.SYSTEM)
        if asks and not truncate:
            raise
        # Of what is taken in all the same only what is pinned and the task keep their class: another one that is kept whole would be a dead end.
        is_task = given is None and not conversation.window.has_task
        if turn.role is not Role.SYSTEM and not (turn.role is Role.USER and (is_task or given is ResourceClass.PRESERVED)):
            context_input = ContextInput.of_turn(turn, ResourceClass.REQUIRED)
        draft = evolve(evolve(draft, policy=truncating(draft.policy)).take(context_input), policy=draft.policy)
        auto = auto or asks
    draft = _without_foreign_thoughts(draft)
    if auto and _wants_room(draft.conversation) and draft.conversation.takes(InputKind.COMPRESS):
        return (yield from _made_room(draft))
    return draft


def _pays(draft: Draft, turn: Turn) -> bool:
    """Tell whether room is made before `turn` because carrying what there is has cost as much; where prices are known, and no model is asked just now."""
    conversation, policy = draft.conversation, draft.policy
    window = conversation.window
    if policy.prices is None or window.open_calls or not draft.conversation.takes(InputKind.COMPRESS):
        return False
    if turn.role is Role.ASSISTANT and is_answering(conversation):
        return False
    from polycontext.pressure.cache.schedule import pays  # noqa: PLC0415 - for those who say what tokens cost

    return pays(window, policy.threshold.low, policy.prices)


def _wants_room(conversation: Conversation) -> bool:
    """Tell whether what came in is to be followed by a compression: over budget, or a model is asked next whose answer binds it, and may not fit."""
    window = conversation.window
    if is_over_budget(window) or not is_answering(conversation):
        return is_over_budget(window)
    answer = max((turn.tokens or 0 for turn in window.turns_from(max(0, len(window) - _NEAR)) if turn.role is Role.ASSISTANT), default=0)
    return conversation.state is ContextState.PRESSURED or is_over_budget(window.with_room(max(1, window.max_tokens - answer)))


def is_answering(conversation: Conversation) -> bool:
    """Tell whether a model that thinks is asked next, or being asked: what it thinks is bound to what it was handed."""
    window = conversation.window
    last = window.peek(len(window))
    asks = last is not None and last.role in (Role.USER, Role.TOOL) and not window.open_calls
    return asks and _thinks(window)


def _thinks(window: ContextWindow) -> bool:
    return bool(window.epoch.unbound) or any(part.is_bound for turn in window.all_turns() for part in turn.parts)


def _without_foreign_thoughts(draft: Draft) -> Draft:
    """Let bound parts of the last turn fall if a compression came between what a model was handed and its answer: they are bound to what it was handed."""
    window = draft.conversation.window
    last = window.peek(len(window))
    if last is None or draft.epoch == window.epoch.number or not any(part.is_bound for part in last.parts):
        return draft
    return draft.take(ContextInput.compress(Fulfilment(unbinding_plan(window, len(window) - 1), ())))


def _made_room(draft: Draft) -> Deciding:
    """Compress because a turn needs the room now; where models write in the background, nobody waits for one: what is ready is put in, or an extract."""
    ready = draft.ready
    if ready is not None and ready.plan.fits(draft.conversation.window):
        done = _committed(draft, Commit(ready))
        if not done.refused and not is_over_budget(done.conversation.window):
            return done
    fulfilment = yield Wanted(draft.plan(), draft.conversation.reading, draft.policy.background)
    return draft.take(ContextInput.compress(fulfilment))


def _committed(draft: Draft, command: Commit) -> Draft:
    """Take in what was made of a plan, if the conversation only went on since; nothing happens for an empty plan, or where an answer is refused."""
    plan, window = command.fulfilment.plan, draft.conversation.window
    if not plan.fits(window):
        raise ConflictError("compression plan", plan.window, window)
    if plan.is_empty:
        return draft
    draft.check_direction(InputKind.COMPRESS)
    done = draft.take(ContextInput.compress(command.fulfilment))
    assert done.last is not None
    step = done.last[1]
    assert isinstance(step, Step)
    assert step.compression is not None
    refused = step.compression.rejections
    # No extract stands in for what a provider was to write itself.
    taken = not refused or (command.fallback and not step.compression.edit.is_empty)
    return done if taken else evolve(draft, refused=refused)


def _recalled(draft: Draft, command: Recall) -> Deciding:
    """Bring turns back; where they find no room and the session is automatic, compress before it."""
    from .recall import logged_ids, recall_edit  # noqa: PLC0415 - for those who recall

    draft.check_direction(InputKind.RECALL)
    log = draft.conversation.log
    # A compression may take the gist that was named.
    asked = logged_ids(draft.conversation.window, log, command.resource_ids)
    edit = recall_edit(draft.conversation.window, log, asked)
    try:
        return draft.take(ContextInput.recall(edit)) if edit.splices else draft
    except ContextOverflowError:
        if not draft.policy.auto or not draft.conversation.takes(InputKind.COMPRESS):
            raise
    draft = yield from _made_room(draft)
    return draft.take(ContextInput.recall(recall_edit(draft.conversation.window, log, asked)))


def _attached(draft: Draft, command: Attach) -> Deciding:
    window, wanted = draft.conversation.window, command.resource_class
    held = held_attachment(window, command.item, command.source)
    if held is None:
        turn = _stamped(attaching_turn(draft.conversation.log, command.item, command.source, command.ids), draft.at)
        # What is attached is REQUIRED unless the caller says otherwise: no classifier is asked about a file.
        return (yield from _added(draft, ContextInput.of_turn(turn, ResourceClass.REQUIRED if wanted is None else wanted)))
    if wanted is None or wanted <= window.class_of(held):
        return draft
    return draft.take(ContextInput.promote(held.resource_id, wanted, "attached again", draft.at))


def _stamped(turn: Turn, at: datetime) -> Turn:
    """Return `turn` with a time of its own or `at`, to be counted by the window whatever the caller says."""
    if turn.timestamp is not UNIX_EPOCH and turn.tokens is None:
        return turn
    return turn.stamped(at if turn.timestamp is UNIX_EPOCH else turn.timestamp)


# --- attaching: the same text of the same source once, and an id that named one item never given to another ---


def held_attachment(window: ContextWindow, item: ContextItem, source: str | None = None) -> Turn | None:
    """Return the turn of `window` that holds `item` word for word; None where its source has another text since."""
    wanted = item_turn(item, source)
    sought = _source(wanted)
    for turn in reversed(window.all_turns()):
        if _source(turn) == sought:
            if turn.text == wanted.text:
                return turn
            if sought[1] is not None:
                return None
    return None


def attaching_turn(log: Log, item: ContextItem, source: str | None, ids: Iterator[str]) -> Turn:
    """Return the turn that attaches `item`, under the next of `ids` where its own one named another item in `log`."""
    turn = item_turn(item, source)
    first = log.item(item.id)
    if first is None or (_source(first), first.text) == (_source(turn), turn.text):
        return turn
    return item_turn(evolve(item, id=next(free for free in ids if log.item(free) is None)), source)


def _source(turn: Turn) -> tuple[bool, str | None]:
    """Return whether `turn` holds an item, and its source."""
    attachment = attachment_of(turn)
    return (False, None) if attachment is None else (True, attachment.source)
