"""Recall: restore atoms to VERBATIM from the log.

Compression is lossy, so this needs the log; it is not `expand`. Recalled atoms come back whole, at
their old place.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from attrs import frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import Edit, Fidelity, view_of
from polycontext.pressure.gist import is_pointer, is_summary, truncated_ids
from polycontext.pressure.threshold import tokens_at
from polycontext.window import Atom, ContextWindow, Role, Splice, Turn
from polycontext.window.part_removal import unbound

from ..errors import ContextOverflowError, ContextPressureError
from ..inputs import ContextInput, InputKind, Promotion
from ..journal.events import is_erased
from ..journal.log import Log
from ..machine.step import ContextPolicy
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


def has_room(draft: Draft, before: int) -> bool:
    """Return whether the budget grew from `before` so far that refilling is worth a new epoch.

    The low mark is above the old budget then. It never is while calls are open.
    """
    conversation, window = draft.conversation, draft.conversation.window
    is_free = conversation.takes(InputKind.REFILL) and not window.open_calls
    return is_free and tokens_at(draft.policy.low(window), window.max_tokens) > before


def refill(draft: Draft) -> Draft:
    """Bring back what gists stand for, the newest first, as far as it fits below the low mark.

    Law: fidelities only rise, and those that stood are what compressing leaves of the new ones.
    """
    draft.check_direction(InputKind.REFILL)
    window, log = draft.conversation.window, draft.conversation.log
    for chosen in filter(None, _refills(window, log, draft.policy)):
        with suppress(ContextOverflowError):
            return draft.take(ContextInput.refill(recall_edit(window, log, chosen)))
    return draft


def _refills(window: ContextWindow, log: Log, policy: ContextPolicy) -> Iterator[Sequence[str]]:
    """Yield the ids of atoms that may fit: all, then as many as fit beside their gists, then fewer.

    Fewer may be needed because the mark falls with what cannot shrink. A provider's own summary
    stays, as do pointers to what is superseded.
    """
    gists = [turn for turn in window.all_turns() if turn.sources]
    open_to = (turn for turn in gists if not (turn.native_providers or is_pointer(turn)))
    ids = {each for gist in open_to for each in gist.sources if log.knows(each)}
    # An erased turn has nothing to bring back, and a provider's block may need others around it.
    atoms = [
        atom
        for atom in logged_atoms(log, ids)
        if not any(is_erased(turn) or turn.parts for turn in atom.turns)
    ]
    held = policy.projector.expand(view_of(window, atoms)).fidelities
    atoms = [atom for atom in reversed(atoms) if held[atom.id] is Fidelity.GIST]
    room = tokens_at(policy.low(window), window.max_tokens) - window.total_tokens
    if sum(each.tokens for each in atoms) <= room + sum(turn.tokens or 0 for turn in gists):
        yield [atom.id for atom in atoms]
    chosen = list[str]()
    for atom in atoms:
        if atom.tokens <= room:
            room -= atom.tokens
            chosen.append(atom.id)
    yield from (chosen[:stop] for stop in range(len(chosen), 0, -1))


def logged_atoms(log: Log, resource_ids: Iterable[str]) -> list[Atom]:
    """Return the atoms of the log that hold these turns, in order."""
    found = {log.place(turns[0].resource_id): turns for turns in map(log.atom, resource_ids)}
    return [
        Atom(at, at + len(turns), turns, sum(turn.tokens or 0 for turn in turns), is_open=False)
        for at, turns in sorted(found.items())
    ]


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
    back = {turn.resource_id for atom in atoms.values() for turn in atom}
    gone = {at for same in splices.values() for each in same for at in range(each.start, each.stop)}
    for place, turn in enumerate(view.turns):
        # A summary goes once all that it stands for is back.
        if (
            turn.sources
            and is_summary(turn)
            and back.issuperset(turn.sources)
            and place not in gone
        ):
            splices.setdefault(place, []).append(Splice(place, place + 1, ()))
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
