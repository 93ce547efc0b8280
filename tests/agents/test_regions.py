"""The regions of an agent: the context's is what it is in a plain session, the nodes' beside it."""

from collections import Counter
from functools import partial
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.polynomial import (
    ContextPressureError,
    ContextSession,
    ContextState,
    IllegalDirectionError,
)
from polycontext.polynomial.machine import Region
from polycontext.testing import ScriptedModel
from polycontext.window import Turn
from tests.agents.kitchen import DONE, UNDERSTOOD, plan, use
from tests.house import gated

REPLY = "Dish {0} is ready and there is a long sentence about it, with number {0}."


class Entries:
    """Counts the states of the context that a session enters."""

    def __init__(self) -> None:
        self.seen = Counter[str]()

    def after_transition(self, target: Any) -> None:
        """Count a transition of the context."""
        if target.value in tuple(ContextState):
            self.seen[target.value] += 1


def answers(number: int) -> list[str]:
    """Return what a model answers in one exchange with one step."""
    return [UNDERSTOOD, plan(), use(("log", {"n": number})), DONE, REPLY.format(number)]


def log(n: int, **_: str) -> str:
    """Return a long result."""
    return f"row of the log with words and numbers {n} " * 40


def busy_agent(model: Any, *, auto: bool, listeners: Any = ()) -> Agent:
    """Return an agent in a small window."""
    session = ContextSession(1500, machine=AgentMachine, auto=auto, listeners=[*listeners])
    return Agent(session, model, [Tool("log", log, "Reads the log.")])


@pytest.mark.parametrize(("exchanges", "pressed"), gated([(5, 1), (30, 26)], (5, 1)))
def test_an_agent_enters_the_states_that_a_plain_session_enters(
    exchanges: int, pressed: int
) -> None:
    """With the same turns, PRESSURED and COMPRESSED are entered as often."""
    one, other = Entries(), Entries()
    agent = busy_agent(
        ScriptedModel([each for number in range(exchanges) for each in answers(number)]),
        auto=True,
        listeners=[one],
    )
    for number in range(exchanges):
        agent.send(f"Please look up number {number} and tell me what it says.")
    plain = ContextSession(1500, listeners=[other])
    for turn in agent.session.log():
        plain.add(
            Turn(
                turn.role, turn.content, tool_calls=turn.tool_calls, tool_call_id=turn.tool_call_id
            )
        )
    assert one.seen == other.seen
    assert (one.seen["PRESSURED"], one.seen["COMPRESSED"]) == (pressed, 2 * pressed)
    assert agent.session.state == plain.state


def test_without_auto_no_answer_is_paid_for_that_would_be_refused() -> None:
    """In PRESSURED, the model is asked for no turn; after a compression, the exchange goes on."""
    model = ScriptedModel([each for number in range(8) for each in answers(number)])
    agent, refused = busy_agent(model, auto=False), 0
    for number in range(8):
        go_on: Any = partial(agent.send, f"Please look up number {number}.")
        while True:
            try:
                go_on()
            except ContextPressureError:
                assert agent.session.state == "PRESSURED"
                refused, go_on = refused + 1, agent.run
                agent.session.compress(0.3)
            else:
                break
    assert refused
    assert len(model.requests) == 40
    assert [turn.text for turn in agent.session.log() if turn.text.startswith("Dish")] == [
        REPLY.format(number) for number in range(8)
    ]


class Payment(Region):
    """A call of "pay" waits for an approval."""

    free = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    assistant_turn = free.to(waiting, cond="is_payment") | free.to(free)
    tool_turn = free.to(free)
    approve = waiting.to(free)

    def is_payment(self, step: Any) -> bool:
        """Return whether the turn calls "pay"."""
        return any(call.name == "pay" for call in step.input.turn.tool_calls)


class Careful(AgentMachine):
    """An agent's machine in which payments are approved."""

    regions: ClassVar[Any] = {**AgentMachine.regions, "payment": Payment}


def test_no_tool_runs_whose_result_a_region_refuses() -> None:
    """The call waits; it is made once, after the region allows it."""
    script = [UNDERSTOOD, plan(), use(("pay", {})), DONE, "Done."]
    paid = list[str]()

    def pay(**_: Any) -> str:
        paid.append("9")
        return "paid"

    session = ContextSession(8_000, machine=Careful)
    agent = Agent(session, ScriptedModel(script), [Tool("pay", pay, "Pays.")])
    with pytest.raises(IllegalDirectionError):
        agent.send("Pay 9.")
    with pytest.raises(IllegalDirectionError):
        agent.run()
    assert paid == []
    session.send("approve")
    assert agent.run() == "Done."
    assert paid == ["9"]
