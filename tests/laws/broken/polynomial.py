"""Broken machines and sessions that laws reject."""

from polycontext.base import PolycontextError
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextOutput,
    ContextPolicy,
    ContextState,
    InputKind,
)
from polycontext.polynomial.laws import machines, policies
from polycontext.polynomial.machine.context_machine import decider
from polycontext.polynomial.machine.step import Step
from polycontext.polynomial.policies import Policy
from polycontext.pressure import ContextProjector, Reach
from polycontext.testing import FAST
from polycontext.window import ContextWindow, Part, Splice, Turn
from tests.laws.counterexamples import breaks
from tests.laws.internal.machines import TableMachine

# --- the operad -------------------------------------------------------------------

EMPTY = ContextWindow(200, counter=FAST)
TALK = [
    ContextInput.user_turn("hello"),
    ContextInput.assistant_turn("hi"),
    ContextInput.compress(0.1),
    ContextInput.user_turn("go on"),
]


# --- the machine ------------------------------------------------------------------

POLICY = ContextPolicy()


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
