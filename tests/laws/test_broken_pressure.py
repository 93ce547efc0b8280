"""Every law of pressure rejects what breaks it: orders that are none, meets that are none, and compressors that lose, split or forget."""

from collections.abc import Callable, Sequence
from itertools import count

import pytest
from attrs import evolve, frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import CompressionResult, ContextProjector, Fidelity, Fulfilment, Ladder, Plan, Reach, View, laws
from polycontext.pressure.plan import plan_at
from polycontext.window import ContextWindow, Role, Splice, TokenCounter, Turn, count_turn
from tests.laws.breaking import breaks
from tests.pressure.samples import HEAD, Says, calls, extended, opened, result, talk, user, words
from tests.strategies import FAST

DROPPED, GIST, VERBATIM = Fidelity
LONG = words(0, 2_000)


def grown() -> ContextWindow:
    """Return a window with parallel calls in the middle and twelve long turns around them."""
    tools = [calls("read", "run"), result(0, words(50)), result(1, words(51))]
    return extended(opened(1_000), [*talk(4), *tools, *talk(8, first=4)])


# --- the order of views ----------------------------------------------------


class Strictly(View):
    """Compare as if below meant strictly below."""

    def __le__(self, other: View) -> bool:
        return self != other and super().__le__(other)


class Anyhow(View):
    """Find every view below every other."""

    def __le__(self, other: View) -> bool:
        return True


class Roughly(View):
    """Overlook one step up."""

    def __le__(self, other: View) -> bool:
        return sum(self.fidelities.values()) <= sum(other.fidelities.values()) + 1


@breaks(laws.view_order_is_reflexive)
def test_a_strict_order() -> None:
    """No view is strictly below itself."""
    laws.view_order_is_reflexive(Strictly({"t1": GIST}))


@breaks(laws.view_order_is_antisymmetric)
def test_an_order_that_tells_nothing_apart() -> None:
    """Two different views are each below the other."""
    laws.view_order_is_antisymmetric(Anyhow({"t1": GIST}), Anyhow({"t1": DROPPED}))


@breaks(laws.view_order_is_transitive)
def test_an_order_with_a_tolerance() -> None:
    """Two steps up, each overlooked, are two steps too many."""
    laws.view_order_is_transitive(*(Roughly({"t1": fidelity}) for fidelity in (VERBATIM, GIST, DROPPED)))


class Highest(View):
    """Meet in the higher fidelity of each atom."""

    def meet(self, other: View) -> "Highest":
        """Return the higher fidelity of each atom."""
        return Highest({atom: max(fidelity, other.fidelities[atom]) for atom, fidelity in self.fidelities.items()})


class Apart(View):
    """Meet in how far the fidelities are apart."""

    def meet(self, other: View) -> "Apart":
        """Return the difference of each atom's fidelities."""
        return Apart({atom: Fidelity(abs(fidelity - other.fidelities[atom])) for atom, fidelity in self.fidelities.items()})


class Stubborn(View):
    """Meet nobody."""

    def meet(self, other: View) -> "Stubborn":
        """Return this view."""
        return self


class Eager(View):
    """Meet one step below where the others would."""

    def meet(self, other: View) -> "Eager":
        """Return one step less of each atom."""
        lower = super().meet(other).fidelities
        return Eager({atom: Fidelity(max(fidelity - 1, 0)) for atom, fidelity in lower.items()})


class Brittle(View):
    """Lose everything where nothing was lost before."""

    def meet(self, other: View) -> "Brittle":
        """Return nothing where all was held."""
        whole = set(self.fidelities.values()) == {VERBATIM}
        return Brittle(dict.fromkeys(self.fidelities, DROPPED)) if whole else super().meet(other)


@breaks(laws.meet_is_associative)
def test_a_meet_that_takes_the_difference() -> None:
    """Brackets matter to differences."""
    laws.meet_is_associative(Apart({"t1": VERBATIM}), Apart({"t1": GIST}), Apart({"t1": GIST}))


