"""The laws of the polynomial room hold: for finite agents, for the operad of windows, for both engines, for sessions and projections."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.linearity import ResourceClass, default_classifier
from polycontext.nodes.testing.machines import (
    CHOICES,
    COMBINATORS,
    OPERATIONS,
    POLICIES,
    AnyAgent,
    AnyLens,
    agents,
    composites,
    lenses,
    machine_inputs,
    sessions,
    small_windows,
)
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    CONTEXT_POLYNOMIAL,
    ContextInput,
    ContextMachine,
    ContextPolicy,
    ContextSession,
    Operation,
    TableMachine,
    coproduct,
    laws,
    parallel,
    product,
    project,
    sequential,
    through,
)
from polycontext.polynomial.laws.agents import Combine
from polycontext.window import ContextWindow, Role, Turn
from polycontext.window.providers import Provider, WireFormat, get_format
from tests.strategies import FAST, conversations

AGENTS = agents()
IDENTITY = CONTEXT_OPERAD.identity()
MERGE = CONTEXT_OPERAD.operation("merge")
POOLS = st.lists(OPERATIONS, min_size=1, max_size=5)
WINDOWS = small_windows()
EMPTY = st.sampled_from([60, 200, 1_000, 4_000]).map(lambda size: ContextWindow(size, counter=FAST))
INPUTS = machine_inputs()
ENGINES = st.sampled_from([ContextMachine, TableMachine])
SESSIONS = sessions()
WIRES = st.sampled_from([get_format(provider) for provider in Provider])
TASK = Turn(Role.USER, "Book a night train to Vienna.")
HEADS = st.sampled_from([[TASK], [Turn(Role.SYSTEM, "You are an agent."), TASK]])
TURNS = st.builds(lambda head, moves: [*head, *(turn for turn, _ in moves)], HEADS, conversations(max_atoms=14))
BUDGETS = st.sampled_from([60, 150, 300, 1_000, 100_000])


# --- agents ---------------------------------------------------------------------


@given(composites())
def test_directions_are_exactly_what_is_accepted(agent: AnyAgent) -> None:
    """Directions lead somewhere, all else is refused."""
    laws.directions_are_exactly_what_is_accepted(agent)


@given(COMBINATORS, AGENTS, AGENTS)
def test_directions_of_a_composite_are_exactly_what_it_accepts(combine: Combine, agent: AnyAgent, other_agent: AnyAgent) -> None:
    """The same for whatever is combined."""
    laws.directions_of_a_composite_are_exactly_what_it_accepts(combine, agent, other_agent)


@given(AGENTS, AGENTS, AGENTS)
def test_parallel_is_associative(agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent) -> None:
    """(p ⊗ q) ⊗ r ≅ p ⊗ (q ⊗ r)."""
    laws.parallel_is_associative(parallel, agent, other_agent, third_agent)


@given(composites())
def test_parallel_has_a_unit(agent: AnyAgent) -> None:
    """Beside y: p ⊗ y ≅ p."""
    laws.parallel_has_a_unit(parallel, agent)


@given(AGENTS, AGENTS, AGENTS)
def test_coproduct_is_associative(agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent) -> None:
    """(p + q) + r ≅ p + (q + r)."""
    laws.coproduct_is_associative(coproduct, agent, other_agent, third_agent)


@given(composites())
def test_coproduct_has_a_unit(agent: AnyAgent) -> None:
    """Or nothing: p + 0 ≅ p."""
    laws.coproduct_has_a_unit(coproduct, agent)


@given(AGENTS, AGENTS, AGENTS)
def test_product_is_associative(agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent) -> None:
    """(p × q) × r ≅ p × (q × r)."""
    laws.product_is_associative(product, agent, other_agent, third_agent)


@given(composites())
def test_product_has_a_unit(agent: AnyAgent) -> None:
    """And nothing: p × 1 ≅ p."""
    laws.product_has_a_unit(product, agent)


@given(AGENTS, AGENTS, AGENTS)
def test_sequential_is_associative(agent: AnyAgent, other_agent: AnyAgent, third_agent: AnyAgent) -> None:
    """(p ; q) ; r ≅ p ; (q ; r)."""
    laws.sequential_is_associative(sequential, agent, other_agent, third_agent)


@given(composites())
def test_sequential_has_units(agent: AnyAgent) -> None:
    """Passing on: id ; p ≅ p ≅ p ; id."""
    laws.sequential_has_units(sequential, agent)


@given(AGENTS, AGENTS, CHOICES)
def test_parallel_runs_as_its_parts(agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]) -> None:
    """A run of both is a run of each."""
    laws.parallel_runs_as_its_parts(parallel, agent, other_agent, choices)


@given(AGENTS, AGENTS, CHOICES)
def test_coproduct_runs_as_its_part(agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]) -> None:
    """A run of either is a run of that one."""
    laws.coproduct_runs_as_its_part(coproduct, agent, other_agent, choices)


@given(AGENTS, AGENTS, CHOICES)
def test_product_runs_as_its_parts(agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]) -> None:
    """Each part sees its own inputs alone."""
    laws.product_runs_as_its_parts(product, agent, other_agent, choices)


@given(AGENTS, AGENTS, CHOICES)
def test_sequential_runs_as_its_parts(agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]) -> None:
    """The second runs on what the first puts out."""
    laws.sequential_runs_as_its_parts(sequential, agent, other_agent, choices)


@given(COMBINATORS, AGENTS, AGENTS, CHOICES)
def test_bisimilar_parts_make_bisimilar_composites(
    combine: Combine, agent: AnyAgent, other_agent: AnyAgent, choices: Sequence[int]
) -> None:
    """No composite sees its parts' positions."""
    laws.bisimilar_parts_make_bisimilar_composites(combine, agent, other_agent, choices)


