"""Broken agents, combinators, operations, engines, sessions and projections that laws reject."""

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import count
from typing import Any, ClassVar

from attrs import evolve, frozen
from statemachine import State

from polycontext.base import PolycontextError
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
    coproduct,
    parallel,
    product,
    project,
    sequential,
    through,
)
from polycontext.polynomial.algebra.poly_agent import Position
from polycontext.polynomial.context_session import HistoryPart
from polycontext.polynomial.laws import (
    agents,
    histories,
    machines,
    operads,
    policies,
    projections,
)
from polycontext.polynomial.laws.agents import Combine
from polycontext.polynomial.laws.projections import Projecting
from polycontext.polynomial.machine import OwnStates, Region
from polycontext.polynomial.machine.context_machine import decider
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.policies import Policy
from polycontext.polynomial.session.history import History
from polycontext.pressure import ContextProjector, Reach, Signals
from polycontext.testing import FAST, filled
from polycontext.testing.law_strategies import AnyAgent, AnyLens, agent_of, relabelling
from polycontext.window import ContextWindow, Epoch, Part, Splice, TokenCounter, Turn
from polycontext.window.providers import Message, Provider, get_format
from tests.laws.counterexamples import breaks, obeys
from tests.laws.internal import agents as parts
from tests.laws.internal import conversations, hosts
from tests.laws.internal import machines as engines
from tests.laws.internal.machines import TableMachine

WALKER = agent_of({0: {0: (1, 2)}, 1: {0: (0, 1), 1: (1, 0)}})
"""Moves on every 0, and puts out something else than it takes."""
TAKER = agent_of({0: {0: (0, 0), 1: (1, 1), 2: (0, 2)}, 1: {0: (0, 1), 1: (1, 2), 2: (1, 0)}})
"""Takes everything everywhere."""

CHOICES = [0, 1, 0, 0, 1]
SWAP: AnyLens = Lens(relabelling({0: 1, 1: 0}), relabelling({0: 1, 1: 0}), frozenset({0, 1, 2}))


def with_transition(agent: AnyAgent, transition: Callable[[Any, Any], tuple[Any, Any]]) -> AnyAgent:
    """Return `agent` with another transition."""
    return PolyAgent(agent.positions, agent.directions, transition, agent.direction)


def with_directions(agent: AnyAgent, directions: Callable[[Any], AbstractSet[Any]]) -> AnyAgent:
    """Return `agent` with other directions."""
    return PolyAgent(agent.positions, directions, agent.transition, agent.direction)


# --- agents ---------------------------------------------------------------------


breaks(
    agents.directions_are_exactly_what_is_accepted,
    "an agent that accepts more than its directions",
    lambda law: law(PolyAgent(frozenset({0, 1}), lambda s: frozenset({s}), lambda s, a: (a, a))),
)
breaks(
    agents.directions_are_exactly_what_is_accepted,
    "an agent that leads nowhere",
    lambda law: law(agent_of({0: {0: (7, 0)}})),
)


