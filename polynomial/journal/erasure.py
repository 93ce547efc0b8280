"""Erase the words of turns from a journal: the only operation that changes stored events.

An erased turn keeps its place: role, id, time, class, and the calls that must not be separated from
their results. Gists that stand for it are rewritten from the remaining turns if they are in the
view, and blanked everywhere else. Replaying the journal therefore gives the conversation as it
would have been without these words (docs/history.md). Before a rewritten journal replaces the old
one, both are replayed side by side: they must agree on everything but words.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from typing import Any

from attrs import define, evolve, field

from polycontext.base import InvalidDataError
from polycontext.pressure import ExtractiveSummariser, is_summary
from polycontext.pressure.gist import NO_TEXT, digest_text, summary_text, unframed, with_rules
from polycontext.window import Role, TokenCounter, ToolCall, Turn, count_turn
from polycontext.window.call_ids import REUSED
from polycontext.window.part_removal import bare, unbound

from ..errors import StoreError
from ..inputs import ContextInput
from ..machine.context_machine import decider
from ..machine.step import ContextPolicy, Step
from ..stores.session_store import Rewritten
from .conversation import Conversation, replay, replayed
from .conversation import evolve as evolve_conversation
from .erased_arguments import calls_with_words, without_words
from .events import (
    ERASED,
    CompressEvent,
    ErasedWhy,
    EraseEvent,
    Event,
    PatchEvent,
    TurnEvent,
    is_erased,
    targets_of,
)
from .json_patch import replaced
from .origin import digest_of
from .source_ranges import with_sources

_SAID: Mapping[ErasedWhy, str] = {"forgotten": "[forgotten]", "expired": "[expired]"}
_MACHINES = (Role.TOOL, Role.ASSISTANT)
_SPARE = (0, 4, 8, 16, 32)
_UNERASABLE = "Nothing was changed; report it with the journal's events, without their words"
_SHORTEST_QUOTE = 8
"""The fewest characters of a text that is looked for in documents; a shorter one is no quote."""
_WORD = re.compile(r"\w{4,}")
_MOST_READ = 200
"""The most turns that a gist is rewritten from; of more, those with the most of its text."""


def erased(
    turn: Turn, why: ErasedWhy, counter: TokenCounter, wordless: frozenset[str] = frozenset()
) -> Turn:
    """Return what is left of `turn` after erasure: its place and the names of its calls.

    The mark of ids used before stays as well, and the metadata of a tool or model under the keys
    that are `wordless`. Law: idempotent.
    """
    calls = tuple(ToolCall(call.id, call.name) for call in turn.tool_calls)
    kept = {REUSED} | (wordless if turn.role in _MACHINES else set())
    # A truncated turn is told from a summary by the frame of its text.
    is_truncated = turn.is_gist and bool(turn.sources) and not is_summary(turn)
    left = Turn(
        turn.role,
        digest_text(_SAID[why], turn.sources[0]) if is_truncated else _SAID[why],
        tool_calls=calls,
        tool_call_id=turn.tool_call_id,
        resource_id=turn.resource_id,
        timestamp=turn.timestamp,
        metadata={ERASED: why} | {key: turn.metadata[key] for key in kept & turn.metadata.keys()},
        sources=turn.sources,
        level=turn.level,
    )
    return _with_count(left.as_gist() if turn.is_gist and not turn.sources else left, counter)


def forgetting(
    events: Iterable[Event],
    resource_ids: Collection[str],
    empty: Conversation,
    policy: ContextPolicy,
    at: datetime,
) -> Rewritten | None:
    """Return the rewritten journal without the words of these turns, and of an agent's calls.

    Return None if they are all forgotten already. `events` is the whole journal, `empty` the
    conversation it begins with.
    """
    journal = _Journal(list(with_sources(events)), "forgotten", empty)
    came = (
        event.turn
        for event in journal.events
        if isinstance(event, TurnEvent) and event.turn.resource_id in resource_ids
    )
    if all(turn.metadata.get(ERASED) == "forgotten" for turn in came):
        return None
    resource_ids = calls_with_words(journal.events, resource_ids).union(resource_ids)
    journal.hide(_texts_of(journal.events, resource_ids))
    journal.changed |= without_words(journal.events, resource_ids, empty.machine)
    journal.erase(resource_ids, lambda gist: any(each in gist.sources for each in resource_ids))
    journal.unbind(resource_ids)
    stands = replay(journal.now(), empty)
    journal.write_anew(stands, resource_ids)
    event = EraseEvent(stands.place, tuple(resource_ids), "forgotten", at)
    return journal.rewritten(event, empty, policy)


def expiring(
    events: Iterable[Event],
    has_expired: Callable[[Turn], bool],
    empty: Conversation,
    policy: ContextPolicy,
    at: datetime,
) -> tuple[Rewritten | None, int]:
    """Return the rewritten journal without the words of expired turns, and their number.

    Return None for the journal if no words have to go. Turns and gists in the view keep theirs. Of
    all others, whether a rewind undid them or not, those turns for which `has_expired` holds lose
    them; it is asked from the newest turn on. Gists outside the view that quote a turn without
    words lose theirs as well, and so do earlier states of documents that quote an expired text.
    """
    journal = _Journal(list(with_sources(events)), "expired", empty)
    stands = replay(journal.events, empty)
    view = {turn.resource_id for turn in stands.window.all_turns()}
    came = [event.turn for event in journal.events if isinstance(event, TurnEvent)]
    old = {
        turn.resource_id
        for turn in reversed(came)
        if not is_erased(turn) and has_expired(turn) and turn.resource_id not in view
    }
    gone = old.union(turn.resource_id for turn in came if is_erased(turn))
    held = "".join(_strings([*stands.documents.values()]))
    journal.hide(text for text in _texts_of(journal.events, old) if text not in held)
    journal.changed |= without_words(journal.events, old, empty.machine)
    journal.erase(
        old, lambda gist: gist.resource_id not in view and not gone.isdisjoint(gist.sources)
    )
    if not journal.changed:
        return None, 0
    return journal.rewritten(EraseEvent(stands.place, (), "expired", at), empty, policy), len(old)


def _with_state(event: EraseEvent, stands: Conversation, policy: ContextPolicy) -> EraseEvent:
    """Return `event` with the state that the guards choose after the erasure in `stands`."""
    step = Step(ContextInput.forget(stands.erased(event).window), stands.window, policy, event.at)
    return evolve(event, state=decider(stands.machine).decide(step, stands.place))


@define
class _Journal:
    """A journal and the events of it that have changed so far."""

    events: list[Event]
    why: ErasedWhy
    empty: Conversation
    changed: dict[int, Event] = field(factory=dict)

    @property
    def counter(self) -> TokenCounter:
        return self.empty.window.counter

    def now(self) -> list[Event]:
        return [self.changed.get(number, event) for number, event in enumerate(self.events, 1)]

    def rewritten(self, event: EraseEvent, empty: Conversation, policy: ContextPolicy) -> Rewritten:
        """Return the changes and the erasure `event`, with the state that the guards choose.

        Raises:
            StoreError: the journal would say something else than before, apart from words.
        """
        stands = self._check(empty)
        event = _with_state(event, stands, policy)
        evolve_conversation(stands, event)
        return Rewritten(len(self.events), self.changed, (event,))

    def _check(self, empty: Conversation) -> Conversation:
        """Replay the journal as it was and as it will be; return the conversation it leads to."""
        stands, number = empty, 0
        # Compared in full where they may be seen: at the end, and where a rewind goes to.
        seen = targets_of(self.events)
        before, after = (replayed(events, empty) for events in (self.events, self.now()))
        try:
            for number, (was, now) in enumerate(zip(before, after, strict=True), 1):
                stands = now[2]
                self._unsign(number, *now)
                in_full = number in seen or number == len(self.events)
                if _outline(was[2], in_full=in_full) != _outline(stands, in_full=in_full):
                    raise StoreError("the erasure", f"event {number} would change", _UNERASABLE)
        except InvalidDataError as error:
            problem = f"the journal could not be replayed after event {number}: {error}"
            raise StoreError("the erasure", problem, _UNERASABLE) from error
        return stands

    def _unsign(self, number: int, before: Conversation, event: Event, after: Conversation) -> None:
        """Remove the digests of a compression that showed what is erased, and any query.

        A digest would tell who guesses the words that they are right. A query may quote them.
        """
        if not isinstance(event, CompressEvent):
            return
        origin = event.origin
        if origin is None or origin.before is None:
            return
        views = digest_of(before.window), digest_of(after.window)
        if origin.query is not None or views != (origin.before, origin.after):
            self.changed[number] = evolve(event, origin=origin.unsigned())

    def erase(self, resource_ids: Collection[str], quotes: Callable[[Turn], bool]) -> None:
        """Erase the words of these turns, and of gists for which `quotes` holds."""

        def left(turn: Turn) -> Turn:
            gone = turn.resource_id in resource_ids or (turn.is_gist and quotes(turn))
            return (
                erased(turn, self.why, self.counter, self.empty.machine.wordless)
                if gone and turn.metadata.get(ERASED) not in (self.why, "forgotten")
                else turn
            )

        self._change(left, resource_ids)

    def hide(self, texts: Iterable[str]) -> None:
        """Replace these texts wherever a patch of a document quotes one of them whole."""
        told = [text for text in texts if len(text) >= _SHORTEST_QUOTE]
        patches = {n: each for n, each in enumerate(self.events, 1) if isinstance(each, PatchEvent)}
        after = replaced([each.patch for each in patches.values()], told, _SAID[self.why])
        for (number, event), patch in zip(patches.items(), after, strict=True):
            if patch != event.patch:
                self.changed[number] = evolve(event, patch=patch)

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
            for turn in event.turns
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
            after = event.without(left, resource_ids)
            if after is not event:
                self.changed[number] = after


def _texts_of(events: Iterable[Event], resource_ids: Collection[str]) -> list[str]:
    """Return the texts and call arguments of turns, the longest first."""
    turns = (event.turn for event in events if isinstance(event, TurnEvent))
    said = [turn for turn in turns if turn.resource_id in resource_ids]
    texts = {turn.text for turn in said} | {
        call.arguments for turn in said for call in turn.tool_calls
    }
    return sorted(texts, key=len, reverse=True)


def _strings(data: Any) -> Iterator[str]:
    """Yield the strings in JSON data, and the keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list | tuple):
        for each in [*data, *data.values()] if isinstance(data, Mapping) else data:
            yield from _strings(each)


