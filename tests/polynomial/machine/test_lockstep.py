"""Both engines and the pure function take the same inputs and never part."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextInput,
    ContextMachine,
    ContextOutput,
    ContextPolicy,
    ContextState,
    InputKind,
    context_transition,
)
from polycontext.pressure import AdaptiveThreshold, ContextProjector, FixedThreshold, Reach, Signals
from polycontext.testing import TEXTS
from polycontext.window import ContextWindow, ToolCall, Turn
from tests.laws.internal.machines import TableMachine
from tests.polynomial.conversations import WORDS

Outcome = tuple[type[PolycontextError], str] | ContextOutput
TARGETS = st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0, -0.1, 5.0, float("nan")])
CLASSES = st.none() | st.sampled_from(ResourceClass)
POLICIES = st.builds(
    ContextPolicy,
    st.sampled_from(
        [
            ContextProjector(),
            ContextProjector(reach=Reach(keep_recent=0)),
            ContextProjector(reach=Reach(keep_recent_tokens=30)),
        ]
    ),
    st.sampled_from([AdaptiveThreshold(), FixedThreshold(0.5, 0.2), FixedThreshold(1.0)]),
    st.integers(0, 3),
    st.sampled_from([Signals(), Signals(error_rate=1.0), Signals(progress=1.0)]),
)


def outcome(act: Callable[[], ContextOutput]) -> Outcome:
    """Return what an engine put out, or which error with which words it raised."""
    try:
        return act()
    except PolycontextError as error:
        return type(error), str(error)


class Lockstep(RuleBasedStateMachine):
    """Feed one input to the library's machine, to the table and to the pure function."""

    @initialize(policy=POLICIES, max_tokens=st.sampled_from([60, 200, 1000]))
    def begin(self, policy: ContextPolicy, max_tokens: int) -> None:
        """Start all three with one empty window."""
        window = ContextWindow(max_tokens, counter=WORDS)
        self.policy = policy
        self.machine = ContextMachine(window, policy)
        self.table = TableMachine(window, policy)
        self.state: str = ContextState.EMPTY
        self.window = window

    def take(self, context_input: ContextInput) -> None:
        """Send one input to three engines, which must agree, and errors must change nothing."""
        before = self.state, self.window
        machine = outcome(lambda: self.machine.advance(context_input))
        table = outcome(lambda: self.table.advance(context_input))
        pure = outcome(lambda: self.pure(context_input))
        assert facts(machine) == facts(table) == facts(pure)
        if not isinstance(pure, ContextOutput):
            assert (
                before
                == (self.machine.context_state, self.machine.window)
                == (self.table.context_state, self.table.window)
            )

    def pure(self, context_input: ContextInput) -> ContextOutput:
        """Call the pure function and keep what it returns."""
        self.state, output = context_transition(self.state, context_input, self.window, self.policy)
        self.window = output.window
        return output

    @rule(
        kind=st.sampled_from(["user_turn", "assistant_turn", "system"]),
        text=TEXTS,
        resource_class=CLASSES,
    )
    def turn(self, kind: str, text: str, resource_class: ResourceClass | None) -> None:
        """Send a turn of text, legal or not."""
        self.take(ContextInput(InputKind(kind), text, resource_class))

    @rule(count=st.integers(1, 2), text=st.none() | TEXTS)
    def calls(self, count: int, text: str | None) -> None:
        """Send an assistant turn that makes calls."""
        self.take(
            ContextInput.assistant_turn(
                text, [ToolCall(f"c{number}", "search") for number in range(count)]
            )
        )

    @rule(call_id=st.sampled_from(["c0", "c1", "unknown"]), text=TEXTS)
    def answers(self, call_id: str, text: str) -> None:
        """Send a result, of an open call or of none."""
        self.take(ContextInput.tool_turn(text, call_id))

    @rule(wanted=TARGETS)
    def compresses(self, wanted: float) -> None:
        """Ask for compression, also to impossible targets."""
        self.take(ContextInput.compress(wanted))

    @rule()
    def clears(self) -> None:
        """Ask to forget the view."""
        self.take(ContextInput.clear())

    @rule(max_tokens=st.sampled_from([60, 200, 1000]))
    def resizes(self, max_tokens: int) -> None:
        """Give the window another budget."""
        self.take(ContextInput.resize(max_tokens))

    @rule(make=st.sampled_from([ContextInput.rewind, ContextInput.forget]))
    def stands_again(self, make: Callable[[ContextWindow], ContextInput]) -> None:
        """Go back to the beginning, or have nothing left."""
        self.take(make(self.window.cleared()))

    @rule(resource_id=st.sampled_from(["t1", "g1"]))
    def names_itself(self, resource_id: str) -> None:
        """Send a turn with an id of its own, which may be taken."""
        self.take(ContextInput.of_turn(Turn("user", "mine", resource_id=resource_id)))

    @rule(size=st.integers(900, 1500))
    def overflows(self, size: int) -> None:
        """Send a turn that no window here has room for, or hardly."""
        self.take(ContextInput.user_turn("w " * size))

    @invariant()
    def same_place(self) -> None:
        """All three are in one state with one window."""
        if hasattr(self, "machine"):
            assert self.machine.context_state is self.table.context_state is self.state
            assert self.machine.window == self.table.window == self.window


def facts(result: Outcome) -> object:
    """Return what two outcomes must share."""
    if not isinstance(result, ContextOutput):
        return result
    did = result.compression
    return (
        result.state,
        result.window,
        did and (did.edit, did.dropped, did.gisted, did.tokens_after, did.reached),
    )


TestLockstep = pytest.mark.no_cover(Lockstep.TestCase)
