"""The laws of pressure: an order with meets, a Galois connection, a chain of plans, and compressions that lose nothing preserved.

Who brings an object of their own passes it in. `projector` is anything with ``compress(window, target)``
whose result has a ``window``; `summariser` anything with the method of `Summariser`. What takes a
`planner`, a `ladder`, a `plan` or a `result` is about plans and asks for those of `ContextProjector`.
Views are passed as `first_view`, `second_view`, `third_view` and `ceiling`, all over one log.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from attrs import evolve

from polycontext.linearity import ResourceClass
from polycontext.linearity.law import agree, holds, law
from polycontext.pressure.fidelity import Fidelity, floor_of
from polycontext.pressure.gist import MIN_GIST_TOKENS, source_ids
from polycontext.pressure.ladder import Ladder
from polycontext.pressure.plan import Plan, plan_at
from polycontext.pressure.projector import ContextProjector
from polycontext.pressure.result import CompressionResult
from polycontext.pressure.summariser import Summariser
from polycontext.pressure.threshold import pressure_of
from polycontext.pressure.view import View, compress_view, expand_view, view_of
from polycontext.window import Atom, ContextWindow, InvalidTurnError, Role, TokenCounter, Turn

_ORDER = "Davey and Priestley, Introduction to Lattices and Order, chapters 1 and 2; design §6"
_GALOIS = "Ore, Galois Connexions; seed 004 §2.2"
_PLANS = "design §6, Ladder"
_PROJECTOR = "design §3 and §6"
_SUMMARISER = "design §6, Summarisers"


class Compressed(Protocol):
    """Be what a compression returns: a report with the window it made."""

    @property
    def window(self) -> ContextWindow:
        """Return the compressed window."""
        ...


class Compressor(Protocol):
    """Be what a law needs of a projector; `target` is a pressure from 0 to 1."""

    def compress(self, window: ContextWindow, target: float, /) -> Compressed:
        """Return what compressing `window` to `target`, or as near as may be, gave."""
        ...


# --- the order of views ----------------------------------------------------


@law(_ORDER)
def view_order_is_reflexive(first_view: View) -> None:
    """Reflexive: ``v <= v``."""
    holds(first_view <= first_view, "below itself", first_view)  # noqa: PLR0124 - that is the law


@law(_ORDER)
def view_order_is_antisymmetric(first_view: View, second_view: View) -> None:
    """Antisymmetric: ``v <= w`` and ``w <= v`` only where ``v == w``."""
    if first_view <= second_view <= first_view:
        agree(first_view, second_view)


@law(_ORDER)
def view_order_is_transitive(first_view: View, second_view: View, third_view: View) -> None:
    """Transitive: ``u <= v`` and ``v <= w`` give ``u <= w``."""
    if first_view <= second_view <= third_view:
        holds(first_view <= third_view, "the first below the third", first_view, second_view=second_view, third_view=third_view)


@law(_ORDER)
def meet_is_associative(first_view: View, second_view: View, third_view: View) -> None:
    """Associative: ``(u ∧ v) ∧ w == u ∧ (v ∧ w)``."""
    left = first_view.meet(second_view).meet(third_view)
    agree(left, first_view.meet(second_view.meet(third_view)), first_view=first_view, second_view=second_view, third_view=third_view)


@law(_ORDER)
def meet_is_commutative(first_view: View, second_view: View) -> None:
    """Commutative: ``v ∧ w == w ∧ v``."""
    agree(first_view.meet(second_view), second_view.meet(first_view), first_view=first_view, second_view=second_view)


@law(_ORDER)
def meet_is_idempotent(first_view: View) -> None:
    """Idempotent: ``v ∧ v == v``."""
    agree(first_view.meet(first_view), first_view)


@law(_ORDER)
def meet_is_the_greatest_lower_bound(first_view: View, second_view: View, third_view: View) -> None:
    """Greatest lower bound: ``u <= v ∧ w`` exactly when ``u <= v`` and ``u <= w``; so the meet itself is below both."""
    meet = first_view.meet(second_view)
    inputs = {"first_view": first_view, "second_view": second_view, "third_view": third_view}
    holds(meet <= first_view and meet <= second_view, "below both", meet, **inputs)
    agree(third_view <= meet, third_view <= first_view and third_view <= second_view, **inputs)


# --- compressing views -----------------------------------------------------


@law(_GALOIS)
def compressing_is_monotone(first_view: View, second_view: View, ceiling: View) -> None:
    """Monotone: ``v <= w`` gives ``compress(v) <= compress(w)``."""
    if first_view <= second_view:
        less, more = compress_view(ceiling, first_view), compress_view(ceiling, second_view)
        holds(less <= more, f"at most {more!r}", less, first_view=first_view, second_view=second_view, ceiling=ceiling)


@law(_GALOIS)
def compressing_is_deflationary(first_view: View, ceiling: View) -> None:
    """Deflationary: ``expand(compress(v)) <= v``."""
    again = expand_view(compress_view(ceiling, first_view))
    holds(again <= first_view, f"at most {first_view!r}", again, ceiling=ceiling)


@law(_GALOIS)
def compressing_is_idempotent(first_view: View, ceiling: View) -> None:
    """Idempotent: ``compress(compress(v)) == compress(v)``."""
    once = compress_view(ceiling, first_view)
    agree(compress_view(ceiling, once), once, first_view=first_view, ceiling=ceiling)


@law(_GALOIS)
def compress_undoes_expand(first_view: View, ceiling: View) -> None:
    """Nothing is lost twice: ``compress(expand(v)) == v`` for every compressed v, which is every ``v <= ceiling``."""
    if first_view <= ceiling:
        agree(compress_view(ceiling, expand_view(first_view)), first_view, ceiling=ceiling)


@law(_GALOIS)
def expand_and_compress_are_adjoint(first_view: View, second_view: View, ceiling: View) -> None:
    """Adjoint: ``expand(v) <= w`` exactly when ``v <= compress(w)``, for every compressed ``v <= ceiling``."""
    if first_view <= ceiling:
        left, right = expand_view(first_view) <= second_view, first_view <= compress_view(ceiling, second_view)
        agree(left, right, first_view=first_view, second_view=second_view, ceiling=ceiling)


# --- the chain of plans ----------------------------------------------------


@law(_PLANS)
def chain_falls_strictly(ladder: Ladder) -> None:
    """Every plan of the chain promises fewer tokens than the one before it, the first all there are."""
    agree(ladder.tokens, sorted(set(ladder.tokens), reverse=True), ladder=ladder)
    agree(ladder.tokens[0], _tokens_of(ladder.window), ladder=ladder)


@law(_PLANS)
def every_plan_is_the_gentlest_for_its_promise(ladder: Ladder) -> None:
    """Asked for as many tokens as plan j promises, the ladder answers plan j."""
    agree([ladder.gentlest(tokens) for tokens in ladder.tokens], list(range(len(ladder.tokens))), ladder=ladder)


@law(_PLANS)
def ceilings_fall_along_the_chain(ladder: Ladder) -> None:
    """A harsher plan raises no ceiling again: in the order of views the chain falls as well."""
    log = ladder.window.atoms()
    ceilings = [plan_at(ladder, step, 0).ceiling(log) for step in range(len(ladder.tokens))]
    for gentle, harsh in pairwise(ceilings):
        holds(harsh <= gentle, f"at most {gentle!r}", harsh, ladder=ladder)


@law(_GALOIS + "; design §6, Ladder")
def plans_and_pressures_are_adjoint(planner: ContextProjector, window: ContextWindow, target: float) -> None:
    """``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``, for every plan c_j of the chain and every t that one of them reaches."""
    pressures = [tokens / window.max_tokens for tokens in planner.ladder(window).tokens]
    middle = pressures[len(pressures) // 2]
    for reached in [t for t in (target, pressures[0], middle, pressures[-1]) if pressures[-1] <= t <= 1.0]:
        chosen = planner.plan_for(window, reached).step
        agree([step >= chosen for step in range(len(pressures))], [p <= reached for p in pressures], window=window, target=reached)


@law(_PLANS)
def harsher_targets_raise_no_ceiling(planner: ContextProjector, window: ContextWindow, target: float, other_target: float) -> None:
    """Monotone in the target: of two targets the lower one has the lower ceiling."""
    log = window.atoms()
    harsh, gentle = (planner.plan_for(window, t).ceiling(log) for t in sorted((target, other_target)))
    holds(harsh <= gentle, f"at most {gentle!r}", harsh, window=window, target=target, other_target=other_target)


@law(_PLANS)
def planning_repeats(planner: ContextProjector, window: ContextWindow, target: float) -> None:
    """Planning is pure: asked again, wherever the focus is, it gives the same plan, and the window is as it was."""
    before = window.all_turns()
    agree(planner.plan_for(window, target), planner.plan_for(window.seek(0), target), window=window, target=target)
    agree(window.all_turns(), before, target=target)


@law("design §3, floor; seed 004 §2.3")
def plans_respect_the_class_floors(plan: Plan) -> None:
    """No ceiling is below the floor of its atom's class: PRESERVED stays VERBATIM, REQUIRED keeps at least a GIST."""
    for atom in plan.window.atoms():
        floor, ceiling = floor_of(_class_of(plan.window, atom)), plan.lowered.get(atom.id, Fidelity.VERBATIM)
        holds(ceiling >= floor, f"at least {floor.name}", ceiling.name, atom=atom, plan=plan)


