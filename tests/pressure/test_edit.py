"""An edit alone can repeat a compression without a model, and tells what is left of each atom."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from attrs import evolve
from hypothesis import given

from polycontext.base import InvalidOptionError
from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    ContextProjector,
    Edit,
    Fidelity,
    FloorError,
    Reach,
    apply_edit,
    check_floors,
    fidelities_after,
    floor_of,
    view_of,
)
from polycontext.testing.strategies import TARGETS, lived_windows, reaches
from polycontext.window import ContextWindow, PositionError, Role, Splice, Turn
from tests.pressure.samples import HEAD, calls, extended, opened, result, talk, user

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@given(lived_windows(), reaches(), TARGETS)
def test_applying_the_edit_again_gives_the_same_window(
    window: ContextWindow, reach: Reach, target: float
) -> None:
    """The same edit on the same window gives the same window, ledger and counts included."""
    done = ContextProjector(reach=reach).compress(window, target)
    assert apply_edit(window, done.edit, compressed=True) == done.window


def test_gists_and_drops_are_entered_in_the_ledger() -> None:
    """A gist is REQUIRED, says where it comes from, and a drop is counted."""
    said = [*talk(10), user("thanks!"), *talk(6, first=10)]
    window = extended(opened(1_000), [turn.stamped(NOON) for turn in said])
    done = HEAD.compress(window, 0.3)
    gist = next(turn for turn in done.window.all_turns() if turn.is_gist)
    tag = done.window.linearity.tag_of(gist.resource_id)
    assert (tag.resource_class, tag.provenance, tag.when) == (
        ResourceClass.REQUIRED,
        "gist",
        gist.timestamp,
    )
    assert gist.timestamp == NOON
    assert done.window.linearity.stats().drops == len(done.edit.dropped) == 1


def test_an_empty_edit_changes_no_turn() -> None:
    """It only starts the count of turns since the last compression, where it is one."""
    window = extended(opened(), talk(2))
    assert apply_edit(window, Edit(), compressed=False) == window
    after = apply_edit(window, Edit(), compressed=True)
    assert (after.all_turns(), after.turns_since_compression) == (window.all_turns(), 0)
    assert after.epoch == window.epoch


def test_what_may_not_leave_is_refused() -> None:
    """An edit that would drop more than DROPPABLE turns is refused and changes nothing."""
    window = extended(opened(), talk(2))
    with pytest.raises(InvalidOptionError):
        apply_edit(window, Edit((Splice(2, 3),), ("t3",)), compressed=True)
    assert len(window) == 4


# --- what an edit leaves ---------------------------------------------------


def _gist(name: str, *sources: str) -> Turn:
    return Turn(Role.USER, "short", resource_id=name, sources=sources, tokens=1)


def _talked() -> ContextWindow:
    """Return a window of task, talk and a round of two calls: t1 t2 t3 t4 [t5 t6 t7]."""
    return extended(
        opened(), [*talk(2), calls("ls", "cat"), result(0, "a" * 50), result(1, "b" * 50)]
    )


def _ids_of(window: ContextWindow) -> list[str]:
    return [turn.resource_id for turn in window.all_turns()]


DIGEST = Turn(Role.TOOL, "short", tool_call_id="c0", resource_id="g8", sources=("t6",), tokens=1)
CUT = (Splice(5, 6, (DIGEST,)),)
TASK, THIRD, FOURTH, *_, LAST = _talked().all_turns()[1:]
GISTED = (Splice(2, 4, (_gist("g8", "t3", "t4"),)),)
LEFT: dict[str, tuple[Sequence[Splice], Sequence[Splice], dict[str, str]]] = {
    "nothing is replaced": ((), (), {}),
    "a gist comes before the third": ((), [Splice(3, 3, (_gist("g8", "t3"),))], {}),
    "a gist comes into an atom": ((), [Splice(6, 6, (_gist("g8", "t3"),))], {}),
    "a gist comes behind all": ((), [Splice(7, 7, (_gist("g8", "t3"),))], {}),
    "a gist of both": ((), GISTED, {"t3": "GIST", "t4": "GIST"}),
    "a gist of one": (
        (),
        [Splice(2, 4, (_gist("g8", "t3"),))],
        {"t3": "GIST", "t4": "DROPPED"},
    ),
    "a gist that stands elsewhere": (
        (),
        [Splice(0, 1, (_gist("g8", "t1", "t4"),)), Splice(3, 4)],
        {"t1": "GIST", "t4": "GIST"},
    ),
    "a result is cut": ((), CUT, {"t5": "GIST"}),
    "a result goes": ((), [Splice(6, 7)], {"t5": "DROPPED"}),
    "one is cut and one goes": ((), [*CUT, Splice(6, 7)], {"t5": "DROPPED"}),
    "calls and results": (
        (),
        [Splice(4, 7, (_gist("g8", "t5", "t6", "t7"),))],
        {"t5": "GIST"},
    ),
    "turns come back": ((), [Splice(1, 3, (TASK, THIRD))], {"t2": "VERBATIM", "t3": "VERBATIM"}),
    "another comes back": (
        (),
        [Splice(1, 2, (evolve(TASK, content="Do something else."),))],
        {"t2": "DROPPED"},
    ),
    "a gist of all that one stood for": (
        GISTED,
        [Splice(2, 3, (_gist("g9", "t3", "t4"),))],
        {"g8": "GIST"},
    ),
    "a gist of less": (GISTED, [Splice(2, 3, (_gist("g9", "t3"),))], {"g8": "DROPPED"}),
    "a gist comes back": (GISTED, [Splice(2, 3, (_gist("g8", "t3", "t4"),))], {"g8": "GIST"}),
    "its sources come back": (GISTED, [Splice(2, 3, (THIRD, FOURTH))], {"g8": "VERBATIM"}),
    "one of its sources comes back": (
        GISTED,
        [Splice(2, 3, (THIRD, _gist("g9", "t4")))],
        {"g8": "GIST"},
    ),
    "a result comes back beside one that was cut": (CUT, [Splice(6, 7, (LAST,))], {"t5": "GIST"}),
}


@pytest.mark.parametrize("name", LEFT)
def test_an_edit_says_what_it_leaves(name: str) -> None:
    """It reports only the atoms within its splices, each judged as a whole.

    A gist is a trace of what it names and of nothing else, wherever in the edit it stands.
    """
    before, splices, left = LEFT[name]
    window = _talked()
    if before:
        window = apply_edit(window, Edit(tuple(before)), compressed=True)
    found = fidelities_after(window, Edit(tuple(splices)))
    assert {atom: fidelity.name for atom, fidelity in found.items()} == left


@given(lived_windows(), reaches(), TARGETS)
def test_what_an_edit_leaves_is_what_the_view_shows(
    window: ContextWindow, reach: Reach, target: float
) -> None:
    """The fidelities of an edit match the edited view, and no plan goes below a floor."""
    done = ContextProjector(reach=reach).compress(window, target)
    check_floors(window, done.edit)
    left = fidelities_after(window, done.edit)
    log = [atom for atom in window.atoms() if not any(turn.is_gist for turn in atom.turns)]
    shown = view_of(done.window, log).fidelities
    assert {atom.id: left.get(atom.id, Fidelity.VERBATIM) for atom in log} == shown


FLOORS: dict[str, tuple[Edit, str, ResourceClass, Fidelity]] = {
    "a system turn dropped": (
        Edit((Splice(0, 1),)),
        "t1",
        ResourceClass.PRESERVED,
        Fidelity.DROPPED,
    ),
    "the task summarised": (
        Edit((Splice(1, 3, (_gist("g8", "t2", "t3"),)),)),
        "t2",
        ResourceClass.PRESERVED,
        Fidelity.GIST,
    ),
    "a required turn without a trace": (
        Edit((Splice(2, 4, (_gist("g8", "t3"),)),)),
        "t4",
        ResourceClass.REQUIRED,
        Fidelity.DROPPED,
    ),
}


@pytest.mark.parametrize("name", FLOORS)
def test_an_edit_below_a_floor_is_refused(name: str) -> None:
    """An edit below a floor raises an error with turn, class, fidelity and the legal ones."""
    edit, resource_id, resource_class, fidelity = FLOORS[name]
    window = _talked()
    with pytest.raises(FloorError) as caught:
        check_floors(window, edit)
    error = caught.value
    assert (error.resource_id, error.resource_class, error.fidelity) == (
        resource_id,
        resource_class,
        fidelity,
    )
    assert error.floor is floor_of(resource_class)
    legal = "VERBATIM" if error.floor is Fidelity.VERBATIM else "GIST or VERBATIM"
    assert (
        str(error)
        == f"{resource_class.name} turn {resource_id!r} would be {fidelity.name}. Use {legal}."
    )
    assert isinstance(error, ValueError)
    assert _ids_of(window) == [f"t{number}" for number in range(1, 8)]


def test_an_atom_has_the_class_of_its_highest_turn() -> None:
    """A result that was raised holds its whole atom: its call may not go either."""
    window = _talked()
    gist = _gist("g8", "t5", "t6", "t7")
    check_floors(window, Edit((Splice(4, 7, (gist,)),)))
    raised = window.promote("t7", ResourceClass.PRESERVED)
    with pytest.raises(FloorError, match="PRESERVED turn 't5' would be GIST"):
        check_floors(raised, Edit((Splice(4, 7, (gist,)),)))


def test_an_edit_that_reaches_outside_is_refused() -> None:
    """There is no floor where there is no turn."""
    with pytest.raises(PositionError):
        check_floors(_talked(), Edit((Splice(6, 9),)))