@breaks(laws.meet_is_commutative)
def test_a_meet_that_ignores_the_other_side() -> None:
    """Whoever is asked wins."""
    laws.meet_is_commutative(Stubborn({"t1": VERBATIM}), Stubborn({"t1": GIST}))


@breaks(laws.meet_is_idempotent)
def test_a_meet_that_is_never_enough() -> None:
    """A view that meets itself is lowered."""
    laws.meet_is_idempotent(Eager({"t1": GIST}))


@breaks(laws.meet_is_the_greatest_lower_bound)
def test_a_meet_that_takes_the_maximum() -> None:
    """That is the join, and above both."""
    laws.meet_is_the_greatest_lower_bound(Highest({"t1": VERBATIM}), Highest({"t1": GIST}), Highest({"t1": DROPPED}))


@breaks(laws.meet_is_the_greatest_lower_bound)
def test_a_meet_that_is_not_the_greatest() -> None:
    """Below both, but so is something that is not below it."""
    laws.meet_is_the_greatest_lower_bound(Eager({"t1": VERBATIM}), Eager({"t1": GIST}), Eager({"t1": GIST}))


# --- compressing views -----------------------------------------------------


@breaks(laws.compressing_is_monotone)
def test_compressing_that_punishes_the_whole() -> None:
    """The larger view comes out as the smaller one."""
    laws.compressing_is_monotone(Brittle({"t1": GIST}), Brittle({"t1": VERBATIM}), Brittle({"t1": VERBATIM}))


@breaks(laws.compressing_is_deflationary)
def test_compressing_that_raises() -> None:
    """Compressed up to the ceiling instead of down to it."""
    laws.compressing_is_deflationary(Highest({"t1": GIST}), Highest({"t1": VERBATIM}))


@breaks(laws.compressing_is_idempotent)
def test_compressing_that_goes_on() -> None:
    """Every time takes another step."""
    laws.compressing_is_idempotent(Eager({"t1": VERBATIM}), Eager({"t1": VERBATIM}))


@breaks(laws.compress_undoes_expand)
def test_compressing_what_is_compressed() -> None:
    """A compressed view is lowered again."""
    laws.compress_undoes_expand(Eager({"t1": GIST}), Eager({"t1": GIST}))


@breaks(laws.expand_and_compress_are_adjoint)
def test_a_connection_over_the_maximum() -> None:
    """``v <= compress(w)`` although ``expand(v) <= w`` is not so."""
    laws.expand_and_compress_are_adjoint(Highest({"t1": VERBATIM}), Highest({"t1": GIST}), Highest({"t1": VERBATIM}))


# --- the chain of plans ----------------------------------------------------


def ladder() -> Ladder:
    """Return a ladder with a rung for a dropped turn and several for gists."""
    return HEAD.ladder(extended(grown(), [user("thanks!"), *talk(8, first=12)]))


def repeating() -> Ladder:
    """Return the ladder with its second rung twice."""
    sound = ladder()
    return evolve(sound, tokens=[*sound.tokens[:2], *sound.tokens[1:]], counts=[*sound.counts[:2], *sound.counts[1:]])


@breaks(laws.chain_falls_strictly)
def test_a_ladder_that_repeats_a_rung() -> None:
    """Two plans promise the same."""
    laws.chain_falls_strictly(repeating())


@breaks(laws.chain_falls_strictly)
def test_a_ladder_that_starts_too_low() -> None:
    """The plan that changes nothing promises less than there is."""
    laws.chain_falls_strictly(evolve(ladder(), tokens=ladder().tokens[1:]))


@breaks(laws.every_plan_is_the_gentlest_for_its_promise)
def test_a_rung_that_is_never_found() -> None:
    """Of two plans with one promise, one can never be asked for."""
    laws.every_plan_is_the_gentlest_for_its_promise(repeating())


