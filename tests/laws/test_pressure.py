"""The laws of pressure hold: on every view over three atoms, and on windows that were compressed before or never."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    ExtractiveSummariser,
    Fidelity,
    Ladder,
    Plan,
    Reach,
    Summariser,
    View,
    laws,
)
from polycontext.pressure.plan import plan_at
from polycontext.window import ContextWindow, TiktokenCounter, TokenCounter, Turn
from tests.pressure.samples import HEAD, calls, extended, opened, result, talk, user, words
from tests.strategies import FAST, HOSTILE_TEXTS, TARGETS, Head, conversations, lived_windows, plain_turns, reaches

ATOMS = ("t1", "t2", "t3")
ALL_VIEWS = [View(dict(zip(ATOMS, fidelities, strict=True))) for fidelities in product(Fidelity, repeat=3)]

VIEWS = st.sampled_from(ALL_VIEWS)
REAL = TiktokenCounter("o200k_base")
COUNTERS = st.sampled_from([FAST, FAST, REAL])
SUMMARISERS = st.sampled_from([Head(), ExtractiveSummariser()])
OFFLINE = st.builds(ExtractiveSummariser)
ALLOWANCES = st.sampled_from([0, 1, 7, 40, 41, 400]) | st.integers(0, 2_000)
PROJECTORS = st.builds(ContextProjector, SUMMARISERS, reaches())
LIVED = lived_windows()


def turn_lists() -> st.SearchStrategy[list[Turn]]:
    """Draw the turns of a conversation, or hostile texts in a row."""
    talked = conversations(max_atoms=6).map(lambda moves: [turn for turn, _ in moves])
    hostile = st.lists(st.sampled_from(HOSTILE_TEXTS), max_size=3).map(lambda texts: [Turn("user", text) for text in texts])
    return talked | hostile


@st.composite
def ladders(draw: st.DrawFn) -> Ladder:
    """Draw the chain of plans for a window that has lived."""
    return ContextProjector(reach=draw(reaches())).ladder(draw(LIVED))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw any plan of a chain, the harshest ones often."""
    ladder = draw(ladders())
    last = len(ladder.tokens) - 1
    return plan_at(ladder, draw(st.just(last) | st.integers(0, last)), draw(st.integers(0, 5_000)))


@st.composite
def results(draw: st.DrawFn) -> CompressionResult:
    """Draw the report of a compression."""
    return draw(PROJECTORS).compress(draw(LIVED), draw(TARGETS))


# --- exhaustively: every view over three atoms -----------------------------


def test_the_order_and_its_meets_over_three_atoms() -> None:
    """All 27 views, one, two and three at a time."""
    for u in ALL_VIEWS:
        laws.view_order_is_reflexive(u)
        laws.meet_is_idempotent(u)
    for u, v in product(ALL_VIEWS, repeat=2):
        laws.view_order_is_antisymmetric(u, v)
        laws.meet_is_commutative(u, v)
    for u, v, w in product(ALL_VIEWS, repeat=3):
        laws.view_order_is_transitive(u, v, w)
        laws.meet_is_associative(u, v, w)
        laws.meet_is_the_greatest_lower_bound(u, v, w)


def test_the_galois_connection_over_three_atoms() -> None:
    """All 27 ceilings over all 27 views, and over every pair of them."""
    for ceiling, v in product(ALL_VIEWS, repeat=2):
        laws.compressing_is_deflationary(v, ceiling)
        laws.compressing_is_idempotent(v, ceiling)
        laws.compress_undoes_expand(v, ceiling)
    for ceiling, v, w in product(ALL_VIEWS, repeat=3):
        laws.compressing_is_monotone(v, w, ceiling)
        laws.expand_and_compress_are_adjoint(v, w, ceiling)


# --- the order of views ----------------------------------------------------


@given(VIEWS)
def test_view_order_is_reflexive(view: View) -> None:
    """``v <= v``."""
    laws.view_order_is_reflexive(view)


@given(VIEWS, VIEWS)
def test_view_order_is_antisymmetric(first: View, second: View) -> None:
    """Two views below each other are one."""
    laws.view_order_is_antisymmetric(first, second)


@given(VIEWS, VIEWS, VIEWS)
def test_view_order_is_transitive(first: View, second: View, third: View) -> None:
    """What is below what is below is below."""
    laws.view_order_is_transitive(first, second, third)


@given(VIEWS, VIEWS, VIEWS)
def test_meet_is_associative(first: View, second: View, third: View) -> None:
    """Brackets do not matter."""
    laws.meet_is_associative(first, second, third)


