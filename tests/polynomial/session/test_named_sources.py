"""Gists' sources are saved as ranges.

They stay small, are identical when saved again, and are refused if they make no sense.
"""

import json
from typing import Any

import pytest
from attrs import evolve

from polycontext.base import InvalidDataError
from polycontext.polynomial import ContextSession, ContextState
from polycontext.polynomial.journal.conversation import Conversation, replay
from polycontext.polynomial.journal.events import CompressEvent, RecallEvent
from polycontext.polynomial.session.recall import recall_edit
from polycontext.pressure import Edit
from polycontext.testing import FAST
from polycontext.window import Role, Splice, Turn
from polycontext.window.sources import Sources
from tests.polynomial.conversations import document, lines_of, text_of


def grown(turns: int, max_tokens: int = 400, **options: Any) -> ContextSession:
    """Return a session after so many turns, with a pinned task and rule, and droppable turns."""
    session = ContextSession(max_tokens, counter=FAST, **options)
    session.add_user_turn("Sort the crates by harbour.")
    session.add_assistant_turn("From which harbour?")
    session.add_user_turn("From now on, name the tide.")
    for number in range(turns):
        said = (
            "ok"
            if number % 7 == 3
            else f"Crate {number} stands at pier {number * 13 % 101}, behind the red shed."
        )
        (session.add_assistant_turn if number % 2 == 0 else session.add_user_turn)(said)
    return session


def gists(session: ContextSession) -> list[Turn]:
    """Return every gist that a compression of the session made."""
    edits = [event.edit for event in session.history.events() if isinstance(event, CompressEvent)]
    return [turn for edit in edits for splice in edit.splices for turn in splice.turns]


def saved_gists(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every gist that a compression made, as it is saved."""
    splices = [
        each for event in data["events"] for each in event.get("edit", {}).get("splices", [])
    ]
    return [turn for splice in splices for turn in splice.get("turns", [])]


@pytest.mark.gate
@pytest.mark.no_cover
def test_the_text_of_a_gist_s_sources_does_not_grow() -> None:
    """After 600 turns a gist's sources take as few ranges as after 150, and no ids."""
    told = [json.dumps(gist["sources"]) for gist in saved_gists(document(grown(600)))]
    assert max(map(len, told[-10:])) < 4 * max(map(len, told[:10]))
    assert '"' not in "".join(told)


def test_lists_of_ids_load() -> None:
    """A session whose gists list every source id loads and saves unchanged."""
    session = grown(120)
    data = document(session)
    for saved, gist in zip(saved_gists(data), gists(session), strict=True):
        saved["sources"] = [*gist.sources]
    loaded = ContextSession.history.load(lines_of(data), counter=FAST)
    assert loaded.conversation == session.conversation
    assert document(loaded) == data
    assert all(type(gist.sources) is tuple for gist in gists(loaded))
    for number in range(60):
        loaded.add_user_turn(f"Crate {number} left with the tide.")
    assert any(type(gist.sources) is Sources for gist in gists(loaded))
    assert (
        ContextSession.history.load(text_of(loaded), counter=FAST).conversation
        == loaded.conversation
    )


FAULTS: dict[str, tuple[Any, str]] = {
    "a range that ends before it begins": ([[5, 3]], r"\.edit: range \[5, 3\] of gist"),
    "places that were never given": ([[1, 999_999]], r"\.edit: range \[1, 999999\] of gist"),
    "ranges that overlap": ([[1, 3], [2, 4]], r"\.edit: range \[2, 4\] of gist"),
    "ranges and ids": ([[1, 3], "t9"], r"sources\[0\]"),
    "a text": ("t3", r"sources: str is not a list"),
    "turns that stand": (
        [[0, 3]],
        r"\.edit: gist '\w+' stands for what the edit does not take out",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_sources_that_make_no_sense_are_refused(name: str) -> None:
    """The error names the event and what is wrong with it."""
    sources, told = FAULTS[name]
    data = document(grown(40))
    saved_gists(data)[0]["sources"] = sources
    with pytest.raises(InvalidDataError, match=rf"line \d+.*{told}"):
        ContextSession.history.load(lines_of(data), counter=FAST)


def test_a_turn_that_came_in_is_not_told_by_ranges() -> None:
    """Nothing could say what they mean: the ids are those of another conversation."""
    data = document(grown(3))
    data["events"][1]["turn"]["sources"] = [[0, 1]]
    with pytest.raises(
        InvalidDataError, match=r"line 3\.turn\.sources: ranges on a turn that came in"
    ):
        ContextSession.history.load(lines_of(data), counter=FAST)


def pinned_between() -> ContextSession:
    """Return a session in which a long answer stands between pinned turns."""
    session = ContextSession(400, counter=FAST, auto=False)
    session.add_user_turn("Sort the crates by harbour.")
    session.add_assistant_turn(
        " ".join(f"Crate {number} stands at pier {number * 13 % 101}." for number in range(20))
    )
    session.add_user_turn("From now on, name the tide.")
    session.add_assistant_turn("I will, and always did. " * 4)
    session.add_user_turn("Which crate is first?")
    return session


def compressed(before: Conversation, *ids: str) -> CompressEvent:
    """Return a compression of `pinned_between` to a gist of `ids`, which removes turns 2 and 4."""
    sources = Sources.joined(before.window.linearity, [(each, ()) for each in ids])
    gist = Turn(Role.USER, "crates", resource_id="g1", tokens=4, sources=sources)
    splices = (Splice(1, 2, (gist,)), *([Splice(3, 4)] if len(ids) > 1 else []))
    return CompressEvent(ContextState.COMPRESSED, Edit(splices), before.log[0].timestamp)


def test_a_recalled_atom_takes_the_place_of_the_gist_that_stood_for_it_alone() -> None:
    """Then its gist goes; a gist that stands for more stays."""
    before = pinned_between().conversation
    for ids, left in (
        (("t2",), ["t1", "t2", "t3", "t4", "t5"]),
        (("t2", "t4"), ["t1", "g1", "t2", "t3", "t5"]),
    ):
        after = replay([compressed(before, *ids)], before)
        recall = RecallEvent(
            ContextState.COMPRESSED,
            recall_edit(after.window, after.log, ["t2"]),
            before.log[0].timestamp,
        )
        assert [turn.resource_id for turn in replay([recall], after).window.all_turns()] == left


def test_a_gist_stands_for_turns_on_both_sides_of_a_pinned_one() -> None:
    """A gist may stand for removed turns on both sides of a pinned one, and for no others."""
    before = pinned_between().conversation
    after = replay([compressed(before, "t2", "t4")], before)
    assert [turn.resource_id for turn in after.window.all_turns()] == ["t1", "g1", "t3", "t5"]
    with pytest.raises(InvalidDataError, match="stands for what the edit does not take out"):
        replay([compressed(before, "t2", "t3", "t4")], before)
    untold = evolve(
        compressed(before, "t2"), edit=Edit((*compressed(before, "t2").edit.splices, Splice(3, 4)))
    )
    with pytest.raises(InvalidDataError, match=r"FloorError: .*'t4'"):
        replay([untold], before)
    recall = RecallEvent(
        ContextState.COMPRESSED, Edit((Splice(1, 2, (before.log[1],)),)), before.log[0].timestamp
    )
    with pytest.raises(InvalidDataError, match="turn 'g1' is taken out and does not come back"):
        replay([recall], after)
