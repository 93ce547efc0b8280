"""The plans for one window are a chain, and the gentlest sufficient one is chosen."""

import json
from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    ContextProjector,
    Fidelity,
    GistKind,
    Plan,
    Reach,
    view_of,
)
from polycontext.pressure.gist import (
    is_summary,
    least_digest,
    least_summary,
    summary_text,
    summary_turn,
)
from polycontext.pressure.ladder import FULL_TOKENS, Ladder
from polycontext.pressure.plan import plan_at
from polycontext.testing import FAST
from polycontext.testing.strategies import Head, lived_windows, reaches
from polycontext.window import (
    ContextItem,
    ContextWindow,
    Part,
    Role,
    Splice,
    Turn,
    count_turn,
)
from polycontext.window.items import item_turn
from tests.pressure.samples import (
    HEAD,
    assistant,
    calls,
    extended,
    ids,
    opened,
    result,
    talk,
    user,
    words,
)


def plans(ladder: Ladder) -> list[Plan]:
    """Return the whole chain."""
    return [plan_at(ladder, step, ladder.tokens[step]) for step in range(len(ladder.tokens))]


def lowered(window: ContextWindow, reach: Reach) -> list[dict[str, str]]:
    """Return what each plan of the chain lowers, by name."""
    return [
        {atom: fidelity.name for atom, fidelity in plan.lowered.items()}
        for plan in plans(ContextProjector(reach=reach).ladder(window))
    ]


# --- a chain ---------------------------------------------------------------


def test_a_pointer_lasts_until_it_goes_into_the_gist() -> None:
    """A superseded result stays a pointer until its atom goes into the gist."""
    window = extended(
        opened(),
        [
            calls("ls"),
            result(0, words(1)),
            *talk(4),
            calls("ls"),
            result(0, words(1)),
            *talk(4, first=4),
        ],
    )
    chain = plans(ContextProjector(reach=Reach(keep_recent=1)).ladder(window))
    kinds = [
        next((job.kind for job in plan.jobs if "t4" in ids(job.sources)), None) for plan in chain
    ]
    assert kinds == [None, GistKind.POINTER, *[GistKind.BLOCK] * (len(chain) - 2)]
    assert all(plan.lowered["t3"] is Fidelity.GIST for plan in chain[1:])


# --- the gentlest sufficient plan ------------------------------------------


@given(lived_windows(), reaches(), st.integers(-5, 5_000))
def test_the_gentlest_and_the_roomiest_plan(
    window: ContextWindow, reach: Reach, tokens: int
) -> None:
    """`gentlest` is the first sufficient plan, and `roomiest` is a sufficient one, no gentler."""
    ladder = ContextProjector(reach=reach).ladder(window)
    sufficient = [step for step, promised in enumerate(ladder.tokens) if promised <= tokens]
    assert ladder.gentlest(tokens) == (sufficient[0] if sufficient else len(ladder.tokens) - 1)
    assert ladder.roomiest(tokens + 1) <= ladder.roomiest(tokens)
    assert (
        ladder.gentlest(tokens)
        <= ladder.roomiest(tokens)
        <= max(ladder.cut_newest, ladder.gentlest(tokens))
    )
    assert ladder.roomiest(ladder.tokens[0]) == 0


# --- the rungs -------------------------------------------------------------


def test_other_arguments_and_unanswered_calls_supersede_nothing() -> None:
    """Only an answered later call with the same name and arguments supersedes a result."""
    old = [calls("read", arguments='{"p": 1}'), result(0, words(1, 60))]
    elsewhere = extended(opened(), [*old, calls("read", arguments='{"p": 2}'), result(0, words(2))])
    unanswered = extended(opened(), [*old, calls("read", arguments='{"p": 1}')])
    half = extended(opened(), [*old, calls("read", "run", arguments='{"p": 1}'), result(1, "done")])
    for window in (elsewhere, unanswered, half):
        assert ContextProjector(reach=Reach(keep_recent=0)).ladder(window).pointer_gains == {}


