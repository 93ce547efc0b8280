"""The ladder: all plans for one window are a chain, gentle to harsh, and the gentlest sufficient one is found."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass
from polycontext.nodes.testing import Head, lived_windows, reaches
from polycontext.pressure import ContextProjector, Fidelity, GistKind, Ladder, Plan, Reach, floor_of, view_of
from polycontext.pressure.plan import plan_at
from polycontext.pressure.reach import Kind
from polycontext.window import Atom, ContextWindow, Role, Turn
from polycontext.window.items import attachment_of
from tests.pressure.samples import HEAD, assistant, calls, extended, hard_plan, ids, opened, result, talk, user, words


def plans(ladder: Ladder) -> list[Plan]:
    """Return the whole chain."""
    return [plan_at(ladder, step, ladder.tokens[step]) for step in range(len(ladder.tokens))]


def atom_class(window: ContextWindow, atom: Atom) -> ResourceClass:
    """Return the class of an atom: the highest of its turns'."""
    return max(window.class_of(turn) for turn in atom.turns)


def lowered(window: ContextWindow, reach: Reach) -> list[dict[str, str]]:
    """Return what each plan of the chain lowers, by name."""
    return [
        {atom: fidelity.name for atom, fidelity in plan.lowered.items()} for plan in plans(ContextProjector(reach=reach).ladder(window))
    ]


# --- a chain ---------------------------------------------------------------


def test_a_pointer_lasts_where_the_last_rung_makes_no_gist() -> None:
    """A superseded result that stands alone between two fixed turns, too small for a gist of its own, stays a pointer on every later rung."""
    small, late = words(1, 9), [assistant(words(9)), assistant(words(10))]
    window = extended(opened(), [calls("ls"), result(0, small), user("Never stop."), calls("ls"), result(0, small), *talk(6), *late])
    ladder = ContextProjector(reach=Reach(keep_recent=1)).ladder(window)
    assert ladder.has_collapse
    chain = plans(ladder)
    assert window.class_of(window.all_turns()[4]) is ResourceClass.PRESERVED
    assert sum(turn.tokens or 0 for turn in window.all_turns()[2:4]) <= 40
    assert all(plan.lowered["t3"] is Fidelity.GIST for plan in chain[1:])
    fixed = sum(tokens for tokens, kind in zip(ladder.columns.atoms.tokens, ladder.columns.kinds, strict=True) if kind is Kind.FIXED)
    assert ladder.floor == fixed + 40 - ladder.pointer_gains[2] + 2 * 40
    for plan in chain[1:]:
        done = HEAD.commit(window, HEAD.fulfil(plan))
        assert done.tokens_after <= plan.tokens_promised
        assert view_of(done.window, window.atoms()) <= plan.ceiling(window.atoms())


@given(lived_windows(), reaches())
def test_the_promises_fall_strictly(window: ContextWindow, reach: Reach) -> None:
    """Every plan promises fewer tokens than the one before; the first changes nothing, the last is the floor."""
    ladder = ContextProjector(reach=reach).ladder(window)
    assert all(gentle > harsh for gentle, harsh in pairwise(ladder.tokens))
    assert ladder.tokens[0] == window.seek(len(window)).tokens
    assert ladder.floor == ladder.tokens[-1] >= 0
    first = plan_at(ladder, 0, 0)
    assert first.is_empty
    assert (dict(first.lowered), first.drops, first.jobs, first.first_changed) == ({}, (), (), None)


@given(lived_windows(), reaches())
def test_the_ceilings_fall_along_the_chain(window: ContextWindow, reach: Reach) -> None:
    """A harsher plan raises no ceiling again: the chain is one of the order of views."""
    log = window.atoms()
    ceilings = [plan.ceiling(log) for plan in plans(ContextProjector(reach=reach).ladder(window))]
    assert all(harsh <= gentle for gentle, harsh in pairwise(ceilings))


