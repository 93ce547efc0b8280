"""Recall: restore atoms to VERBATIM from the log.

Compression is lossy, so this needs the log; it is not `expand`. Recalled atoms come back whole, at
their old place.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import Edit
from polycontext.pressure.gist import truncated_ids
from polycontext.window import ContextWindow, Role, Splice, Turn
from polycontext.window.part_removal import unbound

from ..errors import ContextOverflowError, ContextPressureError
from ..inputs import ContextInput, InputKind, Promotion
from ..journal.log import Log
from .compression import make_room
from .drafts import Draft, DraftSteps


@frozen
class _View:
    """The positions in the log of the turns of a window.

    A gist has the position of its first source.
    """

    turns: Sequence[Turn]
    keys: list[int]
    standing: dict[str, int]


def recall_turns(draft: Draft, resource_ids: Iterable[str]) -> DraftSteps:
    """Recall turns; with `auto`, compress first if they do not fit."""
    takes, window, log = draft.conversation.takes, draft.conversation.window, draft.conversation.log
    may_compress = draft.policy.auto and takes(InputKind.COMPRESS)
    if not may_compress:
        draft.check_direction(InputKind.RECALL)
    # Resolve gists now: a compression may replace them.
    asked = logged_ids(window, log, resource_ids)
    edit = recall_edit(window, log, asked)
    if not edit.splices:
        return draft
    try:
        return draft.take(ContextInput.recall(edit))
    except (ContextOverflowError, ContextPressureError):
        if not may_compress:
            raise
    draft = yield from make_room(draft)
    return draft.take(ContextInput.recall(recall_edit(draft.conversation.window, log, asked)))


def take_whole(draft: Draft, given: ContextInput) -> DraftSteps:
    """Take an input; a turn that becomes PRESERVED is recalled first if the view lacks it."""
    match given.payload:
        case Promotion(resource_id, ResourceClass.PRESERVED):
            shown = (turn.resource_id for turn in draft.conversation.window.all_turns())
            if draft.conversation.log.knows(resource_id) and resource_id not in shown:
                draft = yield from recall_turns(draft, (resource_id,))
        case _:
            pass
    return draft.take_settled(given)


def restore_truncated(draft: Draft) -> Draft:
    """Recall the user turns whose view is truncated, where they fit now, the last one first.

    A larger window may have room for what a smaller one truncated.
    """
    conversation, log = draft.conversation, draft.conversation.log
    said = (turn for turn in conversation.window.all_turns() if turn.role is Role.USER)
    cut = [each for each in reversed(truncated_ids(said)) if log.knows(each)]
    for resource_id in cut if conversation.takes(InputKind.RECALL) else ():
        edit = recall_edit(draft.conversation.window, log, (resource_id,))
        with suppress(ContextOverflowError):
            draft = draft.take(ContextInput.recall(edit))
    return draft


def recall_edit(window: ContextWindow, log: Log, resource_ids: Iterable[str]) -> Edit:
    """Return the edit that recalls the atoms of `resource_ids`.

    The id of a gist recalls all of its sources.

    Raises:
        UnknownResourceError: an id is neither in the log nor a gist of the window.
    """
    view = _view(window, log)
    atoms = {
        atom[0].resource_id: atom for atom in map(log.atom, logged_ids(window, log, resource_ids))
    }
    splices: dict[int, list[Splice]] = {}
    for atom in sorted(atoms.values(), key=lambda atom: log.place(atom[0].resource_id)):
        if not all(_stands(window, view, turn) for turn in atom):
            splice = _splice(view, log, atom)
            splices.setdefault(splice.start, []).append(splice)
    return Edit(tuple(_join(same) for _, same in sorted(splices.items())))


def logged_ids(window: ContextWindow, log: Log, resource_ids: Iterable[str]) -> list[str]:
    """Return `resource_ids` with each gist of the window replaced by its sources.

    The log keeps the sources, whatever happens to the gist.
    """
    gists = {
        turn.resource_id: turn.sources
        for turn in window.all_turns()
        if turn.sources and not log.knows(turn.resource_id)
    }
    return [each for named in resource_ids for each in gists.get(named, (named,))]


def _view(window: ContextWindow, log: Log) -> _View:
    turns = window.all_turns()
    keys = [
        log.place(next((i for i in turn.sources if log.knows(i)), turn.resource_id))
        for turn in turns
    ]
    return _View(turns, keys, {turn.resource_id: index for index, turn in enumerate(turns)})


def _stands(window: ContextWindow, view: _View, logged: Turn) -> bool:
    """Return whether the view has a turn of the log in full.

    Dropped bound parts do not count: they cannot come back.
    """
    index = view.standing.get(logged.resource_id)
    return index is not None and view.turns[index] in (logged, unbound(logged, window.counter))


def _splice(view: _View, log: Log, atom: tuple[Turn, ...]) -> Splice:
    """Return the splice for one atom.

    It replaces the atom's digests, or a gist of that atom alone. Otherwise it is inserted in log
    order.
    """
    first = view.standing.get(atom[0].resource_id)
    if first is not None:
        return Splice(first, first + len(atom), atom)
    at = bisect_right(view.keys, log.place(atom[0].resource_id))
    # Only system turns may come before a provider's own summary.
    lead = next(
        (
            i
            for i, turn in enumerate(view.turns)
            if turn.role is not Role.SYSTEM and not turn.native_providers
        ),
        len(view.turns),
    )
    at = max(at, lead)
    stands_for_it = at > 0 and view.turns[at - 1].sources == tuple(
        turn.resource_id for turn in atom
    )
    return Splice(at - 1 if stands_for_it else at, at, atom)


def _join(same: list[Splice]) -> Splice:
    """Return one splice for several atoms that come back at the same place."""
    stop = max(splice.stop for splice in same)
    return Splice(same[0].start, stop, tuple(turn for splice in same for turn in splice.turns))
