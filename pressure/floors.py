"""The floors of edits: what an edit leaves of each atom, and which edits are refused.

An edit may take no atom below the floor of its class. As a last resort, the results beside a
PRESERVED result may be truncated.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.window import ContextWindow, PositionError, Role, Turn
from polycontext.window.sources import Traces

from .gist import is_summary, source_ids
from .view import Edit, Fidelity, FloorError, floor_of, reinsert_turns


def fidelities_after(window: ContextWindow, edit: Edit) -> dict[str, Fidelity]:
    """Return the fidelity that `edit` leaves of each atom of `window` it touches; O(n).

    The result is keyed by the atom's id. An atom is VERBATIM if every turn of it is in the result
    unchanged, GIST if inserted turns name all that is gone, and DROPPED if anything is gone that
    nothing names. A gist in `window` counts as what it stands for: a gist that absorbs it has to
    name all of its sources.

    Law: for an atom without gists, this is what `view_of` returns for the edited window.

    Raises:
        PositionError: the edit reaches outside `window`.
    """
    return {turns[0].resource_id: fidelity for turns, fidelity in _touched(window, edit)}


def check_floors(window: ContextWindow, edit: Edit, *, recorded: bool = False) -> None:
    """Raise an error if `edit` takes an atom of `window` below the floor of its class; O(n).

    If an edit comes from outside, check it here before you call `apply_edit`. Earlier versions
    truncated the task, which a `recorded` edit may have done.

    Raises:
        FloorError: names the first such atom, its class, the fidelity left of it, and its floor.
        PositionError: the edit reaches outside `window`.
    """
    for resource_id in edit.bared:
        if is_pinned(window, resource_id):
            raise FloorError(resource_id, ResourceClass.PRESERVED, Fidelity.GIST, Fidelity.VERBATIM)
    for turns, fidelity in _touched(window, edit):
        resource_class = max(window.linearity.classes_of([turn.resource_id for turn in turns]))
        if fidelity < floor_of(resource_class) and not (
            (recorded and _was_truncated(window, turns[0], edit))
            or _truncates_beside_pinned(window, turns, edit)
        ):
            raise FloorError(
                turns[0].resource_id, resource_class, fidelity, floor_of(resource_class)
            )


def is_pinned(window: ContextWindow, resource_id: str) -> bool:
    """Return whether a caller has set a turn to PRESERVED."""
    tag = window.linearity.tag_of(resource_id)
    return tag.pinned and tag.resource_class is ResourceClass.PRESERVED


def may_be_cut_beside(window: ContextWindow, calling: Turn, result: Turn) -> bool:
    """Return whether a result may be truncated though its atom is PRESERVED, as a last resort.

    Another result of the turn `calling` is PRESERVED then, but neither this one nor, by a caller,
    that turn.
    """
    classes = window.linearity.classes_of([result.resource_id])
    return ResourceClass.PRESERVED not in classes and not is_pinned(window, calling.resource_id)


def _truncates_beside_pinned(window: ContextWindow, turns: Sequence[Turn], edit: Edit) -> bool:
    """Return whether `edit` only truncates such results of an atom."""
    gone = {
        turn.resource_id
        for splice in edit.splices
        for turn in window.all_turns()[splice.start : splice.stop]
    }
    return all(
        turn is not turns[0]
        and may_be_cut_beside(window, turns[0], turn)
        and _is_truncated(turn, edit)
        for turn in turns
        if turn.resource_id in gone
    )


def _was_truncated(window: ContextWindow, turn: Turn, edit: Edit) -> bool:
    """Return whether `edit` truncates a user turn that no caller has pinned."""
    whole = turn.role is Role.USER and not turn.is_gist
    return whole and not is_pinned(window, turn.resource_id) and _is_truncated(turn, edit)


def _is_truncated(turn: Turn, edit: Edit) -> bool:
    """Return whether an inserted turn is what is left of `turn` alone, and not a summary."""
    coming = (each for splice in edit.splices for each in splice.turns)
    sources = [*source_ids(turn)]
    return any([*each.sources] == sources and not is_summary(each) for each in coming)


def _touched(window: ContextWindow, edit: Edit) -> Iterator[tuple[Sequence[Turn], Fidelity]]:
    """Yield the turns of every atom that `edit` touches, and the fidelity left of it."""
    turns = window.all_turns()
    coming = {
        turn.resource_id: turn
        for splice in (*edit.splices, *reinsert_turns(window, edit))
        for turn in splice.turns
    }
    named = Traces.of(window.linearity, (turn.sources for turn in coming.values()))
    traced = evolve(named, few=named.few | coming.keys())
    for start, gone in _gone(turns, edit).items():
        stop = start + 1
        while stop < len(turns) and turns[stop].role is Role.TOOL:
            stop += 1
        left = (
            _left(turns[index], coming, named, traced) if index in gone else _held(turns[index])
            for index in range(start, stop)
        )
        yield turns[start:stop], min(left)


def _gone(turns: Sequence[Turn], edit: Edit) -> dict[int, set[int]]:
    """Return the indices of the turns that `edit` removes, by the start of their atom."""
    gone: dict[int, set[int]] = {}
    for splice in edit.splices:
        for place in (splice.start, splice.stop):
            if not 0 <= place <= len(turns):
                raise PositionError(
                    place, "is outside of the window that is edited", f"0..{len(turns)}"
                )
        start = splice.start
        while splice.start < splice.stop and start > 0 and turns[start].role is Role.TOOL:
            start -= 1
        for index in range(splice.start, splice.stop):
            start = start if turns[index].role is Role.TOOL else index
            gone.setdefault(start, set()).add(index)
    return gone


def _held(turn: Turn) -> Fidelity:
    return Fidelity.GIST if turn.sources else Fidelity.VERBATIM


def _left(turn: Turn, coming: Mapping[str, Turn], named: Traces, traced: Traces) -> Fidelity:
    """Return the fidelity left of a removed turn.

    It may be inserted again unchanged, or leave a trace of everything that it stood for.
    """
    if coming.get(turn.resource_id) == turn:
        return _held(turn)
    if not turn.sources:
        return Fidelity.GIST if turn.resource_id in named else Fidelity.DROPPED
    if not traced.covers(turn.sources):
        return Fidelity.DROPPED
    return Fidelity.GIST if named.meets(turn.sources) else Fidelity.VERBATIM
