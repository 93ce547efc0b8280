"""Broken orders, meets and compressors for the laws of pressure.

The compressors lose turns, split atoms or forget classes.
"""

from collections.abc import Callable, Sequence
from itertools import count

from attrs import evolve, frozen

from polycontext.linearity import ResourceClass
from polycontext.pressure import (
    CompressionResult,
    ContextProjector,
    Fidelity,
    Fulfilment,
    Ladder,
    Plan,
    Reach,
    View,
)
from polycontext.pressure.laws import projectors, rules, summarisers
from polycontext.pressure.plan import plan_at
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Role, Splice, TokenCounter, Turn, count_turn
from polycontext.window.rules import NO_RULES, RuleLedger
from tests.laws.counterexamples import breaks, obeys
from tests.laws.internal import offline_summaries, plans, rule_ledger, views
from tests.pressure.samples import (
    HEAD,
    Says,
    assistant,
    calls,
    extended,
    opened,
    result,
    talk,
    user,
    words,
)

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


breaks(views.view_order_is_reflexive, "a strict order", lambda law: law(Strictly({"t1": GIST})))
breaks(
    views.view_order_is_antisymmetric,
    "an order that tells nothing apart",
    lambda law: law(Anyhow({"t1": GIST}), Anyhow({"t1": DROPPED})),
)
breaks(
    views.view_order_is_transitive,
    "an order with a tolerance",
    lambda law: law(*(Roughly({"t1": fidelity}) for fidelity in (VERBATIM, GIST, DROPPED))),
)


class Highest(View):
    """Meet in the higher fidelity of each atom."""

    def meet(self, other: View) -> "Highest":
        return Highest(
            {
                atom: max(fidelity, other.fidelities[atom])
                for atom, fidelity in self.fidelities.items()
            }
        )


class Apart(View):
    """Meet in how far the fidelities are apart."""

    def meet(self, other: View) -> "Apart":
        return Apart(
            {
                atom: Fidelity(abs(fidelity - other.fidelities[atom]))
                for atom, fidelity in self.fidelities.items()
            }
        )


class Stubborn(View):
    """Meet nobody."""

    def meet(self, other: View) -> "Stubborn":
        return self


class Eager(View):
    """Meet one step below where the others would."""

    def meet(self, other: View) -> "Eager":
        lower = super().meet(other).fidelities
        return Eager({atom: Fidelity(max(fidelity - 1, 0)) for atom, fidelity in lower.items()})


class Brittle(View):
    """Lose everything where nothing was lost before."""

    def meet(self, other: View) -> "Brittle":
        whole = set(self.fidelities.values()) == {VERBATIM}
        return Brittle(dict.fromkeys(self.fidelities, DROPPED)) if whole else super().meet(other)


breaks(
    views.meet_is_associative,
    "a meet that takes the difference",
    lambda law: law(Apart({"t1": VERBATIM}), Apart({"t1": GIST}), Apart({"t1": GIST})),
)
breaks(
    views.meet_is_commutative,
    "a meet that ignores the other side",
    lambda law: law(Stubborn({"t1": VERBATIM}), Stubborn({"t1": GIST})),
)
breaks(
    views.meet_is_idempotent,
    "a meet that is never enough",
    lambda law: law(Eager({"t1": GIST})),
)
breaks(
    views.meet_is_the_greatest_lower_bound,
    "a meet that takes the maximum",
    lambda law: law(Highest({"t1": VERBATIM}), Highest({"t1": GIST}), Highest({"t1": DROPPED})),
)
breaks(
    views.meet_is_the_greatest_lower_bound,
    "a meet that is not the greatest",
    lambda law: law(Eager({"t1": VERBATIM}), Eager({"t1": GIST}), Eager({"t1": GIST})),
)


# --- compressing views -----------------------------------------------------


