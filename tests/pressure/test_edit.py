"""An edit alone can repeat a compression without a model, and tells what is left of each atom."""

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
from tests.pressure.samples import HEAD, assistant, calls, extended, opened, result, talk, user

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


def test_an_edit_touches_only_what_it_replaces() -> None:
    """An edit reports only the atoms within its splices."""
    window = _talked()
    assert fidelities_after(window, Edit()) == {}
    for place in (3, 6, 7):
        assert fidelities_after(window, Edit((Splice(place, place, (_gist("g8", "t3"),)),))) == {}
    assert fidelities_after(window, Edit((Splice(2, 4, (_gist("g8", "t3", "t4"),)),))) == {
        "t3": Fidelity.GIST,
        "t4": Fidelity.GIST,
    }


def test_what_no_gist_names_is_dropped() -> None:
    """A gist is a trace of what it names and of nothing else, wherever in the edit it stands."""
    window = _talked()
    assert fidelities_after(window, Edit((Splice(2, 4, (_gist("g8", "t3"),)),))) == {
        "t3": Fidelity.GIST,
        "t4": Fidelity.DROPPED,
    }
    far = Edit((Splice(0, 1, (_gist("g8", "t1", "t4"),)), Splice(3, 4)))
    assert fidelities_after(window, far) == {"t1": Fidelity.GIST, "t4": Fidelity.GIST}


def test_an_atom_is_judged_whole() -> None:
    """A digest of one result makes the atom a GIST, and a removed result makes it DROPPED."""
    window = _talked()
    digest = Turn(
        Role.TOOL, "short", tool_call_id="c0", resource_id="g8", sources=("t6",), tokens=1
    )
    assert fidelities_after(window, Edit((Splice(5, 6, (digest,)),))) == {"t5": Fidelity.GIST}
    assert fidelities_after(window, Edit((Splice(6, 7),))) == {"t5": Fidelity.DROPPED}
    assert fidelities_after(window, Edit((Splice(5, 6, (digest,)), Splice(6, 7)))) == {
        "t5": Fidelity.DROPPED
    }
    assert fidelities_after(window, Edit((Splice(4, 7, (_gist("g8", "t5", "t6", "t7"),)),))) == {
        "t5": Fidelity.GIST
    }


def test_what_comes_back_as_it_was_stays_verbatim() -> None:
    """A turn among those that come is the turn itself only if it is equal, word for word."""
    window = _talked()
    task, third = window.all_turns()[1], window.all_turns()[2]
    assert fidelities_after(window, Edit((Splice(1, 3, (task, third)),))) == {
        "t2": Fidelity.VERBATIM,
        "t3": Fidelity.VERBATIM,
    }
    other = evolve(task, content="Do something else.")
    assert fidelities_after(window, Edit((Splice(1, 2, (other,)),))) == {"t2": Fidelity.DROPPED}


def test_a_fold_names_all_that_its_gists_stood_for() -> None:
    """A gist that replaces another must name all its sources, or the old one is dropped."""
    window = _talked()
    originals = window.all_turns()[2:4]
    gisted = apply_edit(window, Edit((Splice(2, 4, (_gist("g8", "t3", "t4"),)),)), compressed=True)
    assert _ids_of(gisted)[:4] == ["t1", "t2", "g8", "t5"]
    assert fidelities_after(gisted, Edit((Splice(2, 3, (_gist("g9", "t3", "t4"),)),))) == {
        "g8": Fidelity.GIST
    }
    assert fidelities_after(gisted, Edit((Splice(2, 3, (_gist("g9", "t3"),)),))) == {
        "g8": Fidelity.DROPPED
    }
    assert fidelities_after(gisted, Edit((Splice(2, 3, (gisted.all_turns()[2],)),))) == {
        "g8": Fidelity.GIST
    }
    assert fidelities_after(gisted, Edit((Splice(2, 3, originals),))) == {"g8": Fidelity.VERBATIM}
    assert fidelities_after(gisted, Edit((Splice(2, 3, (originals[0], _gist("g9", "t4"))),))) == {
        "g8": Fidelity.GIST
    }


def test_a_digest_that_stays_is_no_more_than_a_gist() -> None:
    """An atom with a digest stays a GIST if another of its results is restored."""
    window = _talked()
    digest = Turn(
        Role.TOOL, "short", tool_call_id="c0", resource_id="g8", sources=("t6",), tokens=1
    )
    cut = apply_edit(window, Edit((Splice(5, 6, (digest,)),)), compressed=True)
    assert fidelities_after(cut, Edit((Splice(6, 7, (cut.all_turns()[6],)),))) == {
        "t5": Fidelity.GIST
    }


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


def test_droppable_turns_may_leave_without_a_trace() -> None:
    """Their floor is to be gone."""
    window = extended(opened(), [*talk(1), assistant("ok"), user("thanks!")])
    check_floors(window, Edit((Splice(3, 5),), ("t4", "t5")))


def test_an_edit_that_reaches_outside_is_refused() -> None:
    """There is no floor where there is no turn."""
    with pytest.raises(PositionError):
        check_floors(_talked(), Edit((Splice(6, 9),)))