@given(lived_windows(), reaches())
def test_no_ceiling_is_below_the_floor_of_its_class(window: ContextWindow, reach: Reach) -> None:
    """Not even the harshest plan goes below what the classes allow."""
    harshest = plans(ContextProjector(reach=reach).ladder(window))[-1].ceiling(window.atoms())
    for atom in window.atoms():
        assert harshest.fidelities[atom.id] >= floor_of(atom_class(window, atom))


@given(lived_windows(), reaches())
def test_open_calls_and_the_last_user_turn_never_yield(window: ContextWindow, reach: Reach) -> None:
    """Whatever their class, nothing on the ladder touches them."""
    harshest = plans(ContextProjector(reach=reach).ladder(window))[-1]
    atoms = window.atoms()
    users = [atom for atom in atoms if atom.turns[0].role is Role.USER and not atom.turns[0].is_gist]
    for atom in [*users[-1:], *(atom for atom in atoms if atom.is_open)]:
        assert atom.id not in harshest.lowered
        touched = {turn.resource_id for job in harshest.jobs for turn in job.sources}
        assert touched.isdisjoint(atom.resource_ids)


# --- the gentlest sufficient plan ------------------------------------------


@given(lived_windows(), reaches(), st.data())
def test_plans_and_pressures_are_adjoint(window: ContextWindow, reach: Reach, data: st.DataObject) -> None:
    """For every reachable t and every plan c_j of the chain: ``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``."""
    projector = ContextProjector(reach=reach)
    ladder = projector.ladder(window)
    pressures = [tokens / window.max_tokens for tokens in ladder.tokens]
    reachable = [t for t in pressures if t <= 1.0]
    for t in [*reachable[:5], *reachable[-5:], data.draw(st.floats(0.0, 1.0))]:
        if t < pressures[-1]:
            continue
        chosen = projector.plan_for(window, t).step
        assert all((j >= chosen) == (pressure <= t) for j, pressure in enumerate(pressures))


@given(lived_windows(), reaches(), st.floats(0.0, 1.0))
def test_the_plan_is_the_gentlest_that_suffices(window: ContextWindow, reach: Reach, target: float) -> None:
    """The plan before it in the chain would not do; where none does it is the harshest, and says so."""
    projector = ContextProjector(reach=reach)
    ladder, plan = projector.ladder(window), projector.plan_for(window, target)
    assert plan.reached == (plan.tokens_promised / window.max_tokens <= target)
    if plan.step:
        assert ladder.tokens[plan.step - 1] / window.max_tokens > target
    if not plan.reached:
        assert plan.tokens_promised == plan.floor == ladder.floor


@given(lived_windows(), reaches(), st.integers(-5, 5_000))
def test_planning_within_tokens_is_planning_for_their_pressure(window: ContextWindow, reach: Reach, tokens: int) -> None:
    """`plan_within` takes the first plan of the chain that promises at most so many tokens."""
    ladder = ContextProjector(reach=reach).ladder(window)
    sufficient = [step for step, promised in enumerate(ladder.tokens) if promised <= tokens]
    assert ladder.gentlest(tokens) == (sufficient[0] if sufficient else len(ladder.tokens) - 1)


# --- the rungs -------------------------------------------------------------


def test_droppable_goes_before_required() -> None:
    """All old DROPPABLE atoms are gone before any REQUIRED one is touched; oldest first on either rung."""
    window = extended(opened(), [*talk(2), user("thanks!"), *talk(2, first=2), user("ok"), *talk(4, first=4)])
    chain = lowered(window, Reach(keep_recent=2))
    assert chain[1] == {"t5": "DROPPED"}
    assert chain[2] == {"t5": "DROPPED", "t8": "DROPPED"}
    assert chain[3] == {"t5": "DROPPED", "t8": "DROPPED", "t3": "GIST"}
    assert chain[4] == {"t5": "DROPPED", "t8": "DROPPED", "t3": "GIST", "t4": "GIST"}


