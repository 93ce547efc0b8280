"""Removal: an edit that takes turns out of the view, for an event of your own."""

from collections.abc import Collection

from polycontext.window import ContextWindow, Role, Splice, count_turn

from .gist import NO_TEXT, digest_turn
from .projector import new_ids
from .view import Edit


def removal(window: ContextWindow, resource_ids: Collection[str]) -> Edit:
    """Return the edit that takes these turns out of the view; `ContextSession.recall` reverts it.

    A tool result leaves a line that names it, as its call must keep a result; an atom of which all
    turns are named leaves nothing. The machine refuses what a class does not allow (`FloorError`).

    >>> from polycontext.linearity import ResourceClass
    >>> from polycontext.window import Turn
    >>> window = ContextWindow(1000).append(Turn("user", "Hm."), ResourceClass.DROPPABLE)
    >>> removal(window, ["t1"]).dropped
    ('t1',)
    """
    splices, ids, place = list[Splice](), new_ids(window), 0
    for atom in window.atoms():
        named = [turn.resource_id in resource_ids for turn in atom.turns]
        if all(named):
            splices.append(Splice(place, place + len(named)))
        for at, turn in enumerate(() if all(named) else atom.turns, place):
            if turn.resource_id in resource_ids and turn.role is Role.TOOL and not turn.is_gist:
                line = digest_turn(turn, NO_TEXT, next(ids))
                tokens = count_turn(window.counter, line)
                splices.append(Splice(at, at + 1, (line.with_tokens(tokens),)))
        place += len(named)
    turns = window.all_turns()
    gone = (turn for each in splices if not each.turns for turn in turns[each.start : each.stop])
    return Edit(tuple(splices), tuple(turn.resource_id for turn in gone))