breaks(
    views.compressing_is_monotone,
    "compressing that punishes the whole",
    lambda law: law(Brittle({"t1": GIST}), Brittle({"t1": VERBATIM}), Brittle({"t1": VERBATIM})),
)
breaks(
    views.compressing_is_deflationary,
    "compressing that raises",
    lambda law: law(Highest({"t1": GIST}), Highest({"t1": VERBATIM})),
)
breaks(
    views.compressing_is_idempotent,
    "compressing that goes on",
    lambda law: law(Eager({"t1": VERBATIM}), Eager({"t1": VERBATIM})),
)
breaks(
    views.compress_undoes_expand,
    "compressing what is compressed",
    lambda law: law(Eager({"t1": GIST}), Eager({"t1": GIST})),
)
breaks(
    views.expand_and_compress_are_adjoint,
    "a connection over the maximum",
    lambda law: law(Highest({"t1": VERBATIM}), Highest({"t1": GIST}), Highest({"t1": VERBATIM})),
)


# --- the chain of plans ----------------------------------------------------


def ladder() -> Ladder:
    """Return a ladder with a rung for a dropped turn and several for gists."""
    return HEAD.ladder(extended(grown(), [user("thanks!"), *talk(8, first=12)]))


def repeating() -> Ladder:
    """Return the ladder with its second rung twice."""
    sound = ladder()
    return evolve(
        sound,
        tokens=[*sound.tokens[:2], *sound.tokens[1:]],
        counts=[*sound.counts[:2], *sound.counts[1:]],
    )


breaks(plans.chain_falls_strictly, "a ladder that repeats a rung", lambda law: law(repeating()))
breaks(
    plans.chain_falls_strictly,
    "a ladder that starts too low",
    lambda law: law(evolve(ladder(), tokens=ladder().tokens[1:])),
)
breaks(
    plans.every_plan_is_the_gentlest_for_its_promise,
    "a rung that is never found",
    lambda law: law(repeating()),
)


def giving_back() -> Ladder:
    """Return a ladder whose last plan takes fewer steps than the first."""
    sound = ladder()
    return evolve(sound, counts=[0, *reversed(sound.counts[1:])])


breaks(
    plans.ceilings_fall_along_the_chain, "a ladder that gives back", lambda law: law(giving_back())
)


def dropping_last() -> Ladder:
    """Return a ladder that drops turns after all others are summarised."""
    sound = ladder()
    return evolve(sound, rungs=[*sound.rungs[1:], *sound.rungs[:1]])


breaks(
    plans.droppable_turns_go_before_required_ones,
    "a ladder that drops thanks last",
    lambda law: law(dropping_last()),
)


class Overdoing(ContextProjector):
    """Take one plan too harsh."""

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        plan, chain = super().plan_for(window, target), self.ladder(window)
        return plan_at(chain, min(plan.step + 1, len(chain.tokens) - 1), plan.tokens_wanted)


class Backwards(ContextProjector):
    """Keep what should go: a low target gets a gentle plan."""

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        return super().plan_for(window, 1.0 - target)


class Shortsighted(ContextProjector):
    """Plan for what is in focus, not for the whole window."""

    def plan_for(self, window: ContextWindow, target: float) -> Plan:
        return super().plan_for(window, target if window.pressure > target else 1.0)


breaks(
    plans.plans_and_pressures_are_adjoint,
    "a plan that is not the gentlest",
    lambda law: law(Overdoing(), grown(), 0.4),
)
breaks(
    plans.harsher_targets_raise_no_ceiling,
    "plans the wrong way round",
    lambda law: law(Backwards(), grown(), 0.1, 0.9),
)
breaks(
    plans.planning_repeats,
    "a plan that depends on the focus",
    lambda law: law(Shortsighted(), grown(), 0.4),
)
breaks(
    plans.plans_respect_the_class_floors,
    "a plan below a floor",
    lambda law: law(evolve(HEAD.plan_for(grown(), 0.3), lowered={"t1": GIST})),
    lambda law: law(evolve(HEAD.plan_for(grown(), 0.3), lowered={"t1": DROPPED})),
    lambda law: law(evolve(HEAD.plan_for(grown(), 0.3), lowered={"t4": DROPPED})),
    lambda law: law(evolve(HEAD.plan_for(grown(), 0.3), lowered={"t7": DROPPED})),
)


