"""A conversation as a value, and how events change it.

`evolve` is the strict half of a decider: it uses the machine's table, no policy, model or clock.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Self

from attrs import Factory, field, frozen
from attrs import evolve as evolved

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.pressure import (
    Edit,
    RememberingSummariser,
    apply_edit,
    default_summariser,
    is_summary,
)
from polycontext.pressure.gist import GistJob, source_ids
from polycontext.window import ContextWindow
from polycontext.window.rules import REMOVALS

from .. import journal
from ..inputs import InputKind, Kind
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy
from ..state import ContextState, State
from .events import (
    EraseEvent,
    Event,
    InputEvent,
    PatchEvent,
    RewindEvent,
    TurnEvent,
    UndoEvent,
    is_erased,
    targets_of,
)
from .log import Log
from .past import Past


@frozen
class Conversation:
    """A conversation at one revision: the machine's state, the window, the log, and related data.

    `revision` counts the events so far. `companions` are stored JSON texts by name, `documents` the
    patched documents by name, as immutable JSON data. `past` holds the turns that compressions took
    out of the view. `joints` has, for each rewind, the length of the log and the revision it went
    back to, and its own revision. `since` is the time of the event that entered the state, None if
    no event has entered it yet. `regions` and `entered` are the states of the machine's other
    regions and those times, by name.
    """

    window: ContextWindow
    state: State = ContextState.EMPTY
    log: Log = field(factory=Log)
    revision: int = 0
    companions: Mapping[str, str] = field(factory=dict)
    past: Past = field(factory=Past, eq=False, repr=False)
    joints: tuple[tuple[int, int, int], ...] = ()
    documents: Mapping[str, Any] = field(factory=dict)
    machine: type[ContextMachine] = field(default=ContextMachine, repr=False)
    since: datetime | None = None
    regions: Mapping[str, State] = field(
        default=Factory(lambda self: self.machine.places.initial, takes_self=True)
    )
    entered: Mapping[str, datetime] = field(factory=dict)

    @property
    def place(self) -> State:
        """Return the states of all regions as one (`Places`)."""
        others = self.regions
        return self.machine.places.place((self.state, *others.values())) if others else self.state

    @property
    def times(self) -> tuple[datetime | None, ...]:
        """Return the times of the events that entered the states, that of the context first."""
        return (self.since, *self.entered.values())

    def after(self, event: InputEvent, window: ContextWindow) -> Self:
        """Return the conversation after `event`, whose window is `window`; O(1)."""
        log = self.log.append(event.turn) if isinstance(event, TurnEvent) else self.log
        past = event.taken(self.past, self.window)
        return evolved(self, window=window, log=log, past=past, **self._entered(event))

    def _entered(self, event: InputEvent | UndoEvent | EraseEvent) -> dict[str, Any]:
        """Return the fields that every event changes."""
        revision, since, entered = self.revision + 1, self.since, self.entered
        if event.state == self.place and since is not None and (entered or not self.regions):
            return {"revision": revision}
        at = event.at
        standing = self.machine.places.standing(event.state)
        since = at if since is None or standing["state"] != self.state else since
        entered = {
            name: entered.get(name, at) if self.regions.get(name) == state else at
            for name, state in standing["regions"].items()
        }
        return {**standing, "since": since, "entered": entered, "revision": revision}

    def takes(self, kind: Kind) -> bool:
        """Return whether the machine accepts `kind` in the current state."""
        return kind in self.machine.places.legal(self.place)

    def with_room(self, max_tokens: int) -> Self:
        """Return the same conversation with a budget of `max_tokens` for its window; O(1)."""
        if self.window.max_tokens == max_tokens:
            return self
        return evolved(self, window=self.window.with_room(max_tokens))

    def patched(self, event: PatchEvent) -> "Conversation":
        """Return the conversation with a document patched, or raise `InvalidDataError`."""
        before = self.documents.get(event.name, journal.json_patch.ABSENT)
        after = journal.patched(before, event.patch)
        documents, window = {**self.documents, event.name: after}, self.window
        if event.name == REMOVALS and isinstance(after, Mapping):
            window = window.with_facts(rules=window.rules.without(after))
        return evolved(self, revision=self.revision + 1, documents=documents, window=window)

    def rewound(
        self, target: "Conversation", event: RewindEvent, window: ContextWindow | None = None
    ) -> "Conversation":
        """Return `target`, an earlier conversation, in a new epoch; no turn id is reused.

        Its states are entered again.
        """
        window = target.window.standing_again(self.window) if window is None else window
        revision = self.revision + 1
        return evolved(
            target,
            window=window,
            **self.machine.places.standing(event.state),
            since=event.at,
            entered=dict.fromkeys(self.regions, event.at),
            revision=revision,
            companions=self.companions,
            joints=(*target.joints, (len(target.log), target.revision, revision)),
        )

    def undone(
        self, target: "Conversation", event: UndoEvent, window: ContextWindow | None = None
    ) -> "Conversation":
        """Return the conversation with the view of `target`, an earlier one, and what came since.

        The turns that left the view since `target` are no longer part of the past.
        """
        window = self.window_at(target) if window is None else window
        return evolved(self, window=window, past=target.past, **self._entered(event))

    def window_at(self, target: "Conversation") -> ContextWindow:
        """Return the window with the turns of `target`, an earlier one, and what came since."""
        return self.window.with_earlier(target.window, self.log[len(target.log) :])

    def erased(self, event: EraseEvent) -> "Conversation":
        """Return the conversation without the words of turns, in a new epoch if any was in view."""
        window, past, gone = self.window, self.past, event.resource_ids
        first = next(
            (
                place
                for place, turn in enumerate(window.all_turns())
                if any(each in source_ids(turn) for each in gone)
            ),
            None,
        )
        if first is not None:
            # Providers reject bound parts whose prefix has changed.
            unbound = apply_edit(window, Edit(unbound_from=first), compressed=False)
            epoch = window.epoch.next(first, "forget", unbound.epoch.fell, unbound.epoch.unbound)
            window = unbound.with_facts(epoch=epoch)
        if event.why == "expired":
            # Summarisers read the gists in the view in place of the expired turns.
            told = [turn for turn in window.all_turns() if is_summary(turn)]
            past = Past.told(told)
            window = window.with_facts(rules=window.rules.after(*told))
        return evolved(self, window=window, past=past, **self._entered(event))

    def has_passed(self, revision: int) -> bool:
        """Return whether the conversation passed `revision` and was not rewound past it since."""
        return all(to >= revision for _, to, number in self.joints if number > revision)

    def reading(self, summariser: RememberingSummariser, job: GistJob) -> Any:
        """Return candidates for the gist of `job`, from its turns and all that left the view."""
        return self.past.candidates(
            summariser, job.sources, self.log, self.window.counter, self.window.max_tokens
        )

    def read(self, policy: ContextPolicy, max_tokens: int = 0) -> None:
        """Let the built-in summariser read ahead: all turns that have left the view.

        The budget is the window's, or `max_tokens` if larger. Other summarisers read nothing.
        O(turns that were not read yet).
        """
        own, room = default_summariser(), max(max_tokens, self.window.max_tokens)
        summariser = own if policy.background else policy.projector.summariser
        if not self.past.batches.length or type(summariser) is not type(own):
            return
        if isinstance(summariser, RememberingSummariser):
            self.past.candidates(summariser, (), self.log, self.window.counter, room)


def evolve(
    conversation: Conversation, event: Event, target: Conversation | None = None
) -> Conversation:
    """Return the conversation after `event`, as recorded.

    A `RewindEvent` or `UndoEvent` goes back to `target`.

    The sources of gists may still be ranges, as a journal stores them.

    Raises:
        InvalidDataError: `event` cannot occur here; names its number, and what would be legal.

    Law: folding `evolve` over a session's journal gives the session's conversation.
    """
    path = f"$.events[{conversation.revision}]"
    try:
        event = _told(conversation, event)
        if event.names_ranges:
            event = journal.source_ranges.edit_with_sources(event, conversation.window)
        if isinstance(event, RewindEvent):
            return conversation.rewound(_check_target(conversation, event, target), event)
        if isinstance(event, UndoEvent):
            return conversation.undone(_check_target(conversation, event, target), event)
        if isinstance(event, PatchEvent):
            _check_state(conversation, "a patch", [conversation.place], event.state)
            return conversation.patched(event)
        if isinstance(event, EraseEvent):
            _check_erased(conversation, event)
            return conversation.erased(event)
        _check_input(conversation, event.kind, event.state)
        return conversation.after(event, event.happen(conversation.window, conversation.log))
    except InvalidDataError as unfit:
        raise InvalidDataError(path + unfit.path, unfit.what, unfit.legal) from None
    except (PolycontextError, IndexError) as error:
        raise InvalidDataError(
            path, f"{type(error).__name__}: {error}", "an event that may follow the ones before"
        ) from None


def replay(events: Iterable[Event], conversation: Conversation) -> Conversation:
    """Return the conversation after `events`, or raise `InvalidDataError` as `replayed` does."""
    after = conversation
    for _, _, stands in replayed(events, conversation):
        after = stands
    return after


def replayed(
    events: Iterable[Event],
    conversation: Conversation,
    earlier: Mapping[int, Conversation] = MappingProxyType({}),
) -> Iterator[tuple[Conversation, Event, Conversation]]:
    """Yield each of `events` between the conversations before and after it.

    Rewinds may go back to an `earlier` conversation, by revision.

    Raises:
        InvalidDataError: an event, named by number, cannot occur, or rewinds past those known.
    """
    events = tuple(events)
    targets = targets_of(events)
    passed = {**earlier}
    for event in events:
        before = conversation
        if before.revision in targets:
            passed[before.revision] = before
        target = passed.get(event.to) if isinstance(event, RewindEvent | UndoEvent) else None
        conversation = evolve(before, event, target)
        yield before, event, conversation


def _check_target(
    conversation: Conversation, event: RewindEvent | UndoEvent, target: Conversation | None
) -> Conversation:
    is_left = isinstance(event, UndoEvent) and not conversation.has_passed(event.to)
    if target is None or event.to > conversation.revision or is_left:
        what = f"it goes back to revision {event.to}"
        raise InvalidDataError(".to", what, "one that the events before have passed")
    _check_input(conversation, event.kind, event.state)
    return target


def _check_erased(conversation: Conversation, event: EraseEvent) -> None:
    _check_input(conversation, InputKind.FORGET, event.state)
    for place, resource_id in enumerate(event.resource_ids):
        turn = conversation.log.get(resource_id)
        if turn is not None and not is_erased(turn):
            raise InvalidDataError(
                f".resource_ids[{place}]",
                f"turn {resource_id!r} has words still",
                "ids of turns whose words are gone",
            )


def _check_input(conversation: Conversation, kind: Kind, state: State) -> None:
    """Raise unless the table, guards aside, has a transition for `kind` that leads to `state`."""
    places = conversation.machine.places
    places.states(state)
    _check_state(conversation, kind, places.targets(conversation.place, kind), state)


def _told(conversation: Conversation, event: Event) -> Event:
    """Return an event from before there were regions with the place that it means."""
    places = conversation.machine.places
    if not places.initial or places.knows(event.state):
        return event
    among = [conversation.place]
    if not isinstance(event, PatchEvent):
        among = [*places.targets(conversation.place, event.kind)]
    return evolved(event, state=places.told(event.state, among))


def _check_state(
    conversation: Conversation, what: str, targets: Collection[State], state: State
) -> None:
    if state not in targets:
        problem = f"{what} in {conversation.place} leads to {state}"
        raise InvalidDataError(".state", problem, ", ".join(targets))
