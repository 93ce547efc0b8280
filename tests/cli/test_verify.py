"""`polycontext verify` finds the shortest order of events that breaks a policy."""

import sys
from pathlib import Path

import pytest

from tests.cli.command import Command, saved

MACHINES = """
from statemachine import State

from polycontext import ContextMachine
from polycontext.agents import AgentMachine
from polycontext.polynomial.machine import Region

FROM = ContextMachine.accumulating


class Leaking(ContextMachine):
    approval = State("APPROVAL", value="APPROVAL")
    assistant_turn = FROM.to(approval, cond="pays")
    approve = approval.to(FROM, cond="is_signed")

    def pays(self, step):
        return any(call.name == "pay" for call in step.input.turn.tool_calls)

    def is_signed(self, by=""):
        return by == "ana"


class Tight(ContextMachine):
    approval = State("APPROVAL", value="APPROVAL")
    assistant_turn = approval.from_.any(cond="pays")
    approve = approval.to(FROM, cond="is_signed")
    pays, is_signed = Leaking.pays, Leaking.is_signed


class Misspelt(Tight):
    assistant_turn = Tight.approval.from_.any(cond="pay")


class Waiting(Region):
    free = State("FREE", value="FREE", initial=True)
    waiting = State("WAITING", value="WAITING")
    assistant_turn = free.to(waiting, cond="pays") | free.to.itself()
    tool_turn = free.to.itself()
    approve = waiting.to(free, cond="is_signed")
    pays, is_signed = Leaking.pays, Leaking.is_signed


class PayingAgent(AgentMachine):
    regions = {**AgentMachine.regions, "approval": Waiting}


class LeakingAgent(AgentMachine):
    approve = AgentMachine.accumulating.to.itself()
"""
SIGNED = ("--with", 'approve={"by": "ana"}')


@pytest.fixture(autouse=True)
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the machines in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "paying_machines", raising=False)
    saved(tmp_path, "paying_machines.py", MACHINES)


def test_the_shortest_violation_is_printed(polycontext: Command) -> None:
    """A guard that covers one state of four is bypassed in another."""
    ran = polycontext("verify", "paying_machines:Leaking", "--never", "pay", "--before", "approve")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "not ok: pay happens before approve",
        "  1. user_turn",
        "  2. compress",
        "  3. assistant_turn that calls pay",
        "  4. result of pay",
    ]


def test_a_policy_that_holds_is_said_to(polycontext: Command) -> None:
    """In every order of five events, with the arguments that let the permission happen."""
    asked = ("verify", "paying_machines:Tight", "--never", "pay", "--before", "approve", "--each")
    ran = polycontext(*asked, "--depth", "5", *SIGNED, "--json")
    assert ran.code == 0
    assert ran.json()["ok"]
    assert ran.json()["conversations"] > 100


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--never", "pay", "--before", "approve"), "pay never happens"),
        (("--never", "pay", "--before", "approve", "--with", "approve={"), "no JSON object"),
        (
            ("--never", "pay", "--before", "approve", "--with", "aprove={}"),
            "unknown event 'aprove'. Did you mean 'approve'? Use approve.",
        ),
        (
            ("--never", "pay", "--before", "aprove"),
            "unknown event 'aprove'. Did you mean 'approve'? Use approve.",
        ),
        (
            ("--never", "user_turn", "--before", "asistant_turn"),
            "unknown event 'asistant_turn'. Did you mean 'assistant_turn'",
        ),
    ],
)
def test_a_check_of_nothing_is_refused(
    polycontext: Command, arguments: tuple[str, ...], problem: str
) -> None:
    """What never happens, is unknown or cannot be read would hold in vain."""
    ran = polycontext("verify", "paying_machines:Tight", *arguments, "--depth", "3")
    assert ran.code == 2
    assert problem in ran.complaint


@pytest.mark.parametrize(("machine", "code"), [("PayingAgent", 0), ("LeakingAgent", 1)])
def test_an_agent_is_verified_with_its_regions_and_forms(
    polycontext: Command, machine: str, code: int
) -> None:
    """Its nodes answer with examples; a list is an answer by position."""
    asked = ("verify", f"paying_machines:{machine}", "--never", "pay", "--before", "approve")
    plan = '[{"decision": "clarify", "goal": "g", "questions": ["Which?"]}]'
    ran = polycontext(*asked, "--depth", "5", *SIGNED, "--with", f"planned={plan}", "--json")
    assert (ran.code, ran.json()["ok"]) == (code, not code)
    if code:
        assert ran.json()["violation"][-1] == "result of pay"