@law(_PLANS)
def plans_touch_no_turn_twice(plan: Plan) -> None:
    """What a plan replaces and drops are disjoint runs of turns, and the prompt cache ends at the first of them."""
    runs = sorted([(job.start, job.stop) for job in plan.jobs] + [(drop.start, drop.stop) for drop in plan.drops])
    holds(all(left[1] <= right[0] for left, right in pairwise(runs)), "disjoint runs", runs, plan=plan)
    agree(plan.first_changed, runs[0][0] if runs else None, plan=plan)


# --- what a compression reports --------------------------------------------


@law(_PLANS)
def promises_are_kept(result: CompressionResult) -> None:
    """The tokens after are counted, and at most what the plan promised, where every gist it asked for was made."""
    agree(result.tokens_after, _tokens_of(result.window), result=result)
    if _is_fulfilled(result):
        holds(
            result.tokens_after <= result.plan.tokens_promised, f"at most {result.plan.tokens_promised}", result.tokens_after, result=result
        )


@law(_PROJECTOR)
def reports_tell_what_happened(result: CompressionResult) -> None:
    """Every turn is reported once: kept if it stands, gisted if a gist stands for it, else dropped."""
    standing, named = _held(result.window), _named(result.window)
    gone = [turn for turn in result.plan.window.all_turns() if standing.get(source_ids(turn)[0]) != turn]
    gisted = {turn.resource_id for turn in gone if named.issuperset(source_ids(turn))}
    dropped = {turn.resource_id for turn in gone} - gisted
    kept = tuple(turn.resource_id for turn in result.plan.window.all_turns() if turn not in gone)
    agree((result.kept, set(result.gisted), set(result.dropped)), (kept, gisted, dropped), result=result)


