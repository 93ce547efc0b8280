"""A conversation as a value, and how events change it.

`evolve` is the strict half of a decider: it uses the machine's table, no policy, model or clock.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from attrs import evolve as evolved
from attrs import field, frozen

from polycontext.base import InvalidDataError, PolycontextError
from polycontext.pressure import (
    Edit,
    RememberingSummariser,
    apply_edit,
    check_floors,
    default_summariser,
    is_summary,
)
from polycontext.pressure.gist import GistJob, source_ids
from polycontext.window import ContextWindow, Traces, Turn
from polycontext.window.rules import REMOVALS

from .. import journal
from ..inputs import InputKind, Kind
from ..machine.context_machine import ContextMachine
from ..machine.step import ContextPolicy
from ..state import ContextState, State
from .events import (
    ClearEvent,
    CompressEvent,
    EraseEvent,
    Event,
    InputEvent,
    MoveEvent,
    PatchEvent,
    PromoteEvent,
    RecallEvent,
    ResizeEvent,
    RewindEvent,
    TurnEvent,
    input_of,
    is_erased,
    time_of,
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
    no event has entered it yet.
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

    def after(self, event: InputEvent, window: ContextWindow) -> Self:
        """Return the conversation after `event`, whose window is `window`; O(1)."""
        log, past = self.log, self.past
        if isinstance(event, TurnEvent):
            log = log.append(event.turn)
        if type(event) is CompressEvent:
            past = past.after(self.window, event.edit)
        elif type(event) is ClearEvent:
            past = Past()
        return evolved(self, window=window, log=log, past=past, **self._entered(event))

    def _entered(self, event: InputEvent | EraseEvent) -> dict[str, Any]:
        """Return the fields that every event changes."""
        since = self.since
        if event.state != self.state or since is None:
            since = time_of(event)
        return {"state": event.state, "since": since, "revision": self.revision + 1}

    def takes(self, kind: Kind) -> bool:
        """Return whether the machine accepts `kind` in the current state."""
        return kind in self.machine.table.legal(self.state)

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

        Its state is entered again.
        """
        window = target.window.standing_again(self.window) if window is None else window
        revision = self.revision + 1
        return evolved(
            target,
            window=window,
            state=event.state,
            since=event.at,
            revision=revision,
            companions=self.companions,
            joints=(*target.joints, (len(target.log), target.revision, revision)),
        )

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
    """Return the conversation after `event`, as recorded; a `RewindEvent` goes back to `target`.

    The sources of gists may still be ranges, as a journal stores them.

    Raises:
        InvalidDataError: `event` cannot occur here; names its number, and what would be legal.

    Law: folding `evolve` over a session's journal gives the session's conversation.
    """
    place = f"$.events[{conversation.revision}]"
    try:
        if type(event) is CompressEvent and event.names_ranges:
            event = journal.source_ranges.compression_with_sources(event, conversation.window)
        if isinstance(event, RewindEvent):
            return conversation.rewound(_check_target(conversation, event, target), event)
        if isinstance(event, PatchEvent):
            _check_state(conversation, "a patch", [conversation.state], event.state)
            return conversation.patched(event)
        if isinstance(event, EraseEvent):
            _check_erased(conversation, event)
            return conversation.erased(event)
        _check_input(conversation, input_of(event).kind, event.state)
        return conversation.after(event, _window_after(conversation, event))
    except InvalidDataError as unfit:
        raise InvalidDataError(place + unfit.path, unfit.what, unfit.legal) from None
    except (PolycontextError, IndexError) as error:
        raise InvalidDataError(
            place, f"{type(error).__name__}: {error}", "an event that may follow the ones before"
        ) from None


def replay(events: Iterable[Event], conversation: Conversation) -> Conversation:
    """Return the conversation after `events`, or raise `InvalidDataError` as `replayed` does."""
    after = conversation
    for _, _, stands in replayed(events, conversation):
        after = stands
    return after


def replayed(
    events: Iterable[Event], conversation: Conversation
) -> Iterator[tuple[Conversation, Event, Conversation]]:
    """Yield each of `events` between the conversations before and after it.

    Raises:
        InvalidDataError: an event, named by number, cannot occur, or rewinds past `conversation`.
    """
    events = tuple(events)
    targets = {event.to for event in events if isinstance(event, RewindEvent)}
    passed: dict[int, Conversation] = {}
    for event in events:
        before = conversation
        if before.revision in targets:
            passed[before.revision] = before
        target = passed.get(event.to) if isinstance(event, RewindEvent) else None
        conversation = evolve(before, event, target)
        yield before, event, conversation


def _check_target(
    conversation: Conversation, event: RewindEvent, target: Conversation | None
) -> Conversation:
    if target is None or event.to > conversation.revision:
        what = f"it goes back to revision {event.to}"
        raise InvalidDataError(".to", what, "one that the events before have passed")
    _check_input(conversation, InputKind.REWIND, event.state)
    return target


def _check_erased(conversation: Conversation, event: EraseEvent) -> None:
    _check_input(conversation, InputKind.FORGET, event.state)
    for place, resource_id in enumerate(event.resource_ids):
        turn = _logged_as(conversation.log, resource_id)
        if turn is not None and not is_erased(turn):
            raise InvalidDataError(
                f".resource_ids[{place}]",
                f"turn {resource_id!r} has words still",
                "ids of turns whose words are gone",
            )