def dropping_what_it_summarises() -> Plan:
    """Return a plan with a drop inside of a job's range."""
    plan = HEAD.plan_for(grown(), 0.3)
    return evolve(plan, drops=(Splice(plan.jobs[0].start, plan.jobs[0].start + 1),))


breaks(
    plans.plans_touch_no_turn_twice,
    "a plan that drops what it summarises",
    lambda law: law(dropping_what_it_summarises()),
)
breaks(
    plans.plans_touch_no_turn_twice,
    "a plan that names the wrong end of the cache",
    lambda law: law(evolve(HEAD.plan_for(grown(), 0.3), first_changed=None)),
)


# --- what a compression reports --------------------------------------------


class Gullible(ContextProjector):
    """Accept any summary: a published original took one that was longer than what it stood for."""

    def commit(self, window: ContextWindow, fulfilment: Fulfilment) -> CompressionResult:
        done = super().commit(window, fulfilment)
        gists = [
            (place, turn) for place, turn in enumerate(done.window.all_turns()) if turn.is_gist
        ]
        after = done.window.splice(
            [Splice(place, place + 1, (_retold(turn),)) for place, turn in gists]
        )
        return evolve(done, window=after, tokens_after=after.tokens)


def _retold(gist: Turn) -> Turn:
    told = evolve(gist, content=LONG)
    return told.with_tokens(count_turn(FAST, told))


class Idle(ContextProjector):
    """Report a compression and hand back the window as it was."""

    def compress(
        self, window: ContextWindow, target: float = 0.7, *, query: str | None = None
    ) -> CompressionResult:
        return evolve(super().compress(window, target), window=window)


class Overreaching(ContextProjector):
    """Report one plan and carry out a harsher one."""

    def compress(
        self, window: ContextWindow, target: float = 0.7, *, query: str | None = None
    ) -> CompressionResult:
        return evolve(super().compress(window, target), window=super().compress(window, 0.0).window)


breaks(
    plans.promises_are_kept,
    "regression a summary longer than its source breaks the promise",
    lambda law: law(Gullible().compress(grown(), 0.3)),
)


def uncounted() -> CompressionResult:
    """Return a report whose tokens after are those promised, not those there are."""
    done = HEAD.compress(grown(), 0.3)
    return evolve(done, tokens_after=done.tokens_after - 1)


breaks(plans.promises_are_kept, "a report that does not count", lambda law: law(uncounted()))


def _with_both() -> CompressionResult:
    """Return the report of a compression that dropped one turn and summarised others."""
    return HEAD.compress(extended(grown(), [user("thanks!"), *talk(8, first=12)]), 0.2)


breaks(
    plans.reports_tell_what_happened,
    "a report that hides a gist",
    lambda law: law(evolve(_with_both(), gisted=())),
)
breaks(
    plans.reports_tell_what_happened,
    "a report that hides a drop",
    lambda law: law(evolve(_with_both(), dropped=())),
)
breaks(
    plans.compressions_do_what_their_plans_say,
    "a plan that is not carried out",
    lambda law: law(Idle(), grown(), 0.3, 0.1),
)
breaks(
    plans.compressions_do_what_their_plans_say,
    "a plan that is overdone",
    lambda law: law(Overreaching(reach=Reach(recent_share=1.0)), grown(), 0.6, 0.5),
)


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
        return Made(self.change(window))


def without(*places: int) -> By:
    """Return a compressor that drops the turns at these indices."""
    return By(
        lambda window: window.splice(
            [Splice(place % len(window), place % len(window) + 1) for place in places]
        )
    )