@law("seed 004 §2.2; design §6, Order")
def compressions_do_what_their_plans_say(planner: ContextProjector, window: ContextWindow, target: float, other_target: float) -> None:
    """``view_of(after) == view_of(before) ∧ ceiling``, the first and the second time; where a gist could not be made, at least that."""
    log = _said(window)
    first = planner.compress(window, target)
    second = planner.compress(first.window, other_target)
    for before, result in ((view_of(window, log), first), (view_of(first.window, log), second)):
        said, after = before.meet(result.plan.ceiling(log)), view_of(result.window, log)
        holds(said <= after <= before, f"from {said!r} to {before!r}", after, window=window, result=result)
        if _is_fulfilled(result):
            agree(after, said, window=window, result=result)


# --- what every projector owes ---------------------------------------------


@law("seed 004 §2.3; design §1")
def preserved_turns_stay_byte_identical(
    projector: Compressor, window: ContextWindow, targets: Sequence[float], turns: Sequence[Turn]
) -> None:
    """The law of preservation: after one compression a target, with turns added in between, every PRESERVED turn is the same turn."""
    preserved: dict[str, Turn] = {}
    for target in targets:
        preserved.update((turn.resource_id, turn) for turn in _preserved(window))
        after = projector.compress(window, target).window
        found = [turn for turn in after.all_turns() if turn.resource_id in preserved]
        agree(found, list(preserved.values()), window=window, target=target)
        window = _continued(after, turns)


@law(_PROJECTOR)
def what_stands_is_unchanged(projector: Compressor, window: ContextWindow, target: float) -> None:
    """A turn that keeps its id keeps every word, call and count: VERBATIM is word for word."""
    before = {turn.resource_id: turn for turn in window.all_turns()}
    standing = [turn for turn in projector.compress(window, target).window.all_turns() if turn.resource_id in before]
    agree(standing, [before[turn.resource_id] for turn in standing], window=window, target=target)