def hopeful(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in sequence, but offer all directions of the first, even those the second refuses."""
    return with_directions(
        sequential(first, second), lambda position: first.directions(position[0])
    )


def careless(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Add, but look at the value of an input and not at its tag."""
    whole = coproduct(first, second)
    return with_transition(
        whole, lambda position, input: whole.transition(position, type(position)(input.value))
    )


breaks(
    agents.directions_of_a_composite_are_exactly_what_it_accepts,
    "a hopeful sequence",
    lambda law: law(hopeful, WALKER, WALKER),
)
breaks(
    agents.directions_of_a_composite_are_exactly_what_it_accepts,
    "a careless coproduct",
    lambda law: law(careless, WALKER, WALKER),
)


def flat(combine: Combine) -> Combine:
    """Return a combinator that does nothing with an agent that is a composite already."""

    def combined(first: AnyAgent, second: AnyAgent) -> AnyAgent:
        whole = combine(first, second)
        nested = any(not isinstance(position, int) for position in first.positions)
        return with_directions(whole, lambda _: frozenset()) if nested else whole

    return combined


breaks(
    agents.parallel_is_associative,
    "a parallel product that does not nest",
    lambda law: law(flat(parallel), WALKER, TAKER, WALKER),
)
breaks(
    agents.coproduct_is_associative,
    "a coproduct that does not nest",
    lambda law: law(flat(coproduct), WALKER, TAKER, WALKER),
)
breaks(
    agents.product_is_associative,
    "a product that does not nest",
    lambda law: law(flat(product), WALKER, TAKER, WALKER),
)
breaks(
    agents.sequential_is_associative,
    "a sequence that does not nest",
    lambda law: law(flat(sequential), WALKER, TAKER, TAKER),
)


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
        return with_directions(
            whole,
            lambda position: frozenset(
                a for a in whole.directions(position) if isinstance(a, Left)
            ),
        )

    return combined


def narrowed(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in parallel, but forget a position."""
    whole = parallel(first, second)
    return evolve(whole, positions=whole.positions - {(0, ())})


def mirrored(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Add, but answer under the tag of the other."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = coproduct(first, second).transition(position, input)
        return after, Right(output.value) if isinstance(output, Left) else Left(output.value)

    return with_transition(coproduct(first, second), transition)


def together(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Multiply, but let an input of one move the other as well."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = product(first, second).transition(position, input)
        return (after[0], second.invoke(position[1], input.value)[0]), output

    return with_transition(product(first, second), transition)


def talkative(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in parallel, but put out the position, which should be hidden."""
    whole = parallel(first, second)
    return with_transition(
        whole, lambda position, input: (whole.transition(position, input)[0], position)
    )


def rewording(agent: AnyAgent, lens: AnyLens) -> AnyAgent:
    """Change outputs that no lens touched."""
    return through(agent, evolve(lens, push=str))


def quoting(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in sequence, but put out what the first said."""

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        return sequential(first, second).transition(position, input)[0], first.invoke(
            position[0], input
        )[1]

    return with_transition(sequential(first, second), transition)


breaks(
    agents.parallel_has_a_unit,
    "a parallel product whose first part stands still has no unit",
    lambda law: law(limping, WALKER),
)


breaks(
    agents.parallel_has_a_unit,
    "a product that forgets a position",
    lambda law: law(narrowed, WALKER),
)
breaks(
    agents.coproduct_has_a_unit,
    "a coproduct that only hears the first has no unit",
    lambda law: law(one_sided(coproduct), WALKER),
)
breaks(
    agents.product_has_a_unit,
    "a product that only hears the first has no unit",
    lambda law: law(one_sided(product), WALKER),
)
breaks(
    agents.sequential_has_units,
    "a sequence that quotes the first has no unit",
    lambda law: law(quoting, WALKER),
)
breaks(
    agents.parallel_runs_as_its_parts,
    "a parallel product whose first part stands still runs otherwise",
    lambda law: law(limping, TAKER, TAKER, CHOICES),
)


breaks(
    agents.coproduct_runs_as_its_part,
    "a coproduct that answers for the other",
    lambda law: law(mirrored, WALKER, TAKER, CHOICES),
)
breaks(
    agents.product_runs_as_its_parts,
    "a product whose parts move together",
    lambda law: law(together, TAKER, TAKER, [1, 1, 1]),
)
breaks(
    agents.sequential_runs_as_its_parts,
    "a sequence that quotes the first runs otherwise",
    lambda law: law(quoting, WALKER, TAKER, CHOICES),
)


breaks(
    parts.bisimilar_parts_make_bisimilar_composites,
    "a composite that tells its position",
    lambda law: law(talkative, TAKER, TAKER, CHOICES),
)
breaks(
    agents.the_identity_lens_changes_nothing,
    "a change of interface that rewords",
    lambda law: law(rewording, WALKER),
)


@frozen
class Forgetful(Lens[Any, Any, Any, Any]):
    """Forget the outputs of the lens outside."""

    def then(self, outer: Lens[Any, Any, Any, Any]) -> Lens[Any, Any, Any, Any]:
        return evolve(Lens(self.push, self.pull, self.domain).then(outer), push=self.push)


FORGETFUL = Forgetful(SWAP.push, SWAP.pull, SWAP.domain)


breaks(
    agents.changing_interfaces_composes,
    "a lens that forgets",
    lambda law: law(through, TAKER, FORGETFUL, SWAP),
)
breaks(
    agents.lenses_compose_associatively,
    "a lens that forgets needs brackets",
    lambda law: law(TAKER, FORGETFUL, SWAP, SWAP),
)


# --- the operad -------------------------------------------------------------------

APPEND = CONTEXT_OPERAD.operation("append", Turn("user", "hello"))
MERGE = CONTEXT_OPERAD.operation("merge")
IDENTITY = CONTEXT_OPERAD.identity()


def said(*texts: str) -> ContextWindow:
    """Return a window in which the user says `texts`."""
    return filled([(Turn("user", text), None) for text in texts])


ONE, TWO, THREE = said("a", "b"), said("c", "d"), said("e", "f")


breaks(
    operads.composing_with_identities_changes_nothing,
    "an identity that clears",
    lambda law: law(Operation("id", 1, lambda window: window.cleared()), APPEND, ONE),
)


class Hasty(Operation):
    """Compose without applying what is inside."""

    def compose(self, *inner: Operation) -> Operation:
        return Operation(
            self.name,
            sum(op.arity for op in inner),
            lambda *windows: self.function(*windows[: self.arity]),
        )


breaks(
    operads.composing_is_associative,
    "an operation that forgets what is inside",
    lambda law: law(Hasty("merge", 2, MERGE.function), [APPEND], ONE),
)


class Unsummed(Operation):
    """Compose without adding up."""

    def compose(self, *inner: Operation) -> Operation:
        return evolve(super().compose(*inner), arity=self.arity)


breaks(
    operads.arities_add_up,
    "an operation that does not add up",
    lambda law: law(Unsummed("merge", 2, MERGE.function), [MERGE]),
)


class Greedy(Operation):
    """Take more than is asked for."""

    def __call__(self, *windows: ContextWindow) -> ContextWindow:
        return Operation(self.name, self.arity, self.function)(*windows[: self.arity])


breaks(
    operads.an_operation_takes_as_many_windows_as_its_arity,
    "an operation that drops what is too much",
    lambda law: law(Greedy("append", 1, APPEND.function), ONE),
)
breaks(
    operads.merging_with_nothing_changes_nothing,
    "a merge that keeps the second",
    lambda law: law(Operation("merge", 2, lambda _, second: second), ONE),
)


def merging_from(first: ContextWindow, second: ContextWindow, stop: int | None) -> ContextWindow:
    """Merge, taking turns of the second up to `stop` only."""
    for turn in second.all_turns()[:stop]:
        first = first.append(evolve(turn, resource_id=""))
    return first


LOSING = Operation("merge", 2, lambda first, second: merging_from(first, second, -1))


breaks(
    operads.merging_is_associative_in_what_is_said,
    "a merge that loses a turn needs brackets",
    lambda law: law(LOSING, ONE, TWO, THREE),
)
breaks(
    operads.merging_keeps_every_turn,
    "a merge that loses a turn",
    lambda law: law(LOSING, ONE, TWO),
)
breaks(
    operads.merging_keeps_every_turn,
    "a merge that lowers classes",
    lambda law: law(
        Operation("merge", 2, lambda first, second: merging_from(first, second, None)), ONE, TWO
    ),
)


def marking(first: ContextWindow, second: ContextWindow) -> ContextWindow:
    """Merge, and rename what need not be renamed."""
    for turn in second.all_turns():
        first = first.append(
            evolve(turn, resource_id=f"{turn.resource_id}-other"), second.class_of(turn)
        )
    return first


breaks(
    operads.merging_is_associative,
    "a merge that renames",
    lambda law: law(Operation("merge", 2, marking), ONE, TWO, THREE),
)


# --- the machine ------------------------------------------------------------------

EMPTY = ContextWindow(200, counter=FAST)
POLICY = ContextPolicy()
TALK = [
    ContextInput.user_turn("hello"),
    ContextInput.assistant_turn("hi"),
    ContextInput.compress(0.1),
    ContextInput.user_turn("go on"),
]


class Changed(TableMachine):
    """Run a machine in which compressing does not lead to COMPRESSED."""

    changed = (ContextState.ACCUMULATING, InputKind.COMPRESS)

    def advance(self, context_input: ContextInput) -> ContextOutput:
        step = Step(context_input, self.window, self.policy)
        target = decider(ContextMachine).decide(step, self.context_state)
        if (self.context_state, context_input.kind) == self.changed:
            target = ContextState.ACCUMULATING
        self.restore(target, step.output(target).window)
        return step.output(target)


class Restless(Changed):
    """Run a machine without a cooldown."""

    changed = (ContextState.COMPRESSED, InputKind.USER_TURN)


class Dirty(TableMachine):
    """Lose the window to an input that is refused."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        try:
            return super().advance(context_input)
        except PolycontextError:
            self.restore(self.context_state, self.window.cleared())
            raise


breaks(
    engines.engines_agree,
    "a table with one transition changed",
    lambda law: law(ContextMachine, Changed, EMPTY, POLICY, TALK),
)
breaks(
    engines.engines_agree,
    "an engine that is dirty stands elsewhere",
    lambda law: law(
        Dirty, ContextMachine, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")]
    ),
)
breaks(
    machines.a_refused_input_changes_nothing,
    "a machine that loses its window to a refusal",
    lambda law: law(Dirty, EMPTY, POLICY, [TALK[0], ContextInput.tool_turn("found", "unknown")]),
)
breaks(
    machines.the_state_is_what_the_guards_say,
    "a machine that compresses in secret",
    lambda law: law(Changed, EMPTY, POLICY, TALK),
)
breaks(
    machines.the_state_is_what_the_guards_say,
    "a machine that does not cool down",
    lambda law: law(Restless, EMPTY, POLICY, TALK),
)


class Early(ContextMachine):
    """Let the assistant begin."""

    assistant_turn = ContextMachine.empty.to(ContextMachine.accumulating)


breaks(
    policies.nothing_happens_before_its_permission,
    "a machine that takes an answer before a question",
    lambda law: law(Early, Policy("assistant_turn", "user_turn")),
)


class Lenient(OwnStates):
    """Let everything happen that one region accepts."""

    @property
    def directions(self) -> Any:
        """Return the events that any region accepts."""
        return dict.fromkeys(super().directions, self.places.kinds)


class Waiting(Region):
    """A region in which an assistant turn waits."""

    waiting = State("WAITING", value="WAITING", initial=True)
    opened = State("OPEN", value="OPEN")
    let = waiting.to(opened)
    assistant_turn = opened.to.itself()  # type: ignore[no-untyped-call]


class Loose(ContextMachine, metaclass=Lenient):
    """A machine that does not ask all of its regions."""

    regions: ClassVar = {"waiting": Waiting}


class Asking(ContextMachine):
    """A machine that does."""

    regions: ClassVar = {"waiting": Waiting}


breaks(
    machines.what_is_legal_is_what_every_region_accepts,
    "a machine that does not ask all of its regions",
    lambda law: law(Loose),
)
obeys(
    machines.what_is_legal_is_what_every_region_accepts,
    "a machine with a region",
    lambda law: law(Asking),
)


class Sinking(TableMachine):
    """Lose the first turn to a compression, whatever its class."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        output = super().advance(context_input)
        if context_input.kind is InputKind.COMPRESS:
            self.restore(self.context_state, self.window.splice([Splice(0, 1)]))
        return output


breaks(
    machines.no_compression_goes_below_a_floor,
    "a machine that drops what is PRESERVED",
    lambda law: law(Sinking, ContextProjector(), EMPTY, POLICY, TALK),
)


class Clinging(TableMachine):
    """Keep what is bound when what it was made on has changed."""

    def advance(self, context_input: ContextInput) -> ContextOutput:
        bound = {
            turn.resource_id: turn
            for turn in self.window.all_turns()
            if any(part.is_bound for part in turn.parts)
        }
        output = super().advance(context_input)
        places = [
            (place, turn.resource_id)
            for place, turn in enumerate(output.window.all_turns())
            if turn.resource_id in bound
        ]
        self.restore(
            output.state,
            output.window.splice(
                [Splice(place, place + 1, (bound[name],)) for place, name in places]
            ),
        )
        return output


THOUGHT = Part("anthropic", '{"type": "thinking", "thinking": "so", "signature": "c2ln"}')
THOUGHTFUL = [
    ContextInput.user_turn("Look it up."),
    *(ContextInput.assistant_turn("Looking. " * 60) for _ in range(8)),
    ContextInput.assistant_turn(Turn("assistant", "Found.", parts=[THOUGHT])),
    ContextInput.compress(0.1),
]
breaks(
    machines.what_is_bound_stands_behind_what_it_was_made_on,
    "a machine that keeps signed thinking behind another prefix",
    lambda law: law(
        Clinging,
        ContextWindow(2_000, counter=FAST),
        ContextPolicy(ContextProjector(reach=Reach(keep_recent=1))),
        THOUGHTFUL,
    ),
)


class Timeless(ContextSession):
    """Say that no epoch ever ends."""

    @property
    def window(self) -> ContextWindow:
        return super().window.with_facts(epoch=Epoch())


breaks(
    machines.requests_only_grow_within_an_epoch,
    "a session that compresses in secret",
    lambda law: law(Timeless(2_000, counter=FAST), THOUGHTFUL),
)


def lacking() -> PolyAgent[Position, ContextInput, ContextOutput]:
    """Return the polynomial, unable to compress."""
    return evolve(
        CONTEXT_POLYNOMIAL,
        directions=lambda position: VALID_DIRECTIONS[position.state] - {InputKind.COMPRESS},
    )


breaks(
    engines.the_polynomial_moves_as_the_table,
    "a direction is missing",
    lambda law: law(lacking(), EMPTY, TALK),
)

# --- sessions ---------------------------------------------------------------------


class Deaf(ContextSession):
    """Show a machine that has followed nothing."""

    @property
    def machine(self) -> ContextMachine:
        return ContextMachine(EMPTY)


class Broken(HistoryPart):
    """Hand out a broken history."""

    def __init__(self, kind: type[History[Any]]) -> None:
        self.kind = kind

    def __get__(self, session: Any, owner: Any) -> Any:
        return super().__get__(None, owner) if session is None else self.kind(session)


class Lost(History[Any]):
    """Lose an event."""

    def events(self, after: int = 0) -> tuple[Event, ...]:
        return super().events(after)[:-1]


class Amnesiac(ContextSession):
    """Lose an event."""

    history = Broken(Lost)


class LeftOut(History[Any]):
    """Write less than there is."""

    def export(self) -> Iterator[str]:
        first, *events = super().export()
        header = json.loads(first)
        header["settings"].pop(getattr(self._session, "left_out"))  # noqa: B009 - a broken one
        return iter([json.dumps(header) + "\n", *events])


class Unsaved(ContextSession):
    """Write less than there is."""

    left_out = "signals"
    history = Broken(LeftOut)


def lived(session: ContextSession) -> ContextSession:
    """Return a session with two turns and signals of its own."""
    session.add_user_turn("hello")
    session.add_assistant_turn("hi")
    session.background.signal(Signals(progress=0.5))
    return session


def said_once(session: ContextSession) -> ContextSession:
    """Return a session with two turns of different words."""
    session.add_user_turn("Deliver parcel4711 tomorrow.")
    session.add_assistant_turn("Certainly, parcel4712 arrives.")
    return session


breaks(
    machines.replaying_the_journal_gives_the_session,
    "a journal that loses an event",
    lambda law: law(lived(Amnesiac(500, counter=FAST))),
)
breaks(
    machines.the_live_machine_stands_where_the_session_stands,
    "a machine that does not follow",
    lambda law: law(lived(Deaf(500, counter=FAST)), []),
)
breaks(
    machines.json_keeps_the_session,
    "a saved session that lost its signals",
    lambda law: law(lived(Unsaved(500, counter=FAST))),
)


class Unforgetting(History[Any]):
    """Say that a turn is forgotten, and keep it."""

    def forget(self, resource_id: str) -> bool:
        return True


class Careless(History[Any]):
    """Forget everything that was said instead of one turn."""

    def forget(self, resource_id: str) -> bool:
        for turn in self._session.log():
            super().forget(turn.resource_id)
        return True


class Tenacious(ContextSession):
    """Keep what is to be forgotten."""

    history = Broken(Unforgetting)


class Oblivious(ContextSession):
    """Forget more than is asked."""

    history = Broken(Careless)


breaks(
    histories.forgotten_words_are_nowhere,
    "a forgotten turn that stays",
    lambda law: law(said_once(Tenacious(500, counter=FAST)), [0]),
)
breaks(
    histories.forgotten_words_are_nowhere,
    "an erasure of all turns",
    lambda law: law(said_once(Oblivious(500, counter=FAST)), [0]),
)


class Blank(History[Any]):
    """Show nothing of the past."""

    def at(self, moment: Any) -> Any:
        return super().at(0)


class Wholesale(History[Any]):
    """Fork the present, whatever the moment."""

    def fork(self, new_id: str, moment: Any = None) -> Any:
        return super().fork(new_id)


class Idle(History[Any]):
    """Rewind to where the session is."""

    def rewind(self, to: Any, **when: Any) -> Any:
        return super().rewind(self.revision, **when)


class Final(History[Any]):
    """Rewind once."""

    def rewind(self, to: Any, **when: Any) -> Any:
        return super().rewind(min(to, 2), **when)


def travelling(kind: type[History[Any]]) -> ContextSession:
    """Return a session with two turns whose history is of that kind."""
    return said_once(
        type("Travelling", (ContextSession,), {"history": Broken(kind)})(500, counter=FAST)
    )


for travel, fault in (
    (Blank, "an empty past"),
    (Wholesale, "a fork of the present"),
    (Idle, "a rewind that does nothing"),
    (Final, "a rewind that cannot be undone"),
):
    breaks(
        histories.going_back_restores_what_was,
        fault,
        partial(lambda kind, law: law(travelling(kind), TALK), travel),
    )
obeys(
    histories.going_back_restores_what_was,
    "a sound history",
    lambda law: law(travelling(History), TALK),
)


# --- the context polynomial among other agents ------------------------------------


def shy(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in parallel, but let the second stand still beside a composite."""
    whole = parallel(first, second)

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, outputs = whole.transition(position, input)
        return (after[0], position[1] if isinstance(position[0], tuple) else after[1]), outputs

    return with_transition(whole, transition)


def left_handed(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Add, but let what stands to the right stand still."""
    whole = coproduct(first, second)

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = whole.transition(position, input)
        return position if isinstance(position, Right) else after, output

    return with_transition(whole, transition)


def unheard(first: AnyAgent, second: AnyAgent) -> AnyAgent:
    """Combine in sequence, but let the second stand still."""
    whole = sequential(first, second)

    def transition(position: Any, input: Any) -> tuple[Any, Any]:
        after, output = whole.transition(position, input)
        return (after[0], position[1]), output

    return with_transition(whole, transition)


BOTH = (CONTEXT_POLYNOMIAL, EMPTY, TALK, TALK)
breaks(
    conversations.parallel_conversations_run_side_by_side,
    "one conversation stands still",
    lambda law: law(limping, *BOTH),
)
breaks(
    conversations.parallel_conversations_may_be_bracketed,
    "a composite is shown respect",
    lambda law: law(shy, *BOTH),
)
breaks(
    conversations.a_product_of_conversations_moves_one_at_a_time,
    "both move at once",
    lambda law: law(together, *BOTH),
)
breaks(
    conversations.a_sum_of_conversations_is_one_of_them,
    "one side stands still",
    lambda law: law(left_handed, *BOTH[:3]),
)
breaks(
    conversations.a_conversation_feeds_another,
    "the other does not listen",
    lambda law: law(unheard, through, *BOTH[:3]),
)
breaks(
    conversations.the_identity_lens_shows_the_same_conversation,
    "outputs are reworded",
    lambda law: law(rewording, *BOTH[:3]),
)


# --- projections ------------------------------------------------------------------

TURNS = [Turn("assistant" if n % 2 else "user", f"Message {n}: " + "word " * 30) for n in range(20)]
OPENAI = get_format("openai")


def edited(change: Callable[[Projection], Projection]) -> Projecting:
    """Return a `project` whose results are changed."""

    def projecting(
        messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
    ) -> Projection:
        return change(project(messages, max_tokens, provider=provider, counter=counter))

    return projecting


def counted() -> Projecting:
    """Return a `project` that counts its calls."""
    calls = count()
    return edited(lambda p: evolve(p, floor=next(calls)))


def noted(projection: Projection) -> Projection:
    """Add a note, each time."""
    return evolve(
        projection, messages=[*projection.messages, {"role": "user", "content": "(shortened)"}]
    )


def turned(projection: Projection) -> Projection:
    """Say the newest before what it answers."""
    return evolve(projection, messages=[projection.messages[0], *reversed(projection.messages[1:])])


def eating(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Cut in place."""
    projection = project(messages, max_tokens, provider=provider, counter=counter)
    messages.pop(2)
    return projection


def sharing(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Hand the input out again: what is done to the output is done to the input."""
    return evolve(
        project(messages, max_tokens, provider=provider, counter=counter), messages=messages
    )


def doubling(
    messages: list[Message], max_tokens: int, /, *, provider: Provider, counter: TokenCounter
) -> Projection:
    """Take twice the room, and report otherwise."""
    projection = project(messages, 2 * max_tokens, provider=provider, counter=counter)
    return evolve(projection, max_tokens=max_tokens, tokens_after=max_tokens)


GIVEN = (500, OPENAI, FAST)
breaks(
    projections.projecting_is_deterministic,
    "it counts its calls",
    lambda law: law(counted(), TURNS, *GIVEN),
)
breaks(
    projections.projecting_twice_is_projecting_once,
    "it adds a note each time",
    lambda law: law(edited(noted), TURNS, *GIVEN),
)
breaks(
    projections.projecting_leaves_its_input_alone,
    "it eats its input",
    lambda law: law(eating, TURNS, *GIVEN),
)
breaks(
    projections.projecting_leaves_its_input_alone,
    "it hands the input out again",
    lambda law: law(sharing, TURNS, *GIVEN),
)
breaks(
    projections.a_projection_is_within_its_budget,
    "it takes twice the room",
    lambda law: law(doubling, TURNS, *GIVEN),
)
breaks(
    projections.projecting_keeps_what_must_stay,
    "the first user message, or the order, is lost",
    lambda law: law(edited(lambda p: evolve(p, messages=p.messages[1:])), TURNS, *GIVEN),
    lambda law: law(edited(turned), TURNS, 5_000, OPENAI, FAST),
)


# --- hosts ------------------------------------------------------------------------


def unframed(projection: Projection) -> Projection:
    """Hand summaries out in a frame that nobody knows again."""
    text = json.dumps(projection.messages)
    return evolve(
        projection,
        messages=json.loads(
            text.replace("[Summary of earlier messages]", "Notes:").replace("[End of summary]", "")
        ),
    )


def rewritten(provider: Provider) -> Callable[[Any], object]:
    """Return the call of a law with such projections, which a host rewrites."""
    return lambda law: law(edited(unframed), [1, 1, 2, 0, 5, 3, 8, 2], get_format(provider), FAST)


for provider in Provider:
    breaks(
        hosts.hosts_pin_nothing,
        f"summaries that nobody knows again, for {provider}",
        rewritten(provider),
    )
