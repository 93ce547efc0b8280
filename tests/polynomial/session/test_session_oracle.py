"""A session and the replay of its journal agree after every action, legal or refused."""

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from polycontext.base import PolycontextError
from polycontext.linearity import ResourceClass
from polycontext.polynomial import (
    ContextInput,
    ContextPolicy,
    ContextSession,
    ContextState,
    Conversation,
    replay,
)
from polycontext.polynomial.journal.events import ResizeEvent, TurnEvent
from polycontext.polynomial.machine.context_machine import decider
from polycontext.polynomial.machine.step import Step
from polycontext.pressure import Signals
from polycontext.testing import FAST
from polycontext.testing.strategies import CLASSES, PROSE, TARGETS
from polycontext.window import ContextWindow, Role, ToolCall, Turn
from tests.polynomial.conversations import Engine, with_engine

BUDGETS = st.sampled_from([400, 2_000])
NUMBERS = st.integers(0, 40)


def settled(told: Conversation, policy: ContextPolicy) -> Conversation:
    """Return the conversation in the state that the guards choose under `policy`.

    No event has entered it if it is another one.
    """
    step = Step(ContextInput.resize(told.window.max_tokens), told.window, policy)
    state = decider(told.machine).decide(step, told.state)
    return evolve(told, state=state, since=told.since if state == told.state else None)


class SessionAgainstReplay(RuleBasedStateMachine):
    """A session, compared with a list of the accepted turns and with its journal."""

    @initialize(budget=BUDGETS, engine=st.sampled_from(["machine", "table"]), auto=st.booleans())
    def begin(self, budget: int, engine: Engine, auto: bool) -> None:
        """Start with nothing."""
        self.session = with_engine(engine, ContextSession(budget, counter=FAST, auto=auto))
        self.budget = budget
        self.accepted: list[str] = []
        self.settled_at = -1
        self.add(Turn(Role.USER, "Plan a journey."))

    def attempt(self, act: Callable[[], object]) -> bool:
        """Do it, or be refused and find everything as it was."""
        before = (
            self.session.state,
            self.session.window,
            self.session.history.revision,
            self.session.log(),
        )
        try:
            act()
        except PolycontextError:
            assert (
                self.session.state,
                self.session.window,
                self.session.history.revision,
                self.session.log(),
            ) == before
            return False
        return True

    def add(self, turn: Turn, resource_class: ResourceClass | None = None) -> None:
        """Add a turn; what is accepted goes into the list."""
        if self.attempt(lambda: self.session.add(turn, resource_class)):
            self.accepted.append(turn.text)

    @rule(role=st.sampled_from(["user", "assistant", "system"]), text=PROSE, resource_class=CLASSES)
    def says(self, role: str, text: str, resource_class: ResourceClass | None) -> None:
        """Speak."""
        self.add(Turn(Role(role), text), resource_class)

    @rule(count=st.integers(1, 4), resource_class=CLASSES)
    def reports(self, count: int, resource_class: ResourceClass | None) -> None:
        """Report at length, in turns that are worth a gist."""
        for number in range(count):
            self.add(
                Turn(
                    Role.ASSISTANT,
                    f"Part {number} of the report: " + "the night train runs again. " * 20,
                ),
                resource_class,
            )

    @rule(size=st.sampled_from([120, 300, 3_000]))
    def overflows(self, size: int) -> None:
        """Say something nearly, or far, too long."""
        self.add(Turn(Role.USER, "word " * size))

    @rule(count=st.integers(1, 2))
    def calls(self, count: int) -> None:
        """Call tools."""
        self.add(
            Turn(
                Role.ASSISTANT,
                None,
                tool_calls=[ToolCall(f"c{number}", "search") for number in range(count)],
            )
        )

    @rule(call_id=st.sampled_from(["c0", "c1", "unknown"]), text=PROSE)
    def answers(self, call_id: str, text: str) -> None:
        """Answer, asked or not."""
        self.add(Turn(Role.TOOL, text, tool_call_id=call_id))

    @rule(wanted=TARGETS | st.none())
    def compresses(self, wanted: float | None) -> None:
        """Compress as a caller."""
        self.attempt(lambda: self.session.compress(wanted))

    @rule(number=NUMBERS, more=st.integers(0, 3))
    def recalls(self, number: int, more: int) -> None:
        """Ask for turns of the log back, those that yielded first of all."""
        seen = {turn.resource_id for turn in self.session.window.all_turns()}
        log = sorted((turn.resource_id for turn in self.session.log()), key=seen.__contains__) or [
            "t1"
        ]
        first = number % max(1, len(log) - len(seen))
        self.attempt(lambda: self.session.recall(log[first : first + 1 + more]))

    @rule(number=NUMBERS, resource_class=st.sampled_from(ResourceClass))
    def promotes(self, number: int, resource_class: ResourceClass) -> None:
        """Raise a class."""
        log = [turn.resource_id for turn in self.session.log()] or ["t1"]
        self.attempt(
            lambda: self.session.promote(
                log[number % len(log)], resource_class, rationale="asked for"
            )
        )

    @rule(progress=st.sampled_from([0.0, 0.5, 1.0]))
    def signals(self, progress: float) -> None:
        """Tell how it goes, which moves the threshold; nothing is stored until the next commit."""
        told, revision = Signals(progress=progress), self.session.history.revision
        if told != self.session.policy.signals:
            self.settled_at = revision
        self.session.background.signal(told)
        assert self.session.history.revision == revision

    @rule()
    def clears(self) -> None:
        """Forget the view."""
        self.attempt(self.session.clear)

    @invariant()
    def the_journal_tells_it_all(self) -> None:
        """Check that a replay gives state and window, and that the log is the accepted turns.

        What was signalled since the last commit is not stored yet: the guards are asked once more.
        """
        if hasattr(self, "session"):
            events = self.session.history.events()
            told = replay(events, Conversation(ContextWindow(self.budget, counter=FAST)))
            if self.settled_at == told.revision:
                told = settled(told, self.session.policy)
            assert told == self.session.conversation
            assert (
                tuple(event.turn for event in events if isinstance(event, TurnEvent))
                == self.session.log()
            )
            assert [turn.text for turn in self.session.log()] == self.accepted


@pytest.mark.parametrize("engine", ["machine", "table"])
def test_the_next_commit_stores_the_state_that_a_signal_leads_to(engine: Engine) -> None:
    """A signal settles the state in memory; the journal has it with the next commit."""
    journey = SessionAgainstReplay()
    journey.begin(400, engine, auto=True)
    journey.overflows(120)
    journey.overflows(300)
    journey.answers("c0", "unasked")
    journey.reports(1, None)
    journey.calls(1)
    session, before = journey.session, journey.session.history.events()
    assert session.state is before[-1].state is ContextState.PRESSURED
    journey.signals(0.5)
    journey.the_journal_tells_it_all()
    assert (session.state, session.history.events()) == (ContextState.COMPRESSED, before)
    journey.answers("c0", "found")
    journey.the_journal_tells_it_all()
    settling = session.history.events()[len(before)]
    assert (type(settling), settling.state) == (ResizeEvent, ContextState.COMPRESSED)


TestSessionAgainstReplay = pytest.mark.no_cover(SessionAgainstReplay.TestCase)