@pytest.mark.parametrize(
    ("tool", "first", "later", "is_superseded"),
    [
        ("book", "Booked as HX12.", "Booked as HX13.", False),
        ("book", "Booked as HX12.", "HX12 is booked already.", True),
        ("get_booking", "HX12 and HX13 are open.", "HX13 is open.", True),
        ("edit", "The file is updated.", "The file is updated.", False),
        ("get_booking", "HX12 is open.", "Error: the harbour does not answer.", False),
    ],
)
def test_no_identifier_of_what_was_done_is_superseded(
    tool: str, first: str, later: str, *, is_superseded: bool
) -> None:
    """A second booking with the same arguments is another one, and a failure replaces nothing."""
    turns = [
        turn
        for text in (f"{first} {words(1, 60)}", f"{later} {words(1, 60)}")
        for turn in (calls(tool, arguments='{"path": "B"}'), result(0, text))
    ]
    window = extended(opened(), [*turns, *talk(2)])
    ladder = ContextProjector(reach=Reach(keep_recent=0)).ladder(window)
    assert bool(ladder.pointer_gains) is is_superseded


def pieces(window: ContextWindow, projector: ContextProjector = HEAD) -> list[str]:
    """Return what stands in the window that the harshest plan makes: ids, and "gist" for a gist."""
    done = projector.commit(window, projector.fulfil(projector.plan_for(window, 0.0)))
    return ["gist" if turn.is_gist else turn.resource_id for turn in done.window.all_turns()]


def test_all_that_yields_is_one_gist() -> None:
    """All yielding turns share one gist at the first source's place, even across pinned turns."""
    pinned = Turn(Role.SYSTEM, "Mind the budget.")
    window = extended(
        opened(),
        [
            *talk(2),
            user("thanks!"),
            *talk(2, first=2),
            pinned,
            *talk(3, first=4),
            user("The last word."),
        ],
    )
    ladder = ContextProjector(Head(), Reach(keep_recent=1)).ladder(window)
    (job,) = plans(ladder)[-1].jobs
    assert (job.kind, job.runs) == (GistKind.BLOCK, ((2, 4), (5, 7), (8, 11)))
    assert ids(job.sources) == ["t3", "t4", "t6", "t7", "t9", "t10", "t11"]
    assert pieces(window) == ["t1", "t2", "gist", "t8", "t12"]


@given(lived_windows(), reaches())
def test_a_job_stands_for_whole_atoms_or_for_single_turns(
    window: ContextWindow, reach: Reach
) -> None:
    """The block covers whole atoms, and digests and pointers cover one turn each.

    Every job has room for a frame and a word, and takes fewer tokens than its sources.
    """
    starts, stops = ({getattr(atom, end) for atom in window.atoms()} for end in ("start", "stop"))
    for plan in plans(ContextProjector(reach=reach).ladder(window)):
        assert sum(job.kind is GistKind.BLOCK for job in plan.jobs) <= 1
        for job in plan.jobs:
            assert job.allowance < job.source_tokens
            if job.kind is GistKind.DIGEST:
                assert job.allowance >= least_digest(job.sources[0], FAST)
            if job.kind is GistKind.BLOCK:
                assert job.allowance >= least_summary(FAST)
                assert {run[0] for run in job.runs} <= starts
                assert {run[1] for run in job.runs} <= stops
            else:
                turn = window.all_turns()[job.start]
                assert job.runs == ((job.start, job.start + 1),)
                assert turn.role is Role.TOOL or (turn.role is Role.USER and not turn.tool_calls)


def test_what_is_too_small_for_a_gist_waits_for_more() -> None:
    """One short turn alone makes no plan; the next one that yields takes it along."""
    window = extended(
        opened(), [assistant("So be it."), user("thanks!"), assistant(words(1)), user("Go on.")]
    )
    assert lowered(window, Reach(keep_recent=3))[1:] == [
        {"t4": "DROPPED"},
        {"t4": "DROPPED", "t3": "GIST", "t5": "GIST"},
    ]
    small = extended(opened(), [assistant("So be it."), user("Go on.")])
    assert lowered(small, Reach(keep_recent=0)) == [{}]


def test_thousands_of_small_atoms_are_one_gist() -> None:
    """Thousands of small atoms share one gist, so the floor is fixed turns and one least gist."""
    window = opened(1_000)
    for number in range(3_000):
        window = window.append(
            assistant("Go on."),
            ResourceClass.PRESERVED if number % 1_000 == 500 else ResourceClass.REQUIRED,
        )
    fixed = sum(
        turn.tokens or 0
        for turn in window.all_turns()
        if window.class_of(turn) is ResourceClass.PRESERVED
    )
    ladder = HEAD.ladder(window)
    assert ladder.floor == fixed + least_summary(FAST)
    assert len(pieces(window)) == 2 + 3 + 1


# --- the recent tail -------------------------------------------------------


