"""Drafts: decisions, from their first step to what is stored.

Each step returns a new draft. A draft that fails is dropped, so nothing is rolled back.
"""

from collections.abc import Generator
from datetime import datetime
from typing import Any

from attrs import define, evolve, frozen

from polycontext.base import InvalidOptionError, require
from polycontext.linearity import UNIX_EPOCH
from polycontext.pressure import (
    CompressionResult,
    ConflictError,
    Fulfilment,
    Plan,
    Reading,
    Rejection,
)
from polycontext.window import Role, Turn
from polycontext.window.call_ids import with_reused
from polycontext.window.filler import is_opening

from .. import journal
from ..inputs import ContextInput, ContextOutput, InputKind, Promotion
from ..journal.conversation import Conversation
from ..journal.conversation import evolve as evolved
from ..journal.events import (
    CompressEvent,
    Event,
    PatchEvent,
    RewindEvent,
    TurnEvent,
    UndoEvent,
    event_of,
)
from ..journal.origin import CachedTokens
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy, Step
from ..state import ContextState, State
from .commands import Patch, Undo

Cause = Step | Conversation
"""The cause of an event: a step of the machine, or the conversation after a patch."""


@define
class Draft:
    """A decision, linked to the draft before its last event, so dropping one costs nothing.

    `epoch` is the number of the epoch in which a model last received the conversation. Compressions
    record the `cached` tokens that providers reported. A draft is never changed. It is not a frozen
    class because creating one would take twice as long, and every turn creates one.
    """

    conversation: Conversation
    policy: ContextPolicy
    at: datetime
    epoch: int
    machine: ContextMachine
    before: "Draft | None" = None
    last: tuple[Event, Cause] | None = None
    refused: tuple[Rejection, ...] = ()
    ready: Fulfilment | None = None
    cached: tuple[CachedTokens, ...] = ()

    def take(self, context_input: ContextInput) -> "Draft":
        """Return the draft after one more input, which the machine decides."""
        conversation, payload = self.conversation, context_input.payload
        if isinstance(payload, Turn) and payload.tool_calls:
            marked = with_reused(payload, conversation.log.has_call)
            context_input = evolve(context_input, payload=marked)
        step, state = self._decide(context_input)
        event = event_of(step, state, self.at)
        if self.cached and isinstance(event, CompressEvent) and event.origin is not None:
            event = evolve(event, origin=evolve(event.origin, cached=self.cached))
        after = conversation.after(event, step.after)
        if step.is_own and not _tells(event, conversation, after):
            name, legal = f"action of {context_input.kind}", "a view that its event can tell again"
            raise InvalidOptionError(name, step.after, legal)
        return Draft(
            after,
            self.policy,
            self.at,
            self.epoch,
            self.machine,
            self,
            (event, step),
            ready=self.ready,
            cached=self.cached,
        )

    def take_settled(self, context_input: ContextInput) -> "Draft":
        """Return the draft after an input.

        If an event that a subclass adds leads to a built-in state, the guards choose which one.
        """
        promotion = context_input.payload
        if isinstance(promotion, Promotion) and promotion.at is UNIX_EPOCH:
            context_input = evolve(context_input, payload=evolve(promotion, at=self.at))
        draft, kind = self.take(context_input), context_input.kind
        is_own = kind in self.machine.table.kinds and not isinstance(kind, InputKind)
        if not is_own or not isinstance(draft.conversation.state, ContextState):
            return draft
        settled = draft.settle()
        return draft if settled.conversation.place == draft.conversation.place else settled

    def settle(self) -> "Draft":
        """Return the draft after the guards have chosen its state again."""
        return self.take(ContextInput.resize(self.conversation.window.max_tokens))

    def _decide(self, context_input: ContextInput) -> tuple[Step, State]:
        now = self.conversation
        step = Step(context_input, now.window, self.policy, self.at, now.since, now.entered)
        return step, self.machine.decide(step, now.place)

    def rewind(self, target: Conversation) -> "Draft":
        """Return the draft rewound to `target`, or itself if nothing has happened since."""
        conversation = self.conversation
        if target.revision == conversation.revision:
            return self
        states = self.machine.places.states(target.place)
        step, state = self._decide(
            ContextInput.rewind(target.window.standing_again(conversation.window), *states)
        )
        event = RewindEvent(state, target.revision, self.at)
        stands = conversation.rewound(target, event, step.after)
        return self._followed(stands, event, step, epoch=stands.window.epoch.number)

    def undo(self, command: Undo) -> "Draft":
        """Return the draft with the view of an earlier conversation and what came since.

        If that is the present view, return the draft itself: everything came back by a refill.

        Raises:
            ConflictError: the view did more than grow since the command was built.
        """
        conversation, target = self.conversation, command.target
        if not conversation.window.extends(command.window):
            raise ConflictError("undo", command.window, conversation.window)
        window = conversation.window_at(target)
        if window.all_turns() == conversation.window.all_turns():
            return self
        step, state = self._decide(ContextInput.undo(window))
        event = UndoEvent(state, target.revision, self.at)
        after = conversation.undone(target, event, step.after)
        return self._followed(after, event, step)

    def patch(self, command: Patch) -> "Draft":
        """Return the draft with a document changed, or itself if the change is empty."""
        conversation = self.conversation
        require(
            "name",
            command.name,
            command.name not in conversation.companions,
            "a name that no other companion has",
        )
        change = command.change(conversation.documents.get(command.name))
        if not change:
            return self
        patch = journal.json_patch.encode(change, command.name)
        event = PatchEvent(conversation.place, command.name, patch, self.at)
        after = conversation.patched(event)
        return self._followed(after, event, after)

    def _followed(self, after: Conversation, *last: Any, **more: Any) -> "Draft":
        """Return the draft after an event and its cause."""
        return evolve(
            self, conversation=after, before=self, last=last, refused=(), ready=None, **more
        )

    @property
    def steps(self) -> list[tuple[Event, Cause]]:
        """Return the events to store with their causes, in order."""
        found: list[tuple[Event, Cause]] = []
        draft: Draft | None = self
        while draft is not None and draft.last is not None:
            found.append(draft.last)
            draft = draft.before
        return found[::-1]

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events to store, in order."""
        return tuple([event for event, _ in self.steps])

    @property
    def output(self) -> ContextOutput:
        """Return the output; without events, it shows the conversation unchanged."""
        now, repaired, told = self.conversation, list[str](), None
        for event, cause in self.steps:
            made = cause.compression if isinstance(cause, Step) else None
            # Prefer a compression that took turns over one that only dropped bound parts.
            if made is not None and (told is None or _takes(made) or not _takes(told)):
                told = made
            turn = event.turn if isinstance(event, TurnEvent) else None
            if turn is not None and (
                is_opening(turn) or (turn.role is Role.TOOL and turn.metadata.get("repaired"))
            ):
                repaired.append(turn.resource_id)
        ids = tuple(repaired)
        return ContextOutput(now.window, now.state, told, ids, self.refused, regions=now.regions)

    def check_direction(self, kind: InputKind) -> None:
        """Raise if `kind` is illegal in this state, before any work is done for it."""
        self.machine.places.check(self.conversation.place, kind)

    def stamp(self, turn: Turn) -> Turn:
        """Return `turn` with a timestamp, its own or the draft's, and without its token count.

        The window counts the tokens itself.
        """
        if turn.timestamp is not UNIX_EPOCH and turn.tokens is None:
            return turn
        return turn.stamped(self.at if turn.timestamp is UNIX_EPOCH else turn.timestamp)


def _takes(made: CompressionResult) -> bool:
    return bool(made.gisted or made.dropped)


def _tells(event: Event, before: Conversation, after: Conversation) -> bool:
    """Return whether replaying an event gives what a user's action made; for a turn, in O(1)."""
    again = evolved(before, event)
    if not isinstance(event, TurnEvent):
        return again == after
    windows = (again.window, after.window)
    one, other = ((len(w), w.total_tokens, w.facts, w.linearity.stats()) for w in windows)
    return one == other and after.window.extends(before.window)


@frozen
class SummaryRequest:
    """A request for the summaries of a plan; `reading` is what was read of the conversation so far.

    With `at_once`, no model is called.
    """

    plan: Plan
    reading: Reading | None = None
    at_once: bool = False


DraftSteps = Generator[SummaryRequest, Fulfilment, Draft]
"""Steps that lead to a draft: they yield the summaries they need and are sent the fulfilment."""
