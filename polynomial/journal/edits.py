"""What an edit may do: the checks of a stored event before it happens again."""

from collections.abc import Iterable

from polycontext.base import InvalidDataError
from polycontext.pressure import Edit
from polycontext.pressure.gist import source_ids
from polycontext.window import ContextWindow, Turn
from polycontext.window.sources import Traces

from .log import Log


def turns_of(edit: Edit) -> list[Turn]:
    """Return the turns that an edit adds to the view."""
    return [turn for splice in edit.splices for turn in splice.turns]


def check_own(window: ContextWindow, log: Log, edit: Edit) -> None:
    """Raise unless an edit brings turns of the log back, or adds gists of what it takes out.

    Erasure finds the words of both.
    """
    turns = turns_of(edit)
    check_ids(window, edit)
    logged = [turn for turn in turns if log.knows(turn.resource_id)]
    _check_logged(window, log, edit, logged)
    check_gists(window, edit, [turn for turn in turns if turn not in logged])


def check_gists(window: ContextWindow, edit: Edit, gists: Iterable[Turn]) -> None:
    """Raise if a gist has an id that is taken, or sources that the edit does not take out."""
    gone, given = _replaced(window, edit), set[str]()
    behind = Traces.of(
        window.linearity, [[turn.resource_id for turn in gone], *(turn.sources for turn in gone)]
    )
    for gist in gists:
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


def check_ids(window: ContextWindow, edit: Edit) -> None:
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


def check_recalled(window: ContextWindow, log: Log, edit: Edit) -> None:
    """Raise unless `edit` only brings logged turns back, unchanged, that are not in the view."""
    replaced = _replaced(window, edit)
    # A gist may be taken out once all its turns are back; other turns must be reinserted.
    back = {turn.resource_id for turn in turns_of(edit)}
    for turn in replaced:
        if turn.resource_id not in back and not all(map(back.__contains__, source_ids(turn))):
            raise InvalidDataError(
                ".edit",
                f"turn {turn.resource_id!r} is taken out and does not come back",
                "turns that are recalled, or their gist",
            )
    _check_logged(window, log, edit, turns_of(edit))


def _check_logged(window: ContextWindow, log: Log, edit: Edit, turns: Iterable[Turn]) -> None:
    """Raise unless the turns that `edit` brings back are as logged, and not in the view."""
    standing = {turn.resource_id for turn in window.all_turns()}
    standing -= {turn.resource_id for turn in _replaced(window, edit)}
    for turn in turns:
        if log.get(turn.resource_id) != turn:
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