def test_recent_turns_yield_last() -> None:
    """The last `keep_recent` turns go after everything older, but droppable ones go first."""
    window = extended(
        opened(), [*talk(6), user("thanks!"), assistant(words(9)), user("Now finish.")]
    )
    chain = lowered(window, Reach(keep_recent=3))
    assert chain[1] == {"t9": "DROPPED"}
    touched = [i for i, plan in enumerate(chain) if "t10" in plan]
    assert touched
    assert all({"t3", "t4", "t5", "t6", "t7", "t8"} <= set(plan) for plan in chain[touched[0] :])
    assert all("t11" not in plan for plan in chain)


def test_the_recent_tail_may_be_measured_in_tokens() -> None:
    """With `keep_recent_tokens` as many whole atoms stay recent as fit, and the rest is old."""
    window = extended(opened(), talk(6))
    costs = [turn.tokens or 0 for turn in window.all_turns()]
    two_fit = ContextProjector(reach=Reach(keep_recent_tokens=sum(costs[-2:]))).ladder(window)
    one_fits = ContextProjector(reach=Reach(keep_recent_tokens=sum(costs[-2:]) - 1)).ladder(window)
    assert (two_fit.columns.tail, one_fits.columns.tail) == (6, 7)
    assert ContextProjector(reach=Reach(keep_recent_tokens=0)).ladder(window).columns.tail == 8
    assert ContextProjector(reach=Reach(keep_recent_tokens=10**6)).ladder(window).columns.tail == 0


def test_an_atom_is_recent_as_a_whole() -> None:
    """Where the tail would begin in the middle of an atom, all of it is recent."""
    window = extended(
        opened(), [*talk(2), calls("a", "b", "c"), result(0, "x"), result(1, "y"), result(2, "z")]
    )
    assert ContextProjector(reach=Reach(keep_recent=2)).ladder(window).columns.tail == 4
    assert ContextProjector(reach=Reach(keep_recent=0)).ladder(window).columns.tail == 5


# --- the newest results ------------------------------------------------------


def newest(count: int, *, length: int = 80, behind: Sequence[Turn] = ()) -> ContextWindow:
    """Return a window that ends on so many calls, all answered, with old talk before them."""
    answers = [result(number, words(number, length)) for number in range(count)]
    return extended(
        opened(), [*talk(4, first=20), user("Look."), calls(*"abcd"[:count]), *answers, *behind]
    )


def test_the_newest_results_are_cut_and_their_calls_kept() -> None:
    """After all older turns have yielded, the newest long results are cut and their calls stay."""
    window = newest(2)
    ladder = HEAD.ladder(window)
    whole, cut = plan_at(ladder, ladder.whole_newest, 0), plan_at(ladder, ladder.cut_newest, 0)
    assert set(whole.lowered) == {"t3", "t4", "t5", "t6"}
    assert set(cut.lowered) == {*whole.lowered, "t8"}
    done = HEAD.commit(window, HEAD.fulfil(cut))
    _, _, gist, asked_last, call, first, second = done.window.all_turns()
    assert gist.sources == ("t3", "t4", "t5", "t6")
    assert (asked_last, call) == window.all_turns()[6:8]
    assert (first.tool_call_id, second.tool_call_id) == ("c0", "c1")
    assert (first.sources, second.sources) == (("t9",), ("t10",))
    assert done.tokens_after <= cut.tokens_promised


@pytest.mark.parametrize(
    "behind", [[], [user("Well?")], [user("So what?"), Turn(Role.SYSTEM, "Be quick.")]], ids=len
)
@pytest.mark.parametrize("keep_recent", [0, 100])
def test_what_the_model_has_not_answered_is_newest(behind: list[Turn], keep_recent: int) -> None:
    """Results are the newest until the model answers, despite later user or system turns."""
    projector = ContextProjector(Head(), Reach(keep_recent=keep_recent))
    ladder = projector.ladder(newest(1, behind=behind))
    assert {"t3", "t4", "t5", "t6"} <= set(plan_at(ladder, ladder.whole_newest, 0).lowered)
    assert "t8" not in plan_at(ladder, ladder.whole_newest, 0).lowered
    assert plan_at(ladder, ladder.cut_newest, 0).lowered["t8"] is Fidelity.GIST
    window = newest(1, behind=[*behind, assistant("It lists three errors.")])
    answered = projector.ladder(window)
    assert answered.whole_newest == answered.cut_newest
    assert (
        window.all_turns()[-1].resource_id
        not in plan_at(answered, answered.whole_newest, 0).lowered
    )
    assert not projector.ladder(extended(window, [user("And?")])).columns.newest


