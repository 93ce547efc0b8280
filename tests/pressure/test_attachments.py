"""Attachments under pressure.

A superseded one becomes a pointer first, and a gist has the name, lines and outline of others.
"""

from collections.abc import Sequence

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.pressure import ContextProjector, ExtractiveSummariser, Fidelity, Reach, view_of
from polycontext.pressure.laws import projectors
from polycontext.testing import FAST, conversations, filled, texts
from polycontext.testing.strategies import TARGETS, Head, Move, reaches
from polycontext.window import ContextItem, ContextWindow, TiktokenCounter, Turn
from polycontext.window.items import item_turn
from tests.laws.internal import plans
from tests.pressure.samples import assistant, extended, opened, talk, user

MODULE = "\n".join(
    f"class Kind{n}:\n    def method_{n}(self):\n        return {n} * {n}\n" for n in range(12)
)
CONTENTS = st.sampled_from(
    [
        "",
        "x = 1",
        "short text",
        MODULE,
        MODULE * 4,
        "KeyError: 'id' in src/app.py\n" * 30,
        "wörter " * 200,
    ]
)
NAMES = st.sampled_from([None, "a.py", "a.py", "a.py", "notes.md", "n" * 300])
KINDS = st.sampled_from(["code", "file", "file", "text", "error", "custom"])
REAL = TiktokenCounter("o200k_base")


def attached(
    content: str = MODULE, name: str | None = "a.py", kind: str = "file", **lines: int
) -> Turn:
    """Return the turn that attaches such an item."""
    metadata = None if name is None else {"filename": name, **lines}
    return item_turn(ContextItem(content, kind, metadata, id="ctx-1", timestamp=0))


@st.composite
def attachments(draw: st.DrawFn) -> Move:
    """Draw an attachment, pinned now and then."""
    resource_class = draw(
        st.sampled_from(
            [ResourceClass.REQUIRED] * 4 + [ResourceClass.PRESERVED, ResourceClass.DROPPABLE]
        )
    )
    return attached(draw(CONTENTS), draw(NAMES), draw(KINDS)), resource_class


@st.composite
def windows(draw: st.DrawFn) -> ContextWindow:
    """Draw a window with many attachments, of few sources, compressed up to three times."""
    window = filled(
        draw(conversations(max_atoms=2)), draw(st.sampled_from([200, 1_000, 5_000])), counter=FAST
    )
    for _ in range(draw(st.integers(1, 3))):
        if window.open_calls:
            return window
        moves = draw(
            st.lists(
                attachments() | st.sampled_from([(user("go on"), None), (assistant("done"), None)]),
                max_size=8,
            )
        )
        for turn, resource_class in moves:
            window = window.append(turn, resource_class)
        if draw(st.booleans()):
            window = (
                ContextProjector(Head(), draw(reaches())).compress(window, draw(TARGETS)).window
            )
    return window


PROJECTORS = st.builds(ContextProjector, st.builds(Head), reaches())


@given(PROJECTORS, windows(), TARGETS, TARGETS)
def test_the_laws_hold_with_attachments(
    projector: ContextProjector, window: ContextWindow, target: float, other: float
) -> None:
    """The chain falls strictly, promises hold, and no turn is lost or used twice.

    Fidelities only fall, and plans stay adjoint to pressures.
    """
    plans.chain_falls_strictly(projector.ladder(window))
    plans.ceilings_fall_along_the_chain(projector.ladder(window))
    plans.plans_touch_no_turn_twice(projector.plan_for(window, target))
    plans.plans_respect_the_class_floors(projector.plan_for(window, target))
    plans.promises_are_kept(projector.compress(window, target))
    plans.reports_tell_what_happened(projector.compress(window, target))
    projectors.open_calls_and_last_user_turn_never_yield(projector, window, target)
    projectors.sources_are_never_lost(projector, window, target)
    projectors.order_is_kept(projector, window, target)
    projectors.gists_are_shorter_than_their_sources(projector, window, target)
    projectors.compressing_again_changes_nothing(projector, window, target)
    projectors.fidelities_only_fall(projector, window, target, other)
    plans.plans_and_pressures_are_adjoint(projector, window, target)
    plans.compressions_do_what_their_plans_say(projector, window, target, other)


def test_the_superseded_attachment_yields_first_and_exactly() -> None:
    """The first rung replaces an older version by a pointer, at the promised cost."""
    window = extended(
        opened(5_000),
        [
            *talk(4),
            attached(),
            attached("other", "b.py"),
            *talk(8),
            attached(MODULE + "x = 1\n"),
            user("well?"),
        ],
    )
    projector = ContextProjector()
    plan = projector.plan_within(window, projector.ladder(window).tokens[1])
    after = projector.commit(window, projector.fulfil(plan)).window
    changed = [
        (old, new)
        for old, new in zip(window.all_turns(), after.all_turns(), strict=True)
        if old != new
    ]
    assert [(old.text, new.text) for old, new in changed] == [
        (attached().text, "[Superseded: a later attachment has the current text of a.py]")
    ]
    pointer = changed[0][1]
    assert (pointer.role, pointer.sources) == ("user", (changed[0][0].resource_id,))
    assert after.tokens == plan.tokens_promised
    assert view_of(after, window.atoms()).fidelities[pointer.sources[0]] is Fidelity.GIST


def test_a_pointer_is_not_summarised() -> None:
    """It says nothing that a later turn does not; also where it came back in a list."""
    pointer = Turn(
        "user",
        "[Superseded: a later attachment has the current text of src/a {b}.py]",
        metadata={"gist": True},
    )
    assert (
        ExtractiveSummariser().summarise([pointer, user("Book a flight.")], 100, counter=FAST)
        == "user: Book a flight."
    )