@breaks(laws.ceilings_fall_along_the_chain)
def test_a_ladder_that_gives_back() -> None:
    """The last plan takes fewer steps than the first."""
    sound = ladder()
    laws.ceilings_fall_along_the_chain(evolve(sound, counts=[0, *reversed(sound.counts[1:])]))


class Overdoing(ContextProjector):
    """Take one plan too harsh."""

    def plan_within(self, window: ContextWindow, tokens: int) -> Plan:
        """Return the plan after the gentlest."""
        chain = self.ladder(window)
        return plan_at(chain, min(chain.gentlest(tokens) + 1, len(chain.tokens) - 1), tokens)


class Backwards(ContextProjector):
    """Keep what should go: a low target gets a gentle plan."""

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        """Return the plan for what should go."""
        return super().plan_for(window, 1.0 - target)


class Shortsighted(ContextProjector):
    """Plan for what is in focus, not for the whole window."""

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        """Return the plan for the turns up to the focus."""
        return super().plan_for(window, target if window.pressure > target else 1.0)


@breaks(laws.plans_and_pressures_are_adjoint)
def test_a_plan_that_is_not_the_gentlest() -> None:
    """A gentler plan would have done."""
    laws.plans_and_pressures_are_adjoint(Overdoing(), grown(), 0.4)


@breaks(laws.harsher_targets_raise_no_ceiling)
def test_plans_the_wrong_way_round() -> None:
    """Asking for less holds more."""
    laws.harsher_targets_raise_no_ceiling(Backwards(), grown(), 0.1, 0.9)


@breaks(laws.planning_repeats)
def test_a_plan_that_depends_on_the_focus() -> None:
    """Looking elsewhere changes the plan."""
    laws.planning_repeats(Shortsighted(), grown(), 0.4)


@breaks(laws.plans_respect_the_class_floors)
@pytest.mark.parametrize(("atom", "ceiling"), [("t1", GIST), ("t1", DROPPED), ("t4", DROPPED), ("t7", DROPPED)])
def test_a_plan_below_a_floor(atom: str, ceiling: Fidelity) -> None:
    """A PRESERVED turn in a gist; a REQUIRED turn or a REQUIRED atom of tools dropped."""
    laws.plans_respect_the_class_floors(evolve(HEAD.plan_for(grown(), 0.3), lowered={atom: ceiling}))


@breaks(laws.plans_touch_no_turn_twice)
def test_a_plan_that_drops_what_it_summarises() -> None:
    """A drop inside of a job's range."""
    plan = HEAD.plan_for(grown(), 0.3)
    laws.plans_touch_no_turn_twice(evolve(plan, drops=(Splice(plan.jobs[0].start, plan.jobs[0].start + 1),)))


@breaks(laws.plans_touch_no_turn_twice)
def test_a_plan_that_names_the_wrong_end_of_the_cache() -> None:
    """The prompt cache is said to hold what changes."""
    laws.plans_touch_no_turn_twice(evolve(HEAD.plan_for(grown(), 0.3), first_changed=None))


# --- what a compression reports --------------------------------------------


class Gullible(ContextProjector):
    """Accept any summary: a published original took one that was longer than what it stood for."""

    def commit(self, window: ContextWindow, fulfilment: Fulfilment) -> CompressionResult:
        """Return the compression with a long text in every gist."""
        done = super().commit(window, fulfilment)
        gists = [(place, turn) for place, turn in enumerate(done.window.all_turns()) if turn.is_gist]
        after = done.window.splice([Splice(place, place + 1, (_retold(turn),)) for place, turn in gists])
        return evolve(done, window=after, tokens_after=after.tokens)


def _retold(gist: Turn) -> Turn:
    told = evolve(gist, content=LONG)
    return told.with_tokens(count_turn(FAST, told))


class Idle(ContextProjector):
    """Report a compression and hand back the window as it was."""

    def compress(self, window: ContextWindow, target: float = 0.7, *, query: str | None = None) -> CompressionResult:
        """Return the report with the old window."""
        return evolve(super().compress(window, target), window=window)