def test_closed_calls_go_into_the_gist_last_and_open_ones_never() -> None:
    """The very last plan takes the newest calls too, unless one of them waits for its result."""
    closed, waiting = (
        newest(2),
        extended(newest(1), [assistant("Next."), calls("a", "b"), result(1, words(9, 80))]),
    )
    assert pieces(closed) == ["t1", "t2", "gist", "t7"]
    assert pieces(waiting) == ["t1", "t2", "gist", "t7", "t11", "gist"]
    assert (
        HEAD.ladder(extended(opened(), [calls("a")])).floor
        == extended(opened(), [calls("a")]).tokens
    )


def test_a_pinned_result_keeps_the_newest_calls_whole() -> None:
    """A PRESERVED result is never cut, and keeps its atom whole."""
    window = newest(1).promote("t9", ResourceClass.PRESERVED)
    assert not HEAD.ladder(window).columns.newest
    assert pieces(window) == ["t1", "t2", "gist", "t7", "t8", "t9"]


def test_a_cut_result_is_cut_again() -> None:
    """Its digest yields like the result did, names the same source and has one frame."""
    window = extended(opened(), [calls("a", "b"), result(0, words(1, 400))])
    once = HEAD.compress(window, 0.2).window
    assert [turn.sources for turn in once.all_turns()] == [(), (), (), ("t4",)]
    again = HEAD.compress(once, 0.05)
    digest = again.window.all_turns()[3]
    assert again.tokens_after < again.tokens_before
    assert (digest.sources, digest.tool_call_id, digest.text.count("[Cut")) == (("t4",), "c0", 1)
    assert again.window.open_calls == ("c1",)


# --- the last user turn ------------------------------------------------------


def asked(*, may_be_cut: bool) -> tuple[ContextWindow, Ladder]:
    """Return a window with a long question, and its ladder."""
    window = extended(opened(), [*talk(2), user(words(7, 300))])
    return window, ContextProjector(Head(), Reach(keep_recent=1, cuts_question=may_be_cut)).ladder(
        window
    )


def test_the_question_is_cut_only_where_the_reach_says_so() -> None:
    """The question stays verbatim by default, or else yields last: first cut, then gisted."""
    window, ladder = asked(may_be_cut=False)
    assert all("t5" not in plan.lowered for plan in plans(ladder))
    window, ladder = asked(may_be_cut=True)
    chain = plans(ladder)
    assert ["t5" in plan.lowered for plan in chain] == [False] * (len(chain) - 2) + [True, True]
    assert pieces(window, ContextProjector(Head(), ladder.reach)) == ["t1", "t2", "gist"]
    done = HEAD.commit(window, HEAD.fulfil(chain[-2]))
    question = done.window.all_turns()[-1]
    assert (question.role, question.sources, is_summary(question)) == (Role.USER, ("t5",), False)
    assert question.text.startswith("[Cut; the whole is t5 in the log]\n")


def test_the_task_and_what_is_attached_are_not_cut() -> None:
    """A question that is PRESERVED stands, and so does an attachment to it."""
    task = extended(ContextWindow(500, counter=FAST), [user(words(1, 600))])
    attachment = item_turn(
        ContextItem(words(2, 600), "text", {"filename": "a.md"}, id="ctx-1", timestamp=0)
    )
    attached = extended(opened(), [user("What is this?"), attachment])
    for window in (task, attached):
        assert (
            ContextProjector(reach=Reach(keep_recent=0, cuts_question=True)).floor(window)
            == window.tokens
        )


def test_a_cut_question_that_comes_back_is_still_the_question() -> None:
    """A cut question stays the question and can be cut again, until another is asked."""
    projector = ContextProjector(Head(), Reach(keep_recent=0, cuts_question=True))
    window = projector.compress(asked(may_be_cut=True)[0], 0.1).window
    assert [turn.role for turn in window.all_turns()] == [
        Role.SYSTEM,
        Role.USER,
        Role.USER,
        Role.USER,
    ]
    again = projector.compress(window, 0.05).window
    assert (again.all_turns()[-1].sources, again.all_turns()[-1].text.count("[Cut")) == (("t5",), 1)
    assert again.tokens < window.tokens
    later = extended(again, [assistant("I see."), user("And now?")])
    assert pieces(later, ContextProjector(Head(), Reach(keep_recent=0)))[1:] == [
        "t2",
        "gist",
        later.all_turns()[-1].resource_id,
    ]