def test_other_lines_and_errors_of_a_file_supersede_nothing() -> None:
    """Other lines of a file, an error about it and unnamed attachments supersede nothing."""
    turns = [
        attached(start_line=1, end_line=9),
        attached(start_line=2, end_line=9),
        attached(kind="error"),
        attached(name=None),
    ]
    window = extended(
        opened(5_000), [*turns, *talk(10), attached(), attached("again", name=None), user("well?")]
    )
    projector = ContextProjector()
    for tokens in projector.ladder(window).tokens:
        after = projector.commit(
            window, projector.fulfil(projector.plan_within(window, tokens))
        ).window
        assert not any("Superseded" in text for text in texts(after.all_turns()))


def test_a_later_pinned_text_supersedes_but_a_pinned_one_never_yields() -> None:
    """PRESERVED attachments stand, superseded or not."""
    pinned = opened(9_000).append(attached(), ResourceClass.PRESERVED)
    window = extended(pinned, [attached(MODULE * 2), *talk(8)]).append(
        attached(MODULE * 3), ResourceClass.PRESERVED
    )
    after = ContextProjector().compress(extended(window, [user("well?")]), 0.0).window
    assert texts(after.all_turns()).count(attached().text) == 1
    assert texts(after.all_turns()).count(attached(MODULE * 3).text) == 1
    assert attached(MODULE * 2).text not in texts(after.all_turns())


def test_a_pointer_that_is_longer_than_its_text_is_not_set() -> None:
    """Nothing is gained by pointing from a short text."""
    window = extended(opened(5_000), [attached("x"), *talk(10), attached("y"), user("well?")])
    projector = ContextProjector(reach=Reach(keep_recent=2))
    assert projector.ladder(window).pointer_gains == {}


def gist_of(window: ContextWindow, tokens: int, projector: ContextProjector | None = None) -> str:
    """Return the gist that is made where so many tokens may be left."""
    projector = projector or ContextProjector(reach=Reach(keep_recent=0))
    after = projector.commit(window, projector.fulfil(projector.plan_within(window, tokens))).window
    (gist,) = (turn.text for turn in after.all_turns() if turn.is_gist)
    return gist


def test_an_attachment_yields_to_name_lines_and_outline() -> None:
    """It is a line of the gist of all that yields, among the files behind the talk."""
    long = "word " * 1_500
    window = extended(
        opened(9_000),
        [
            *talk(4),
            attached(MODULE + f"'''{long}'''", start_line=10, end_line=60),
            *talk(4, first=6),
            user("Well?"),
        ],
    )
    gist = gist_of(window, 900)
    assert "\nattached file a.py:10-60: " in gist
    assert all(f"class Kind{n}" in gist for n in range(12))
    assert "return" not in gist
    assert gist.index("fact0x0") < gist.index("fact7x") < gist.index("attached file")


def test_where_room_is_short_the_name_and_the_beginning_stay() -> None:
    """Of many names some are left out."""
    window = extended(
        opened(9_000, counter=REAL), [attached("\n".join([MODULE] * 6)), user("well?")]
    )
    gists = [
        gist_of(window, ContextProjector(reach=Reach(keep_recent=0)).floor(window) + room)
        for room in (30, 100, 400)
    ]
    opening = "[Summary of earlier messages]\nattached file a.py:"
    assert all(gist.replace("Files:\n", "").startswith(opening) for gist in gists)
    assert all("Kind0" in gist for gist in gists)
    assert len(gists[0]) < len(gists[1]) < len(gists[2])
    assert "Kind11" not in gists[0]


def test_what_defines_no_names_says_its_telling_lines() -> None:
    """An error yields to what failed, under its name."""
    trace = "Traceback (most recent call last):\n  File app.py, line 3\nKeyError: 'id'\n"
    window = extended(
        opened(3_000),
        [attached(("noise and so on. " * 30 + "\n") * 8 + trace, kind="error"), user("well?")],
    )
    gist = gist_of(window, 150)
    assert gist.startswith("[Summary of earlier messages]\nattached error a.py: ")
    assert "KeyError: 'id'" in gist


def test_a_summariser_reads_what_was_attached() -> None:
    """The summariser is called once, with the attachments and the turns around them."""
    asked: list[Sequence[Turn]] = []

    def listening(turns: Sequence[Turn], max_tokens: int) -> str:
        asked.append(turns)
        return "talk"

    window = extended(opened(3_000), [*talk(2), attached(MODULE * 4), user("well?")])
    assert gist_of(window, 200, ContextProjector(listening, Reach(keep_recent=0))).startswith(
        "[Summary of earlier messages]\ntalk\n"
    )
    assert [[turn.resource_id for turn in turns] for turns in asked] == [["t3", "t4", "t5"]]


def test_the_last_word_of_the_user_stands_before_an_attachment() -> None:
    """An attachment is the newest user turn, and the question before it is still the question."""
    window = extended(opened(2_000), [*talk(6), user("what is wrong here?"), attached()])
    after = ContextProjector(reach=Reach(keep_recent=0)).compress(window, 0.0).window
    assert texts(after.all_turns())[-2:] == ["what is wrong here?", attached().text]


def test_an_attachment_is_no_task_and_no_standing_constraint() -> None:
    """An attachment is not the task, and an order in it is no standing instruction."""
    window = ContextWindow(2_000, counter=FAST).append(
        attached("# You must never do this.\n"), ResourceClass.REQUIRED
    )
    window = window.append(user("Book a flight to Oslo."))
    assert [window.class_of(turn) for turn in window.all_turns()] == [
        ResourceClass.REQUIRED,
        ResourceClass.PRESERVED,
    ]
    again = window.append(evolve(attached("From now on you must never do this."), resource_id="a2"))
    assert again.class_of(again.all_turns()[-1]) is ResourceClass.REQUIRED