@given(VIEWS, VIEWS)
def test_meet_is_commutative(first: View, second: View) -> None:
    """Sides do not matter."""
    laws.meet_is_commutative(first, second)


@given(VIEWS)
def test_meet_is_idempotent(view: View) -> None:
    """A view meets itself in itself."""
    laws.meet_is_idempotent(view)


@given(VIEWS, VIEWS, VIEWS)
def test_meet_is_the_greatest_lower_bound(first: View, second: View, third: View) -> None:
    """The meet is below both, and above whatever is."""
    laws.meet_is_the_greatest_lower_bound(first, second, third)


# --- compressing views -----------------------------------------------------


@given(VIEWS, VIEWS, VIEWS)
def test_compressing_is_monotone(first: View, second: View, ceiling: View) -> None:
    """The order is kept, whatever the ceiling."""
    laws.compressing_is_monotone(first.meet(second), second, ceiling)


@given(VIEWS, VIEWS)
def test_compressing_is_deflationary(view: View, ceiling: View) -> None:
    """Nothing is raised."""
    laws.compressing_is_deflationary(view, ceiling)


@given(VIEWS, VIEWS)
def test_compressing_is_idempotent(view: View, ceiling: View) -> None:
    """A second time changes nothing."""
    laws.compressing_is_idempotent(view, ceiling)


@given(VIEWS, VIEWS)
def test_compress_undoes_expand(view: View, ceiling: View) -> None:
    """What is compressed stays so when it is expanded in between."""
    laws.compress_undoes_expand(view.meet(ceiling), ceiling)


@given(VIEWS, VIEWS, VIEWS)
def test_expand_and_compress_are_adjoint(first: View, second: View, ceiling: View) -> None:
    """The Galois connection of seed 004."""
    laws.expand_and_compress_are_adjoint(first.meet(ceiling), second, ceiling)


# --- the chain of plans ----------------------------------------------------


@given(ladders())
def test_chain_falls_strictly(ladder: Ladder) -> None:
    """No plan promises what another promises."""
    laws.chain_falls_strictly(ladder)


@given(ladders())
def test_every_plan_is_the_gentlest_for_its_promise(ladder: Ladder) -> None:
    """Each plan is found by its own promise."""
    laws.every_plan_is_the_gentlest_for_its_promise(ladder)


@given(ladders())
def test_ceilings_fall_along_the_chain(ladder: Ladder) -> None:
    """The chain is one of views as well."""
    laws.ceilings_fall_along_the_chain(ladder)


@given(PROJECTORS, LIVED, TARGETS)
def test_plans_and_pressures_are_adjoint(planner: ContextProjector, window: ContextWindow, target: float) -> None:
    """The second Galois connection: plans against pressures."""
    laws.plans_and_pressures_are_adjoint(planner, window, target)


@given(PROJECTORS, LIVED, TARGETS, TARGETS)
def test_harsher_targets_raise_no_ceiling(planner: ContextProjector, window: ContextWindow, target: float, other_target: float) -> None:
    """Asking for less never holds more."""
    laws.harsher_targets_raise_no_ceiling(planner, window, target, other_target)


@given(PROJECTORS, LIVED, TARGETS)
def test_planning_repeats(planner: ContextProjector, window: ContextWindow, target: float) -> None:
    """One window and one target have one plan."""
    laws.planning_repeats(planner, window, target)


@given(plans())
def test_plans_respect_the_class_floors(plan: Plan) -> None:
    """Not even the harshest plan goes below."""
    laws.plans_respect_the_class_floors(plan)


@given(plans())
def test_plans_touch_no_turn_twice(plan: Plan) -> None:
    """Jobs and drops keep out of each other's way."""
    laws.plans_touch_no_turn_twice(plan)


# --- what a compression reports --------------------------------------------


@given(results())
def test_promises_are_kept(result: CompressionResult) -> None:
    """The bill that was shown before is the bill."""
    laws.promises_are_kept(result)


@given(results())
def test_reports_tell_what_happened(result: CompressionResult) -> None:
    """The report is what the two windows say."""
    laws.reports_tell_what_happened(result)


@given(PROJECTORS, LIVED, TARGETS, TARGETS)
def test_compressions_do_what_their_plans_say(planner: ContextProjector, window: ContextWindow, target: float, other_target: float) -> None:
    """A compression is the meet with its plan's ceiling."""
    laws.compressions_do_what_their_plans_say(planner, window, target, other_target)


