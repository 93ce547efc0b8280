"""The sources of gists as a journal stores them: ranges of places in the ledger.

In memory, a gist lists everything it stands for. In a long conversation this is nearly all of it,
yet the gist was made from a few turns and an earlier gist. The journal stores only those, as ranges
of places in the order in which turns and gists got their ids. If the sources of a gist are a plain
list of ids (as in every journal up to schema 3), that list is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, cast

from attrs import define, evolve, field

from polycontext.base import InvalidDataError
from polycontext.linearity import LinearityMap, ResourceClass
from polycontext.window import ContextWindow, Turn
from polycontext.window.sources import Sources

from .codec import RANGES
from .events import Event, RewindEvent, TurnEvent, names_ranges, targets_of


def with_sources(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of a whole journal with the ranges of their gists resolved.

    Raises:
        InvalidDataError: a range is not valid at its event; names the event.
    """
    events = list(events)
    targets = targets_of(events)
    places, passed = _Places(), dict[int, _Places]()
    for number, event in enumerate(events):
        if number in targets:
            passed[number] = evolve(places, sources={**places.sources})
        try:
            if isinstance(event, RewindEvent):
                # After a rewind, places continue from the restored conversation. An invalid target
                # is rejected when the journal is replayed.
                known = passed.get(event.to, places)
                places = evolve(known, sources={**known.sources})
            yield places.read(event)
        except InvalidDataError as error:
            raise InvalidDataError(
                f"$.events[{number}]{error.path}", error.what, error.legal
            ) from None


def edit_with_sources(event: Any, window: ContextWindow) -> Any:
    """Return an event that edits `window` with the ranges of its gists resolved.

    Raises:
        InvalidDataError: a gist has a range of places that are not assigned yet.
    """
    return _Places(
        window.linearity,
        {turn.resource_id: turn.sources for turn in window.all_turns() if turn.sources},
    ).edited(event)


@define
class _Places:
    """The ids assigned so far, in ledger order, and the sources of the gists among them."""

    ledger: LinearityMap = field(factory=LinearityMap)
    sources: dict[str, Sequence[str]] = field(factory=dict)

    def read(self, event: Event) -> Event:
        if isinstance(event, TurnEvent):
            if names_ranges(event.turn):
                raise InvalidDataError(".turn.sources", "ranges on a turn that came in", "ids")
            self._given(event.turn)
            return event
        placed: Event = self.edited(event)
        return placed

    def edited(self, event: Any) -> Any:
        splices = () if event.edit is None else event.edit.splices
        if event.names_ranges:
            # Ranges refer to places before this event, so its gists cannot refer to one another.
            splices = tuple(
                evolve(splice, turns=tuple(map(self._with_sources, splice.turns)))
                for splice in splices
            )
            event = evolve(event, edit=evolve(event.edit, splices=splices))
        for splice in splices:
            for turn in splice.turns:
                self._given(turn)
        return event

    def _with_sources(self, turn: Turn) -> Turn:
        if not names_ranges(turn):
            return turn
        ids, done = self.ledger.ids, 0
        ranges = cast("tuple[tuple[int, int], ...]", turn.sources)
        for start, stop in ranges:
            if not done <= start < stop <= len(ids):
                raise InvalidDataError(
                    ".edit",
                    f"range [{start}, {stop}] of gist {turn.resource_id!r}",
                    f"{RANGES}, within {done}:{len(ids)}",
                )
            done = stop
        named = chain.from_iterable(ids.between(start, stop) for start, stop in ranges)
        return evolve(
            turn,
            sources=Sources.joined(
                self.ledger, ((each, self.sources.get(each, ())) for each in named)
            ),
        )

    def _given(self, turn: Turn) -> None:
        # A turn without an id, or with one that is taken, is rejected when the journal is replayed.
        if turn.resource_id and turn.resource_id not in self.ledger:
            self.ledger = self.ledger.tag(turn.resource_id, ResourceClass.REQUIRED)
            if turn.sources:
                self.sources[turn.resource_id] = turn.sources
