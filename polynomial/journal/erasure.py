"""Erase the words of turns from a journal: the only operation that changes stored events.

An erased turn keeps its place: role, id, time, class, and the calls that must not be separated from
their results. Gists that stand for it are rewritten from the remaining turns if they are in the
view, and blanked everywhere else. Replaying the journal therefore gives the conversation as it
would have been without these words (docs/history.md).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from attrs import define, evolve, field

from polycontext.pressure import default_summariser, is_summary
from polycontext.pressure.gist import NO_TEXT, summary_text
from polycontext.window import TokenCounter, ToolCall, Turn, count_turn
from polycontext.window.part_removal import bare, unbound

from ..inputs import ContextInput
from ..machine.step import ContextPolicy, Step
from ..machine.table import run
from ..stores.session_store import Rewritten
from .conversation import Conversation, replay
from .events import (
    ERASED,
    CompressEvent,
    ErasedWhy,
    EraseEvent,
    Event,
    PromoteEvent,
    RecallEvent,
    TurnEvent,
    is_erased,
)
from .source_ranges import with_sources

_SAID: Mapping[ErasedWhy, str] = {"forgotten": "[forgotten]", "expired": "[expired]"}
_SPARE = (0, 4, 8, 16, 32)


def erased(turn: Turn, why: ErasedWhy, counter: TokenCounter) -> Turn:
    """Return what is left of `turn` after erasure: its place and the names of its calls.

    Law: idempotent.
    """
    calls = tuple(ToolCall(call.id, call.name) for call in turn.tool_calls)
    left = Turn(
        turn.role,
        _SAID[why],
        tool_calls=calls,
        tool_call_id=turn.tool_call_id,
        resource_id=turn.resource_id,
        timestamp=turn.timestamp,
        metadata={ERASED: why},
        sources=turn.sources,
        level=turn.level,
    )
    return _with_count(left, counter)


def forgetting(
    events: Iterable[Event],
    resource_ids: Collection[str],
    empty: Conversation,
    policy: ContextPolicy,
    at: datetime,
) -> Rewritten | None:
    """Return the rewritten journal without the words of these turns.

    Return None if they are all forgotten already. `events` is the whole journal, `empty` the
    conversation it begins with.
    """
    journal = _Journal(list(with_sources(events)), "forgotten", empty.window.counter)
    came = (
        event.turn
        for event in journal.events
        if isinstance(event, TurnEvent) and event.turn.resource_id in resource_ids
    )
    if all(turn.metadata.get(ERASED) == "forgotten" for turn in came):
        return None
    journal.erase(resource_ids, lambda gist: not _is_apart(gist.sources, resource_ids))
    journal.unbind(resource_ids)
    stands = replay(journal.now(), empty)
    journal.write_anew(stands, resource_ids)
    event = _with_state(
        EraseEvent(stands.state, tuple(resource_ids), "forgotten", at),
        replay(journal.now(), empty),
        policy,
    )
    return Rewritten(len(journal.events), journal.changed, (event,))


def expiring(
    events: Iterable[Event],
    resource_ids: Collection[str],
    conversation: Conversation,
    policy: ContextPolicy,
    at: datetime,
) -> Rewritten:
    """Return the rewritten journal of `conversation` once these turns have expired.

    None of them may be in the view. Gists in the view keep their words; other gists that quote an
    expired turn lose them.
    """
    standing = {turn.resource_id for turn in conversation.window.all_turns()}
    journal = _Journal(list(with_sources(events)), "expired", conversation.window.counter)
    journal.erase(
        resource_ids,
        lambda gist: gist.resource_id not in standing and not _is_apart(gist.sources, resource_ids),
    )
    event = _with_state(EraseEvent(conversation.state, (), "expired", at), conversation, policy)
    return Rewritten(len(journal.events), journal.changed, (event,))


def _with_state(event: EraseEvent, stands: Conversation, policy: ContextPolicy) -> EraseEvent:
    """Return `event` with the state that the guards choose after the erasure in `stands`."""
    step = Step(ContextInput.forget(stands.erased(event).window), stands.window, policy, event.at)
    return evolve(event, state=run(stands.machine.table, stands.state, step))


@define
class _Journal:
    """A journal and the events of it that have changed so far."""

    events: list[Event]
    why: ErasedWhy
    counter: TokenCounter
    changed: dict[int, Event] = field(factory=dict)

    def now(self) -> list[Event]:
        return [self.changed.get(number, event) for number, event in enumerate(self.events, 1)]

    def erase(self, resource_ids: Collection[str], quotes: Callable[[Turn], bool]) -> None:
        """Erase the words of these turns, and of gists for which `quotes` holds."""

        def left(turn: Turn) -> Turn:
            gone = turn.resource_id in resource_ids or (turn.is_gist and quotes(turn))
            return (
                erased(turn, self.why, self.counter)
                if gone and turn.metadata.get(ERASED) != self.why
                else turn
            )

        self._change(left, resource_ids)

    def unbind(self, resource_ids: Collection[str]) -> None:
        """Remove the bound parts of the first of these turns and all turns after it.

        Once the words before it are erased, a bound part is no longer valid, and it may quote them.
        """
        came = [event.turn for event in self.events if isinstance(event, TurnEvent)]
        first = next(place for place, turn in enumerate(came) if turn.resource_id in resource_ids)
        behind = {
            turn.resource_id for turn in came[first:] if any(part.is_bound for part in turn.parts)
        }
        self._change(
            lambda turn: unbound(turn, self.counter) if turn.resource_id in behind else turn, ()
        )

    def write_anew(self, stands: Conversation, resource_ids: Collection[str]) -> None:
        """Rewrite the blanked gists in the view from the turns that are left."""
        blank = {
            turn.resource_id
            for turn in stands.window.all_turns()
            if turn.is_gist and is_erased(turn)
        }
        before = (
            turn
            for event in self.events
            for turn in _turns_of(event)
            if turn.resource_id in blank and is_summary(turn)
        )
        anew = {
            gist.resource_id: _rewrite_gist(gist, stands, self.counter)
            for gist in before
            if not is_erased(gist)
        }
        self._change(lambda turn: anew.get(turn.resource_id, turn), resource_ids)

    def _change(self, left: Callable[[Turn], Turn], resource_ids: Collection[str]) -> None:
        for number, event in enumerate(self.now(), 1):
            after = _with_turns(event, left, resource_ids)
            if after is not event:
                self.changed[number] = after


def _with_turns(event: Event, left: Callable[[Turn], Turn], resource_ids: Collection[str]) -> Event:
    """Return `event` with `left` applied to its turns; the same object if nothing changes."""
    match event:
        case TurnEvent():
            turn = left(event.turn)
            return event if turn is event.turn else evolve(event, turn=turn)
        case CompressEvent() | RecallEvent():
            if all(left(turn) is turn for turn in _turns_of(event)):
                return event
            splices = tuple(
                evolve(splice, turns=tuple(map(left, splice.turns)))
                for splice in event.edit.splices
            )
            # A provider accepts bound parts only after its own summary, which may have been erased.
            kept = {
                provider
                for splice in splices
                for turn in splice.turns
                for provider in turn.native_providers
            }
            keeps_bound = tuple(each for each in event.edit.keeps_bound if each in kept)
            return evolve(event, edit=evolve(event.edit, splices=splices, keeps_bound=keeps_bound))
        case PromoteEvent() if event.resource_id in resource_ids and event.rationale:
            return evolve(event, rationale="")
        case _:
            return event


def _turns_of(event: Event) -> Iterable[Turn]:
    """Return the turns that an edit adds to the view."""
    return (
        (turn for splice in event.edit.splices for turn in splice.turns)
        if isinstance(event, CompressEvent | RecallEvent)
        else ()
    )


def _rewrite_gist(gist: Turn, stands: Conversation, counter: TokenCounter) -> Turn:
    """Return `gist` rewritten from those of its turns that are left, in no more tokens."""
    log = stands.log
    known = (log[log.place(each)] for each in gist.sources if log.knows(each))
    turns = [bare(turn, counter) for turn in known if not is_erased(turn)]
    # A summary that the provider wrote still contains the words, so only the readable text is kept.
    room = (gist.tokens or 0) - count_turn(
        counter, evolve(gist, content=summary_text(""), parts=())
    )
    for spare in _SPARE:
        body = (
            default_summariser().summarise(turns, room - spare, counter=counter)
            if turns and room > spare
            else ""
        )
        made = _with_count(
            evolve(gist, content=summary_text(body.strip() or NO_TEXT), parts=(), tokens=None),
            counter,
        )
        if (made.tokens or 0) <= (gist.tokens or 0):
            return made
    return erased(gist, "forgotten", counter)


def _is_apart(sources: Sequence[str], resource_ids: Collection[str]) -> bool:
    return not any(each in sources for each in resource_ids)


def _with_count(turn: Turn, counter: TokenCounter) -> Turn:
    return turn.with_tokens(count_turn(counter, turn))