# --- what every projector owes ---------------------------------------------


@given(PROJECTORS, LIVED, st.lists(TARGETS, min_size=1, max_size=6), st.lists(plain_turns(), max_size=3))
def test_preserved_turns_stay_byte_identical(
    projector: ContextProjector, window: ContextWindow, targets: list[float], turns: list[Turn]
) -> None:
    """However often, and whatever is said in between."""
    laws.preserved_turns_stay_byte_identical(projector, window, targets, turns)


@given(PROJECTORS, LIVED, TARGETS)
def test_what_stands_is_unchanged(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """No turn is cut under its own name."""
    laws.what_stands_is_unchanged(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_atoms_are_never_split(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Calls and results go together or stay together."""
    laws.atoms_are_never_split(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_order_is_kept(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """What came first stands first."""
    laws.order_is_kept(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_sources_are_never_lost(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Every turn is accounted for, through gists of every level."""
    laws.sources_are_never_lost(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_ledger_survives_compression(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Tags of what is gone are still there."""
    laws.ledger_survives_compression(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_open_atom_and_last_user_turn_never_yield(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """What is waited for and what was asked last stand."""
    laws.open_atom_and_last_user_turn_never_yield(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS, TARGETS)
def test_fidelities_only_fall(projector: ContextProjector, window: ContextWindow, target: float, other_target: float) -> None:
    """No compression brings anything back."""
    laws.fidelities_only_fall(projector, window, target, other_target)


@given(PROJECTORS, LIVED, TARGETS)
def test_compressing_again_changes_nothing(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Enough is left alone."""
    laws.compressing_again_changes_nothing(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_gists_are_shorter_than_their_sources(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """No gist costs more than what it replaces."""
    laws.gists_are_shorter_than_their_sources(projector, window, target)


@given(PROJECTORS, LIVED, TARGETS)
def test_compressing_never_adds_tokens(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Compressing makes nothing longer."""
    laws.compressing_never_adds_tokens(projector, window, target)


# --- what every summariser owes --------------------------------------------


@given(OFFLINE, turn_lists(), ALLOWANCES, COUNTERS)
def test_summaries_keep_to_their_allowance(summariser: Summariser, turns: list[Turn], allowance: int, counter: TokenCounter) -> None:
    """Counted by the real vocabulary too."""
    laws.summaries_keep_to_their_allowance(summariser, turns, allowance, counter)


@given(SUMMARISERS, turn_lists(), ALLOWANCES, COUNTERS)
def test_summaries_are_storable_text(summariser: Summariser, turns: list[Turn], allowance: int, counter: TokenCounter) -> None:
    """Whatever was read."""
    laws.summaries_are_storable_text(summariser, turns, allowance, counter)


@given(OFFLINE, turn_lists(), ALLOWANCES, COUNTERS)
def test_offline_summaries_repeat(summariser: Summariser, turns: list[Turn], allowance: int, counter: TokenCounter) -> None:
    """The same bytes from the same turns."""
    laws.offline_summaries_repeat(summariser, turns, allowance, counter)


@given(OFFLINE, turn_lists(), ALLOWANCES, COUNTERS)
def test_offline_summaries_say_something(summariser: Summariser, turns: list[Turn], allowance: int, counter: TokenCounter) -> None:
    """Where there are words and room, there are words."""
    laws.offline_summaries_say_something(summariser, turns, allowance, counter)


def test_a_pointer_is_shorter_than_what_it_replaces() -> None:
    """Of two superseded results the long one becomes a pointer, the short one stays: no law is bent for pointers."""
    again = [calls("read", "run"), result(0, "ok", "read"), result(1, words(1, 80), "run")]
    window = extended(opened(2_000), [*again, *talk(8), *again, user("Well?")])
    projector = ContextProjector(Head(), Reach(keep_recent=3))
    target = (window.tokens - 1) / window.max_tokens
    laws.gists_are_shorter_than_their_sources(projector, window, target)
    assert [job.sources[0].resource_id for job in projector.plan_for(window, target).jobs] == ["t5"]


def test_a_long_conversation_reaches_the_conditions_of_the_laws() -> None:
    """Its target is reached and every gist is made: no law that has such a condition is passed by for lack of a case."""
    done = HEAD.compress(extended(opened(1_000), talk(20)), 0.4)
    assert done.reached
    assert done.gisted
    assert {turn.resource_id for job in done.plan.jobs for turn in job.sources} == set(done.gisted)