def cut(place: int) -> By:
    """Return a compressor that cuts a turn to its first word and keeps its id."""

    def change(window: ContextWindow) -> ContextWindow:
        turn = window.all_turns()[place]
        return window.splice(
            [Splice(place, place + 1, (evolve(turn, content=turn.text.split()[0]),))]
        )

    return By(change)


def _forgotten(window: ContextWindow) -> ContextWindow:
    """Compress, then rebuild the ledger with every turn REQUIRED, as a published original did."""
    fresh = ContextWindow(window.max_tokens, counter=window.counter)
    for turn in HEAD.compress(window, 0.3).window.all_turns():
        fresh = fresh.append(turn, ResourceClass.REQUIRED)
    return fresh


def _reordered(window: ContextWindow) -> ContextWindow:
    first, second = window.all_turns()[2:4]
    return window.splice([Splice(2, 4, (second, first))])


def _gisted(
    window: ContextWindow,
    start: int,
    stop: int,
    sources: Sequence[str],
    content: str = "A summary.",
) -> ContextWindow:
    """Return the window with one gist for a run of turns, whatever it says it stands for."""
    gist = Turn(Role.USER, content, resource_id="g99", sources=tuple(sources))
    ledger = window.linearity.tag("g99", ResourceClass.REQUIRED)
    return window.splice(
        [Splice(start, stop, (gist.with_tokens(count_turn(FAST, gist)),))], linearity=ledger
    )


def _unanswered(window: ContextWindow) -> ContextWindow:
    """Summarise the results and keep the call, as text."""
    call = evolve(window.all_turns()[6], tool_calls=(), content="I called two tools.")
    return _gisted(window.splice([Splice(6, 7, (call,)), Splice(7, 9)]), 7, 8, ("t8", "t9", "t10"))


breaks(
    projectors.preserved_turns_stay_byte_identical,
    "a compressor that drops a preserved turn",
    lambda law: law(without(0), grown(), [0.5], []),
)
breaks(
    projectors.preserved_turns_stay_byte_identical,
    "a compressor that shortens a preserved turn",
    lambda law: law(cut(1), grown(), [0.5], []),
)
breaks(
    projectors.preserved_turns_stay_byte_identical,
    "regression a lost map loses what was preserved",
    lambda law: law(By(_forgotten), grown(), [0.3, 0.3], talk(12, first=20)),
)


obeys(
    projectors.preserved_turns_stay_byte_identical,
    "a lost map does not show at once: only a second compression can tell",
    lambda law: law(By(_forgotten), grown(), [0.3], talk(12, first=20)),
)
breaks(
    projectors.what_stands_is_unchanged,
    "a compressor that cuts a turn under its own id",
    lambda law: law(cut(4), grown(), 0.5),
)