@given(composites())
def test_the_identity_lens_changes_nothing(agent: AnyAgent) -> None:
    """Through the identity an agent is itself."""
    laws.the_identity_lens_changes_nothing(through, agent)


@given(AGENTS, lenses(), lenses())
def test_changing_interfaces_composes(agent: AnyAgent, lens: AnyLens, other_lens: AnyLens) -> None:
    """Through two lenses is through both composed."""
    laws.changing_interfaces_composes(through, agent, lens, other_lens)


@given(AGENTS, lenses(), lenses(), lenses())
def test_lenses_compose_associatively(agent: AnyAgent, lens: AnyLens, other_lens: AnyLens, third_lens: AnyLens) -> None:
    """Composing lenses needs no brackets."""
    laws.lenses_compose_associatively(agent, lens, other_lens, third_lens)


# --- the operad -------------------------------------------------------------------


@given(OPERATIONS, WINDOWS)
def test_composing_with_identities_changes_nothing(operation: Operation, window: ContextWindow) -> None:
    """Identities on either side do nothing."""
    laws.composing_with_identities_changes_nothing(IDENTITY, operation, window)


@given(OPERATIONS, POOLS, WINDOWS)
def test_composing_is_associative(operation: Operation, operations: Sequence[Operation], window: ContextWindow) -> None:
    """Composing needs no brackets."""
    laws.composing_is_associative(operation, operations, window)


@given(OPERATIONS, POOLS)
def test_arities_add_up(operation: Operation, operations: Sequence[Operation]) -> None:
    """A composite takes what its parts take together."""
    laws.arities_add_up(operation, operations)


@given(OPERATIONS, WINDOWS)
def test_an_operation_takes_as_many_windows_as_its_arity(operation: Operation, window: ContextWindow) -> None:
    """Any other number is refused."""
    laws.an_operation_takes_as_many_windows_as_its_arity(operation, window)


@given(WINDOWS)
def test_merging_with_nothing_changes_nothing(window: ContextWindow) -> None:
    """The empty window is the unit."""
    laws.merging_with_nothing_changes_nothing(MERGE, window)


@given(WINDOWS, WINDOWS, WINDOWS)
def test_merging_is_associative_in_what_is_said(window: ContextWindow, other_window: ContextWindow, third_window: ContextWindow) -> None:
    """Whatever the ids, the same is said."""
    laws.merging_is_associative_in_what_is_said(MERGE, window, other_window, third_window)


@given(WINDOWS, WINDOWS, WINDOWS)
def test_merging_is_associative(window: ContextWindow, other_window: ContextWindow, third_window: ContextWindow) -> None:
    """Without shared ids the turns are the same."""
    laws.merging_is_associative(MERGE, window, other_window, third_window)


@given(WINDOWS, WINDOWS)
def test_merging_keeps_every_turn(window: ContextWindow, other_window: ContextWindow) -> None:
    """First one, then the other, nothing lost."""
    laws.merging_keeps_every_turn(MERGE, window, other_window)