def test_a_cut_question_keeps_its_picture() -> None:
    """Cutting a question keeps its pictures."""
    turn = evolve(
        user(words(7, 900)),
        parts=(
            Part(
                "anthropic",
                '{"type": "image", "source": {"type": "url", "url": "https://example.org"}}',
            ),
        ),
    )
    window = extended(opened(8_000), [turn])
    done = HEAD.commit(
        window,
        HEAD.fulfil(plans(ContextProjector(reach=Reach(cuts_question=True)).ladder(window))[-2]),
    )
    assert done.window.all_turns()[-1].parts == turn.parts
    assert done.tokens_after <= done.plan.tokens_promised < window.tokens


# --- what is bound -----------------------------------------------------------


def thinking(text: str | None = None) -> Turn:
    """Return a turn of the assistant with signed thinking: calls of tool "a", or so many words."""
    thought = Part(
        "anthropic", json.dumps({"type": "thinking", "thinking": "so " * 60, "signature": "c2ln"})
    )
    return evolve(calls("a") if text is None else assistant(text), parts=(thought,))


def test_bound_parts_fall_alone_before_the_question_is_cut() -> None:
    """An open call's thinking is removed, as its prefix changes, before the question is cut."""
    window = extended(opened(), [user(words(7, 300)), thinking()])
    chain = plans(ContextProjector(reach=Reach(cuts_question=True)).ladder(window))
    assert [plan.unbound_from for plan in chain] == [None, 3, 3]
    assert ["t3" in plan.lowered for plan in chain] == [False, False, True]
    for plan in chain:
        assert HEAD.commit(window, HEAD.fulfil(plan)).tokens_after <= plan.tokens_promised


def test_an_older_gist_lets_only_fall_what_is_bound_behind_it() -> None:
    """Merging a gist removes only thinking after it."""
    window = extended(opened(), [thinking(words(1)), *talk(2)])
    window = HEAD.commit(window, HEAD.fulfil(plan_at(HEAD.ladder(window), 0, 0))).window
    gist = summary_turn(summary_text(words(2)), window.all_turns()[3:], ("t4", "t5"), "g9")
    ledger = window.linearity.tag("g9", ResourceClass.REQUIRED)
    window = window.splice(
        [Splice(3, 5, (gist.with_tokens(count_turn(FAST, gist)),))], linearity=ledger
    ).append(user("Well?"))
    first, second = plans(HEAD.ladder(window))[1:3]
    assert (set(first.lowered), set(second.lowered)) == ({"g9"}, {"g9", "t3"})
    for plan in (first, second):
        done = HEAD.commit(window, HEAD.fulfil(plan))
        assert done.tokens_after <= plan.tokens_promised
    assert HEAD.commit(window, HEAD.fulfil(first)).window.all_turns()[2].parts


def test_a_pointer_lets_only_fall_what_is_bound_behind_it() -> None:
    """A pointer removes only thinking after it, and its promise is exact."""
    call = evolve(calls("read", arguments='{"p": 1}'), parts=thinking().parts)
    window = extended(
        opened(),
        [
            thinking(words(1)),
            user("Go on."),
            call,
            result(0, words(2, 60)),
            call,
            result(0, words(3)),
            *talk(2),
        ],
    )
    first = plan_at(ContextProjector(reach=Reach(keep_recent=0)).ladder(window), 1, 0)
    assert dict(first.lowered) == {"t5": Fidelity.GIST}
    done = HEAD.commit(window, HEAD.fulfil(first))
    assert [place for place, turn in enumerate(done.window.all_turns()) if turn.parts] == [2, 4]
    assert done.tokens_after == first.tokens_promised


# --- how much room ------------------------------------------------------------


def test_the_newest_results_stand_whole_as_far_as_they_fit() -> None:
    """The newest results stay whole up to `newest_share` of the room, and are cut beyond it."""
    window = newest(1, length=100)
    projector = ContextProjector(Head(), Reach(keep_recent=0, newest_share=0.6))
    ladder = projector.ladder(window)
    fixed = ladder.tokens[ladder.cut_newest]
    size = ladder.tokens[ladder.whole_newest] - fixed
    roomy, narrow = fixed + int(size / 0.6) + 2, fixed + int(size / 0.6) - 2
    assert ladder.roomiest(roomy) == ladder.whole_newest
    assert ladder.roomiest(narrow) == ladder.cut_newest
    jobs = {job.kind: job.allowance for job in plan_at(ladder, ladder.cut_newest, narrow).jobs}
    room = narrow - fixed
    assert jobs[GistKind.DIGEST] - least_digest(window.all_turns()[-1], FAST) == room - int(
        0.4 * room
    )
    assert jobs[GistKind.BLOCK] - ladder.least_gist == int(0.4 * room)