@law("design §3, atom")
def atoms_are_never_split(projector: Compressor, window: ContextWindow, target: float) -> None:
    """An atom yields whole: calls that stand have every result they had, whole or cut, and where they go, results go with them."""
    after = _held(projector.compress(window, target).window)
    for atom in window.atoms():
        head, *results = (after.get(source_ids(turn)[0]) for turn in atom.turns)
        answers = [result.tool_call_id if result else None for result in results]
        whole = answers == [turn.tool_call_id for turn in atom.turns[1:]] if head == atom.turns[0] else all(r is head for r in results)
        holds(whole, f"an atom, whole: {atom!r}", (head, *results), window=window, target=target)


@law(_PROJECTOR)
def order_is_kept(projector: Compressor, window: ContextWindow, target: float) -> None:
    """What stands and what is stood for is in the order of the conversation, each once."""
    after = [source for turn in projector.compress(window, target).window.all_turns() for source in source_ids(turn)]
    before = [source for turn in window.all_turns() for source in source_ids(turn)]
    agree(after, [source for source in before if source in set(after)], window=window, target=target)


@law(_PROJECTOR)
def sources_are_never_lost(projector: Compressor, window: ContextWindow, target: float) -> None:
    """Standing, stood for, or dropped: these are all turns there were, only DROPPABLE ones are dropped, and none is made up."""
    after, before = _named(projector.compress(window, target).window), _named(window)
    droppable = {turn.resource_id for turn in window.all_turns() if window.class_of(turn) is ResourceClass.DROPPABLE}
    holds(
        before - droppable <= after <= before, f"{before - droppable}, and of {droppable} what stands", after, window=window, target=target
    )


@law("seed 004 §2.3; design §4")
def ledger_survives_compression(projector: Compressor, window: ContextWindow, target: float) -> None:
    """Every tag stays as it was and where it was, of what yielded too, and the ledger knows every turn that stands."""
    after = projector.compress(window, target).window
    before = list(window.linearity.items())
    agree(list(after.linearity.items())[: len(before)], before, window=window, target=target)
    unknown = [turn.resource_id for turn in after.all_turns() if turn.resource_id not in after.linearity]
    holds(not unknown, "a tag for every turn", unknown, window=window, target=target)


@law(_PLANS)
def open_atom_and_last_user_turn_never_yield(projector: Compressor, window: ContextWindow, target: float) -> None:
    """The atom that waits for a result, and the last turn the user said, stand whatever their class."""
    said = [turn for turn in window.all_turns() if turn.role is Role.USER and not turn.is_gist]
    waiting = [turn for atom in window.atoms() if atom.is_open for turn in atom.turns]
    after = projector.compress(window, target).window
    missing = [turn for turn in (*said[-1:], *waiting) if turn not in after.all_turns()]
    agree((missing, after.open_calls), ([], window.open_calls), window=window, target=target)


@law(_GALOIS)
def fidelities_only_fall(projector: Compressor, window: ContextWindow, target: float, other_target: float) -> None:
    """Deflationary on windows: over the log of the beginning, each of two compressions holds no atom at a higher fidelity than before it."""
    log = _said(window)
    first = projector.compress(window, target).window
    second = projector.compress(first, other_target).window
    for before, after in pairwise(view_of(each, log) for each in (window, first, second)):
        holds(after <= before, f"at most {before!r}", after, window=window, target=target, other_target=other_target)


@law(_GALOIS)
def compressing_again_changes_nothing(projector: Compressor, window: ContextWindow, target: float) -> None:
    """Idempotent on windows: once its target is reached, a second compression to it leaves every turn as it is."""
    once = projector.compress(window, target).window
    if pressure_of(once) <= target:
        agree(projector.compress(once, target).window.all_turns(), once.all_turns(), window=window, target=target)