def test_an_empty_window_with_other_rules_is_no_unit() -> None:
    """Merging keeps the rules of the first window, its classifier among them, even where it is empty."""

    def careful(*_: object) -> ResourceClass:
        return ResourceClass.PRESERVED

    second = ContextWindow(1_000, counter=FAST, classifier=default_classifier).append(Turn("user", "hello"))
    merged = MERGE(ContextWindow(1_000, counter=FAST, classifier=careful), second).append(Turn("assistant", "hi"))
    assert merged.class_of(merged.all_turns()[-1]) is ResourceClass.PRESERVED


# --- the machine ------------------------------------------------------------------


@given(EMPTY, POLICIES, INPUTS)
def test_engines_agree(window: ContextWindow, policy: ContextPolicy, inputs: Sequence[ContextInput]) -> None:
    """The library's machine and the table compiled from it do the same."""
    laws.engines_agree(ContextMachine, TableMachine, window, policy, inputs)


@given(ENGINES, EMPTY, POLICIES, INPUTS)
def test_a_refused_input_changes_nothing(
    machine: type[TableMachine], window: ContextWindow, policy: ContextPolicy, inputs: Sequence[ContextInput]
) -> None:
    """State and window stay as they were."""
    laws.a_refused_input_changes_nothing(machine, window, policy, inputs)


@given(ENGINES, EMPTY, POLICIES, INPUTS)
def test_the_state_is_what_the_guards_say(
    machine: type[TableMachine], window: ContextWindow, policy: ContextPolicy, inputs: Sequence[ContextInput]
) -> None:
    """Pressure decides first, then the cooldown."""
    laws.the_state_is_what_the_guards_say(machine, window, policy, inputs)


@given(EMPTY, POLICIES, INPUTS)
def test_the_polynomial_moves_as_the_table(window: ContextWindow, policy: ContextPolicy, inputs: Sequence[ContextInput]) -> None:
    """The polynomial is the machine, seen as one."""
    laws.the_polynomial_moves_as_the_table(CONTEXT_POLYNOMIAL, window, policy, inputs)


@given(SESSIONS)
def test_replaying_the_journal_gives_the_session(session: ContextSession) -> None:
    """The journal knows all."""
    laws.replaying_the_journal_gives_the_session(session)


@given(SESSIONS)
def test_json_keeps_the_session(session: ContextSession) -> None:
    """A saved session is restored identically."""
    laws.json_keeps_the_session(session)


# --- projections ------------------------------------------------------------------


@given(TURNS, BUDGETS, WIRES)
def test_projecting_is_deterministic(turns: Sequence[Turn], max_tokens: int, wire: WireFormat) -> None:
    """The same in, the same out."""
    laws.projecting_is_deterministic(project, turns, max_tokens, wire, FAST)


@given(TURNS, BUDGETS, WIRES)
def test_projecting_twice_is_projecting_once(turns: Sequence[Turn], max_tokens: int, wire: WireFormat) -> None:
    """A projection is projected already."""
    laws.projecting_twice_is_projecting_once(project, turns, max_tokens, wire, FAST)


@given(TURNS, BUDGETS, WIRES)
def test_projecting_leaves_its_input_alone(turns: Sequence[Turn], max_tokens: int, wire: WireFormat) -> None:
    """What goes in stays the caller's."""
    laws.projecting_leaves_its_input_alone(project, turns, max_tokens, wire, FAST)


@given(TURNS, BUDGETS, WIRES)
def test_a_projection_is_within_its_budget(turns: Sequence[Turn], max_tokens: int, wire: WireFormat) -> None:
    """Counted anew, it fits."""
    laws.a_projection_is_within_its_budget(project, turns, max_tokens, wire, FAST)


@given(TURNS, BUDGETS, WIRES)
def test_projecting_keeps_what_must_stay(turns: Sequence[Turn], max_tokens: int, wire: WireFormat) -> None:
    """`verify` finds nothing wrong."""
    laws.projecting_keeps_what_must_stay(project, turns, max_tokens, wire, FAST)


@pytest.mark.parametrize("wire", [get_format(provider) for provider in Provider], ids=lambda wire: str(wire.provider))
def test_the_laws_of_projection_are_not_vacuous(wire: WireFormat) -> None:
    """A long conversation is really cut where the laws look."""
    turns = [TASK, *(Turn(Role.ASSISTANT if n % 2 else Role.USER, f"Message {n}: " + "word " * 30) for n in range(30))]
    projection = project(wire.render(turns).inline(), 500, provider=wire.provider, counter=FAST)
    assert projection.changed
    laws.a_projection_is_within_its_budget(project, turns, 500, wire, FAST)
    laws.projecting_keeps_what_must_stay(project, turns, 500, wire, FAST)