PARALLEL = [*talk(2), calls("read", "run"), result(0, words(1)), result(1, words(2))]
breaks(
    projectors.atoms_are_never_split,
    "a compressor that drops one of two parallel results",
    lambda law: law(without(-1), extended(opened(), PARALLEL), 0.5),
)
breaks(
    projectors.atoms_are_never_split,
    "a compressor that summarises results without their call",
    lambda law: law(By(_unanswered), grown(), 0.5),
)
breaks(
    projectors.atoms_are_never_split,
    "a compressor that summarises half an atom",
    lambda law: law(
        By(lambda window: _gisted(window, 2, 9, ("t3", "t4", "t5", "t6", "t7"))), grown(), 0.5
    ),
)
breaks(
    projectors.order_is_kept,
    "a compressor that reorders",
    lambda law: law(By(_reordered), grown(), 0.5),
)
breaks(
    projectors.order_is_kept,
    "a compressor that tells a turn twice",
    lambda law: law(By(lambda window: _gisted(window, 3, 5, ("t3", "t4", "t5"))), grown(), 0.5),
)
breaks(
    projectors.sources_are_never_lost,
    "a sliding window",
    lambda law: law(without(2, 3), grown(), 0.5),
)
breaks(
    projectors.sources_are_never_lost,
    "a gist that forgets a source",
    lambda law: law(By(lambda window: _gisted(window, 2, 5, ("t3", "t4"))), grown(), 0.5),
)
breaks(
    projectors.sources_are_never_lost,
    "a gist that makes up a source",
    lambda law: law(By(lambda window: _gisted(window, 2, 4, ("t3", "t4", "t400"))), grown(), 0.5),
)
breaks(
    projectors.ledger_survives_compression,
    "regression the map is lost at the first compression",
    lambda law: law(By(_forgotten), grown(), 0.3),
)
breaks(
    projectors.open_calls_and_last_user_turn_never_yield,
    "a compressor that drops the question",
    lambda law: law(without(-2), extended(grown(), [user("Well?"), *talk(1, first=21)]), 0.5),
)
breaks(
    projectors.open_calls_and_last_user_turn_never_yield,
    "a compressor that summarises the question with what was before it",
    lambda law: law(
        By(lambda window: _gisted(window, 2, 4, ("t3", "t4"))),
        extended(opened(), [*talk(1), user("Well?")]),
        0.5,
    ),
)
breaks(
    projectors.open_calls_and_last_user_turn_never_yield,
    "a compressor that drops an open call",
    lambda law: law(without(-1), extended(grown(), [user("Well?"), calls("read")]), 0.5),
)
breaks(
    projectors.open_calls_and_last_user_turn_never_yield,
    "a compressor that drops a result of calls that wait for another",
    lambda law: law(
        without(-1), extended(grown(), [calls("read", "run"), result(0, words(60))]), 0.5
    ),
)


def recalling() -> By:
    """Return a compressor that brings back, the second time, what it took the first time."""
    windows = [HEAD.compress(grown(), 0.2).window, grown()]
    return By(lambda _: windows.pop(0))


breaks(
    projectors.fidelities_only_fall,
    "a compressor that brings back",
    lambda law: law(recalling(), grown(), 0.2, 0.2),
)
breaks(
    projectors.compressing_again_changes_nothing,
    "a compressor that cannot stop",
    lambda law: law(without(2), extended(opened(), talk(8)), 1.0),
)
breaks(
    projectors.gists_are_shorter_than_their_sources,
    "regression a summary longer than its source is accepted",
    lambda law: law(Gullible(), grown(), 0.3),
)