def test_superseded_results_become_pointers_first() -> None:
    """Of the REQUIRED, results that a later call with the same name and arguments replaces yield before all others."""
    old, new = [calls("read", arguments='{"p": 1}'), result(0, words(1, 60))], [calls("read", arguments='{"p": 1}'), result(0, words(2))]
    window = extended(opened(), [*talk(2), *old, *talk(2, first=2), *new, *talk(2, first=4)])
    ladder = ContextProjector(reach=Reach(keep_recent=0)).ladder(window)
    first = plan_at(ladder, 1, 0)
    assert [(job.kind, ids(job.sources)) for job in first.jobs] == [(GistKind.POINTER, ["t6"])]
    assert dict(first.lowered) == {"t5": Fidelity.GIST}
    done = HEAD.commit(window, HEAD.fulfil(first))
    assert done.tokens_after == first.tokens_promised
    assert done.window.all_turns()[5].text.startswith("[Superseded")
    assert done.window.all_turns()[5].tool_call_id == "c0"


def test_other_arguments_and_unanswered_calls_supersede_nothing() -> None:
    """A pointer to a result is only made where there is one: same name, same arguments, answered, later."""
    old = [calls("read", arguments='{"p": 1}'), result(0, words(1, 60))]
    elsewhere = extended(opened(), [*old, calls("read", arguments='{"p": 2}'), result(0, words(2))])
    unanswered = extended(opened(), [*old, calls("read", arguments='{"p": 1}')])
    half = extended(opened(), [*old, calls("read", "run", arguments='{"p": 1}'), result(1, "done")])
    for window in (elsewhere, unanswered, half):
        assert ContextProjector(reach=Reach(keep_recent=0)).ladder(window).pointers == []


def test_runs_of_required_atoms_are_one_block() -> None:
    """Neighbours are summarised together; a preserved turn parts two blocks, a dropped one does not."""
    pinned = Turn(Role.SYSTEM, "Mind the budget.")
    window = extended(opened(), [*talk(2), user("thanks!"), *talk(2, first=2), pinned, *talk(3, first=4), user("The last word.")])
    ladder = ContextProjector(reach=Reach(keep_recent=1)).ladder(window)
    assert [[atom + 1 for atom in block] for block in ladder.blocks] == [[3, 4, 6, 7], [9, 10, 11]]


@given(lived_windows(), reaches())
def test_a_job_stands_for_whole_atoms_or_for_single_results(window: ContextWindow, reach: Reach) -> None:
    """No job parts an atom: blocks and outlines cover whole ones, digests one result with its call kept, pointers that or an attachment."""
    whole = {atom.start: atom for atom in window.atoms()}
    stops = {atom.stop for atom in whole.values()}
    for plan in plans(ContextProjector(reach=reach).ladder(window))[-3:]:
        for job in plan.jobs:
            turn = window.all_turns()[job.start]
            if job.kind in {GistKind.BLOCK, GistKind.FOLD, GistKind.OUTLINE}:
                assert job.start in whole
                assert job.stop in stops
            else:
                assert job.stop == job.start + 1
                assert turn.role is Role.TOOL or (job.kind is GistKind.POINTER and attachment_of(turn) is not None)


# --- the recent tail -------------------------------------------------------


def test_recent_turns_yield_last() -> None:
    """As long as anything older may yield, the last `keep_recent` turns stay, even droppable ones."""
    window = extended(opened(), [*talk(6), user("thanks!"), assistant(words(9)), user("Now finish.")])
    chain = lowered(window, Reach(keep_recent=3))
    touched = [i for i, plan in enumerate(chain) if not {"t9", "t10"}.isdisjoint(plan)]
    assert touched
    assert all({"t3", "t4", "t5", "t6", "t7", "t8"} <= set(plan) for plan in chain[touched[0] :])
    assert chain[touched[0]]["t9"] == "DROPPED"
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
    window = extended(opened(), [*talk(2), calls("a", "b", "c"), result(0, "x"), result(1, "y"), result(2, "z")])
    assert ContextProjector(reach=Reach(keep_recent=2)).ladder(window).columns.tail == 4
    assert ContextProjector(reach=Reach(keep_recent=0)).ladder(window).columns.tail == 5


