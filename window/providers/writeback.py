"""Which messages of a parsed list stand in a view word for word.

A view is made of turns that were kept and of gists. A message is untouched when
all of its turns stand in the view side by side with their own words; then the
original is written back instead of a rendering of it.
"""

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


@frozen
class _Layout:
    """Know which turns belong to which message of a parsed list."""

    siblings: dict[int, list[int]]
    ordinals: dict[int, int]
    stops: dict[int, int]


def _layout(parsed: Parsed) -> _Layout:
    added = set(parsed.repaired)
    siblings: dict[int, list[int]] = {}
    ordinals: dict[int, int] = {}
    for position, place in enumerate(parsed.places):
        if position not in added:
            own = siblings.setdefault(place, [])
            ordinals[position] = len(own)
            own.append(position)
    return _Layout(siblings, ordinals, dict(pairwise([*siblings, len(parsed.messages)])))


def pieces(parsed: Parsed, turns: Iterable[Turn], positions: Mapping[str, int]) -> Iterator[Untouched | Fragment | Loose]:
    """Split a view into untouched messages, fragments and loose turns; linear in its length.

    `positions` gives for each resource id the position in ``parsed.turns``. A
    turn whose words differ from those it had is loose, whatever its id.
    """
    layout = _layout(parsed)
    view = list(turns)
    found = [_position(parsed, turn, positions, layout) for turn in view]
    index = 0
    while index < len(view):
        position = found[index]
        if position is None:
            yield Loose(view[index])
            index += 1
            continue
        place = parsed.places[position]
        own = layout.siblings[place]
        # Side by side and complete, or the message is not what it was.
        if position == own[0] and found[index : index + len(own)] == own:
            yield Untouched(place, layout.stops[place])
            index += len(own)
        else:
            yield Fragment(view[index], place, layout.ordinals[position])
            index += 1


def _position(parsed: Parsed, turn: Turn, positions: Mapping[str, int], layout: _Layout) -> int | None:
    position = positions.get(turn.resource_id)
    if position is None or position not in layout.ordinals:
        return None
    return position if _words(turn) == _words(parsed.turns[position]) else None


def _words(turn: Turn) -> tuple[object, ...]:
    return turn.role, turn.content, turn.tool_calls, turn.tool_call_id, turn.parts