CONTENT = f"{words(0)} {words(1)} "
breaks(
    projectors.gists_are_shorter_than_their_sources,
    "a summary as long as its source",
    lambda law: law(
        By(lambda w: _gisted(w, 2, 3, ("t3",), w.all_turns()[2].text)),
        extended(opened(), [user(CONTENT[: len(CONTENT) // 2]), user("What next?")]),
        0.5,
    ),
)
breaks(
    projectors.compressing_never_adds_tokens,
    "regression a longer summary makes the window grow",
    lambda law: law(Gullible(), grown(), 0.3),
)


# --- what every summariser owes --------------------------------------------


breaks(
    summarisers.summaries_keep_to_their_allowance,
    "a summariser that ignores its budget",
    lambda law: law(Says(LONG), talk(4), 40, FAST),
)
breaks(
    offline_summaries.offline_summaries_keep_to_any_allowance,
    "an extract of one word, where none is allowed",
    lambda law: law(Says("word"), talk(4), 0, FAST),
)
breaks(
    summarisers.summaries_are_storable_text,
    "a summariser that returns what no turn can hold",
    lambda law: law(Says("fine\ud800"), talk(4), 40, FAST),
    lambda law: law(Says(None), talk(4), 40, FAST),
    lambda law: law(Says(b"bytes"), talk(4), 40, FAST),
)


class Moody:
    """Say something else every time."""

    def __init__(self) -> None:
        self.moods = count()

    def summarise(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        *,
        counter: TokenCounter,
        query: str | None = None,
    ) -> str:
        return str(next(self.moods))


breaks(
    offline_summaries.offline_summaries_repeat,
    "a summariser with moods",
    lambda law: law(Moody(), talk(4), 40, FAST),
)
breaks(
    offline_summaries.offline_summaries_say_something,
    "a summariser that falls silent",
    lambda law: law(Says(""), talk(4), 40, FAST),
    lambda law: law(Says(" \n"), talk(4), 40, FAST),
)


# --- rules -------------------------------------------------------------------


def ruled() -> ContextWindow:
    """Return a window with a rule that stands and one that was revoked, both in long turns."""
    said = [f"Never delete a file. {words(80)}", f"Always answer in French. {words(81)}"]
    turns = [*map(user, said), user("You may answer in English again, not in French.")]
    return extended(opened(1_000), [*turns, *talk(12)])


def told(window: ContextWindow, ledger: RuleLedger) -> ContextWindow:
    """Return what a projector makes of `window` with another ledger."""
    after = ContextProjector().compress(window.with_facts(rules=ledger), 0.3).window
    return after.with_facts(rules=window.rules)


breaks(
    rules.a_rule_that_stands_is_in_every_view,
    "a projector that does not know the rules",
    lambda law: law(By(lambda window: told(window, NO_RULES)), ruled(), 0.3),
)
breaks(
    rules.a_rule_that_stands_is_in_every_view,
    "a projector that loses the ledger",
    lambda law: law(By(lambda window: window.with_facts(rules=NO_RULES)), ruled(), 0.3),
)
breaks(
    rules.a_rule_that_has_ended_is_not_printed_as_standing,
    "a projector that takes every rule to stand",
    lambda law: law(
        By(
            lambda window: told(
                window,
                RuleLedger(tuple(evolve(rule, ended_by="") for rule in window.rules.all)),
            )
        ),
        ruled(),
        0.3,
    ),
)
for kept in (
    rules.a_rule_that_stands_is_in_every_view,
    rules.a_rule_that_has_ended_is_not_printed_as_standing,
):
    obeys(kept, "the projector itself", lambda law: law(ContextProjector(), ruled(), 0.3))


class Obedient(ContextWindow):
    """Take rules from anyone."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> "Obedient":
        after = super().append(turn, resource_class, pinned=pinned)
        return after.with_facts(rules=self.rules.after(turn))


class Literal(ContextWindow):
    """Take quoted words for the user's."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> "Literal":
        after = super().append(turn, resource_class, pinned=pinned)
        words = turn.text.partition('"')[2].partition('"')[0]
        return after.with_facts(rules=self.rules.after(evolve(turn, content=words)))


class Touchy(ContextWindow):
    """Take a rule that is named for one that is taken back."""

    def append(
        self, turn: Turn, resource_class: ResourceClass | None = None, *, pinned: bool = False
    ) -> "Touchy":
        after = super().append(turn, resource_class, pinned=pinned)
        named = [rule.id for rule in self.rules.standing if rule.text in turn.text]
        return after.with_facts(rules=after.rules.without(named))


breaks(
    rule_ledger.a_mention_changes_no_rule,
    "a window that drops a rule that is mentioned",
    lambda law: law(Touchy(1_000).append(user("Never delete a file."))),
)
obeys(
    rule_ledger.a_mention_changes_no_rule,
    "the window itself",
    lambda law: law(ContextWindow(1_000).append(user("Never delete a file."))),
)
breaks(
    rule_ledger.a_quotation_changes_no_rule,
    "a window that takes a quotation for an order",
    lambda law: law(Literal(1_000), assistant("Never delete a file.")),
)
breaks(
    rule_ledger.only_the_user_changes_the_rules,
    "a window that obeys an answer",
    lambda law: law(Obedient(1_000), assistant("Never delete a file.")),
)
