"""The regions of an agent: the context's is what it is in a plain session, the nodes' beside it."""

import json
import logging
import random
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from statemachine import State

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.base import PolycontextError
from polycontext.polynomial import (
    ContextPressureError,
    ContextSession,
    ContextState,
    IllegalDirectionError,
)
from polycontext.polynomial.machine import Region
from polycontext.testing import ScriptedModel
from polycontext.window import EstimatingCounter, ToolCall, Turn
from tests.house import gated
from tests.polynomial.session.faulty import seeded

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
    step = {"type": "read", "subdomain": "logs", "description": f"Find {number}"}
    forms: list[dict[str, Any]] = [
        {"intent": "plan", "confidence": 0.9},
        {"decision": "plan_direct", "goal": f"Goal {number}", "steps": [step]},
        {"calls": [{"tool": "log", "arguments": {"n": number}}]},
        {"outcome": f"found {number}"},
    ]
    return [*map(json.dumps, forms), REPLY.format(number)]


def log(n: int, **_: str) -> str:
    """Return a long result."""
    return f"row of the log with words and numbers {n} " * 40


def busy_agent(model: Any, *, auto: bool, listeners: Any = ()) -> Agent:
    """Return an agent in a small window."""
    session = ContextSession(1500, machine=AgentMachine, auto=auto, listeners=[*listeners])
    return Agent(session, model, [Tool("log", log, "Reads the log.")])


@pytest.mark.parametrize(("exchanges", "pressed"), gated([(5, 2), (30, 27)], (5, 2)))
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
    step = {"type": "write", "subdomain": "money", "description": "Pay"}
    forms: list[dict[str, Any]] = [
        {"intent": "pay", "confidence": 0.9},
        {"decision": "plan_direct", "goal": "Pay", "steps": [step]},
        {"calls": [{"tool": "pay", "arguments": {}}]},
        {"outcome": "paid"},
    ]
    paid = list[str]()

    def pay(**_: Any) -> str:
        paid.append("9")
        return "paid"

    session = ContextSession(8_000, machine=Careful)
    agent = Agent(
        session, ScriptedModel([*map(json.dumps, forms), "Done."]), [Tool("pay", pay, "Pays.")]
    )
    with pytest.raises(IllegalDirectionError):
        agent.send("Pay 9.")
    with pytest.raises(IllegalDirectionError):
        agent.run()
    assert paid == []
    session.send("approve")
    assert agent.run() == "Done."
    assert paid == ["9"]


# --- where live, replayed, reopened and past sessions stand ---------------------------


def act(session: ContextSession, rng: random.Random, number: int) -> None:
    """Do one thing that an agent's session may take."""
    node = session.regions.get("node", "READY")
    step = {"type": "read", "subdomain": "logs", "description": "f"}
    plan = {"decision": "plan_direct", "goal": "g", "steps": [step]}
    say = partial(session.add_user_turn, f"Question {number}, please. " * rng.randint(1, 9))
    reply = partial(session.add_assistant_turn, f"Answer {number}. " * rng.randint(1, 30))
    call = partial(session.add_assistant_turn, tool_calls=[ToolCall(f"r{number}", "log", "{}")])
    forward: dict[str, list[Any]] = {
        "READY": [say, reply],
        "UNDERSTANDING": [lambda: session.send("understood", {"intent": "x", "confidence": 1})],
        "THINKING": [lambda: session.send("planned", plan)],
        "ACTING": [call, lambda: session.send("acted", {"outcome": "o"}, left=rng.randint(0, 1))],
        "REPLYING": [reply],
    }
    others: list[Any] = [
        say,
        session.compress,
        session.clear,
        lambda: session.send("blocked", {"why": "w"}),
        lambda: session.promote(rng.choice(session.log()).resource_id, "PRESERVED"),
        lambda: session.history.rewind(rng.randint(0, session.history.revision)),
        lambda: session.recall([rng.choice(session.log()).resource_id]),
        lambda: session.history.forget(rng.choice(session.log()).resource_id),
    ]
    acts = forward[node]
    if session.open_calls:
        called, said = session.open_calls[0].id, f"Row {number}. " * rng.randint(1, 40)
        acts = [lambda: session.add_tool_turn(said, tool_call_id=called)]
    rng.choice(acts * 12 + others)()


def stands(session: ContextSession) -> tuple[Any, ...]:
    """Return where a session stands."""
    now = session.conversation
    return now.state, dict(now.regions), now.place, now.window.all_turns()


@pytest.mark.parametrize("lives", gated([12, 200], 12))
@pytest.mark.parametrize("machine", [AgentMachine, None])
def test_live_replayed_reopened_and_past_sessions_stand_in_the_same_place(
    lives: int, machine: Any, tmp_path: Path
) -> None:
    """So nothing but the journal decides where an agent goes on."""
    logging.disable(logging.CRITICAL)
    given = {} if machine is None else {"machine": machine}
    for seed in range(lives):
        rng, file = seeded(seed), tmp_path / f"{seed}.db"
        options: Any = {"counter": EstimatingCounter(), "auto": rng.random() < 0.8, **given}
        with ContextSession.open(file, "s", max_tokens=rng.choice([500, 2000]), **options) as live:
            for number in range(rng.randint(5, 25)):
                with suppress(PolycontextError, IndexError):  # an empty log
                    act(live, rng, number)
            wanted = stands(live)
            assert stands(live.history.at(live.history.revision)) == wanted
            saved = "".join(live.history.export())
            again = ContextSession.history.load(saved, counter=EstimatingCounter(), **given)
            assert stands(again) == wanted, seed
        with ContextSession.open(file, "s", **options) as reopened:
            assert stands(reopened) == wanted, seed
    logging.disable(logging.NOTSET)