def _outline(conversation: Conversation, *, in_full: bool) -> tuple[object, ...]:
    """Return what erasing words leaves as it is; in short, numbers that are cheap to compare."""
    window, log = conversation.window, conversation.log
    short = (conversation.place, conversation.revision, len(log), len(window))
    if not in_full:
        return short
    turns = [(turn.resource_id, turn.role, [*turn.sources]) for turn in window.all_turns()]
    ledger = window.linearity
    classes = [(each, ledger.tag_of(each).resource_class) for each in ledger.ids]
    return (*short, turns, classes, [turn.resource_id for turn in log], [*conversation.documents])


def _rewrite_gist(gist: Turn, stands: Conversation, counter: TokenCounter) -> Turn:
    """Return `gist` rewritten from those of its turns that are left, in no more tokens."""
    known = filter(None, map(stands.log.get, gist.sources))
    left = _most_quoted([turn for turn in known if not is_erased(turn)], unframed(gist.text))
    turns = [bare(turn, counter) for turn in left]
    shown = {turn.resource_id for turn in stands.window.all_turns()}
    rules = [
        rule
        for rule in stands.window.rules.standing
        if rule.turn_id in gist.sources and rule.turn_id not in shown
    ]
    # A summary that the provider wrote still contains the words, so only the readable text is kept.
    room = (gist.tokens or 0) - count_turn(
        counter, evolve(gist, content=summary_text(with_rules("", rules)), parts=())
    )
    for spare in _SPARE:
        body = (
            ExtractiveSummariser().summarise(
                turns, room - spare, counter=counter, rules=[rule.text for rule in rules]
            )
            if turns and room > spare
            else ""
        )
        made = _with_count(
            evolve(
                gist,
                content=summary_text(with_rules(body.strip() or NO_TEXT, rules)),
                parts=(),
                tokens=None,
            ),
            counter,
        )
        if (made.tokens or 0) <= (gist.tokens or 0):
            return made
    return erased(gist, "forgotten", counter)


def _most_quoted(turns: Sequence[Turn], text: str) -> Sequence[Turn]:
    """Return the turns with the most words of a text, in order, if there are too many to read."""
    if len(turns) <= _MOST_READ:
        return turns
    words = frozenset(_WORD.findall(text))
    shared = [len(words.intersection(_WORD.findall(turn.text))) for turn in turns]
    most = nlargest(_MOST_READ, range(len(turns)), key=shared.__getitem__)
    return [turns[place] for place in sorted(most)]


def _with_count(turn: Turn, counter: TokenCounter) -> Turn:
    return turn.with_tokens(count_turn(counter, turn))