class Overreaching(ContextProjector):
    """Report one plan and carry out a harsher one."""

    def compress(self, window: ContextWindow, target: float = 0.7, *, query: str | None = None) -> CompressionResult:
        """Return the report with the window of another plan."""
        return evolve(super().compress(window, target), window=super().compress(window, 0.0).window)


@breaks(laws.promises_are_kept)
def test_regression_a_summary_longer_than_its_source_breaks_the_promise() -> None:
    """The window is larger than the plan said."""
    laws.promises_are_kept(Gullible().compress(grown(), 0.3))


@breaks(laws.promises_are_kept)
def test_a_report_that_does_not_count() -> None:
    """The tokens after are those promised, not those there are."""
    done = HEAD.compress(grown(), 0.3)
    laws.promises_are_kept(evolve(done, tokens_after=done.tokens_after - 1))


def _with_both() -> CompressionResult:
    """Return the report of a compression that dropped one turn and summarised others."""
    return HEAD.compress(extended(grown(), [user("thanks!"), *talk(8, first=12)]), 0.2)


@breaks(laws.reports_tell_what_happened)
def test_a_report_that_hides_a_gist() -> None:
    """Turns are summarised, and the report says they were kept."""
    laws.reports_tell_what_happened(evolve(_with_both(), gisted=()))


@breaks(laws.reports_tell_what_happened)
def test_a_report_that_hides_a_drop() -> None:
    """A turn is gone, and the report says it was kept."""
    laws.reports_tell_what_happened(evolve(_with_both(), dropped=()))


@breaks(laws.compressions_do_what_their_plans_say)
def test_a_plan_that_is_not_carried_out() -> None:
    """The window holds more than the ceiling allows."""
    laws.compressions_do_what_their_plans_say(Idle(), grown(), 0.3, 0.1)


@breaks(laws.compressions_do_what_their_plans_say)
def test_a_plan_that_is_overdone() -> None:
    """The window holds less than the ceiling promised."""
    laws.compressions_do_what_their_plans_say(Overreaching(reach=Reach(keep_recent=1)), grown(), 0.6, 0.5)


# --- what every projector owes ---------------------------------------------


@frozen
class Made:
    """Hold the window that a compression made, and nothing more."""

    window: ContextWindow


@frozen
class By:
    """Compress by whatever function it is given."""

    change: Callable[[ContextWindow], ContextWindow]

    def compress(self, window: ContextWindow, target: float, /) -> Made:
        """Return the changed window."""
        return Made(self.change(window))


def without(*places: int) -> By:
    """Return a compressor that drops the turns at these indices."""
    return By(lambda window: window.splice([Splice(place % len(window), place % len(window) + 1) for place in places]))


def cut(place: int) -> By:
    """Return a compressor that cuts a turn to its first word and keeps its id."""

    def change(window: ContextWindow) -> ContextWindow:
        turn = window.all_turns()[place]
        return window.splice([Splice(place, place + 1, (evolve(turn, content=turn.text.split()[0]),))])

    return By(change)


def _forgotten(window: ContextWindow) -> ContextWindow:
    """Compress well, then start a new ledger in which every turn is like any other: a published original did."""
    fresh = ContextWindow(window.max_tokens, counter=window.counter)
    for turn in HEAD.compress(window, 0.3).window.all_turns():
        fresh = fresh.append(turn, ResourceClass.REQUIRED)
    return fresh


def _reordered(window: ContextWindow) -> ContextWindow:
    first, second = window.all_turns()[2:4]
    return window.splice([Splice(2, 4, (second, first))])


def _gisted(window: ContextWindow, start: int, stop: int, sources: Sequence[str], content: str = "A summary.") -> ContextWindow:
    """Return the window with one gist for a run of turns, whatever it says it stands for."""
    gist = Turn(Role.USER, content, resource_id="g99", sources=tuple(sources))
    ledger = window.linearity.tag("g99", ResourceClass.REQUIRED)
    return window.splice([Splice(start, stop, (gist.with_tokens(count_turn(FAST, gist)),))], linearity=ledger)


