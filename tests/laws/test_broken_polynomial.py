"""Broken agents, combinators, operations, engines, sessions and projections, each of which a law rejects."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from attrs import evolve, frozen

from polycontext.linearity import PolycontextError
from polycontext.nodes.testing.machines import AnyAgent, AnyLens, Relabelling, Rows
from polycontext.polynomial import (
    CONTEXT_OPERAD,
    CONTEXT_POLYNOMIAL,
    VALID_DIRECTIONS,
    ContextInput,
    ContextMachine,
    ContextOutput,
    ContextPolicy,
    ContextSession,
    ContextState,
    Event,
    InputKind,
    Left,
    Lens,
    Operation,
    PolyAgent,
    Projection,
    Right,
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
from polycontext.polynomial.laws.projections import Projecting
from polycontext.polynomial.machine.context_machine import TABLE
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.machine.table import Table, run
from polycontext.pressure import Signals
from polycontext.window import ContextWindow, TokenCounter, Turn
from polycontext.window.providers import Message, Provider, get_format
from tests.laws.breaking import breaks
from tests.strategies import FAST, filled

WALKER = Rows({0: {0: (1, 2)}, 1: {0: (0, 1), 1: (1, 0)}}).agent()
"""Moves on every 0, and puts out something else than it takes."""
TAKER = Rows({0: {0: (0, 0), 1: (1, 1), 2: (0, 2)}, 1: {0: (0, 1), 1: (1, 2), 2: (1, 0)}}).agent()
"""Takes everything everywhere."""

CHOICES = [0, 1, 0, 0, 1]
SWAP: AnyLens = Lens(Relabelling({0: 1, 1: 0}), Relabelling({0: 1, 1: 0}), frozenset({0, 1, 2}))


def with_transition(agent: AnyAgent, transition: Callable[[Any, Any], tuple[Any, Any]]) -> AnyAgent:
    """Return `agent` with another transition."""
    return PolyAgent(agent.positions, agent.directions, transition, agent.direction)


def with_directions(agent: AnyAgent, directions: Callable[[Any], frozenset[Any]]) -> AnyAgent:
    """Return `agent` with other directions."""
    return PolyAgent(agent.positions, directions, agent.transition, agent.direction)


# --- agents ---------------------------------------------------------------------


@breaks(laws.directions_are_exactly_what_is_accepted)
def test_an_agent_that_accepts_more_than_its_directions() -> None:
    """Its transition takes anything."""
    laws.directions_are_exactly_what_is_accepted(PolyAgent(frozenset({0, 1}), lambda s: frozenset({s}), lambda s, a: (a, a)))


@breaks(laws.directions_are_exactly_what_is_accepted)
def test_an_agent_that_leads_nowhere() -> None:
    """It leaves its positions."""
    laws.directions_are_exactly_what_is_accepted(Rows({0: {0: (7, 0)}}).agent())


@breaks(laws.directions_of_a_composite_are_exactly_what_it_accepts)
def test_a_sequence_that_announces_what_its_second_part_refuses() -> None:
    """Its directions are those of the first."""

    def hopeful(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        return with_directions(sequential(first, second), lambda position: first.directions(position[0]))

    laws.directions_of_a_composite_are_exactly_what_it_accepts(hopeful, WALKER, WALKER)


@breaks(laws.directions_of_a_composite_are_exactly_what_it_accepts)
def test_a_coproduct_that_takes_the_others_inputs() -> None:
    """It looks at the value of an input and not at its tag."""

    def careless(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = coproduct(first, second)
        return with_transition(whole, lambda position, input: whole.transition(position, type(position)(input.value)))

    laws.directions_of_a_composite_are_exactly_what_it_accepts(careless, WALKER, WALKER)


def flat(combine: Combine) -> Combine:
    """Return a combinator that does nothing with an agent that is a composite already."""

    def combined(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = combine(first, second)
        nested = any(not isinstance(position, int) for position in first.positions)
        return with_directions(whole, lambda _: frozenset()) if nested else whole

    return combined


@breaks(laws.parallel_is_associative)
def test_a_parallel_product_that_does_not_nest() -> None:
    """It works once."""
    laws.parallel_is_associative(flat(parallel), WALKER, TAKER, WALKER)


@breaks(laws.coproduct_is_associative)
def test_a_coproduct_that_does_not_nest() -> None:
    """It works once."""
    laws.coproduct_is_associative(flat(coproduct), WALKER, TAKER, WALKER)


@breaks(laws.product_is_associative)
def test_a_product_that_does_not_nest() -> None:
    """It works once."""
    laws.product_is_associative(flat(product), WALKER, TAKER, WALKER)


@breaks(laws.sequential_is_associative)
def test_a_sequence_that_does_not_nest() -> None:
    """It works once."""
    laws.sequential_is_associative(flat(sequential), WALKER, TAKER, TAKER)


def limping(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in parallel, but let the first stand still."""
    whole = parallel(first, second)

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, outputs = whole.transition(position, input)
        return (position[0], after[1]), outputs

    return with_transition(whole, transition)