@law("design §6, Plan → fulfil → commit")
def gists_are_shorter_than_their_sources(projector: Compressor, window: ContextWindow, target: float) -> None:
    """A new gist takes fewer tokens than the turns it stands for."""
    after = projector.compress(window, target).window.all_turns()
    known = {turn.resource_id for turn in window.all_turns()}
    for gist in [turn for turn in after if turn.is_gist and turn.resource_id not in known]:
        sources = [turn for turn in window.all_turns() if set(source_ids(turn)) <= set(gist.sources)]
        tokens = sum(turn.tokens or 0 for turn in sources)
        holds(gist.tokens is not None and gist.tokens < tokens, f"fewer than {tokens} tokens", gist, window=window, target=target)


@law("design §6, Plan → fulfil → commit")
def compressing_never_adds_tokens(projector: Compressor, window: ContextWindow, target: float) -> None:
    """A compressed window takes at most the tokens it took before."""
    after = _tokens_of(projector.compress(window, target).window)
    holds(after <= _tokens_of(window), f"at most {_tokens_of(window)}", after, window=window, target=target)


# --- what every summariser owes --------------------------------------------


@law(_SUMMARISER)
def summaries_keep_to_their_allowance(summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter) -> None:
    """A summary takes at most the tokens it was allowed, by the counter it was given."""
    tokens = counter.count(summariser.summarise(turns, allowance, counter=counter))
    holds(tokens <= max(allowance, 0), f"at most {allowance} tokens", tokens, turns=turns)


@law(_SUMMARISER)
def summaries_are_storable_text(summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter) -> None:
    """A summary is text that a turn can hold: a string without lone surrogates."""
    summary: object = summariser.summarise(turns, allowance, counter=counter)
    holds(_is_storable(summary), "storable text", summary, turns=turns, allowance=allowance)


@law("design §6, Summarisers: the offline default, no demand of the protocol")
def offline_summaries_repeat(offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter) -> None:
    """The offline summariser says the same of the same turns again, so that a replay needs no model."""
    first, second = (offline_summariser.summarise(turns, allowance, counter=counter) for _ in range(2))
    agree(first, second, turns=turns, allowance=allowance)


@law("design §6, Summarisers: the offline default, no demand of the protocol")
def offline_summaries_say_something(offline_summariser: Summariser, turns: Sequence[Turn], allowance: int, counter: TokenCounter) -> None:
    """The offline summariser is never lost for words: where any turn has one, and 40 tokens are allowed, the summary is not empty."""
    if allowance >= MIN_GIST_TOKENS and any(character.isalnum() for turn in turns for character in turn.text):
        summary = offline_summariser.summarise(turns, allowance, counter=counter)
        holds(bool(summary.strip()), "not empty", summary, turns=turns, allowance=allowance)


# --- reading windows -------------------------------------------------------


def _tokens_of(window: ContextWindow) -> int:
    return window.seek(len(window)).tokens


def _said(window: ContextWindow) -> list[Atom]:
    """Return the atoms of the log that stand in `window`: a summary is in no log."""
    return [atom for atom in window.atoms() if not atom.turns[0].is_gist]


def _class_of(window: ContextWindow, atom: Atom) -> ResourceClass:
    return max(window.class_of(turn) for turn in atom.turns)


def _preserved(window: ContextWindow) -> list[Turn]:
    known = [atom for atom in window.atoms() if all(i in window.linearity for i in atom.resource_ids)]
    return [turn for atom in known if _class_of(window, atom) is ResourceClass.PRESERVED for turn in atom.turns]


def _continued(window: ContextWindow, turns: Sequence[Turn]) -> ContextWindow:
    """Append as new turns those that may come then; results of calls that are not open are left out."""
    for turn in turns:
        waiting = window.open_calls
        if turn.tool_call_id in waiting or not (waiting or turn.role is Role.TOOL):
            window = window.append(evolve(turn, resource_id="", tokens=None))
    return window


def _held(window: ContextWindow) -> Mapping[str, Turn]:
    """Return the turn that holds each id of the log: itself, or its gist."""
    return {source: turn for turn in window.all_turns() for source in source_ids(turn)}


def _named(window: ContextWindow) -> set[str]:
    return set(_held(window))


def _is_fulfilled(result: CompressionResult) -> bool:
    """Tell whether every gist of the plan was made: none rejected without another in its place."""
    return {turn.resource_id for job in result.plan.jobs for turn in job.sources} <= set(result.gisted)


def _is_storable(text: object) -> bool:
    try:
        return isinstance(text, str) and Turn(Role.USER, text).text == text
    except InvalidTurnError:
        return False
