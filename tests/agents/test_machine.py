"""The machine: its states, a node of one's own, and sessions that began without it."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen
from statemachine import State

from polycontext.agents import Agent, AgentMachine, AgentMemory, Form, NodeRegion
from polycontext.agents.answers import NODES
from polycontext.agents.forms import AnswerError
from polycontext.base import PolycontextError
from polycontext.nodes.builders import Node
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import ASKED, SCRIPT, UNDERSTOOD, agent_of, tools


@frozen
class Critique(Form):
    """What a critic answers."""

    event: ClassVar = "criticized"
    writes: ClassVar = ("append:diagnostics.validation_reports",)

    passed: bool
    issues: tuple[str, ...] = ()

    def after(self, memory: AgentMemory) -> AgentMemory:
        """Return the memory with a report for all agents."""
        report = {"passed": self.passed, "issues": [*self.issues]}
        return memory.share("critic", append={"diagnostics.validation_reports": [report]})


CRITIC = Node("critic", "Say what is wrong with the steps.", reasoning={"steps"}, answers=Critique)


class CriticizedNodes(NodeRegion):
    """Nodes whose steps are looked at before the reply."""

    criticizing = State("CRITICIZING", value="CRITICIZING")
    acted = NodeRegion.acting.to(criticizing, cond="is_last")
    criticized = criticizing.to(NodeRegion.replying)
    nodes: ClassVar = {**NODES, "CRITICIZING": CRITIC}


class Criticized(AgentMachine):
    """An agent whose steps are looked at before it replies."""

    regions: ClassVar = {"node": CriticizedNodes}


def test_a_node_of_ones_own_takes_a_form_a_state_and_two_arrows() -> None:
    """Its answers are remembered like all others."""
    report = '{"passed": false, "issues": ["no day was asked for"]}'
    session = ContextSession(max_tokens=3000, machine=Criticized)
    model = ScriptedModel([*SCRIPT[:-1], report, SCRIPT[-1]])
    agent = Agent(session, model, tools())
    assert agent.send("A soup?") == SCRIPT[-1]
    reports: Any = agent.memory.shared.diagnostics.validation_reports
    assert reports[0].issues == ("no day was asked for",)


def test_what_is_no_answer_is_no_event() -> None:
    """The machine reads every answer, whoever sends it."""
    agent = agent_of(ScriptedModel([]))
    agent.session.add_user_turn("A soup?")
    for given in ((), ("{}",), ({"intent": "x"},)):
        with pytest.raises(PolycontextError):
            agent.session.send("understood", *given)
    with pytest.raises(PolycontextError):
        agent.session.send("planned", {})
    assert agent.session.history.revision == 1


def test_a_session_that_began_without_an_agent(tmp_path: Path) -> None:
    """Its exchanges are remembered, and the next ones are the agent's."""
    file = tmp_path / "s.db"
    with ContextSession.open(file, "kitchen", max_tokens=3000) as session:
        for number in range(3):
            session.add_user_turn(f"question {number}")
            session.add_assistant_turn(f"answer {number}")
    with ContextSession.open(file, "kitchen", machine=AgentMachine) as session:
        agent = agent_of(ScriptedModel([UNDERSTOOD, ASKED, "Which?"]), session)
        assert [turn.user for turn in agent.memory.conversation.recent_turns] == [
            "question 0",
            "question 1",
            "question 2",
        ]
        assert agent.send("A soup?") == "Which?"


def test_a_node_of_ones_own_can_be_interrupted_blocked_and_cleared() -> None:
    """Its state has what every node's state has, though the class declares two transitions."""
    for act in ("add_user_turn", "clear", "compress", "blocked"):
        session = ContextSession(max_tokens=3000, machine=Criticized)
        agent = Agent(session, ScriptedModel([*SCRIPT[:-1], "bad", "bad"]), tools())
        with pytest.raises(AnswerError):
            agent.send("A soup?")
        assert session.regions["node"] == "CRITICIZING"
        agent.write("validation", {"diagnostics.validation_reports": []})
        match act:
            case "blocked":
                session.send("blocked", {"why": "nobody criticizes"})
            case "add_user_turn":
                session.add_user_turn("Go on.")
            case "clear":
                session.clear()
            case _:
                session.compress(0.1)