def _unanswered(window: ContextWindow) -> ContextWindow:
    """Summarise the results and keep the call, as text."""
    call = evolve(window.all_turns()[6], tool_calls=(), content="I called two tools.")
    return _gisted(window.splice([Splice(6, 7, (call,)), Splice(7, 9)]), 7, 8, ("t8", "t9", "t10"))


@breaks(laws.preserved_turns_stay_byte_identical)
def test_a_compressor_that_drops_a_preserved_turn() -> None:
    """The system turn is gone."""
    laws.preserved_turns_stay_byte_identical(without(0), grown(), [0.5], [])


@breaks(laws.preserved_turns_stay_byte_identical)
def test_a_compressor_that_shortens_a_preserved_turn() -> None:
    """The task is there, but not word for word."""
    laws.preserved_turns_stay_byte_identical(cut(1), grown(), [0.5], [])


@breaks(laws.preserved_turns_stay_byte_identical)
def test_regression_a_lost_map_loses_what_was_preserved() -> None:
    """The second compression no longer knows what to preserve."""
    laws.preserved_turns_stay_byte_identical(By(_forgotten), grown(), [0.3, 0.3], talk(12, first=20))


def test_a_lost_map_does_not_show_at_once() -> None:
    """After the first compression all that was preserved is there: only a second one can tell."""
    laws.preserved_turns_stay_byte_identical(By(_forgotten), grown(), [0.3], talk(12, first=20))


@breaks(laws.what_stands_is_unchanged)
def test_a_compressor_that_cuts_a_turn_under_its_own_id() -> None:
    """The turn says less and still goes for the whole."""
    laws.what_stands_is_unchanged(cut(4), grown(), 0.5)


@breaks(laws.atoms_are_never_split)
def test_a_compressor_that_drops_one_of_two_parallel_results() -> None:
    """The call waits again for what it had."""
    window = extended(opened(), [*talk(2), calls("read", "run"), result(0, words(1)), result(1, words(2))])
    laws.atoms_are_never_split(without(-1), window, 0.5)


@breaks(laws.atoms_are_never_split)
def test_a_compressor_that_summarises_results_without_their_call() -> None:
    """The call is told as text, and its results are in the gist of the next turn."""
    laws.atoms_are_never_split(By(_unanswered), grown(), 0.5)


@breaks(laws.atoms_are_never_split)
def test_a_compressor_that_summarises_half_an_atom() -> None:
    """The call is in a gist, its results are in none."""
    laws.atoms_are_never_split(By(lambda window: _gisted(window, 2, 9, ("t3", "t4", "t5", "t6", "t7"))), grown(), 0.5)


@breaks(laws.order_is_kept)
def test_a_compressor_that_reorders() -> None:
    """Answer before question."""
    laws.order_is_kept(By(_reordered), grown(), 0.5)


@breaks(laws.order_is_kept)
def test_a_compressor_that_tells_a_turn_twice() -> None:
    """A turn stands, and a gist behind it stands for it too."""
    laws.order_is_kept(By(lambda window: _gisted(window, 3, 5, ("t3", "t4", "t5"))), grown(), 0.5)


@breaks(laws.sources_are_never_lost)
def test_a_sliding_window() -> None:
    """Old REQUIRED turns are gone without a gist."""
    laws.sources_are_never_lost(without(2, 3), grown(), 0.5)


@breaks(laws.sources_are_never_lost)
def test_a_gist_that_forgets_a_source() -> None:
    """It replaced three turns and knows of two."""
    laws.sources_are_never_lost(By(lambda window: _gisted(window, 2, 5, ("t3", "t4"))), grown(), 0.5)


@breaks(laws.sources_are_never_lost)
def test_a_gist_that_makes_up_a_source() -> None:
    """It stands for a turn that never was."""
    laws.sources_are_never_lost(By(lambda window: _gisted(window, 2, 4, ("t3", "t4", "t400"))), grown(), 0.5)