def one_sided(combine: Combine) -> Combine:
    """Return a combinator that only ever takes inputs of the first."""

    def combined(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = combine(first, second)
        return with_directions(whole, lambda position: frozenset(a for a in whole.directions(position) if isinstance(a, Left)))

    return combined


def quoting(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in sequence, but put out what the first said."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        return sequential(first, second).transition(position, input)[0], first.invoke(position[0], input)[1]

    return with_transition(sequential(first, second), transition)


@breaks(laws.parallel_has_a_unit)
def test_a_parallel_product_whose_first_part_stands_still_has_no_unit() -> None:
    """Beside nothing, an agent is not itself."""
    laws.parallel_has_a_unit(limping, WALKER)


@breaks(laws.parallel_has_a_unit)
def test_a_parallel_product_that_forgets_a_position_has_no_unit() -> None:
    """There is a place that it cannot be in."""

    def narrowed(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = parallel(first, second)
        return evolve(whole, positions=whole.positions - {(0, ())})

    laws.parallel_has_a_unit(narrowed, WALKER)


@breaks(laws.coproduct_has_a_unit)
def test_a_coproduct_that_only_hears_the_first_has_no_unit() -> None:
    """Nothing, or an agent, is stuck."""
    laws.coproduct_has_a_unit(one_sided(coproduct), WALKER)


@breaks(laws.product_has_a_unit)
def test_a_product_that_only_hears_the_first_has_no_unit() -> None:
    """Beside nothing, an agent is stuck."""
    laws.product_has_a_unit(one_sided(product), WALKER)


@breaks(laws.sequential_has_units)
def test_a_sequence_that_quotes_the_first_has_no_unit() -> None:
    """What the second makes of it is lost."""
    laws.sequential_has_units(quoting, WALKER)


@breaks(laws.parallel_runs_as_its_parts)
def test_a_parallel_product_whose_first_part_stands_still_runs_otherwise() -> None:
    """One part falls behind."""
    laws.parallel_runs_as_its_parts(limping, TAKER, TAKER, CHOICES)


@breaks(laws.coproduct_runs_as_its_part)
def test_a_coproduct_that_answers_for_the_other() -> None:
    """Its outputs carry the wrong tag."""

    def mirrored(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        def transition(position: Any, input: Any) -> tuple[Any, Any]:
            after, output = coproduct(first, second).transition(position, input)
            return after, Right(output.value) if isinstance(output, Left) else Left(output.value)

        return with_transition(coproduct(first, second), transition)

    laws.coproduct_runs_as_its_part(mirrored, WALKER, TAKER, CHOICES)


@breaks(laws.product_runs_as_its_parts)
def test_a_product_whose_parts_move_together() -> None:
    """An input of one moves the other as well."""

    def together(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        def transition(position: Any, input: Any) -> tuple[Any, Any]:
            after, output = product(first, second).transition(position, input)
            return (after[0], second.invoke(position[1], input.value)[0]), output

        return with_transition(product(first, second), transition)

    laws.product_runs_as_its_parts(together, TAKER, TAKER, [1, 1, 1])


@breaks(laws.sequential_runs_as_its_parts)
def test_a_sequence_that_quotes_the_first_runs_otherwise() -> None:
    """It puts out what lies between."""
    laws.sequential_runs_as_its_parts(quoting, WALKER, TAKER, CHOICES)


@breaks(laws.bisimilar_parts_make_bisimilar_composites)
def test_a_composite_that_tells_its_position() -> None:
    """Its output shows what should be hidden."""

    def talkative(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = parallel(first, second)
        return with_transition(whole, lambda position, input: (whole.transition(position, input)[0], position))

    laws.bisimilar_parts_make_bisimilar_composites(talkative, TAKER, TAKER, CHOICES)


@breaks(laws.the_identity_lens_changes_nothing)
def test_a_change_of_interface_that_rewords() -> None:
    """It changes outputs that no lens touched."""

    def rewording(agent: AnyAgent, lens: AnyLens) -> AnyAgent:
        return through(agent, evolve(lens, push=str))

    laws.the_identity_lens_changes_nothing(rewording, WALKER)


@frozen
class Forgetful(Lens[Any, Any, Any, Any]):
    """Forget the outputs of the lens outside."""

    def then(self, outer: Lens[Any, Any, Any, Any]) -> Lens[Any, Any, Any, Any]:
        """Compose the inputs only."""
        return evolve(Lens(self.push, self.pull, self.domain).then(outer), push=self.push)


FORGETFUL = Forgetful(SWAP.push, SWAP.pull, SWAP.domain)


@breaks(laws.changing_interfaces_composes)
def test_a_lens_that_forgets() -> None:
    """Composed it shows less than one after the other."""
    laws.changing_interfaces_composes(through, TAKER, FORGETFUL, SWAP)


@breaks(laws.lenses_compose_associatively)
def test_a_lens_that_forgets_needs_brackets() -> None:
    """What it forgets depends on them."""
    laws.lenses_compose_associatively(TAKER, FORGETFUL, SWAP, SWAP)


# --- the operad -------------------------------------------------------------------

APPEND = CONTEXT_OPERAD.operation("append", Turn("user", "hello"))
MERGE = CONTEXT_OPERAD.operation("merge")
IDENTITY = CONTEXT_OPERAD.identity()


def said(*texts: str) -> ContextWindow:
    """Return a window in which the user says `texts`."""
    return filled([(Turn("user", text), None) for text in texts])


ONE, TWO, THREE = said("a", "b"), said("c", "d"), said("e", "f")


@breaks(laws.composing_with_identities_changes_nothing)
def test_an_identity_that_clears() -> None:
    """It is none."""
    laws.composing_with_identities_changes_nothing(Operation("id", 1, lambda window: window.cleared()), APPEND, ONE)


class Hasty(Operation):
    """Compose without applying what is inside."""

    def compose(self, *inner: Operation) -> Operation:
        """Keep the arity, forget the rest."""
        return Operation(self.name, sum(op.arity for op in inner), lambda *windows: self.function(*windows[: self.arity]))


@breaks(laws.composing_is_associative)
def test_an_operation_that_forgets_what_is_inside() -> None:
    """It matters when it forgets."""
    laws.composing_is_associative(Hasty("merge", 2, MERGE.function), [APPEND], ONE)


class Unsummed(Operation):
    """Compose without adding up."""

    def compose(self, *inner: Operation) -> Operation:
        """Keep the own arity."""
        return evolve(super().compose(*inner), arity=self.arity)


@breaks(laws.arities_add_up)
def test_an_operation_that_does_not_add_up() -> None:
    """Two merges in two places take four."""
    laws.arities_add_up(Unsummed("merge", 2, MERGE.function), [MERGE])


class Greedy(Operation):
    """Take more than is asked for."""

    def __call__(self, *windows: ContextWindow) -> ContextWindow:
        """Drop what is too much."""
        return Operation(self.name, self.arity, self.function)(*windows[: self.arity])


@breaks(laws.an_operation_takes_as_many_windows_as_its_arity)
def test_an_operation_that_drops_what_is_too_much() -> None:
    """It should refuse."""
    laws.an_operation_takes_as_many_windows_as_its_arity(Greedy("append", 1, APPEND.function), ONE)


@breaks(laws.merging_with_nothing_changes_nothing)
def test_a_merge_that_keeps_the_second() -> None:
    """The first is lost even to nothing."""
    laws.merging_with_nothing_changes_nothing(Operation("merge", 2, lambda _, second: second), ONE)


def merging_from(first: ContextWindow, second: ContextWindow, stop: int | None) -> ContextWindow:
    """Merge, taking turns of the second up to `stop` only."""
    for turn in second.all_turns()[:stop]:
        first = first.append(evolve(turn, resource_id=""))
    return first


LOSING = Operation("merge", 2, lambda first, second: merging_from(first, second, -1))


@breaks(laws.merging_is_associative_in_what_is_said)
def test_a_merge_that_loses_a_turn_needs_brackets() -> None:
    """What it loses depends on them."""
    laws.merging_is_associative_in_what_is_said(LOSING, ONE, TWO, THREE)


@breaks(laws.merging_keeps_every_turn)
def test_a_merge_that_loses_a_turn() -> None:
    """The last one is gone."""
    laws.merging_keeps_every_turn(LOSING, ONE, TWO)


@breaks(laws.merging_keeps_every_turn)
def test_a_merge_that_lowers_classes() -> None:
    """A task of the second window is one no more."""
    laws.merging_keeps_every_turn(Operation("merge", 2, lambda first, second: merging_from(first, second, None)), ONE, TWO)


@breaks(laws.merging_is_associative)
def test_a_merge_that_renames_what_need_not_be_renamed() -> None:
    """A turn that is merged twice has another name."""

    def marking(first: ContextWindow, second: ContextWindow) -> ContextWindow:
        for turn in second.all_turns():
            first = first.append(evolve(turn, resource_id=f"{turn.resource_id}'"), second.class_of(turn))
        return first

    laws.merging_is_associative(Operation("merge", 2, marking), ONE, TWO, THREE)


# --- the machine ------------------------------------------------------------------

EMPTY = ContextWindow(200, counter=FAST)
POLICY = ContextPolicy()
TALK = [ContextInput.user_turn("hello"), ContextInput.assistant_turn("hi"), ContextInput.compress(0.1), ContextInput.user_turn("go on")]


def redirected(state: ContextState, kind: InputKind, target: ContextState) -> Table:
    """Return the table with one transition changed."""
    rows = tuple(evolve(row, target=target) for row in TABLE[state][kind])
    return {**TABLE, state: {**TABLE[state], kind: rows}}


class Changed(TableMachine):
    """Run a table in which compressing does not lead to COMPRESSED."""

    table = redirected(ContextState.ACCUMULATING, InputKind.COMPRESS, ContextState.ACCUMULATING)

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Look it up in the other table."""
        step = Step(context_input, self.window, self.policy)
        target = run(self.table, self.context_state, step)
        self.restore(target, step.output(target).window)
        return step.output(target)


class Restless(Changed):
    """Run a table without a cooldown."""

    table = redirected(ContextState.COMPRESSED, InputKind.USER_TURN, ContextState.ACCUMULATING)


class Dirty(TableMachine):
    """Lose the window to an input that is refused."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        """Clean up too early."""
        try:
            return super().advance(context_input)
        except PolycontextError:
            self.restore(self.context_state, self.window.cleared())
            raise


@breaks(laws.engines_agree)
def test_a_table_with_one_transition_changed() -> None:
    """Two engines part."""
    laws.engines_agree(ContextMachine, Changed, EMPTY, POLICY, TALK)


@breaks(laws.engines_agree)
def test_an_engine_that_is_dirty_stands_elsewhere() -> None:
    """The outputs are alike, the windows are not."""
    laws.engines_agree(Dirty, ContextMachine, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")])


@breaks(laws.a_refused_input_changes_nothing)
def test_a_machine_that_loses_its_window_to_a_refusal() -> None:
    """What was there is gone."""
    laws.a_refused_input_changes_nothing(Dirty, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")])


@breaks(laws.the_state_is_what_the_guards_say)
def test_a_machine_that_compresses_in_secret() -> None:
    """It does not say so."""
    laws.the_state_is_what_the_guards_say(Changed, EMPTY, POLICY, TALK)


@breaks(laws.the_state_is_what_the_guards_say)
def test_a_machine_that_does_not_cool_down() -> None:
    """It would compress again at once."""
    laws.the_state_is_what_the_guards_say(Restless, EMPTY, POLICY, TALK)


@breaks(laws.the_polynomial_moves_as_the_table)
def test_a_polynomial_that_lacks_a_direction() -> None:
    """It cannot compress."""
    lacking = evolve(CONTEXT_POLYNOMIAL, directions=lambda state: VALID_DIRECTIONS[state] - {InputKind.COMPRESS})
    laws.the_polynomial_moves_as_the_table(lacking, EMPTY, POLICY, TALK)


# --- sessions ---------------------------------------------------------------------


class Amnesiac(ContextSession):
    """Lose an event."""

    def events(self) -> tuple[Event, ...]:
        """Leave out the last one."""
        return super().events()[:-1]


class Unsaved(ContextSession):
    """Write less than there is."""

    left_out = "signals"

    def to_json(self) -> str:
        """Leave a field out."""
        saved = json.loads(super().to_json())
        saved.pop(self.left_out)
        return json.dumps(saved)


def lived(session: ContextSession) -> ContextSession:
    """Return a session with two turns and signals of its own."""
    session.add_user_turn("hello")
    session.add_assistant_turn("hi")
    session.signal(Signals(progress=0.5))
    return session


@breaks(laws.replaying_the_journal_gives_the_session)
def test_a_journal_that_loses_an_event() -> None:
    """The replay ends a turn early."""
    laws.replaying_the_journal_gives_the_session(lived(Amnesiac(500, counter=FAST)))


@breaks(laws.json_keeps_the_session)
def test_a_saved_session_that_lost_its_signals() -> None:
    """The threshold would be another."""
    laws.json_keeps_the_session(lived(Unsaved(500, counter=FAST)))


# --- projections ------------------------------------------------------------------

TURNS = [Turn("assistant" if n % 2 else "user", f"Message {n}: " + "word " * 30) for n in range(20)]
OPENAI = get_format("openai")


def edited(change: Callable[[Projection], Projection]) -> Projecting:
    """Return a `project` whose results are changed."""

    def projecting(messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter) -> Projection:
        return change(project(messages, max_tokens, provider=provider, counter=counter))

    return projecting


@breaks(laws.projecting_is_deterministic)
def test_a_projection_that_counts_its_calls() -> None:
    """No two are alike."""
    calls = count()
    laws.projecting_is_deterministic(edited(lambda p: evolve(p, floor=next(calls))), TURNS, 500, OPENAI, FAST)


@breaks(laws.projecting_twice_is_projecting_once)
def test_a_projection_that_adds_a_note_each_time() -> None:
    """The notes pile up."""
    note = {"role": "user", "content": "(shortened)"}
    laws.projecting_twice_is_projecting_once(edited(lambda p: evolve(p, messages=[*p.messages, note])), TURNS, 500, OPENAI, FAST)


@breaks(laws.projecting_leaves_its_input_alone)
def test_a_projection_that_eats_its_input() -> None:
    """It cuts in place."""

    def eating(messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter) -> Projection:
        projection = project(messages, max_tokens, provider=provider, counter=counter)
        messages.pop(2)
        return projection

    laws.projecting_leaves_its_input_alone(eating, TURNS, 500, OPENAI, FAST)


@breaks(laws.projecting_leaves_its_input_alone)
def test_a_projection_that_hands_the_input_out_again() -> None:
    """What is done to the output is done to the input."""

    def sharing(messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter) -> Projection:
        return evolve(project(messages, max_tokens, provider=provider, counter=counter), messages=messages)

    laws.projecting_leaves_its_input_alone(sharing, TURNS, 500, OPENAI, FAST)


@breaks(laws.a_projection_is_within_its_budget)
def test_a_projection_that_takes_twice_the_room() -> None:
    """Its report says otherwise."""

    def doubling(messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter) -> Projection:
        projection = project(messages, 2 * max_tokens, provider=provider, counter=counter)
        return evolve(projection, max_tokens=max_tokens, tokens_after=max_tokens)

    laws.a_projection_is_within_its_budget(doubling, TURNS, 500, OPENAI, FAST)


@breaks(laws.projecting_keeps_what_must_stay)
def test_a_projection_that_drops_the_first_user_message() -> None:
    """The task is gone."""
    laws.projecting_keeps_what_must_stay(edited(lambda p: evolve(p, messages=p.messages[1:])), TURNS, 500, OPENAI, FAST)


@breaks(laws.projecting_keeps_what_must_stay)
def test_a_projection_that_turns_the_conversation_around() -> None:
    """The newest is said before what it answers."""

    def turned(projection: Projection) -> Projection:
        return evolve(projection, messages=[projection.messages[0], *reversed(projection.messages[1:])])

    laws.projecting_keeps_what_must_stay(edited(turned), TURNS, 500, OPENAI, FAST)
