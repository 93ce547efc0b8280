"""The laws of plans: a chain of falling promises, adjoint to the pressures."""

from itertools import pairwise

from polycontext.base.law import agree, holds, law
from polycontext.linearity import ResourceClass
from polycontext.pressure.gist import source_ids
from polycontext.pressure.ladder import Ladder
from polycontext.pressure.laws.projectors import (
    GALOIS,
    PROJECTOR,
    class_of_atom,
    held_turns,
    said_atoms,
)
from polycontext.pressure.plan import Plan, plan_at
from polycontext.pressure.projector import CompressionResult, ContextProjector
from polycontext.pressure.view import Fidelity, floor_of, view_of
from polycontext.window import ContextWindow, Role
from polycontext.window.items import attachment_of
from polycontext.window.part_removal import says_all_of

PLANS = 'docs/pressure.md, "The ladder"'


@law(PLANS)
def chain_falls_strictly(ladder: Ladder) -> None:
    """Every plan of the chain promises fewer tokens than the previous one.

    The first promises the tokens of the window.
    """
    agree(ladder.tokens, sorted(set(ladder.tokens), reverse=True))
    agree(ladder.tokens[0], ladder.window.total_tokens)


@law(PLANS)
def ceilings_fall_along_the_chain(ladder: Ladder) -> None:
    """A harsher plan raises no ceiling, so the chain falls in the order of views, too."""
    log = ladder.window.atoms()
    ceilings = [plan_at(ladder, step, 0).ceiling(log) for step in range(len(ladder.tokens))]
    for gentle, harsh in pairwise(ceilings):
        holds(harsh <= gentle, f"at most {gentle!r}", harsh)


@law(PLANS)
def droppable_turns_go_before_required_ones(ladder: Ladder) -> None:
    """No plan of the chain summarises or cuts a REQUIRED atom while a DROPPABLE one stands.

    The last user turn and the newest calls, with their results, stand whatever their class.
    """
    said = said_atoms(ladder.window)
    users = [atom for atom in said if atom.turns[0].role is Role.USER]
    words = [atom for atom in users if attachment_of(atom.turns[0]) is None]
    replies = [atom for atom in said if atom.turns[0].role is Role.ASSISTANT]
    newest = [atom for atom in replies[-1:] if atom.turns[0].tool_calls]
    spared = {atom.id for atom in (*users[-1:], *words[-1:], *newest)}
    droppable, required = (
        {atom.id for atom in said if class_of_atom(ladder.window, atom) is of_class}
        for of_class in (ResourceClass.DROPPABLE, ResourceClass.REQUIRED)
    )
    for step in range(len(ladder.tokens)):
        lowered = plan_at(ladder, step, 0).lowered.keys()
        standing = droppable - spared - lowered
        holds(not (standing and lowered & required), "dropped first", standing, step=step)


@law(GALOIS + "; " + PLANS)
def plans_and_pressures_are_adjoint(
    projector: ContextProjector, window: ContextWindow, target: float
) -> None:
    """``c_j <= plan_for(t)`` exactly when ``pressure(c_j) <= t``.

    This holds for every plan c_j of the chain and every t that one of them reaches.
    """
    pressures = [tokens / window.max_tokens for tokens in projector.ladder(window).tokens]
    middle = pressures[len(pressures) // 2]
    for reached in [
        t for t in (target, pressures[0], middle, pressures[-1]) if pressures[-1] <= t <= 1.0
    ]:
        chosen = projector.plan_for(window, reached).step
        agree(
            [step >= chosen for step in range(len(pressures))],
            [p <= reached for p in pressures],
            target=reached,
        )


@law(PLANS)
def planning_repeats(projector: ContextProjector, window: ContextWindow, target: float) -> None:
    """Planning is pure: it repeats at any focus, and does not change the window."""
    before = window.all_turns()
    agree(projector.plan_for(window, target), projector.plan_for(window.seek(0), target))
    agree(window.all_turns(), before)


@law('docs/pressure.md, "Fidelity, floors and ceilings"')
def plans_respect_the_class_floors(plan: Plan) -> None:
    """No ceiling is below the floor of its atom's class.

    PRESERVED atoms stay VERBATIM, and REQUIRED ones keep at least a GIST.
    """
    for atom in plan.window.atoms():
        floor, ceiling = (
            floor_of(class_of_atom(plan.window, atom)),
            plan.lowered.get(atom.id, Fidelity.VERBATIM),
        )
        holds(ceiling >= floor, f"at least {floor.name}", ceiling.name, atom=atom)


@law(PLANS)
def plans_touch_no_turn_twice(plan: Plan) -> None:
    """The runs of turns that a plan replaces and drops are disjoint.

    The prompt cache ends at the first of them, or before it if parts are removed there.
    """
    runs = sorted(
        [run for job in plan.jobs for run in job.runs]
        + [(drop.start, drop.stop) for drop in plan.drops]
    )
    holds(all(left[1] <= right[0] for left, right in pairwise(runs)), "disjoint runs", runs)
    falling = [
        place
        for place, turn in enumerate(plan.window.all_turns())
        if turn.resource_id in plan.bared or place == plan.unbound_from
    ]
    agree(plan.first_changed, min([*(run[0] for run in runs[:1]), *falling], default=None))


@law(PLANS)
def promises_are_kept(result: CompressionResult) -> None:
    """The tokens after a compression are at most those promised if every gist was made.

    They are also equal to a count of the new window.
    """
    agree(result.tokens_after, result.window.total_tokens)
    if _is_fulfilled(result):
        holds(
            result.tokens_after <= result.plan.tokens_promised,
            f"at most {result.plan.tokens_promised}",
            result.tokens_after,
        )


@law(PROJECTOR)
def reports_tell_what_happened(result: CompressionResult) -> None:
    """Every turn is reported once, as kept, gisted or dropped.

    It is kept if its text and calls stay, gisted if a gist replaces it, and dropped otherwise.
    """
    standing = held_turns(result.window)
    gone = [
        turn
        for turn in result.plan.window.all_turns()
        if not says_all_of(standing.get(source_ids(turn)[0]), turn)
    ]
    gisted = {turn.resource_id for turn in gone if standing.keys() >= set(source_ids(turn))}
    dropped = {turn.resource_id for turn in gone} - gisted
    kept = tuple(turn.resource_id for turn in result.plan.window.all_turns() if turn not in gone)
    agree((result.kept, set(result.gisted), set(result.dropped)), (kept, gisted, dropped))


@law('docs/pressure.md, "Fidelity, floors and ceilings"')
def compressions_do_what_their_plans_say(
    projector: ContextProjector, window: ContextWindow, target: float, other_target: float
) -> None:
    """``view_of(after) == view_of(before) ∧ ceiling``, the first and the second time.

    If a gist could not be made, the view is at least that.
    """
    log = said_atoms(window)
    first = projector.compress(window, target)
    second = projector.compress(first.window, other_target)
    for before, result in ((view_of(window, log), first), (view_of(first.window, log), second)):
        said, after = before.meet(result.plan.ceiling(log)), view_of(result.window, log)
        holds(said <= after <= before, f"from {said!r} to {before!r}", after, result=result)
        if _is_fulfilled(result):
            agree(after, said, result=result)


def _is_fulfilled(result: CompressionResult) -> bool:
    """Return whether every gist of the plan was made, if need be as a fallback."""
    return {turn.resource_id for job in result.plan.jobs for turn in job.sources} <= set(
        result.gisted
    )
