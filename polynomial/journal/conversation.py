"""One conversation as a value, and what an event makes of it.

`evolve` is the strict half of a decider: it asks no policy, no model and no clock, and takes an event only where
the machine's table has a transition for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import field, frozen

from polycontext.linearity import InvalidDataError, PolycontextError
from polycontext.polynomial.errors import illegal
from polycontext.polynomial.journal.events import ClearEvent, CompressEvent, Event, PromoteEvent, RecallEvent, TurnEvent, input_of
from polycontext.polynomial.journal.log import Log
from polycontext.polynomial.journal.past import Past
from polycontext.polynomial.machine.context_machine import TABLE
from polycontext.polynomial.machine.transition import VALID_DIRECTIONS
from polycontext.polynomial.state import ContextState
from polycontext.pressure import Edit, GistJob, apply_edit, check_floors
from polycontext.pressure.fulfilment import RememberingSummariser
from polycontext.pressure.gist import source_ids
from polycontext.window import ContextWindow, Turn
from polycontext.window.sources import Traces


@frozen
class Conversation:
    """Hold where a conversation stands: the machine's position with its window, the log, and how many events led here.

    `companions` are JSON texts that belong to the conversation and are kept with it, by name. `past` follows from the events.
    """

    window: ContextWindow
    state: ContextState = ContextState.EMPTY
    log: Log = field(factory=Log)
    revision: int = 0
    companions: Mapping[str, str] = field(factory=dict)
    past: Past = field(factory=Past, eq=False, repr=False)

    def after(self, event: Event, window: ContextWindow) -> Self:
        """Return the conversation after `event`, which has made `window`; O(1)."""
        log = self.log.append(event.turn) if type(event) is TurnEvent else self.log
        past = self.past
        if type(event) is CompressEvent:
            past = past.after(self.window, event.edit)
        elif type(event) is ClearEvent:
            past = Past()
        return type(self)(window, event.state, log, self.revision + 1, self.companions, past)

    def reading(self, summariser: RememberingSummariser, job: GistJob) -> Any:
        """Return what `summariser` may say for `job` (a gist that this conversation is to have), from all that yielded before."""
        return self.past.candidates(summariser, job.sources, self.log, self.window.counter, self.window.max_tokens)


def evolve(conversation: Conversation, event: Event) -> Conversation:
    """Return the conversation after `event`, as recorded.

    What gists stand for may be told by ranges of places, as it is written down.

    Raises:
        InvalidDataError: no conversation could have taken `event` here; names its number, and what would be legal.

    Law: folding `evolve` over a session's journal gives the session's conversation.
    """
    place = f"$.events[{conversation.revision}]"
    try:
        if type(event) is CompressEvent and event.is_told:
            from polycontext.polynomial.journal.named_sources import retold  # noqa: PLC0415 - for what was read from a store

            event = retold(event, conversation.window)
        _check_target(conversation.state, event)
        return conversation.after(event, _window_after(conversation, event))
    except InvalidDataError as unfit:
        raise InvalidDataError(place + unfit.path, unfit.what, unfit.legal) from None
    except (PolycontextError, IndexError) as error:
        raise InvalidDataError(place, f"{type(error).__name__}: {error}", "an event that may follow the ones before") from None


def replay(events: Iterable[Event], conversation: Conversation) -> Conversation:
    """Return the conversation that `events` lead to; an event that cannot have happened is refused with its number."""
    for event in events:
        conversation = evolve(conversation, event)
    return conversation


def _check_target(state: ContextState, event: Event) -> None:
    kind = input_of(event).kind
    rows = TABLE[state].get(kind)
    if rows is None:
        raise illegal(state, kind, VALID_DIRECTIONS[state])
    targets = dict.fromkeys(row.target for row in rows)
    if event.state not in targets:
        raise InvalidDataError(".state", f"{kind} in {state} leads to {event.state}", ", ".join(targets))


def _window_after(conversation: Conversation, event: Event) -> ContextWindow:
    window = conversation.window
    match event:
        case TurnEvent():
            after = window.append(event.turn, event.resource_class, pinned=event.pinned)
            if after.extract() != event.turn:
                raise InvalidDataError(".turn", "a turn without its id or token count", "the turn as it was accepted")
            return after
        case CompressEvent():
            _check_gists(window, event.edit)
            _check_dropped(window, event.edit)
            _check_bared(window, event.edit)
            check_floors(window, event.edit)
            return apply_edit(window, event.edit, compressed=True)
        case RecallEvent():
            _check_recalled(conversation, event.edit)
            return apply_edit(window, event.edit, compressed=False)
        case PromoteEvent():
            return window.promote(event.resource_id, event.resource_class, rationale=event.rationale, when=event.at)
        case ClearEvent():
            return window.cleared()


def _check_gists(window: ContextWindow, edit: Edit) -> None:
    """Refuse gists under an id that was given before, or that stand for anything but what the edit takes out."""
    gone, given = _replaced(window, edit), set[str]()
    behind = Traces.of(window.linearity, [[turn.resource_id for turn in gone], *(turn.sources for turn in gone)])
    for gist in (turn for splice in edit.splices for turn in splice.turns):
        if gist.resource_id in window.linearity or gist.resource_id in given:
            raise InvalidDataError(".edit", f"gist id {gist.resource_id!r} is taken", "an id that was never given")
        if not gist.sources or not behind.covers(gist.sources):
            raise InvalidDataError(
                ".edit", f"gist {gist.resource_id!r} stands for what the edit does not take out", "ids of the turns it replaces"
            )
        given.add(gist.resource_id)


def _check_dropped(window: ContextWindow, edit: Edit) -> None:
    """Refuse to call dropped what no splice takes out of the view."""
    replaced = {turn.resource_id for turn in _replaced(window, edit)}
    for resource_id in edit.dropped:
        if resource_id not in replaced:
            raise InvalidDataError(".edit", f"turn {resource_id!r} is called dropped and stands", "ids of turns that the edit takes out")


def _check_bared(window: ContextWindow, edit: Edit) -> None:
    """Refuse to take parts of turns that do not stand afterwards, or from a place where no turn is."""
    left = {turn.resource_id for turn in window.all_turns()}.difference(turn.resource_id for turn in _replaced(window, edit))
    for resource_id in edit.bared:
        if resource_id not in left:
            raise InvalidDataError(".edit.bared", f"turn {resource_id!r} does not stand", "ids of turns that stand before and after")
    if edit.unbound_from is not None and not 0 <= edit.unbound_from < len(window):
        raise InvalidDataError(".edit.unbound_from", f"{edit.unbound_from} is no place in the view", f"0..{len(window) - 1}")


def _check_recalled(conversation: Conversation, edit: Edit) -> None:
    """Refuse to recall what the log does not hold word for word, or what stands already, and to take anything else away by it."""
    replaced = _replaced(conversation.window, edit)
    recalled = [turn for splice in edit.splices for turn in splice.turns]
    # A gist goes when all it stands for is back; whatever else a recall replaces comes back in its place.
    back = {turn.resource_id for turn in recalled}
    for turn in replaced:
        if turn.resource_id not in back and not all(map(back.__contains__, source_ids(turn))):
            raise InvalidDataError(
                ".edit", f"turn {turn.resource_id!r} is taken out and does not come back", "turns that are recalled, or their gist"
            )
    standing = {turn.resource_id for turn in conversation.window.all_turns()}.difference(turn.resource_id for turn in replaced)
    for turn in recalled:
        if _logged(conversation.log, turn) != turn:
            raise InvalidDataError(".edit", f"turn {turn.resource_id!r} is not in the log as it is here", "turns of the log, word for word")
        if turn.resource_id in standing:
            raise InvalidDataError(".edit", f"turn {turn.resource_id!r} stands in the view already", "turns that do not stand")
        standing.add(turn.resource_id)


def _replaced(window: ContextWindow, edit: Edit) -> list[Turn]:
    turns = window.all_turns()
    return [turn for splice in edit.splices for turn in turns[splice.start : splice.stop]]


def _logged(log: Log, turn: Turn) -> Turn | None:
    return log[log.place(turn.resource_id)] if log.knows(turn.resource_id) else None