def test_tail_results_are_cut_and_their_calls_kept() -> None:
    """In the tail an atom with calls keeps them, and each long result becomes a digest of its own."""
    window = extended(opened(), [calls("a", "b"), result(0, words(1, 80)), result(1, words(2, 80))])
    done = HEAD.commit(window, HEAD.fulfil(hard_plan(HEAD, window)))
    _, _, call, first, second = done.window.all_turns()
    assert call == window.all_turns()[2]
    assert (first.tool_call_id, second.tool_call_id) == ("c0", "c1")
    assert (first.sources, second.sources) == (("t4",), ("t5",))
    assert done.tokens_after < done.tokens_before


def test_gists_tighten_last_down_to_what_a_gist_needs() -> None:
    """When nothing else can yield, allowances halve until each gist has only the room it needs to say what it stands for."""
    window = extended(opened(8_000), [*talk(40), user("Well?")])
    ladder = ContextProjector(Head(), Reach(keep_recent=1)).ladder(window)
    fixed = sum(turn.tokens or 0 for turn in window.all_turns() if turn.resource_id in {"t1", "t2", "t43"})
    loose, tight = plan_at(ladder, len(ladder.tokens) - len(ladder.tightenings) - 1, 0), plan_at(ladder, len(ladder.tokens) - 1, 0)
    assert loose.jobs[0].allowance > 2 * tight.jobs[0].allowance
    assert (tight.jobs[0].allowance, tight.tokens_promised, ladder.floor) == (40, fixed + 40, fixed + 40)
    assert tight.lowered == loose.lowered
    done = HEAD.commit(window, HEAD.fulfil(tight))
    assert done.rejections == ()
    assert done.tokens_after <= fixed + 40


def test_tightening_the_recent_tail_promises_what_its_gists_may_take() -> None:
    """On every rung that halves allowances what is promised are the fixed turns and the gists; what was dropped has no share in it."""
    window = opened(8_000).append(assistant(words(1, 400)), ResourceClass.DROPPABLE)
    window = extended(window, [assistant(words(2, 400)), assistant(words(3, 800)), user("Well?")])
    ladder = ContextProjector(reach=Reach(keep_recent=20)).ladder(window)
    fixed = sum(turn.tokens or 0 for turn in window.all_turns() if turn.resource_id in {"t1", "t2", "t6"})
    chain = plans(ladder)[ladder.comfortable : len(ladder.tokens) - ladder.has_collapse]
    assert len(chain) == 1 + len(ladder.tightenings) > 3
    assert [plan.tokens_promised for plan in chain] == [fixed + sum(job.allowance for job in plan.jobs) for plan in chain]
    assert {len(plan.jobs) for plan in chain} == {2}


def test_last_everything_between_fixed_atoms_becomes_one_gist() -> None:
    """The harshest plan makes one gist of a run, old gists and the recent tail included, and promises the floor."""
    projector = ContextProjector(Head(), Reach(keep_recent=4))
    window = projector.compress(extended(opened(2_000), [*talk(30), user("Well?")]), 0.2).window
    window = extended(window, [calls("read"), result(0, words(1, 80)), assistant(words(2, 30))])
    fixed = sum(turn.tokens or 0 for turn in window.all_turns() if turn.resource_id in {"t1", "t2", "t33"})
    plan = projector.plan_for(window, 0.0)
    done = projector.commit(window, projector.fulfil(plan))
    assert (plan.tokens_promised, plan.floor) == (fixed + 80, fixed + 80)
    assert [bool(turn.sources) for turn in done.window.all_turns()] == [False, False, True, False, True]
    assert {job.allowance for job in plan.jobs} == {40}


def test_a_small_window_never_jams() -> None:
    """Many turns too small for a gist of their own still yield together, so the floor is what is fixed and one gist."""
    window = extended(opened(300), [*talk(12), user("Well?")])
    fixed = sum(turn.tokens or 0 for turn in window.all_turns() if turn.resource_id in {"t1", "t2", "t15"})
    assert ContextProjector(Head(), Reach(keep_recent=20)).floor(window) == fixed + 40
