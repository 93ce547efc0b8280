"""The log: every turn ever accepted, in order, whether or not it is still in the view.

A log is a value: appending returns a new one, and the old one stays as it is. Versions share the
column that holds their turns. Ids with rising numbers, as a window assigns them, are found by their
number. For all other ids, the versions share an index; it is only a hint, which is checked against
the turns. A version that nobody keeps therefore costs later ones nothing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Self, overload

from attrs import define, field

from polycontext.base import Column, InvalidDataError, similar
from polycontext.linearity import UnknownResourceError
from polycontext.linearity.tag import number_of
from polycontext.window import Role, Turn
from polycontext.window.items import ITEM_IDS, attachment_of

Run = tuple[int, int]
"""A run of ids with rising numbers: the first number, and how far it is ahead of its place."""

_FEW_RUNS, _TURNS_A_RUN = 64, 16
_NEAR_IDS = 500


@define(eq=False, repr=False)
class Log(Sequence[Turn]):
    """The accepted turns of a conversation, which can be found by id.

    Immutable; appending is amortised O(1).

    >>> log = Log().append(Turn("user", "hello", resource_id="t1"))
    >>> len(log), log.place("t1"), log[0].text
    (1, 0, 'hello')
    """

    _turns: Column[Turn] = field(factory=Column[Turn])
    _runs: "tuple[Run, ...]" = ()
    _places: dict[str, int] = field(factory=dict)
    _items: dict[str, int] = field(factory=dict)
    _calls: dict[str, list[int]] = field(factory=dict)
    """The places of the turns that first used the ids of calls, in any version."""
    _first: "StoredTurns | None" = None
    """Turns before all others that are in a store, and are read when first used."""

    @classmethod
    def stored(
        cls,
        turns: "StoredTurns",
        ids: Iterable[str],
        items: Mapping[str, int],
        calls: Mapping[str, int],
    ) -> "Log":
        """Return a log whose turns are in a store.

        `ids` are the ids of `turns`; `items` maps the ids of context items, and `calls` those of
        calls, to the places of the turns that have them first.
        """
        runs, places = list[Run](), dict[str, int]()
        for place, resource_id in enumerate(ids):
            run = _run_with(runs, resource_id, place)
            if run is None:
                places[resource_id] = place
            elif not runs or run is not runs[-1]:
                runs.append(run)
        for item_id in items:
            ITEM_IDS.skip_past(item_id)
        used = {call_id: [place] for call_id, place in calls.items()}
        return cls(Column(), tuple(runs), places, dict(items), used, turns)

    @property
    def items(self) -> Mapping[str, int]:
        """Return the places where context items were first attached, by the items' ids.

        The places are hints, since the versions of a log share them.
        """
        return self._items

    def append(self, turn: Turn) -> "Log":
        """Return the log with an accepted turn at its end."""
        place = len(self)
        runs, run = self._runs, _run_with(self._runs, turn.resource_id, place)
        if run is None:
            self._places[turn.resource_id] = place
        elif not runs or run is not runs[-1]:
            runs = (*runs, run)
        attachment = attachment_of(turn) if turn.metadata else None
        if attachment is not None:
            if self.item(attachment.id) is None:
                self._items[attachment.id] = place
            ITEM_IDS.skip_past(attachment.id)
        for call in turn.tool_calls:
            used = self._calls.setdefault(call.id, [])
            if not self.has_call(call.id) and place not in used:
                used.append(place)
        hints = (self._places, self._items, self._calls)
        return Log(self._turns.appended(turn), runs, *hints, self._first)

    def has_call(self, call_id: str) -> bool:
        """Return whether a turn of the log has a call with this id; stored ones are not read."""
        return any(
            place < self._stored
            or (place < len(self) and any(call.id == call_id for call in self[place].tool_calls))
            for place in self._calls.get(call_id, ())
        )

    def knows(self, resource_id: str) -> bool:
        """Return whether a turn with that id was accepted; gists made by compressions were not."""
        return self._find(resource_id) is not None

    def get(self, resource_id: str) -> Turn | None:
        """Return the turn with that id, None if there is none."""
        place = self._find(resource_id)
        return None if place is None else self[place]

    def place(self, resource_id: str) -> int:
        """Return the index of a turn.

        Raises:
            UnknownResourceError: there is no such turn.
        """
        place = self._find(resource_id)
        if place is None:
            newest = islice(reversed(self), _NEAR_IDS)
            raise UnknownResourceError(
                resource_id,
                similar(resource_id, [turn.resource_id for turn in newest]),
            )
        return place

    def atom(self, resource_id: str) -> tuple[Turn, ...]:
        """Return all turns of the atom that contains `resource_id`."""
        start = self.place(resource_id)
        while self[start].role is Role.TOOL:
            start -= 1
        stop = start + 1
        while stop < len(self) and self[stop].role is Role.TOOL:
            stop += 1
        return tuple(self[start:stop])

    def item(self, item_id: str) -> Turn | None:
        """Return the turn that first attached a context item, None if there is none."""
        place = self._items.get(item_id)
        if place is None:
            return None
        if place < len(self) and _item_id(self[place]) == item_id:
            return self[place]
        # The hint belongs to another version, as in `_find`.
        return next((turn for turn in self if _item_id(turn) == item_id), None)

    def _find(self, resource_id: str) -> int | None:
        number = number_of(resource_id)
        if number is not None and (run := bisect_right(self._runs, (number, number))):
            counted = number - self._runs[run - 1][1]
            if counted < len(self) and self[counted].resource_id == resource_id:
                return counted
        place = self._places.get(resource_id)
        if place is None:
            return None
        if place < len(self) and self[place].resource_id == resource_id:
            return place
        # The hint belongs to another version: two versions of one log have accepted the same id.
        return next(
            (index for index, turn in enumerate(self) if turn.resource_id == resource_id), None
        )

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> list[Turn]: ...
    def __getitem__(self, index: int | slice) -> Turn | list[Turn]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        if self._first is not None and place < self._stored:
            return self._first[place]
        return self._turns[place - self._stored]

    def __iter__(self) -> Iterator[Turn]:
        return chain(self._first or (), self._turns)

    def __len__(self) -> int:
        return self._stored + self._turns.length

    @property
    def _stored(self) -> int:
        """Return the number of turns that are in a store."""
        return 0 if self._first is None else len(self._first)

    def __eq__(self, other: object) -> bool:
        return (
            len(self) == len(other) and all(map(lambda a, b: a is b or a == b, self, other))
            if isinstance(other, Log)
            else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Log({len(self)} turns)"

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # A pickle contains only the turns; the index is rebuilt.
    def __reduce__(self) -> tuple[object, ...]:
        return _log_of, (tuple(self),)


def _run_with(runs: Sequence[Run], resource_id: str, place: int) -> Run | None:
    """Return the run that finds `resource_id` at `place`: the last one, a new one, or None."""
    number = number_of(resource_id)
    # The lead (number minus place) only rises, so an id belongs to the last run that begins before
    # it.
    if number is None or number < place or (runs and number - place < runs[-1][1]):
        return None
    if runs and number - place == runs[-1][1]:
        return runs[-1]
    # Adding a run copies all of them; for many short runs, the dictionary is cheaper.
    may_add = len(runs) < _FEW_RUNS + place // _TURNS_A_RUN
    return (number, number - place) if may_add else None


def _item_id(turn: Turn) -> str | None:
    attachment = attachment_of(turn)
    return None if attachment is None else attachment.id


def _log_of(turns: Sequence[Turn]) -> Log:
    log = Log()
    for turn in turns:
        log = log.append(turn)
    return log


# --- turns in a store ------------------------------------------------------------------

Part = tuple[int, int, int]
"""The number of turns before a part, and the first and last event that added its turns."""


class StoredTurns(Sequence[Turn]):
    """The turns of a log in parts, each read from a store when first used.

    A part has at least one turn and is read by ``read(first event, last event)``. Apart from
    caching the parts it has read, it is immutable.

    >>> turns = [Turn("user", "one"), Turn("assistant", "two"), Turn("user", "three")]
    >>> stored = StoredTurns(
    ...     [(0, 1, 2), (2, 3, 3)], 3, lambda first, last: tuple(turns[first - 1 : last])
    ... )
    >>> stored[2].text, [turn.text for turn in stored]
    ('three', ['one', 'two', 'three'])
    """

    __slots__ = ("_length", "_parts", "_read", "_starts", "_turns")

    def __init__(
        self, parts: Sequence[Part], length: int, read: Callable[[int, int], tuple[Turn, ...]]
    ) -> None:
        self._parts = parts
        self._starts = [start for start, _, _ in parts]
        self._length, self._read = length, read
        self._turns: dict[int, tuple[Turn, ...]] = {}

    def _part(self, number: int) -> tuple[Turn, ...]:
        found = self._turns.get(number)
        if found is None:
            start, first, last = self._parts[number]
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else self._length
            found = self._read(first, last)
            if len(found) != stop - start:
                raise InvalidDataError(
                    "log",
                    f"{len(found)} turns came with events {first}..{last}",
                    f"{stop - start}, as the snapshot says",
                )
            # The first one read is kept, so that a turn is one object however many threads read it.
            found = self._turns.setdefault(number, found)
        return found

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, index: int | slice) -> Turn | tuple[Turn, ...]:
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(self._length)))
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        number = bisect_right(self._starts, place) - 1
        return self._part(number)[place - self._starts[number]]

    def __iter__(self) -> Iterator[Turn]:
        return chain.from_iterable(map(self._part, range(len(self._parts))))

    def __len__(self) -> int:
        return self._length