def test_results_side_by_side_share_by_need() -> None:
    """Short ones stand whole, and what they do not need the long ones have in equal parts."""
    sizes = (10, 400, 90, 500)
    window = extended(
        opened(4_000),
        [
            calls(*"abcd"),
            *(result(number, words(number, size)) for number, size in enumerate(sizes)),
        ],
    )
    plan = HEAD.plan_within(window, window.tokens // 2)
    allowances = {job.sources[0].resource_id: job.allowance for job in plan.jobs}
    assert set(allowances) == {"t5", "t7"}
    assert abs(allowances["t5"] - allowances["t7"]) <= 1
    assert plan.tokens_promised in (plan.tokens_wanted, plan.tokens_wanted - 1)


def test_what_is_cut_is_shorter_whatever_room_there_is() -> None:
    """A harsher plan cuts the newest result further, even if the question leaves more room."""
    window = extended(opened(9_000), [user(words(7, 600)), calls("read"), result(0, words(1, 60))])
    projector = ContextProjector(Head(), Reach(cuts_question=True))
    ladder = projector.ladder(window)
    plan = projector.plan_for(window, (ladder.tokens[ladder.cut_newest] - 1) / window.max_tokens)
    assert set(plan.lowered) == {"t3", "t4"}
    assert {job.sources[0].resource_id for job in plan.jobs} == {"t3", "t5"}
    done = projector.commit(window, projector.fulfil(plan))
    assert view_of(done.window, window.atoms()) == plan.ceiling(window.atoms())


def test_the_recent_tail_stands_whole_up_to_its_share() -> None:
    """The rest of the room is for the words of what is older."""
    window = extended(opened(), [*talk(12), user("Well?")])
    for share, whole in ((0.0, 0), (0.5, 3), (1.0, 6)):
        projector = ContextProjector(Head(), Reach(keep_recent=7, recent_share=share))
        ladder = projector.ladder(window)
        one = ladder.columns.atoms.tokens[-2]
        done = projector.commit(
            window,
            projector.fulfil(
                projector.plan_within(window, ladder.tokens[ladder.whole_newest] + 6 * one + 3)
            ),
        )
        assert [turn.resource_id for turn in done.window.all_turns()[3:]] == [
            f"t{number}" for number in range(15 - whole, 16)
        ]


def coded(turns: list[Turn]) -> list[Turn]:
    """Return turns that say the same in blocks of code."""
    return [evolve(turn, content=f"```\n{turn.text}\n```") for turn in turns]


@pytest.mark.parametrize(
    ("turns", "share", "least", "most"),
    [
        (coded(talk(900)), 0.5, FULL_TOKENS, 2.5 * FULL_TOKENS),
        (coded(talk(900)), 0.05, 0.5, 0.65),
        (talk(900), 0.5, 0.5, 0.65),
        ([user(words(each, 12)) for each in range(900)], 0.2, 0.1, 0.4),
        ([user(words(each, 12)) for each in range(900)], 0.04, 0.02, 0.12),
    ],
)
def test_recent_turns_get_what_a_full_gist_leaves(
    turns: list[Turn], share: float, least: float, most: float
) -> None:
    """With code or calls it is full from so many tokens; a thin one of users alone is of no use."""
    window = extended(opened(1_000_000), [*turns, user("Well?")])
    room = int(share * window.tokens)
    done = HEAD.commit(window, HEAD.fulfil(HEAD.plan_within(window, room)))
    tail = sum(turn.tokens or 0 for turn in done.window.all_turns() if not turn.is_gist)
    assert least <= (room - tail if most > 1 else (room - tail) / room) <= most


def test_a_window_that_needs_no_gist_gets_none() -> None:
    """Where dropping and pointing suffice nothing else yields, whatever room gists would have."""
    window = extended(opened(), [*talk(2), user("thanks!"), *talk(8, first=2)])
    for tokens in range(window.tokens - (window.all_turns()[4].tokens or 0), window.tokens):
        assert set(HEAD.plan_within(window, tokens).lowered) == {"t5"}
    assert "t3" in HEAD.plan_within(window, window.tokens - 21).lowered