@breaks(laws.ledger_survives_compression)
def test_regression_the_map_is_lost_at_the_first_compression() -> None:
    """What was summarised has no class any more, and what was PRESERVED is like any other."""
    laws.ledger_survives_compression(By(_forgotten), grown(), 0.3)


@breaks(laws.open_atom_and_last_user_turn_never_yield)
def test_a_compressor_that_drops_the_question() -> None:
    """The model is left without what it is to answer."""
    laws.open_atom_and_last_user_turn_never_yield(without(-2), extended(grown(), [user("Well?"), *talk(1, first=21)]), 0.5)


@breaks(laws.open_atom_and_last_user_turn_never_yield)
def test_a_compressor_that_drops_an_open_call() -> None:
    """The result that is on its way will find no call."""
    laws.open_atom_and_last_user_turn_never_yield(without(-1), extended(grown(), [user("Well?"), calls("read")]), 0.5)


@breaks(laws.fidelities_only_fall)
def test_a_compressor_that_brings_back() -> None:
    """The second compression recalls what the first one took."""
    windows = [HEAD.compress(grown(), 0.2).window, grown()]
    laws.fidelities_only_fall(By(lambda _: windows.pop(0)), grown(), 0.2, 0.2)


@breaks(laws.compressing_again_changes_nothing)
def test_a_compressor_that_cannot_stop() -> None:
    """One more turn goes at every time, however low the pressure is."""
    laws.compressing_again_changes_nothing(without(2), extended(opened(), talk(8)), 1.0)


@breaks(laws.gists_are_shorter_than_their_sources)
def test_regression_a_summary_longer_than_its_source_is_accepted() -> None:
    """Two turns are replaced by twenty times their tokens."""
    laws.gists_are_shorter_than_their_sources(Gullible(), grown(), 0.3)


@breaks(laws.gists_are_shorter_than_their_sources)
def test_a_summary_as_long_as_its_source() -> None:
    """No gain is no reason to lose the words."""
    content = f"{words(0)} {words(1)} "
    window = extended(opened(), [user(content[: len(content) // 2]), user("What next?")])
    laws.gists_are_shorter_than_their_sources(By(lambda w: _gisted(w, 2, 3, ("t3",), w.all_turns()[2].text)), window, 0.5)


@breaks(laws.compressing_never_adds_tokens)
def test_regression_a_longer_summary_makes_the_window_grow() -> None:
    """Compressed, the conversation is larger than before."""
    laws.compressing_never_adds_tokens(Gullible(), grown(), 0.3)


# --- what every summariser owes --------------------------------------------


@breaks(laws.summaries_keep_to_their_allowance)
def test_a_summariser_that_ignores_its_budget() -> None:
    """It says all it has to say."""
    laws.summaries_keep_to_their_allowance(Says(LONG), talk(4), 40, FAST)


@breaks(laws.summaries_are_storable_text)
@pytest.mark.parametrize("summary", ["fine\ud800", None, b"bytes"])
def test_a_summariser_that_returns_what_no_turn_can_hold(summary: object) -> None:
    """A lone surrogate, nothing, bytes."""
    laws.summaries_are_storable_text(Says(summary), talk(4), 40, FAST)


class Moody:
    """Say something else every time."""

    def __init__(self) -> None:
        self.moods = count()

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        """Return the number of the call."""
        return str(next(self.moods))


@breaks(laws.offline_summaries_repeat)
def test_a_summariser_with_moods() -> None:
    """A replay would give another window."""
    laws.offline_summaries_repeat(Moody(), talk(4), 40, FAST)


@breaks(laws.offline_summaries_say_something)
@pytest.mark.parametrize("silence", ["", " \n"])
def test_a_summariser_that_falls_silent(silence: str) -> None:
    """Nothing, or white space, of four long turns."""
    laws.offline_summaries_say_something(Says(silence), talk(4), 40, FAST)
