"""What the generated inputs of laws must reach, so that no law holds vacuously.

Cases that generation seldom reaches are tested by name in `test_not_vacuous.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from polycontext.base import PolycontextError
from polycontext.polynomial import (
    ContextOverflowError,
    ContextState,
    project,
)
from polycontext.pressure import (
    CompressionResult,
    pressure_of,
)
from polycontext.pressure.ladder import Rung
from polycontext.window import ContextWindow, Turn
from polycontext.window.items import attachment_of
from tests.laws.inputs import Polite, Tidy

Inputs = Mapping[str, Any]
Condition = Callable[[Inputs], bool]


def compressed(given: Inputs) -> CompressionResult:
    """Return what compressing the window that was drawn gives."""
    done: CompressionResult = given["projector"].compress(given["window"], given["target"])
    return done


def accepts(act: Callable[[], object]) -> bool:
    """Tell whether nothing is raised."""
    try:
        act()
    except PolycontextError:
        return False
    return True


def states(given: Inputs) -> set[ContextState]:
    """Return the states that the inputs lead a machine through."""
    machine = given["machine"](given["window"], given["policy"])
    seen = set[ContextState]()
    for context_input in given["inputs"]:
        if accepts(lambda: machine.advance(context_input)):  # noqa: B023 - called at once
            seen.add(machine.context_state)
    return seen


def refused(given: Inputs) -> bool:
    """Tell whether the machine refuses one of the inputs."""
    machine = given["machine"](given["window"], given["policy"])
    return not all(
        accepts(lambda: machine.advance(each))  # noqa: B023 - called at once
        for each in given["inputs"]
    )


def projected(given: Inputs) -> bool | None:
    """Tell whether a projection changes what was drawn, None where it is refused."""
    messages = given["wire"].render(given["turns"]).inline()
    try:
        return project(
            messages, given["max_tokens"], provider=given["wire"].provider, counter=given["counter"]
        ).changed
    except ContextOverflowError:
        return None


def has_call(window: ContextWindow) -> bool:
    """Tell whether a tool is called."""
    return any(turn.tool_calls for turn in window.all_turns())


def has_gist(window: ContextWindow) -> bool:
    """Tell whether something was summarised."""
    return any(turn.is_gist for turn in window.all_turns())


SEEN: list[tuple[str, str, Condition]] = [
    ("a_constraint_can_be_quoted", "a constraint", lambda given: "never" in given["content"]),
    ("positions_outside_are_refused", "a position outside",
     lambda given: not 0 <= given["place"] <= given["store"].last),
    ("positions_outside_are_refused", "a position inside",
     lambda given: 0 <= given["place"] <= given["store"].last),
    ("append_shows_the_turn", "an open call", lambda given: bool(given["window"].open_calls)),
    ("append_shows_the_turn", "a turn with an id", lambda given: bool(given["turn"].resource_id)),
    ("calls_are_answered_before_anything_else", "a turn that is refused",
     lambda given: not accepts(lambda: given["window"].append(given["any_turn"]))),
    ("calls_are_answered_before_anything_else", "one that is accepted",
     lambda given: accepts(lambda: given["window"].append(given["any_turn"]))),
    ("atoms_are_never_split", "calls", lambda given: has_call(given["window"])),
    ("sums_equal_recounting", "gists", lambda given: has_gist(given["window"])),
    ("sums_equal_recounting", "an empty window", lambda given: not len(given["window"])),
    ("reading_undoes_writing", "calls",
     lambda given: any(turn.tool_calls for turn in given["turns"])),
    ("order_is_kept", "gists", lambda given: bool(compressed(given).gisted)),
    ("order_is_kept", "drops", lambda given: bool(compressed(given).dropped)),
    ("order_is_kept", "windows that were compressed before",
     lambda given: has_gist(given["window"])),
    ("order_is_kept", "tools", lambda given: has_call(given["window"])),
    ("compressing_again_changes_nothing", "targets reached",
     lambda given: pressure_of(compressed(given).window)
     <= given["target"] < pressure_of(given["window"])),
    ("promises_are_kept", "gists", lambda given: bool(given["result"].gisted)),
    ("plans_respect_the_class_floors", "jobs", lambda given: bool(given["plan"].jobs)),
    ("droppable_turns_go_before_required_ones", "drops and gists", lambda given: {
        Rung.DROP, Rung.GIST} <= {rung for rung, atoms in given["ladder"].rungs if atoms}),
    ("chain_falls_strictly", "rungs", lambda given: len(given["ladder"].tokens) > 2),
    ("machines_beside_each_other_need_no_brackets", "three machines", lambda given: len(
        {given[f"{each}_class"] for each in ("product", "other_machine", "third_machine")}) == 3),
    ("machines_beside_each_other_run_as_each_alone", "a compression after a sweep",
     lambda given: {given["product_class"], given["other_machine_class"]} == {Polite, Tidy}
     and any(each.kind == "compress" for each in given["inputs"][3:])),
    ("composing_is_associative", "delegations in a delegation", lambda given: given[
        "operation"].arity == 2 and any(each.arity == 2 for each in given["operations"])),
    ("a_delegation_goes_on_where_it_stopped", "a worker that fails",
     lambda given: given["position"] < len(given["tasks"])),
    ("the_state_is_what_the_guards_say", "pressure",
     lambda given: ContextState.PRESSURED in states(given)),
    ("the_state_is_what_the_guards_say", "a compression",
     lambda given: ContextState.COMPRESSED in states(given)),
    ("a_refused_input_changes_nothing", "a refusal", refused),
    ("going_back_restores_what_was", "turns after a compression",
     lambda given: has_gist(given["session"].window)
     and any(isinstance(each.payload, Turn) for each in given["inputs"])),
    ("the_timeline_shows_what_stood", "gists", lambda given: has_gist(given["session"].window)),
    ("schedules_wait_for_idle_time", "pauses and turns",
     lambda given: len(given["inputs"]) > 4 and max(given["choices"], default=0) > 4),
    ("refilling_only_raises_fidelities", "gists",
     lambda given: has_gist(given["session"].window)),
    ("undoing_restores_the_view", "a session with a gist",
     lambda given: has_gist(given["session"].window)),
    ("what_leaves_is_valid", "calls", lambda given: has_call(given["session"].window)),
    ("what_leaves_is_valid", "a request",
     lambda given: accepts(lambda: given["session"].request(given["wire"].provider))),
    ("what_leaves_is_valid", "a refusal",
     lambda given: not accepts(lambda: given["session"].request(given["wire"].provider))),
    ("nothing_private_reaches_props", "an attachment",
     lambda given: any(map(attachment_of, given["session"].window.all_turns()))),
    ("projecting_keeps_what_must_stay", "a list that is cut",
     lambda given: projected(given) is True),
    ("a_projection_is_within_its_budget", "a refusal", lambda given: projected(given) is None),
    ("the_memory_of_a_prefix_is_a_prefix_of_the_memory", "something to forget",
     lambda given: given["recollect"](given["agent_session"])
     != given["recollect"](given["agent_session"].history.at(given["revision"]))),
    ("a_context_is_within_its_budget", "a budget that is too small",
     lambda given: not accepts(lambda: given["build"](
        evolve(given["node"], budget=given["max_tokens"]), given["now"]))),
    ("a_context_is_within_its_budget", "one that is not",
     lambda given: accepts(lambda: given["build"](
        evolve(given["node"], budget=given["max_tokens"]), given["now"]))),
    ("a_node_reads_only_its_cells", "an exchange that was closed",
     lambda given: bool(given["now"].conversation.recent_turns)),
]  # fmt: skip


def conditions_of(name: str) -> dict[str, Condition]:
    """Return what some of a law's inputs must hold, by its description."""
    return {what: is_there for law, what, is_there in SEEN if law == name}
