"""Which messages of a parsed list stand in a view word for word.

A view is made of turns that were kept and of gists. A message is untouched when
all of its turns stand in the view side by side with their own words; then the
original is written back instead of a rendering of it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from attrs import frozen

from polycontext.window.providers.wire import Parsed
from polycontext.window.turn import Turn


@frozen
class Untouched:
    """Stand for the messages ``start:stop`` of the parsed list, to be written back as they are."""

    start: int
    stop: int


@frozen
class Fragment:
    """Stand for a kept turn, number `ordinal` of message `message`, whose other turns are not all beside it."""

    turn: Turn
    message: int
    ordinal: int


@frozen
class Loose:
    """Stand for a turn to be rendered: a gist, or a result that `repair` added."""

    turn: Turn


def pieces(parsed: Parsed, turns: Iterable[Turn], positions: Mapping[str, int]) -> Iterator[Untouched | Fragment | Loose]:
    """Split a view into untouched messages, fragments and loose turns; linear in its length.

    `positions` gives for each resource id the position in ``parsed.turns``. A
    turn whose words differ from those it had is loose, whatever its id.
    """
    added = set(parsed.repaired)
    siblings: dict[int, list[int]] = {}
    for position, place in enumerate(parsed.places):
        if position not in added:
            siblings.setdefault(place, []).append(position)
    stops = dict(pairwise([*siblings, len(parsed.messages)]))
    kept = {turn_id: position for turn_id, position in positions.items() if position not in added}
    view = list(turns)
    found = [_position(parsed, turn, kept) for turn in view]
    index = 0
    while index < len(view):
        at, turn = found[index], view[index]
        index += 1
        if at is None:
            yield Loose(turn)
            continue
        place = parsed.places[at]
        own = siblings[place]
        # Side by side and complete, or the message is not what it was.
        if at == own[0] and found[index : index + len(own) - 1] == own[1:]:
            yield Untouched(place, stops[place])
            index += len(own) - 1
        else:
            yield Fragment(turn, place, bisect_left(own, at))


def _position(parsed: Parsed, turn: Turn, positions: Mapping[str, int]) -> int | None:
    position = positions.get(turn.resource_id)
    return position if position is not None and _words(turn) == _words(parsed.turns[position]) else None


def _words(turn: Turn) -> tuple[object, ...]:
    return turn.role, turn.content, turn.tool_calls, turn.tool_call_id, turn.parts