def _check_input(conversation: Conversation, kind: Kind, state: State) -> None:
    """Raise unless the table, guards aside, has a transition for `kind` that leads to `state`."""
    table = conversation.machine.table
    table.legal(state)
    _check_state(conversation, kind, table.targets(conversation.state, kind), state)


def _check_state(
    conversation: Conversation, what: str, targets: Collection[State], state: State
) -> None:
    if state not in targets:
        problem = f"{what} in {conversation.state} leads to {state}"
        raise InvalidDataError(".state", problem, ", ".join(targets))


def _window_after(conversation: Conversation, event: InputEvent) -> ContextWindow:
    window = conversation.window
    match event:
        case TurnEvent():
            after = window.append(event.turn, event.resource_class, pinned=event.pinned)
            if after.extract() != event.turn:
                raise InvalidDataError(
                    ".turn", "a turn without its id or token count", "the turn as it was accepted"
                )
            return after
        case CompressEvent():
            _check_gists(window, event.edit)
            _check_ids(window, event.edit)
            check_floors(window, event.edit, recorded=True)
            return apply_edit(window, event.edit, compressed=True)
        case RecallEvent():
            _check_recalled(conversation, event.edit)
            return apply_edit(window, event.edit, compressed=False)
        case PromoteEvent():
            return window.promote(
                event.resource_id, event.resource_class, rationale=event.rationale, when=event.at
            )
        case ClearEvent():
            window = window.cleared()
        case ResizeEvent():
            window = window.with_room(event.max_tokens)
        case MoveEvent():
            pass
    return window


def _check_gists(window: ContextWindow, edit: Edit) -> None:
    """Raise if a gist has an id that is taken, or sources that the edit does not take out."""
    gone, given = _replaced(window, edit), set[str]()
    behind = Traces.of(
        window.linearity, [[turn.resource_id for turn in gone], *(turn.sources for turn in gone)]
    )
    for gist in (turn for splice in edit.splices for turn in splice.turns):
        if gist.resource_id in window.linearity or gist.resource_id in given:
            raise InvalidDataError(
                ".edit", f"gist id {gist.resource_id!r} is taken", "an id that was never given"
            )
        if not gist.sources or not behind.covers(gist.sources):
            raise InvalidDataError(
                ".edit",
                f"gist {gist.resource_id!r} stands for what the edit does not take out",
                "ids of the turns it replaces",
            )
        given.add(gist.resource_id)


def _check_ids(window: ContextWindow, edit: Edit) -> None:
    """Raise if the ids or positions of `edit` do not fit the window."""
    gone = {turn.resource_id for turn in _replaced(window, edit)}
    left = {turn.resource_id for turn in window.all_turns()} - gone
    for resource_id in edit.dropped:
        if resource_id not in gone:
            what = f"turn {resource_id!r} is called dropped and stands"
            raise InvalidDataError(".edit", what, "ids of turns that the edit takes out")
    for resource_id in edit.bared:
        if resource_id not in left:
            what, legal = "does not stand", "ids of turns that stand before and after"
            raise InvalidDataError(".edit.bared", f"turn {resource_id!r} {what}", legal)
    if (
        not set(edit.again) <= gone
        or len(set(edit.again)) < len(edit.again)
        or (edit.again and not 0 <= edit.again_at <= len(window))
    ):
        raise InvalidDataError(
            ".edit.again",
            f"{edit.again} at {edit.again_at}",
            "ids of turns that the edit takes out, and a place in the view",
        )
    if edit.unbound_from is not None and not 0 <= edit.unbound_from < len(window):
        raise InvalidDataError(
            ".edit.unbound_from",
            f"{edit.unbound_from} is not a place in the view",
            f"0..{len(window) - 1}",
        )


def _check_recalled(conversation: Conversation, edit: Edit) -> None:
    """Raise unless `edit` only brings logged turns back, unchanged, that are not in the view."""
    replaced = _replaced(conversation.window, edit)
    recalled = [turn for splice in edit.splices for turn in splice.turns]
    # A gist may be taken out once all its turns are back; other turns must be reinserted.
    back = {turn.resource_id for turn in recalled}
    for turn in replaced:
        if turn.resource_id not in back and not all(map(back.__contains__, source_ids(turn))):
            raise InvalidDataError(
                ".edit",
                f"turn {turn.resource_id!r} is taken out and does not come back",
                "turns that are recalled, or their gist",
            )
    standing = {turn.resource_id for turn in conversation.window.all_turns()}.difference(
        turn.resource_id for turn in replaced
    )
    for turn in recalled:
        if _logged_as(conversation.log, turn.resource_id) != turn:
            raise InvalidDataError(
                ".edit",
                f"turn {turn.resource_id!r} is not in the log as it is here",
                "turns of the log, word for word",
            )
        if turn.resource_id in standing:
            raise InvalidDataError(
                ".edit",
                f"turn {turn.resource_id!r} stands in the view already",
                "turns that are not in the view",
            )
        standing.add(turn.resource_id)


def _replaced(window: ContextWindow, edit: Edit) -> list[Turn]:
    turns = window.all_turns()
    return [turn for splice in edit.splices for turn in turns[splice.start : splice.stop]]


def _logged_as(log: Log, resource_id: str) -> Turn | None:
    return log[log.place(resource_id)] if log.knows(resource_id) else None
